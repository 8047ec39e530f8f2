//! The commit protocol: six steps, written once, without I/O.
//!
//! ```text
//! 1 acquire   MakeLock (InspectLock when it exists), OpenLock, WriteOwner
//! 2 re-read   OpenLog, ReadLog until the end
//! 3 replay    in the same pass: each chunk is fed to the fold as it arrives
//! 4 decide    ReadSpan for the bodies that the decision shows, then decide: pure
//! 5 commit    [CreateLog, SyncDataDir, SyncParentDir on an absent or empty log,]
//!             OpenWriters, Append: one write, SyncLog
//!             when a write or an fsync fails: ReadTail, Truncate, SyncTruncated, MeasureLog
//!             when that fails too: MarkUnconfirmed, and the lock is kept
//! 6 release   RemoveOwner, RemoveLock, each retried after a Pause
//! ```
//!
//! A [`Commit`] is a pure value: it asks for one file-system [`Call`] at a time and is resumed with
//! the [`Reply`]. The same source runs on the real disk, on simulated disks with faults, under loom
//! and inside an explicit-state explorer, which must be able to hold "process 2 is between append
//! and fsync" as a value: so everything here is `Clone + Eq + Hash` when the fold, the digest and
//! the task are. The machine does not own the log; it borrows its chunks, one at a time.
//!
//! Absent on purpose: files, clocks, threads, waiting. "The lock exists" costs one try and ends the
//! machine as [`End::Contended`]; whether to try again is the driver's to say. Nothing here breaks
//! a lock, and the only truncation goes back to where this very call began to write.
//!
//! Why a failed fsync is taken back rather than retried, why a take-back that fails keeps the lock,
//! and why a first commit makes the directory durable before its first byte: with any of these left
//! out, the explorer of the harness shows an answered record lost. `harness` holds those
//! counterexamples.

use std::hash::Hash;

use crate::failure::{DiskError, Failure};
use crate::log::{Span, line_digest};
use crate::replay::{Digest, Fold, LogFault, Replay};

/// One file-system call. All of them are about the one data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call<'a> {
    /// `mkdir events.lock`: the lock is the directory's existence.
    MakeLock,
    /// Look at what stands at the path of the lock, without following a link.
    InspectLock,
    /// Open the lock directory just made, and hold it open until the release.
    OpenLock,
    /// Create `owner.json` in the lock directory and write this record.
    WriteOwner(&'a [u8]),
    /// Open the log for reading, by its path, unless it is not a regular file.
    OpenLog,
    /// Read the next chunk of the log.
    ReadLog,
    /// Read one line of the log again.
    ReadSpan(Span),
    /// Create the log, which must not exist.
    CreateLog,
    /// `fsync` the data directory.
    SyncDataDir,
    /// `fsync` the directories above the data directory, nearest first: whichever of them an
    /// earlier call has made, this makes its name durable.
    SyncParentDir,
    /// Open the log for appending, and once more for taking back.
    OpenWriters,
    /// Append these lines with one write call.
    Append(&'a [u8]),
    /// `fsync` what was appended.
    SyncLog,
    /// Read back at most this many bytes from this offset.
    ReadTail {
        /// Where this call began to write.
        from: u64,
        /// One byte more than this call meant to write.
        bytes_max: u64,
    },
    /// Cut the log to this length.
    Truncate {
        /// Where this call began to write.
        to: u64,
    },
    /// `fsync` the truncation.
    SyncTruncated,
    /// Ask for the length of the log.
    MeasureLog,
    /// Replace the owner record by one that says `"state": "unconfirmed"`.
    MarkUnconfirmed(&'a [u8]),
    /// Remove `owner.json` from the lock directory that is held open.
    RemoveOwner,
    /// `rmdir events.lock`, if what stands at the path is the directory that is held open.
    RemoveLock,
    /// Wait a little before the next try to release.
    Pause,
}

/// What came of a [`Call`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply<'a> {
    /// It was done.
    Done,
    /// It was not done: the path exists.
    Exists,
    /// There is nothing at the path.
    Absent,
    /// `OpenLog`, `OpenWriters`: it is open and this long.
    Opened {
        /// Its length in bytes.
        bytes: u64,
    },
    /// `InspectLock`: a directory stands at the path.
    Directory,
    /// The path bears something of the wrong kind, named in one word or two.
    WrongKind(&'static str),
    /// Bytes; none at the end.
    Bytes(&'a [u8]),
    /// A write call returned this count.
    Wrote(u64),
    /// The log is this long.
    Length(u64),
    /// `RemoveLock`: another directory stands at the path; it was left alone.
    NotOurs,
    /// `SyncParentDir`: a directory could not even be opened, so nothing was tried.
    Unopened(DiskError),
    /// The operating system refused.
    Failed(DiskError),
}

/// Whether a command may append. Only the owner record knows the difference: a reader's lock that
/// was left behind may simply be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// May append.
    Write,
    /// Never appends.
    Read,
}

/// What is decided under the lock, as a parameter of the protocol.
pub trait Task<F> {
    /// What the caller is told.
    type Answer;
    /// Whether this task may append.
    fn mode(&self) -> Mode;
    /// The lines that [`decide`](Self::decide) needs to see again, in the order it wants them.
    fn wanted(&self, fold: &F) -> Vec<Wanted> {
        let _ = fold;
        Vec::new()
    }
    /// Decides on the whole log as it stands; `bodies` are the lines asked for.
    fn decide(&self, fold: &F, bodies: &[Vec<u8>]) -> Decided<Self::Answer>;
}

/// A line of the log that a decision needs to see again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// Where it stands.
    pub span: Span,
    /// Its [`line_digest`] when it was validated: nothing is decided from other bytes.
    pub digest: u64,
}

/// The outcome of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decided<A> {
    /// Complete newline-terminated lines to append, or nothing.
    pub lines: Vec<u8>,
    /// What to tell the caller once they are durable.
    pub answer: A,
}

/// The owner record in its two forms: advice for people, never a basis for a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwnerRecord {
    /// As written on acquiring.
    pub held: Vec<u8>,
    /// As written when the lock is kept on purpose.
    pub unconfirmed: Vec<u8>,
}

/// How a commit ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum End<A> {
    /// The lock exists. One try was made; nothing else was done.
    Contended,
    /// The command has its answer, or failed closed.
    Finished {
        /// What to tell the caller.
        result: Result<A, Failure>,
        /// What became of the lock.
        lock: LockAfter,
    },
}

/// A commit that is over, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ended<F, D, T, A> {
    /// How it ended.
    pub end: End<A>,
    /// What this process now knows of the log.
    pub replay: Replay<F, D>,
    /// The task, which can be tried again when the lock was contended.
    pub task: T,
}

/// What became of the lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LockAfter {
    /// It was never this call's.
    NeverTaken,
    /// Released.
    Released,
    /// Kept on purpose: the write is unconfirmed.
    Kept,
    /// It could not be removed.
    NotReleased(DiskError),
    /// Someone removed it, and perhaps made another, while this call held it.
    TakenAway,
}

/// Where the machine stands: the call that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    MakeLock,
    InspectLock,
    OpenLock,
    WriteOwner,
    OpenLog,
    ReadLog,
    ReadSpan,
    CreateLog,
    SyncDataDir,
    SyncParentDir,
    OpenWriters,
    Append,
    SyncLog,
    ReadTail,
    Truncate,
    SyncTruncated,
    MeasureLog,
    MarkUnconfirmed,
    RemoveOwner,
    RemoveLock,
    PauseThenRemoveOwner,
    PauseThenRemoveLock,
    Over,
}

/// One command on its way through the six steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Commit<F, D, T, A> {
    phase: Phase,
    task: T,
    owner: OwnerRecord,
    release_retries_left: u32,
    replay: Replay<F, D>,
    log_exists: bool,
    wanted: Vec<Wanted>,
    bodies: Vec<Vec<u8>>,
    lines: Vec<u8>,
    lines_durable: bool,
    answer: Option<A>,
    failure: Option<Failure>,
    end: Option<End<A>>,
    replay_suspect: bool,
}

impl<F, D, T> Commit<F, D, T, T::Answer>
where
    F: Fold,
    D: Digest,
    T: Task<F>,
{
    /// A command before its first call. `replay` is cold, or what this process validated before.
    #[must_use]
    pub fn new(task: T, replay: Replay<F, D>, owner: OwnerRecord, release_retries: u32) -> Self {
        Commit {
            phase: Phase::MakeLock,
            task,
            owner,
            release_retries_left: release_retries,
            replay,
            log_exists: false,
            wanted: Vec::new(),
            bodies: Vec::new(),
            lines: Vec::new(),
            lines_durable: false,
            answer: None,
            failure: None,
            end: None,
            replay_suspect: false,
        }
    }

    /// The call that the machine waits for; nothing once it has ended.
    #[must_use]
    pub fn call(&self) -> Option<Call<'_>> {
        let from = self.replay.length();
        Some(match self.phase {
            Phase::MakeLock => Call::MakeLock,
            Phase::InspectLock => Call::InspectLock,
            Phase::OpenLock => Call::OpenLock,
            Phase::WriteOwner => Call::WriteOwner(&self.owner.held),
            Phase::OpenLog => Call::OpenLog,
            Phase::ReadLog => Call::ReadLog,
            Phase::ReadSpan => Call::ReadSpan(self.wanted.get(self.bodies.len())?.span),
            Phase::CreateLog => Call::CreateLog,
            Phase::SyncDataDir => Call::SyncDataDir,
            Phase::SyncParentDir => Call::SyncParentDir,
            Phase::OpenWriters => Call::OpenWriters,
            Phase::Append => Call::Append(&self.lines),
            Phase::SyncLog => Call::SyncLog,
            Phase::ReadTail => Call::ReadTail { from, bytes_max: byte_count(&self.lines) + 1 },
            Phase::Truncate => Call::Truncate { to: from },
            Phase::SyncTruncated => Call::SyncTruncated,
            Phase::MeasureLog => Call::MeasureLog,
            Phase::MarkUnconfirmed => Call::MarkUnconfirmed(&self.owner.unconfirmed),
            Phase::RemoveOwner => Call::RemoveOwner,
            Phase::RemoveLock => Call::RemoveLock,
            Phase::PauseThenRemoveOwner | Phase::PauseThenRemoveLock => Call::Pause,
            Phase::Over => return None,
        })
    }

    /// Takes the reply to [`call`](Self::call) and moves on to the next call.
    pub fn resume(&mut self, reply: Reply<'_>) {
        self.phase = match self.phase {
            Phase::MakeLock => self.after_make_lock(reply),
            Phase::InspectLock => self.after_inspect_lock(reply),
            Phase::OpenLock => self.after_open_lock(reply),
            Phase::WriteOwner => self.after_write_owner(reply),
            Phase::OpenLog => self.after_open_log(reply),
            Phase::ReadLog => self.after_read_log(reply),
            Phase::ReadSpan => self.after_read_span(reply),
            Phase::CreateLog => self.after_create_log(reply),
            Phase::SyncDataDir => self.after_sync_dir(reply, Phase::SyncParentDir),
            Phase::SyncParentDir => self.after_sync_dir(reply, Phase::OpenWriters),
            Phase::OpenWriters => self.after_open_writers(reply),
            Phase::Append => self.after_append(reply),
            Phase::SyncLog => self.after_sync_log(reply),
            Phase::ReadTail => self.after_read_tail(reply),
            Phase::Truncate => self.after_take_back_step(reply, Phase::SyncTruncated),
            Phase::SyncTruncated => self.after_take_back_step(reply, Phase::MeasureLog),
            Phase::MeasureLog => self.after_measure_log(reply),
            Phase::MarkUnconfirmed => self.finish(LockAfter::Kept),
            Phase::RemoveOwner => self.after_remove_owner(reply),
            Phase::RemoveLock => self.after_remove_lock(reply),
            Phase::PauseThenRemoveOwner => Phase::RemoveOwner,
            Phase::PauseThenRemoveLock => Phase::RemoveLock,
            Phase::Over => Phase::Over,
        };
    }

    /// The driver caught a panic, in the call or in [`resume`](Self::resume). Before the write the
    /// lock is released; from the write on, what may have been written is taken back.
    pub fn panicked(&mut self) {
        let panic = DiskError { code: None, text: "internal error: a panic was caught".into() };
        self.phase = match self.phase {
            Phase::MakeLock | Phase::InspectLock => {
                self.fail_without_lock(Failure::Io { doing: "making the lock", error: panic })
            }
            Phase::OpenLock
            | Phase::WriteOwner
            | Phase::OpenLog
            | Phase::ReadLog
            | Phase::ReadSpan
            | Phase::CreateLog
            | Phase::OpenWriters => {
                self.replay_suspect = true;
                self.fail_io("carrying out the command", panic)
            }
            Phase::SyncDataDir | Phase::SyncParentDir => {
                self.keep_lock("making the new log durable", panic)
            }
            Phase::Append | Phase::SyncLog => self.take_back("appending", panic),
            Phase::ReadTail | Phase::Truncate | Phase::SyncTruncated | Phase::MeasureLog => {
                self.keep_lock("taking back what was written", panic)
            }
            Phase::MarkUnconfirmed => self.finish(LockAfter::Kept),
            Phase::RemoveOwner
            | Phase::RemoveLock
            | Phase::PauseThenRemoveOwner
            | Phase::PauseThenRemoveLock => self.finish(LockAfter::NotReleased(panic)),
            Phase::Over => Phase::Over,
        };
    }

    /// Takes the ended commit apart. Own lines that are durable are folded here, after the release:
    /// nothing but the six steps runs under the lock.
    ///
    /// # Errors
    ///
    /// Gives the machine back when it has not ended.
    pub fn into_end(mut self) -> Result<Ended<F, D, T, T::Answer>, Box<Self>> {
        match self.end.take() {
            None => Err(Box::new(self)),
            Some(end) => {
                if self.lines_durable && self.replay.committed(&self.lines).is_err() {
                    debug_assert!(false, "own lines must fold");
                }
                Ok(Ended { end, replay: self.replay, task: self.task })
            }
        }
    }

    /// Whether a panic was caught while the log was read or decided on: then what the replay knows
    /// must not be used again. The command has failed.
    #[must_use]
    pub fn replay_is_suspect(&self) -> bool {
        self.replay_suspect
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<&End<T::Answer>> {
        self.end.as_ref()
    }

    fn after_make_lock(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Done => Phase::OpenLock,
            Reply::Exists => Phase::InspectLock,
            other => {
                let error = error_of(other);
                self.fail_without_lock(Failure::LockUnavailable { error })
            }
        }
    }

    fn after_inspect_lock(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            // Gone again since the try: its owner released it just now. That is contention too.
            Reply::Directory | Reply::Absent => {
                self.end = Some(End::Contended);
                Phase::Over
            }
            Reply::WrongKind(found) => {
                let text = format!("the path of the lock bears a {found}, not a directory");
                let error = DiskError { code: None, text };
                self.fail_without_lock(Failure::LockUnavailable { error })
            }
            other => {
                let error = error_of(other);
                self.fail_without_lock(Failure::LockUnavailable { error })
            }
        }
    }

    fn after_open_lock(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Done => Phase::WriteOwner,
            other => {
                // Without the open directory nothing could tell whether the lock at the path is
                // still the one made here, so it is left for a person.
                let error = error_of(other);
                self.failure =
                    Some(Failure::Io { doing: "opening the new lock", error: error.clone() });
                self.finish(LockAfter::NotReleased(error))
            }
        }
    }

    fn after_write_owner(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Done => Phase::OpenLog,
            Reply::Exists => {
                // Someone else's record in the directory made here: not this call's to remove.
                let text = "another process has written its owner record into this lock".into();
                let error = DiskError { code: None, text };
                self.failure = Some(Failure::Io { doing: "writing the owner record", error });
                Phase::RemoveLock
            }
            other => self.fail_io("writing the owner record", error_of(other)),
        }
    }

    fn after_open_log(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Opened { .. } => {
                self.log_exists = true;
                self.replay.begin();
                Phase::ReadLog
            }
            Reply::Absent => {
                self.log_exists = false;
                self.replay.begin();
                self.after_last_chunk()
            }
            Reply::WrongKind(found) => self.release_with(Failure::NotAFile { found }),
            other => self.fail_io("opening the log", error_of(other)),
        }
    }

    fn after_read_log(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Bytes([]) => self.after_last_chunk(),
            Reply::Bytes(chunk) => match self.replay.feed(chunk) {
                Ok(()) => Phase::ReadLog,
                Err(fault) => self.release_with(fault.into()),
            },
            other => self.fail_io("reading the log", error_of(other)),
        }
    }

    fn after_last_chunk(&mut self) -> Phase {
        if let Err(fault) = self.replay.finish() {
            return self.release_with(fault.into());
        }
        self.wanted = self.task.wanted(self.replay.fold());
        self.bodies.clear();
        if self.wanted.is_empty() { self.decide() } else { Phase::ReadSpan }
    }

    fn after_read_span(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Bytes(line) => {
                let validated = self.wanted.get(self.bodies.len()).map(|wanted| wanted.digest);
                if validated != Some(line_digest(line)) {
                    let bytes = self.replay.length();
                    return self.release_with(Failure::HistoryRewritten {
                        known_bytes: bytes,
                        found_bytes: bytes,
                    });
                }
                self.bodies.push(line.to_vec());
                if self.bodies.len() == self.wanted.len() { self.decide() } else { Phase::ReadSpan }
            }
            other => self.fail_io("reading a message again", error_of(other)),
        }
    }

    fn decide(&mut self) -> Phase {
        let Decided { lines, answer } = self.task.decide(self.replay.fold(), &self.bodies);
        debug_assert!(lines.is_empty() || lines.ends_with(b"\n"));
        debug_assert!(lines.is_empty() || self.task.mode() == Mode::Write);
        self.lines = lines;
        self.answer = Some(answer);
        if self.lines.is_empty() {
            Phase::RemoveOwner
        } else if !self.log_exists {
            Phase::CreateLog
        } else if self.replay.length() == 0 {
            Phase::SyncDataDir
        } else {
            Phase::OpenWriters
        }
    }

    fn after_create_log(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Done => Phase::SyncDataDir,
            other => self.fail_io("creating the log", error_of(other)),
        }
    }

    /// A name that may not be durable must not bear an answered record; and a failed fsync proves
    /// nothing when it is tried again. So the lock is kept.
    fn after_sync_dir(&mut self, reply: Reply<'_>, next: Phase) -> Phase {
        match reply {
            Reply::Done => next,
            // Nothing is written yet, and no fsync has failed: the next first commit tries again.
            Reply::Unopened(error) => self.fail_io("opening a directory above the log", error),
            other => self.keep_lock("making the new log durable", error_of(other)),
        }
    }

    fn after_open_writers(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Opened { bytes } if bytes == self.replay.length() => Phase::Append,
            Reply::Opened { bytes } => {
                let known = self.replay.length();
                let text = format!(
                    "the log has {bytes} bytes where {known} were read under the lock: \
                     something writes without it"
                );
                self.fail_io("opening the log to append", DiskError { code: None, text })
            }
            other => self.fail_io("opening the log to append", error_of(other)),
        }
    }

    fn after_append(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Wrote(count) if count == byte_count(&self.lines) => Phase::SyncLog,
            Reply::Wrote(count) => {
                // The ordinary face of a full disk. Writing the rest would leave a torn tail if
                // it failed too.
                let wanted = byte_count(&self.lines);
                let text = format!("only {count} of {wanted} bytes could be written");
                self.take_back("appending to the log", DiskError { code: None, text })
            }
            other => self.take_back("appending to the log", error_of(other)),
        }
    }

    fn after_sync_log(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Done => {
                self.lines_durable = true;
                Phase::RemoveOwner
            }
            other => self.take_back("making the log durable", error_of(other)),
        }
    }

    fn after_read_tail(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Bytes(tail) if self.lines.starts_with(tail) => Phase::Truncate,
            Reply::Bytes(_) => {
                let text = "bytes that this call did not write stand behind it".into();
                self.keep_lock("taking back what was written", DiskError { code: None, text })
            }
            other => self.keep_lock("reading back what was written", error_of(other)),
        }
    }

    fn after_take_back_step(&mut self, reply: Reply<'_>, next: Phase) -> Phase {
        match reply {
            Reply::Done => next,
            other => self.keep_lock("taking back what was written", error_of(other)),
        }
    }

    fn after_measure_log(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            // The failure was noted when the take-back began; it stays `io`: nothing is written.
            Reply::Length(bytes) if bytes == self.replay.length() => Phase::RemoveOwner,
            Reply::Length(bytes) => {
                let text = format!("the log still has {bytes} bytes after it was cut");
                self.keep_lock("taking back what was written", DiskError { code: None, text })
            }
            other => self.keep_lock("taking back what was written", error_of(other)),
        }
    }

    fn after_remove_owner(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Done | Reply::Absent => Phase::RemoveLock,
            other => self.retry_release(Phase::PauseThenRemoveOwner, error_of(other)),
        }
    }

    fn after_remove_lock(&mut self, reply: Reply<'_>) -> Phase {
        match reply {
            Reply::Done => self.finish(LockAfter::Released),
            Reply::Absent | Reply::NotOurs => self.finish(LockAfter::TakenAway),
            other => self.retry_release(Phase::PauseThenRemoveLock, error_of(other)),
        }
    }

    /// Trying again changes *when* the owner gives up, never *which* lock is removed.
    fn retry_release(&mut self, again: Phase, error: DiskError) -> Phase {
        match self.release_retries_left.checked_sub(1) {
            Some(left) => {
                self.release_retries_left = left;
                again
            }
            None => self.finish(LockAfter::NotReleased(error)),
        }
    }

    fn fail_io(&mut self, doing: &'static str, error: DiskError) -> Phase {
        self.release_with(Failure::Io { doing, error })
    }

    fn release_with(&mut self, failure: Failure) -> Phase {
        self.failure = Some(failure);
        Phase::RemoveOwner
    }

    fn fail_without_lock(&mut self, failure: Failure) -> Phase {
        self.failure = Some(failure);
        self.finish(LockAfter::NeverTaken)
    }

    fn take_back(&mut self, doing: &'static str, error: DiskError) -> Phase {
        self.failure = Some(Failure::Io { doing, error });
        Phase::ReadTail
    }

    fn keep_lock(&mut self, doing: &'static str, error: DiskError) -> Phase {
        // What first went wrong explains more than what went wrong while it was being mended.
        let (doing, error) = match self.failure.take() {
            Some(Failure::Io { doing: first, error: cause }) => {
                let text = format!("{cause}; then, {doing}: {error}");
                (first, DiskError { code: cause.code, text })
            }
            _ => (doing, error),
        };
        self.failure = Some(Failure::WriteUnconfirmed { doing, error });
        Phase::MarkUnconfirmed
    }

    fn finish(&mut self, lock: LockAfter) -> Phase {
        let result = match (self.failure.take(), self.answer.take()) {
            (None, Some(answer)) => Ok(answer),
            (Some(failure), _) => Err(failure),
            (None, None) => Err(Failure::Io {
                doing: "carrying out the command",
                error: DiskError { code: None, text: "internal error: no answer".into() },
            }),
        };
        self.end = Some(End::Finished { result, lock });
        Phase::Over
    }
}

fn byte_count(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The error of a reply that is not the one hoped for.
fn error_of(reply: Reply<'_>) -> DiskError {
    match reply {
        Reply::Failed(error) | Reply::Unopened(error) => error,
        Reply::Exists => DiskError { code: None, text: "it exists already".into() },
        Reply::Absent => DiskError { code: None, text: "it is not there".into() },
        Reply::WrongKind(found) => DiskError { code: None, text: format!("it is a {found}") },
        Reply::Done
        | Reply::Opened { .. }
        | Reply::Directory
        | Reply::Bytes(_)
        | Reply::Wrote(_)
        | Reply::Length(_)
        | Reply::NotOurs => {
            DiskError { code: None, text: "internal error: a reply to another call".into() }
        }
    }
}

impl From<LogFault> for Failure {
    fn from(fault: LogFault) -> Self {
        match fault {
            LogFault::Damaged(damage) => Failure::LogCorrupt(damage),
            LogFault::Unreplayable { line, offset, reason } => {
                Failure::LogUnreplayable { line, offset, reason: reason.to_string() }
            }
            LogFault::Rewritten { known, found } => {
                Failure::HistoryRewritten { known_bytes: known, found_bytes: found }
            }
        }
    }
}
