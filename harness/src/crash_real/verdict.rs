//! What a cell came to, or in which way it is wrong.
//!
//! Ways to be wrong are told apart, because a control is found only by what was planted: a cell
//! that could not be run is an error too, and proves nothing.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Output;

use gaia_bus::settings::{LOCK_NAME, LOG_NAME, Paths};
use gaia_bus_model::command::{Command as Asked, Limits, Verb};
use gaia_bus_model::decide::decide;
use gaia_bus_model::json::Object;
use gaia_bus_model::state::State;

use crate::history::{Operation, Outcome, Unexplained, judge};
use crate::program::{Program, argv, holds, records, told_by};
use crate::strategy::instant;

/// What a cell came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Its records are in the log, and its caller was told.
    CommittedAndAnswered,
    /// Its records are in the log, and its caller knows nothing or that nobody knows.
    CommittedAndUnknown,
    /// They are not, and its caller knows nothing.
    NotCommitted,
    /// They are not, and its caller was told so.
    Refused,
}

/// In which way a cell is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// What was to be met was not: the cell says nothing.
    NotMet(String),
    /// The command ended, or answered, as no contract knows.
    Ended(String),
    /// What was answered before is gone.
    HistoryLost,
    /// Something lies in the data directory that no bus puts there.
    Stray(String),
    /// The log is damaged, or breaks an invariant of the model.
    Unsound(String),
    /// No order explains what callers were told.
    Unexplained(Unexplained),
    /// It failed closed, and its records are there.
    ClosedAndWrote,
    /// It was answered, and its records are not there.
    AnsweredAndLost,
    /// The lock is left behind a success that says nothing of it.
    LockLeft,
    /// What comes next does not go as it must.
    Aftermath(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::NotMet(what) => write!(f, "not met: {what}"),
            Wrong::Ended(how) => write!(f, "it ended as no contract knows: {how}"),
            Wrong::HistoryLost => f.write_str("what was answered before is gone"),
            Wrong::Stray(name) => write!(f, "{name} is in the data directory"),
            Wrong::Unsound(why) => write!(f, "the log is unsound: {why}"),
            Wrong::Unexplained(why) => why.fmt(f),
            Wrong::ClosedAndWrote => f.write_str("it failed closed, and wrote"),
            Wrong::AnsweredAndLost => f.write_str("it was answered, and its records are not there"),
            Wrong::LockLeft => {
                f.write_str("the lock is left behind a success that says nothing of it")
            }
            Wrong::Aftermath(what) => f.write_str(what),
        }
    }
}

/// A command, before it is known what comes of it.
#[derive(Clone, Debug)]
pub(super) struct Errand {
    pub(super) verb: Verb,
    pub(super) arguments: Object,
}

impl Errand {
    pub(super) fn register(name: &str) -> Self {
        Errand { verb: Verb::Register, arguments: Object::new().with("actorId", name) }
    }

    pub(super) fn argv(&self) -> Vec<String> {
        argv(self.verb, &self.arguments)
    }

    /// As the next operation of a history in which everything happens one after the other.
    pub(super) fn done(self, history: &[Operation], outcome: Outcome) -> Operation {
        let Errand { verb, arguments } = self;
        let invoked = history.last().map_or(1, |last| last.returned + 1);
        let process = history.len();
        Operation { process, invoked, returned: invoked + 1, verb, arguments, outcome }
    }

    /// Its answer, behind this history: for a success that nobody could be told of.
    fn expected(&self, history: &[Operation]) -> Outcome {
        let mut state = State::default();
        let known = history.iter().map(|it| (it.verb, it.arguments.clone()));
        let mut answer = Outcome::Unknown;
        for (verb, arguments) in known.chain([(self.verb, self.arguments.clone())]) {
            let asked = Asked { verb, at: instant(0), arguments };
            let decision = decide(&state, &asked, &Limits::default());
            for event in &decision.events {
                state.apply(event).expect("the model's own records fold");
            }
            let told = decision.answer.map_err(|refusal| refusal.code.as_str().to_owned());
            answer = Outcome::Answered(told);
        }
        answer
    }
}

/// What the caller of an errand knows: what it read, and, when nobody killed the process, what the
/// exit code says. The two must agree.
pub(super) fn told(
    done: &Output,
    was_killed: bool,
    errand: &Errand,
    history: &[Operation],
) -> Result<Outcome, Wrong> {
    let read = if done.stdout.ends_with(b"\n") {
        Some(told_by(&done.stdout).map_err(Wrong::Ended)?)
    } else {
        None
    };
    if was_killed {
        // Whoever reads an answer acts on it, whatever becomes of the process afterwards.
        return Ok(read.unwrap_or(Outcome::Unknown));
    }
    let said = String::from_utf8_lossy(&done.stderr);
    match (done.status.code(), read) {
        (Some(0), Some(answered @ Outcome::Answered(Ok(_))))
        | (Some(1), Some(answered @ Outcome::Answered(Err(_)))) => Ok(answered),
        // Committed, and stdout took no answer: the exit code says the one, and stderr the other,
        // unless it takes nothing either.
        (Some(0), None) if said.is_empty() || said.contains("could not be written to stdout") => {
            Ok(errand.expected(history))
        }
        (Some(3), None | Some(Outcome::FailedClosed)) => Ok(Outcome::FailedClosed),
        (Some(4), None | Some(Outcome::Unknown)) => Ok(Outcome::Unknown),
        (_, read) => Err(Wrong::Ended(format!("{:?}, told {read:?}, {said}", done.status))),
    }
}

pub(super) fn log_bytes(data_dir: &Path) -> Vec<u8> {
    fs::read(data_dir.join(LOG_NAME)).unwrap_or_default()
}

/// What is there now, and whether it may be. The last of the history is the victim.
pub(super) fn fate(
    data_dir: &Path,
    before: &[u8],
    history: &[Operation],
    told: &Outcome,
) -> Result<Fate, Wrong> {
    let after = log_bytes(data_dir);
    if !after.starts_with(before) {
        return Err(Wrong::HistoryLost);
    }
    for entry in fs::read_dir(data_dir).into_iter().flatten() {
        let name = entry.expect("an entry").file_name();
        if name != LOG_NAME && name != LOCK_NAME {
            return Err(Wrong::Stray(format!("{name:?}")));
        }
    }
    let log = records(data_dir).map_err(Wrong::Unsound)?;
    holds(&log).map_err(Wrong::Unsound)?;
    let fate = match (after.len() > before.len(), told) {
        (true, Outcome::Answered(_)) => Fate::CommittedAndAnswered,
        (true, Outcome::Unknown) => Fate::CommittedAndUnknown,
        (false, Outcome::Unknown) => Fate::NotCommitted,
        (false, Outcome::FailedClosed) => Fate::Refused,
        (true, Outcome::FailedClosed) => return Err(Wrong::ClosedAndWrote),
        (false, Outcome::Answered(_)) => return Err(Wrong::AnsweredAndLost),
    };
    judge(&log, history).map_err(Wrong::Unexplained)?;
    Ok(fate)
}

/// Whether a success leaves its lock behind without a word.
pub(super) fn leaves_lock_silently(data_dir: &Path, done: &Output) -> bool {
    let says = String::from_utf8_lossy(&done.stdout).contains("\"lockReleased\":false");
    let was_heard = !done.stdout.is_empty();
    done.status.success() && was_heard && !says && Paths::of(data_dir).lock.exists()
}

/// What comes next: a writer, who must fail closed on a lock that is left; then a person; then a
/// writer, who must succeed. Gives the log that is there in the end.
pub(super) fn aftermath(
    program: &Program,
    data_dir: &Path,
    mut history: Vec<Operation>,
) -> Result<Vec<Object>, Wrong> {
    let lock = Paths::of(data_dir).lock;
    if lock.exists() {
        let before = log_bytes(data_dir);
        let mut command = program.command(data_dir, 0);
        command.args(Errand::register("early").argv());
        let done = command.output().expect("starting the bus");
        let is_refused = done.status.code() == Some(3) && lock.exists();
        if !is_refused || log_bytes(data_dir) != before {
            let what = format!("the next writer did not fail closed on the lock: {done:?}");
            return Err(Wrong::Aftermath(what));
        }
        let followed = program.follow_doctor(data_dir).map_err(Wrong::Aftermath)?;
        if followed.is_empty() || lock.exists() {
            let what = "a lock is left, and the doctor knows nothing to do";
            return Err(Wrong::Aftermath(what.into()));
        }
    }
    history.push(answered(program, data_dir, Errand::register("next"), &history)?);
    let log = records(data_dir).map_err(Wrong::Unsound)?;
    holds(&log).map_err(Wrong::Unsound)?;
    judge(&log, &history).map_err(Wrong::Unexplained)?;
    Ok(log)
}

/// Runs an errand that nothing stands in the way of.
pub(super) fn answered(
    program: &Program,
    data_dir: &Path,
    errand: Errand,
    history: &[Operation],
) -> Result<Operation, Wrong> {
    let arguments = errand.argv();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = program.run(data_dir, &arguments);
    let was_heard = !done.stdout.is_empty();
    match told(&done, false, &errand, history)? {
        told @ Outcome::Answered(_) if was_heard => Ok(errand.done(history, told)),
        told => Err(Wrong::Aftermath(format!("a sound bus is not answered: {told:?}, {done:?}"))),
    }
}
