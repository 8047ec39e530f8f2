//! Bytes -> records, or the first damage.
//!
//! Contract. A log is lines of one JSON object each, every line ended by a newline. [`Scanner`]
//! takes the bytes in chunks of any size, and where they are cut never shows. It hands out each
//! record [borrowed](Record), in order, and stops at the first damaged line. Within a line the
//! kinds are tried in the order of [`DamageKind::ALL`], `torn-tail` first. JSON white space around
//! a record passes, the carriage return of a CR LF line end with it.
//!
//! Ours: a line of more than [`LINE_BYTES_MAX`] bytes is `too-long` once it ends (and `torn-tail`
//! when it never does), and is not held in memory: reading must not be killed inside the lock.
//!
//! Absent: files, repair, skipping. The damaged bytes are the only evidence of how they got
//! damaged. `tests/log.rs` and `tests/vectors_store.rs` guard it.

mod reader;

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use gaia_bus_model::json::Object;
use gaia_bus_model::text::{CodePoint, is_ecmascript_space};

pub use reader::{ReadFault, Str, TEXT_BYTES_MAX, Value, holds_lone_surrogate, read_value};
use reader::{Tape, TapeFault};

/// The longest line that is held and read, in bytes without its newline: 256 MiB.
pub const LINE_BYTES_MAX: usize = TEXT_BYTES_MAX;

/// A buffer that once held a long line gives its memory back above this many bytes.
const CARRY_KEPT_BYTES_MAX: usize = 1 << 20;

/// How a log can be damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DamageKind {
    /// The last line lacks its newline, also when it is complete JSON.
    TornTail,
    /// The line is longer than [`LINE_BYTES_MAX`].
    TooLong,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// Nothing but white space.
    BlankLine,
    /// Not one JSON value.
    NotJson,
    /// Nested deeper than 128 levels.
    TooDeep,
    /// A key stands twice in an object, at any depth.
    DuplicateKey,
    /// JSON, but not an object.
    NotAnObject,
    /// No string `type`, or an empty one.
    NoType,
}

impl DamageKind {
    /// All of them, in the order in which they are looked for within a line.
    pub const ALL: [DamageKind; 9] = [
        DamageKind::TornTail,
        DamageKind::TooLong,
        DamageKind::NotUtf8,
        DamageKind::BlankLine,
        DamageKind::NotJson,
        DamageKind::TooDeep,
        DamageKind::DuplicateKey,
        DamageKind::NotAnObject,
        DamageKind::NoType,
    ];

    /// The wire name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            DamageKind::TornTail => "torn-tail",
            DamageKind::TooLong => "too-long",
            DamageKind::NotUtf8 => "not-utf8",
            DamageKind::BlankLine => "blank-line",
            DamageKind::NotJson => "not-json",
            DamageKind::TooDeep => "too-deep",
            DamageKind::DuplicateKey => "duplicate-key",
            DamageKind::NotAnObject => "not-an-object",
            DamageKind::NoType => "no-type",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            DamageKind::TornTail => "has no newline at its end, so it may be half a record",
            DamageKind::TooLong => "is longer than any line that is read",
            DamageKind::NotUtf8 => "holds bytes that are not UTF-8",
            DamageKind::BlankLine => "is blank",
            DamageKind::NotJson => "is not JSON",
            DamageKind::TooDeep => "nests deeper than 128 levels",
            DamageKind::DuplicateKey => "gives a key twice in one object",
            DamageKind::NotAnObject => "is JSON, but not an object",
            DamageKind::NoType => "has no type: a record needs a string there that is not empty",
        }
    }
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The first damaged line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Damage {
    /// Which line, from 1.
    pub line: u64,
    /// Where it starts, in bytes from the start of the file.
    pub offset: u64,
    /// What is wrong.
    pub kind: DamageKind,
    /// How many bytes it has, without a newline.
    pub length: u64,
    /// How many of them are NUL: file systems leave those where data never reached the disk.
    pub nul_run: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { line, offset, kind, length, nul_run } = self;
        write!(f, "line {line} at byte offset {offset} ({length} bytes) {}", kind.sentence())?;
        if *nul_run > 0 {
            write!(
                f,
                ": it holds {nul_run} NUL bytes, which a file system leaves where data never \
                 reached the disk"
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Damage {}

/// The digest of one line without its newline: XXH3 with 64 bits. It tells whether a line that is
/// read again is the one that was validated.
#[must_use]
pub fn line_digest(line: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(line)
}

/// Where a line stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Its first byte.
    pub offset: u64,
    /// Its length in bytes, without the newline.
    pub length: u64,
}

/// One record of the log, borrowed from its line.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    root: Value<'a>,
    kind: Cow<'a, str>,
    bytes: &'a [u8],
    span: Span,
    line: u64,
}

impl<'a> Record<'a> {
    /// Where its line stands.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// The number of its line, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The bytes of its line, without the newline.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its `type`. A lone surrogate shows as U+FFFD here, which no known type contains.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The value of one of its keys.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.root.get(key)
    }

    /// The whole record as one value.
    #[must_use]
    pub fn value(&self) -> Value<'a> {
        self.root
    }

    /// The record as an object of its own, verbatim.
    #[must_use]
    pub fn to_object(&self) -> Object {
        self.root.to_object().unwrap_or_default()
    }
}

/// Why a scan stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanFault<E> {
    /// The log is damaged.
    #[error("{0}")]
    Damaged(Damage),
    /// The visitor refused a record.
    #[error("{0}")]
    Visit(E),
}

/// What the scanner holds of a line that has not ended yet.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Partial {
    /// Its bytes, as long as there are not too many.
    bytes: Vec<u8>,
    length: u64,
    nul_run: u64,
}

impl Partial {
    fn extend(&mut self, bytes: &[u8], bytes_max: usize) {
        self.length += count(bytes.len());
        self.nul_run += nul_run(bytes);
        if self.length <= count(bytes_max) {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.bytes = Vec::new();
        }
    }

    fn clear(&mut self) {
        if self.bytes.capacity() > CARRY_KEPT_BYTES_MAX {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.length = 0;
        self.nul_run = 0;
    }
}

/// Reads a log from chunks of any size. Two scanners are equal when they stand at the same place
/// with the same unfinished line.
pub struct Scanner {
    line_bytes_max: usize,
    /// How many lines have ended.
    lines: u64,
    /// Where the line that is being read starts.
    offset: u64,
    partial: Partial,
    /// Scratch: means nothing between two calls.
    tape: Tape,
}

impl Scanner {
    /// At the start of a log.
    #[must_use]
    pub fn new() -> Self {
        Scanner::with_line_bytes_max(LINE_BYTES_MAX)
    }

    /// The same with another limit, at most [`LINE_BYTES_MAX`], so that a test needs no long line.
    #[must_use]
    pub fn with_line_bytes_max(line_bytes_max: usize) -> Self {
        Scanner {
            line_bytes_max: line_bytes_max.min(LINE_BYTES_MAX),
            lines: 0,
            offset: 0,
            partial: Partial::default(),
            tape: Tape::default(),
        }
    }

    /// How many lines were read, all of them sound.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// How many bytes they take, newlines included: where the next line starts.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Forgets the bytes of a line that has not ended, and so stands at the end of the last sound
    /// one.
    pub fn rewind(&mut self) {
        self.partial.clear();
    }

    /// Reads on. Each record goes to `visit` as soon as its line has ended.
    ///
    /// # Errors
    ///
    /// The first damage, or what `visit` refused a record with. The scanner then stands at the end
    /// of the last line that was read and visited, having forgotten the rest of the chunk.
    pub fn feed<E>(
        &mut self,
        chunk: &[u8],
        visit: &mut impl FnMut(Record<'_>) -> Result<(), E>,
    ) -> Result<(), ScanFault<E>> {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (head, tail) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            rest = tail.get(1..).unwrap_or_default();
            if self.partial.length == 0 {
                self.line(head, visit)?;
            } else {
                self.partial.extend(head, self.line_bytes_max);
                let mut partial = std::mem::take(&mut self.partial);
                let result = if partial.length > count(self.line_bytes_max) {
                    Err(ScanFault::Damaged(self.overlong(&partial)))
                } else {
                    self.line(&partial.bytes, visit)
                };
                partial.clear();
                self.partial = partial;
                result?;
            }
        }
        if !rest.is_empty() {
            self.partial.extend(rest, self.line_bytes_max);
        }
        Ok(())
    }

    /// The end of the file.
    ///
    /// # Errors
    ///
    /// `torn-tail` when a line has begun and not ended.
    pub fn finish(&self) -> Result<(), Damage> {
        if self.partial.length == 0 {
            return Ok(());
        }
        Err(Damage {
            line: self.lines + 1,
            offset: self.offset,
            kind: DamageKind::TornTail,
            length: self.partial.length,
            nul_run: self.partial.nul_run,
        })
    }

    /// One whole line, without its newline.
    fn line<E>(
        &mut self,
        bytes: &[u8],
        visit: &mut impl FnMut(Record<'_>) -> Result<(), E>,
    ) -> Result<(), ScanFault<E>> {
        let span = Span { offset: self.offset, length: count(bytes.len()) };
        let line = self.lines + 1;
        let record = parse(bytes, &mut self.tape, self.line_bytes_max, span, line);
        visit(record.map_err(|kind| {
            let nul_run = nul_run(bytes);
            let Span { offset, length } = span;
            ScanFault::Damaged(Damage { line, offset, kind, length, nul_run })
        })?)
        .map_err(ScanFault::Visit)?;
        self.lines = line;
        self.offset += span.length + 1;
        Ok(())
    }

    fn overlong(&self, partial: &Partial) -> Damage {
        Damage {
            line: self.lines + 1,
            offset: self.offset,
            kind: DamageKind::TooLong,
            length: partial.length,
            nul_run: partial.nul_run,
        }
    }
}

/// Reads one line, or says what is wrong with it.
fn parse<'a>(
    bytes: &'a [u8],
    tape: &'a mut Tape,
    bytes_max: usize,
    span: Span,
    line: u64,
) -> Result<Record<'a>, DamageKind> {
    if bytes.len() > bytes_max {
        return Err(DamageKind::TooLong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| DamageKind::NotUtf8)?;
    if text.chars().all(|character| is_ecmascript_space(CodePoint::Char(character))) {
        return Err(DamageKind::BlankLine);
    }
    tape.read(text).map_err(|fault| match fault {
        TapeFault::NotJson => DamageKind::NotJson,
        TapeFault::TooDeep => DamageKind::TooDeep,
        TapeFault::DuplicateKey => DamageKind::DuplicateKey,
    })?;
    let root = tape.root(text).ok_or(DamageKind::NotJson)?;
    if !root.is_object() {
        return Err(DamageKind::NotAnObject);
    }
    let kind = root
        .get("type")
        .and_then(Value::as_text)
        .map(Str::into_str_lossy)
        .filter(|kind| !kind.is_empty())
        .ok_or(DamageKind::NoType)?;
    Ok(Record { root, kind, bytes, span, line })
}

fn nul_run(bytes: &[u8]) -> u64 {
    count(bytes.iter().filter(|byte| **byte == 0).count())
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl Default for Scanner {
    fn default() -> Self {
        Scanner::new()
    }
}

impl Clone for Scanner {
    fn clone(&self) -> Self {
        Scanner {
            line_bytes_max: self.line_bytes_max,
            lines: self.lines,
            offset: self.offset,
            partial: self.partial.clone(),
            tape: Tape::default(),
        }
    }
}

impl PartialEq for Scanner {
    fn eq(&self, other: &Self) -> bool {
        (self.lines, self.offset, self.line_bytes_max)
            == (other.lines, other.offset, other.line_bytes_max)
            && self.partial == other.partial
    }
}

impl Eq for Scanner {}

impl Hash for Scanner {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.lines, self.offset, self.line_bytes_max).hash(state);
        self.partial.hash(state);
    }
}

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner")
            .field("lines", &self.lines)
            .field("offset", &self.offset)
            .field("unfinished", &self.partial.length)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unfinished line takes memory from one chunk to the next: a usual one keeps it, a long one
    /// gives it back.
    #[test]
    fn the_memory_of_a_long_line_is_given_back_and_that_of_a_usual_one_kept() {
        let after = |bytes: usize| {
            let mut partial = Partial::default();
            partial.extend(&vec![b'x'; bytes], LINE_BYTES_MAX);
            partial.clear();
            assert!(partial == Partial::default());
            partial.bytes.capacity()
        };
        assert!(after(1_000) >= 1_000);
        assert!(after(CARRY_KEPT_BYTES_MAX) >= CARRY_KEPT_BYTES_MAX);
        assert_eq!(after(CARRY_KEPT_BYTES_MAX + 1), 0);
    }
}
