//! The re-read of the log, cold and warm.
//!
//! Contract. A call reads the *whole* file, inside the lock: [`Replay::begin`], then
//! [`feed`](Replay::feed) with every chunk, then [`finish`](Replay::finish). Bytes that an earlier
//! call validated are only digested, and their 128-bit digest is compared before anything behind
//! them is looked at; the rest is scanned and applied. So a process that stays up pays for the read
//! of the file and for the new tail, and nothing is ever decided from a cache that this very call
//! has not proven: until the prefix is proven, [`Replay::is_proven`] is false.
//!
//! State. What is known (length, line count, digest, fold) always covers exactly the lines that
//! were validated and applied, also after any fault: the next call verifies that prefix again. A
//! fault stands until the next [`begin`](Replay::begin).
//!
//! A digest is no proof against someone who searches for a collision; whoever can do that can write
//! the log anyway (trust is positional).
//!
//! Absent: files, locks, time. Guarded by `tests/replay.rs`.

use std::fmt;
use std::hash::{Hash, Hasher};

pub use gaia_bus_model::event::Unreplayable;

use crate::log::{Damage, Record, ScanFault, Scanner};

/// A state that is made by applying records one after another.
pub trait Fold: Clone + Eq + Hash {
    /// Applies one record, or leaves the state exactly as it was.
    ///
    /// # Errors
    ///
    /// When the record lacks what identifies it.
    fn apply(&mut self, record: &Record<'_>) -> Result<(), Unreplayable>;
}

/// A digest of bytes that arrive in pieces; how they are cut does not matter. Equality and hash are
/// those of the value.
pub trait Digest: Clone + Eq + Hash + Default {
    /// Takes more bytes.
    fn update(&mut self, bytes: &[u8]);
    /// The digest of all bytes so far.
    fn value(&self) -> u128;
}

/// XXH3 with 128 bits: the digest that ships.
#[derive(Clone)]
pub struct Xxh3(twox_hash::xxhash3_128::Hasher);

impl Default for Xxh3 {
    fn default() -> Self {
        Xxh3(twox_hash::xxhash3_128::Hasher::new())
    }
}

impl Digest for Xxh3 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn value(&self) -> u128 {
        self.0.finish_128()
    }
}

impl PartialEq for Xxh3 {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl Eq for Xxh3 {}

impl Hash for Xxh3 {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value().hash(state);
    }
}

impl fmt::Debug for Xxh3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Xxh3({:032x})", self.value())
    }
}

/// Why the log cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum LogFault {
    /// A line is damaged.
    #[error("{0}")]
    Damaged(Damage),
    /// A record does not fold.
    #[error("line {line} at byte offset {offset} cannot be replayed: {reason}")]
    Unreplayable {
        /// Which line, from 1.
        line: u64,
        /// Where it starts.
        offset: u64,
        /// Why.
        reason: Unreplayable,
    },
    /// Bytes that this process had validated are gone (`found < known`) or different
    /// (`found == known`).
    #[error("{}", rewritten_sentence(*known, *found))]
    Rewritten {
        /// How many bytes had been validated.
        known: u64,
        /// How many bytes were there to compare.
        found: u64,
    },
}

fn rewritten_sentence(known: u64, found: u64) -> String {
    if found < known {
        format!("the log has {found} bytes, but this process has validated {known} before")
    } else {
        format!("the first {known} bytes of the log are not those that this process has validated")
    }
}

/// A fold of the log that can be brought up to date. See the module header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replay<F, D = Xxh3> {
    fold: F,
    /// Stands at the end of the validated lines, but for the unfinished line of this call.
    scanner: Scanner,
    /// Of exactly the validated lines.
    known: D,
    /// Of the bytes that this call has read.
    running: D,
    /// How many bytes this call has read.
    read: u64,
    /// Whether this call has proven the prefix that was known when it began.
    proven: bool,
    /// What this call found wrong.
    fault: Option<LogFault>,
}

impl<F: Fold, D: Digest> Replay<F, D> {
    /// Knows nothing yet.
    pub fn new(fold: F) -> Self {
        Replay {
            fold,
            scanner: Scanner::new(),
            known: D::default(),
            running: D::default(),
            read: 0,
            proven: true,
            fault: None,
        }
    }

    /// Starts a read of the whole file, from its first byte.
    pub fn begin(&mut self) {
        self.scanner.rewind();
        self.running = D::default();
        self.read = 0;
        self.proven = self.length() == 0;
        self.fault = None;
    }

    /// Takes the next bytes of the file.
    ///
    /// # Errors
    ///
    /// The first [`LogFault`]; the same one again until the next [`begin`](Self::begin).
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), LogFault> {
        self.sound()?;
        let known = self.length();
        let unread = usize::try_from(known.saturating_sub(self.read)).unwrap_or(usize::MAX);
        // Zero once the prefix is proven: from then on the scanner stands where this call reads.
        let prefix_bytes = if self.proven { 0 } else { unread.min(chunk.len()) };
        let (prefix, tail) = chunk.split_at_checked(prefix_bytes).unwrap_or((chunk, &[]));
        if !prefix.is_empty() {
            self.running.update(prefix);
            self.read += count(prefix.len());
            if self.read == known {
                if self.running.value() != self.known.value() {
                    return self.fail(LogFault::Rewritten { known, found: known });
                }
                self.proven = true;
            }
        }
        if tail.is_empty() { Ok(()) } else { self.scan(tail) }
    }

    /// The end of the file.
    ///
    /// # Errors
    ///
    /// [`LogFault::Rewritten`] when the file ended within the known prefix, [`LogFault::Damaged`]
    /// when it ended within a line.
    pub fn finish(&mut self) -> Result<(), LogFault> {
        self.sound()?;
        if !self.proven {
            return self.fail(LogFault::Rewritten { known: self.length(), found: self.read });
        }
        match self.scanner.finish() {
            Ok(()) => Ok(()),
            Err(damage) => self.fail(LogFault::Damaged(damage)),
        }
    }

    /// Takes whole lines that this process has appended and made durable, after a read that reached
    /// the end. They go the same way as lines that are read.
    ///
    /// # Errors
    ///
    /// As [`feed`](Self::feed) and [`finish`](Self::finish).
    pub fn committed(&mut self, own: &[u8]) -> Result<(), LogFault> {
        // Only behind a file that was read to its end: what is unproven cannot be extended.
        self.finish()?;
        self.feed(own)?;
        self.finish()
    }

    /// How many bytes are validated.
    pub fn length(&self) -> u64 {
        self.scanner.offset()
    }

    /// How many lines are validated.
    pub fn lines(&self) -> u64 {
        self.scanner.lines()
    }

    /// The digest of the validated bytes.
    pub fn digest(&self) -> u128 {
        self.known.value()
    }

    /// The fold of the validated lines. Between [`begin`](Self::begin) and a
    /// [`finish`](Self::finish) without fault nothing may be decided from it.
    pub fn fold(&self) -> &F {
        &self.fold
    }

    /// Gives the fold away.
    pub fn into_fold(self) -> F {
        self.fold
    }

    /// Whether a prefix is known, so that the next call compares it before it goes on.
    pub fn is_warm(&self) -> bool {
        self.length() > 0
    }

    /// Whether this call has compared the whole prefix that was known when it began.
    pub fn is_proven(&self) -> bool {
        self.proven
    }

    /// Scans and applies bytes behind the proven prefix.
    fn scan(&mut self, tail: &[u8]) -> Result<(), LogFault> {
        let before = self.length();
        let fold = &mut self.fold;
        let scanned = self.scanner.feed(tail, &mut |record: Record<'_>| {
            fold.apply(&record).map_err(|reason| LogFault::Unreplayable {
                line: record.line(),
                offset: record.span().offset,
                reason,
            })
        });
        // What was validated now is what earlier chunks left unfinished, and so much of this one.
        if self.length() > before {
            let end = usize::try_from(self.length() - self.read).unwrap_or(usize::MAX);
            let (sound, rest) = tail.split_at_checked(end).unwrap_or((tail, &[]));
            self.running.update(sound);
            self.known = self.running.clone();
            self.running.update(rest);
        } else {
            self.running.update(tail);
        }
        self.read += count(tail.len());
        match scanned {
            Ok(()) => Ok(()),
            Err(ScanFault::Damaged(damage)) => self.fail(LogFault::Damaged(damage)),
            Err(ScanFault::Visit(fault)) => self.fail(fault),
        }
    }

    fn sound(&self) -> Result<(), LogFault> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    fn fail(&mut self, fault: LogFault) -> Result<(), LogFault> {
        self.fault = Some(fault.clone());
        Err(fault)
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
