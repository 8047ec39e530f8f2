//! What strace is told, and what it has written down.
//!
//! A fault counts as met only when it stands on the line of that very call: the scene's own fault
//! leaves a mark in every trace, and must not vouch for another. Guarded by the tests of
//! `tests/crash_real.rs` on literal traces, and by a control of the row.

use std::collections::BTreeMap;

/// One system call: its name and the how-manieth of that name it is, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its name.
    pub call: String,
    /// Which of that name.
    pub nth: usize,
}

/// What strace is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Where.
    pub point: Point,
    /// As strace spells it: `signal=KILL`, `error=EIO`, `retval=0`, `delay_exit=1000`.
    pub what: String,
    /// Whether it happens from then on.
    pub forever: bool,
}

impl Injection {
    /// Once, at this call.
    #[must_use]
    pub fn once(point: &Point, what: impl Into<String>) -> Self {
        Injection { point: point.clone(), what: what.into(), forever: false }
    }

    /// SIGKILL at the entry of this call, which is then not executed.
    #[must_use]
    pub fn kill(point: &Point) -> Self {
        Injection::once(point, KILL)
    }

    /// Whether it is a SIGKILL.
    #[must_use]
    pub fn is_kill(&self) -> bool {
        self.what == KILL
    }

    /// As strace takes it.
    #[must_use]
    pub fn flag(&self) -> String {
        let Injection { point: Point { call, nth }, what, forever } = self;
        let ever = if *forever { "+" } else { "" };
        format!("inject={call}:{what}:when={nth}{ever}")
    }
}

const KILL: &str = "signal=KILL";

/// One system call, with all that was written about it.
#[derive(Clone, Debug)]
struct Line {
    point: Point,
    text: String,
}

impl Line {
    /// What it came to: all behind the last equals sign. Paths and buffers stand in front of it.
    fn came_to(&self) -> &str {
        self.text.rsplit_once(" = ").map_or("", |(_, result)| result)
    }
}

/// A trace of one process.
#[derive(Clone, Debug)]
pub struct Trace {
    lines: Vec<Line>,
    was_killed: bool,
}

impl Trace {
    /// Reads what `strace -o` wrote.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut trace = Trace { lines: Vec::new(), was_killed: false };
        let mut counts = BTreeMap::<&str, usize>::new();
        for line in text.lines() {
            trace.was_killed |= line == "+++ killed by SIGKILL +++";
            // What another process or a signal has interrupted goes on where it began.
            if let Some((call, rest)) =
                line.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>"))
            {
                if let Some(begun) = trace.lines.iter_mut().rfind(|it| it.point.call == call) {
                    begun.text.push_str(rest);
                }
                continue;
            }
            let Some((call, _)) = line.split_once('(').filter(|(call, _)| is_name(call)) else {
                continue;
            };
            let nth = counts.entry(call).or_default();
            *nth += 1;
            let point = Point { call: call.to_owned(), nth: *nth };
            trace.lines.push(Line { point, text: line.to_owned() });
        }
        trace
    }

    /// The system calls from the first that names this directory.
    #[must_use]
    pub fn points(&self, directory: &str) -> Vec<Point> {
        let names = |line: &&Line| line.point.call == "execve" || !line.text.contains(directory);
        let begun = self.lines.iter().skip_while(names);
        let points = begun.map(|line| line.point.clone());
        points.filter(|point| point.call != "exit_group").collect()
    }

    /// The first call of this name on an open file of this name.
    #[must_use]
    pub fn on_file(&self, call: &str, file: &str) -> Option<Point> {
        let decorated = format!("/{file}>");
        let is_on = |line: &&Line| line.point.call == call && line.text.contains(&decorated);
        self.lines.iter().find(is_on).map(|line| line.point.clone())
    }

    /// Whether this was done at this very call, and, where it is for ever, at all later ones of
    /// that name.
    #[must_use]
    pub fn met(&self, injection: &Injection) -> bool {
        let Injection { point, what, forever } = injection;
        if injection.is_kill() {
            // The call that it was killed at is the last, and has no result.
            let last = self.lines.last();
            let is_last = |line: &Line| line.point == *point && line.came_to().trim() == "?";
            return self.was_killed && last.is_some_and(is_last);
        }
        let marks = [("error=", "(INJECTED)"), ("retval=", "(INJECTED)"), ("delay_", "(DELAYED)")];
        let wanted = || marks.iter().filter(|(told, _)| what.contains(told)).map(|(_, mark)| *mark);
        let is_marked = |line: &Line| wanted().all(|mark| line.came_to().contains(mark));
        let mut of_name = self.lines.iter().filter(|line| line.point.call == point.call);
        let mut from = of_name.by_ref().skip_while(|line| line.point.nth < point.nth);
        let first = from.next().is_some_and(is_marked);
        first && wanted().next().is_some() && (!forever || from.all(is_marked))
    }
}

fn is_name(call: &str) -> bool {
    !call.is_empty() && call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
