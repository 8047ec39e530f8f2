//! Every way to fail closed.
//!
//! A failure is not a refusal: a refusal is the bus saying no, a record in the log; a failure is the
//! bus unable to speak. All of them promise that nothing was written, and exit with 3, but for one:
//! [`Failure::WriteUnconfirmed`] cannot know, says so, and exits with 4. `docs` of each variant say
//! when; `tests/failures.rs` provokes every one on a real directory or through a faulty disk.

use std::fmt;

use crate::log::Damage;

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
        /// What stood in the way, with the path.
        reason: String,
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
        /// Which identity field is missing or of the wrong type.
        reason: String,
    },
    /// Bytes that this process had validated are gone or different.
    HistoryRewritten {
        /// How many bytes this process knew.
        known_bytes: u64,
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
}

impl Failure {
    /// The stable code for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
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
    pub const fn exit_code(&self) -> u8 {
        match self {
            Failure::WriteUnconfirmed { .. } => 4,
            _ => 3,
        }
    }
}
