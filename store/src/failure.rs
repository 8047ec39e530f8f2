//! Every way to fail closed.
//!
//! A failure is not a refusal: a refusal is the bus saying no, a record in the log; a failure is
//! the bus unable to speak. All of them promise that nothing was written, and exit with 3, but for
//! one: [`Failure::WriteUnconfirmed`] cannot know, says so, and exits with 4. `tests/failures.rs`
//! provokes every one on a real directory or through a faulty disk.

use std::fmt;

use gaia_bus_model::text::is_deceptive;
use serde::Serialize;

use crate::log::Damage;
use crate::settings::Paths;

/// What an operating system call answered instead of doing its work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DiskError {
    /// The operating system's number (`errno`), when it gave one.
    pub code: Option<i32>,
    /// The operating system's sentence.
    pub text: String,
}

impl From<std::io::Error> for DiskError {
    fn from(error: std::io::Error) -> Self {
        DiskError { code: error.raw_os_error(), text: error.to_string() }
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A command that ended without an answer of the bus.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The lock was held until the deadline.
    LockTimeout {
        /// How long this call waited, in milliseconds.
        waited_ms: u64,
        /// Who is known to hold it, and how surely, in one sentence.
        owner: String,
    },
    /// The lock cannot be made at all: a wrong permission is not a time-out.
    LockUnavailable {
        /// What stood in the way.
        error: DiskError,
    },
    /// The log is damaged. The first damaged line is the one reported.
    LogCorrupt(Damage),
    /// The path of the log bears something that is not a regular file.
    NotAFile {
        /// What it is instead: `directory`, `FIFO`, `symbolic link`, ...
        found: &'static str,
    },
    /// The records parse but do not fold.
    LogUnreplayable {
        /// The line, counted from 1.
        line: u64,
        /// The byte offset at which it begins.
        offset: u64,
        /// Which identity field is missing or of the wrong type.
        reason: String,
    },
    /// Bytes that this process had validated are gone or different.
    HistoryRewritten {
        /// How many bytes this process had validated.
        known_bytes: u64,
        /// How many bytes there are now.
        found_bytes: u64,
    },
    /// A read or a write failed; what was written was taken back.
    Io {
        /// What was being done, as in "reading the log".
        doing: &'static str,
        /// What the operating system said.
        error: DiskError,
    },
    /// Bytes were written that could be neither made durable nor taken back.
    WriteUnconfirmed {
        /// What was being done when it went wrong.
        doing: &'static str,
        /// What the operating system said.
        error: DiskError,
    },
    /// The command failed, and then its lock could not be removed either.
    LockLeft {
        /// Why the command failed; the codes are those of this.
        cause: Box<Failure>,
        /// Why the lock is still there.
        error: DiskError,
    },
}

impl Failure {
    /// Every code there is, in the order of the contract's table.
    pub const CODES: [&'static str; 7] = [
        "lock-timeout",
        "lock-unavailable",
        "log-corrupt",
        "log-unreplayable",
        "history-rewritten",
        "io",
        "write-unconfirmed",
    ];

    /// The stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Failure::LockLeft { cause, .. } => cause.code(),
            Failure::LockTimeout { .. } => "lock-timeout",
            Failure::LockUnavailable { .. } => "lock-unavailable",
            Failure::LogCorrupt(_) | Failure::NotAFile { .. } => "log-corrupt",
            Failure::LogUnreplayable { .. } => "log-unreplayable",
            Failure::HistoryRewritten { .. } => "history-rewritten",
            Failure::Io { .. } => "io",
            Failure::WriteUnconfirmed { .. } => "write-unconfirmed",
        }
    }

    /// The exit code: 3 promises that nothing was written, 4 that nobody knows.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::LockLeft { cause, .. } => cause.exit_code(),
            Failure::WriteUnconfirmed { .. } => 4,
            Failure::LockTimeout { .. }
            | Failure::LockUnavailable { .. }
            | Failure::LogCorrupt(_)
            | Failure::NotAFile { .. }
            | Failure::LogUnreplayable { .. }
            | Failure::HistoryRewritten { .. }
            | Failure::Io { .. } => 3,
        }
    }

    /// What went wrong first.
    #[must_use]
    pub fn cause(&self) -> &Failure {
        match self {
            Failure::LockLeft { cause, .. } => cause.cause(),
            other => other,
        }
    }

    /// Where the log is damaged, when it is.
    #[must_use]
    pub fn corruption(&self) -> Option<Corruption> {
        match self {
            Failure::LogCorrupt(damage) => Some(Corruption {
                kind: damage.kind.as_str(),
                line: Some(damage.line),
                offset: Some(damage.offset),
            }),
            Failure::NotAFile { .. } => {
                Some(Corruption { kind: "not-a-file", line: None, offset: None })
            }
            Failure::LogUnreplayable { line, offset, .. } => {
                Some(Corruption { kind: "unreplayable", line: Some(*line), offset: Some(*offset) })
            }
            Failure::LockLeft { cause, .. } => cause.corruption(),
            Failure::LockTimeout { .. }
            | Failure::LockUnavailable { .. }
            | Failure::HistoryRewritten { .. }
            | Failure::Io { .. }
            | Failure::WriteUnconfirmed { .. } => None,
        }
    }

    /// A sentence to act on. It names the file, what is wrong with it and the way out.
    #[must_use]
    pub fn sentence(&self, paths: &Paths) -> String {
        let (lock, log) = (paths.lock.display(), paths.log.display());
        match self {
            Failure::LockTimeout { waited_ms, owner } => format!(
                "the lock {lock} was still held after {waited_ms} ms: {owner}. {UNWRITTEN}. {}",
                ask_doctor(paths)
            ),
            Failure::LockUnavailable { error } => format!(
                "the lock {lock} cannot be made: {error}. {UNWRITTEN}. Mend the path or its \
                 permissions, or: {}",
                ask_doctor(paths)
            ),
            Failure::LogCorrupt(damage) => {
                format!("the log {log} is damaged: {damage}. {UNWRITTEN}. {}", ask_doctor(paths))
            }
            Failure::NotAFile { found } => format!(
                "the log {log} is a {found}, not a regular file. {UNWRITTEN}. Find out what made \
                 it, or use another data directory"
            ),
            Failure::LogUnreplayable { line, reason, .. } => format!(
                "the log {log} cannot be replayed: line {line}: {reason}. {UNWRITTEN}. {}",
                ask_doctor(paths)
            ),
            Failure::HistoryRewritten { known_bytes, found_bytes } => format!(
                "the log {log} was rewritten: the {known_bytes} bytes that this process had \
                 validated are gone or different ({found_bytes} bytes are there now). {UNWRITTEN}. \
                 Find out who rewrote it, then restart this process"
            ),
            Failure::Io { doing, error } => format!(
                "{doing} failed: {error} (log {log}). {UNWRITTEN}, or all of it was taken back"
            ),
            Failure::WriteUnconfirmed { doing, error } => format!(
                "{doing} failed: {error} (log {log}). What this call did to the log could be \
                 neither made durable nor taken back: do not assume either way. The lock {lock} is \
                 kept on purpose. {}",
                ask_doctor(paths)
            ),
            Failure::LockLeft { cause, error } => {
                let cause = cause.sentence(paths);
                format!("{cause}. Besides, this call's lock {lock} could not be removed: {error}")
            }
        }
    }
}

const UNWRITTEN: &str = "Nothing was written";

/// The way out that is printed for this very directory.
fn ask_doctor(paths: &Paths) -> String {
    let data_dir = crate::report::recovery::quote(paths.data_dir.as_os_str());
    format!("Run `gaia-bus doctor --pretty --data-dir={data_dir}` for what to do")
}

/// Where a log is damaged, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Corruption {
    /// Which kind of damage.
    pub kind: &'static str,
    /// The first damaged line, counted from 1.
    pub line: Option<u64>,
    /// The byte offset at which that line begins.
    pub offset: Option<u64>,
}

/// Text from elsewhere, fit for a sentence on a terminal: controls, and characters that reorder or
/// break a line, are shown as `\u{..}`.
#[must_use]
pub fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if is_deceptive(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    })
}
