//! A sequence of moves, told so that a newcomer follows.

use std::fmt;

use crate::disk::Outcome;
use crate::disk::bend::Fault;
use crate::explore;
use crate::invariant::{Broken, INVARIANTS};
use crate::scene::{Budget, Move, Person, Scene, Setup, process_name};
use crate::small::{Kind, show};
use crate::worker::{Plan, Touch, Worker};

/// The story of this name, told from the search that finds it; nothing when there is none.
#[must_use]
pub fn tell_of(name: &str) -> Option<String> {
    match name {
        "stale-lock" => Some(stale_lock()),
        _ => None,
    }
}

/// Breaks a stale lock by age: two processes, and two writers.
#[must_use]
pub fn by_age() -> Setup {
    Setup::new(vec![Plan::cold(&[Kind::One]); 2], Budget::default())
        .with(Fault::BreakByAge)
        .watching(Broken::named(&["one_writer"]))
}

/// Breaks a stale lock only when its owner is dead: three processes and a crash, and two writers.
#[must_use]
pub fn if_owner_is_dead() -> Setup {
    let budget = Budget { crashes: 1, ..Budget::default() };
    Setup::new(vec![Plan::cold(&[Kind::One]); 3], budget)
        .with(Fault::BreakDeadOwner)
        .watching(Broken::named(&["one_writer"]))
}

fn stale_lock() -> String {
    let tell = |setup: &Setup| {
        explore::shortest(setup).map_or("nothing was found".to_owned(), |story| story.to_string())
    };
    format!(
        "\
Why a stale lock is reported and never broken
=============================================

The lock is the directory events.lock: whoever makes it may write, and removes it afterwards. A
process that is killed leaves it behind. It is tempting to let a waiting process remove such a lock.
These are the shortest ways in which that goes wrong, found by searching everything that the
processes can do, one file-system call at a time; the processes run the commit protocol that ships,
with this one mistake planted.

Beside each step: the log as processes see it, the log as a power cut would leave it, and the lock.

1. Remove a lock that has become old
------------------------------------

B is merely slow. A cannot tell slow from dead by a clock, so A removes the lock of a live writer:

{}
2. Remove a lock only if its owner is dead
------------------------------------------

Now the waiters look at the owner record and remove the lock only when that process is gone. C
really is dead, and both A and B see it. One of them removes the dead lock and takes its own; then
the other acts on what it saw before, and removes the lock of a live writer:

{}
There is no call that removes a directory only if it is still the one that was looked at, so more
looking does not help: between the look and the removal the lock can become another. So gaia-bus
breaks no lock, ever. It reports who made it and whether that process still runs (gaia-bus doctor),
and a person removes it once every bus process has been stopped.",
        tell(&by_age()),
        tell(&if_owner_is_dead()),
    )
}

/// What happened, move by move, and what it broke.
#[derive(Clone, Debug)]
pub struct Story {
    /// The moves.
    pub moves: Vec<Move>,
    /// What is broken after the last of them.
    pub broken: Broken,
    lines: Vec<Line>,
    promises: String,
}

#[derive(Clone, Debug)]
struct Line {
    what: String,
    picture: String,
}

impl Story {
    /// Plays the moves again and takes notes.
    #[must_use]
    pub fn of(setup: &Setup, moves: Vec<Move>) -> Self {
        let mut scene = setup.scene();
        let mut lines = Vec::new();
        for made in &moves {
            let what = tell(setup, &scene, *made);
            let Some(next) = scene.play(setup, *made) else { continue };
            let ending = ending(&scene, &next);
            lines.push(Line { what: what + &ending, picture: next.picture() });
            scene = next;
        }
        let (answered, shown) = (show(&scene.history.answered), show(&scene.history.shown));
        let promises = format!("answered so far <{answered}>, shown so far <{shown}>");
        Story { moves, broken: scene.broken, lines, promises }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.lines.iter().map(|line| line.what.len()).max().unwrap_or(0);
        for (at, line) in self.lines.iter().enumerate() {
            writeln!(f, "{:>4}  {:<width$} | {}", at + 1, line.what, line.picture)?;
        }
        for name in self.broken.names() {
            let about = INVARIANTS.iter().find(|invariant| invariant.name == name);
            writeln!(f, "      broken: {name}: {}", about.map_or("", |found| found.about))?;
        }
        writeln!(f, "      {}", self.promises)
    }
}

fn tell(setup: &Setup, scene: &Scene, made: Move) -> String {
    match made {
        Move::Start(process) => {
            let worker = &scene.workers[usize::from(process)];
            let plan = &setup.plans[usize::from(process)];
            let what = match plan.errands.get(usize::from(worker.command)) {
                Some(Kind::One) | None => "to append a record",
                Some(Kind::Two) => "to append a batch of two records",
                Some(Kind::Recall) => "to read a line again and append a record",
                Some(Kind::Look) => "to read",
            };
            format!("{} starts, {what}", process_name(process))
        }
        Move::Step { process, quiet, outcome } => {
            let worker = &scene.workers[usize::from(process)];
            step(setup, scene, worker, quiet, outcome)
        }
        Move::TimeOut(process) => {
            let name = process_name(process);
            match setup.fault {
                Some(Fault::UnlockOnTimeOut) => {
                    format!("{name} has waited long enough and removes the lock")
                }
                _ => format!("{name} has waited long enough"),
            }
        }
        Move::Kill(process) => format!("{} is killed", process_name(process)),
        Move::PowerCut(_) => "the power fails; the machine starts again".to_owned(),
        Move::Reboot(_) => "a person restarts the machine".to_owned(),
        Move::Evict => "the kernel drops clean pages".to_owned(),
        Move::RepairUnrecorded(id) => {
            format!("person {} claims a lock that has lost its owner record", id + 1)
        }
        Move::Repair(id) => {
            let person = format!("person {}", id + 1);
            match &scene.people[usize::from(id)] {
                Person::Idle => {
                    format!("{person} sees that no process lives and takes the lock in hand")
                }
                Person::Rewriting => format!("{person} copies every whole line, fsyncs the copy"),
                Person::Copied(_) => format!("{person} renames the copy over the log, fsyncs"),
                Person::Cutting { .. } => format!("{person} cuts the torn tail"),
                Person::Cut => format!("{person} fsyncs the log"),
                Person::Removing => format!("{person} removes the lock"),
            }
        }
        Move::RemoveCarelessly => "someone removes the lock and asks nobody".to_owned(),
        Move::AppendForeign => "another program appends, without the lock".to_owned(),
        Move::Restore => "someone restores the log of the beginning".to_owned(),
    }
}

/// A step in words, with the quiet calls that were taken together with it.
fn step(setup: &Setup, scene: &Scene, worker: &Worker, quiet: u8, outcome: Outcome) -> String {
    let name = process_name(worker.id);
    let plan = &setup.plans[usize::from(worker.id)];
    let (mut worker, mut world) = (worker.clone(), scene.world.clone());
    let mut words = Vec::new();
    for _ in 0..quiet {
        let call = worker.call_words();
        if words.last() != Some(&call) {
            words.push(call);
        }
        worker.step(plan, &mut world, setup.fault, Outcome::Ok);
    }
    let touch = worker.touch(setup.fault);
    words.push(worker.call_words());
    let result = match outcome {
        Outcome::Ok if touch == Some(Touch::Nothing) => " - skipped".to_owned(),
        Outcome::Ok if touch == Some(Touch::Lock) => match world.lock {
            None => ": made".to_owned(),
            Some(_) => ": exists, looks at it".to_owned(),
        },
        Outcome::Ok => String::new(),
        Outcome::Fail => ": FAILS with EIO".to_owned(),
        Outcome::Short(count) => format!(": only {count} bytes"),
        Outcome::SyncFail(count) => {
            format!(": FAILS, {count} dirty bytes reached the disk, all pages clean")
        }
    };
    format!("{name} {}{result}", words.join(", "))
}

/// What a process answers at the end of a move.
fn ending(before: &Scene, after: &Scene) -> String {
    let pairs = before.workers.iter().zip(&after.workers);
    let mut words = String::new();
    for (was, is) in pairs {
        if is.verdicts.len() > was.verdicts.len() {
            let verdict = is.verdicts.last().map_or("", |verdict| verdict.words());
            words += &format!("; {} answers {verdict}", process_name(is.id));
        }
    }
    words
}
