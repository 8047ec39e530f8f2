//! The smallest bus that can be wrong: what the checkers put into the commit protocol's parameters.
//!
//! The protocol takes its fold, its digest and its task as parameters. Production's are the
//! projection, XXH3 and the six verbs; an explorer that holds a million states wants them a few
//! bytes large. But the bytes are real: every record is a line of JSON, found or refused by the
//! store's own scanner.
//!
//! A record is `{"type":"a1.3"}`: written by process `a`, by its command 1, a line of its own (`.`;
//! a batch of two is `<` and `>`), with id 3 (one digit, base 36). An id is the number of records
//! before it, plus one, so a decision made on anything but the whole log shows in the record
//! itself.
//!
//! Absent: everything that the model's own checks are about. What is answered here is an id.

use std::fmt;

use gaia_bus::commit::{Commit, Decided, Mode, Task, Wanted};
use gaia_bus::log::{Record, line_digest};
use gaia_bus::replay::{Digest, Fold, Unreplayable};

/// The machine that ships, with the small parameters.
pub type Machine = Commit<Ledger, Fnv, Errand, Receipt>;

/// Every line is this long, newline included.
pub const LINE_BYTES: usize = 16;

/// How many bytes of a line name its writer: a piece of a line that is at least so long can be told
/// from everyone else's.
pub const TAG_BYTES: usize = 11;

/// Whose record it is: a process and which of its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag {
    /// The process, from 0, shown as a letter.
    pub process: u8,
    /// Which of its commands, from 0, shown from 1.
    pub command: u8,
}

impl Tag {
    /// The first bytes of every line of this command.
    #[must_use]
    pub fn prefix(self) -> [u8; TAG_BYTES] {
        let mut prefix = *br#"{"type":"??"#;
        prefix[9] = b'a' + self.process;
        prefix[10] = b'1' + self.command;
        prefix
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", char::from(b'a' + self.process), self.command + 1)
    }
}

/// One line with its newline. `part` is `.`, `<` or `>`.
#[must_use]
pub fn line(who: &str, part: char, id: u32) -> Vec<u8> {
    let id = char::from_digit(id, 36).unwrap_or('?');
    format!("{{\"type\":\"{who}{part}{id}\"}}\n").into_bytes()
}

/// The id in a line without its newline; 0 where there is none.
fn id_in(line: &[u8]) -> u32 {
    let digit = line.strip_suffix(b"\"}").and_then(<[u8]>::last);
    digit.and_then(|digit| char::from(*digit).to_digit(36)).unwrap_or(0)
}

/// The record that stands in a log before anything happens.
#[must_use]
pub fn old_line() -> Vec<u8> {
    line("o0", '.', 1)
}

/// What another program writes that knows nothing of the lock: a record that nobody counts.
#[must_use]
pub fn foreign_line() -> Vec<u8> {
    line("x0", '.', 0)
}

/// Whether a record counts for ids: all but the foreign ones.
fn counts(kind: &str) -> bool {
    !kind.starts_with('x')
}

/// The fold: how many records there are, and where the last one stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    records: u32,
    last: Option<Wanted>,
}

impl Fold for Ledger {
    fn apply(&mut self, record: &Record<'_>) -> Result<(), Unreplayable> {
        if counts(record.kind()) {
            self.records += 1;
            self.last = Some(Wanted { span: record.span(), digest: line_digest(record.bytes()) });
        }
        Ok(())
    }
}

/// FNV-1a with 64 bits (Fowler, Noll, Vo): small, and good enough where nobody searches collisions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest for Fnv {
    fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn value(&self) -> u128 {
        u128::from(self.0)
    }
}

/// What a process is sent to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Append one record.
    One,
    /// Append two in one batch, as a handoff with a denial does.
    Two,
    /// Read the last record again, and append one with the id behind it, as an inbox shows bodies.
    Recall,
    /// Only read.
    Look,
}

/// One command: the protocol's task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errand {
    /// Whose.
    pub tag: Tag,
    /// What.
    pub kind: Kind,
}

/// What the caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// The id of the first record written, or how many there are when nothing was written.
    pub number: u32,
}

impl Task<Ledger> for Errand {
    type Answer = Receipt;

    fn mode(&self) -> Mode {
        match self.kind {
            Kind::One | Kind::Two | Kind::Recall => Mode::Write,
            Kind::Look => Mode::Read,
        }
    }

    fn wanted(&self, fold: &Ledger) -> Vec<Wanted> {
        match self.kind {
            Kind::One | Kind::Two | Kind::Look => Vec::new(),
            Kind::Recall => fold.last.into_iter().collect(),
        }
    }

    fn decide(&self, fold: &Ledger, bodies: &[Vec<u8>]) -> Decided<Receipt> {
        let who = self.tag.to_string();
        let next = match self.kind {
            Kind::One | Kind::Two | Kind::Look => fold.records + 1,
            Kind::Recall => bodies.last().map_or(0, |line| id_in(line)) + 1,
        };
        match self.kind {
            Kind::One | Kind::Recall => {
                Decided { lines: line(&who, '.', next), answer: Receipt { number: next } }
            }
            Kind::Two => {
                let mut lines = line(&who, '<', next);
                lines.extend(line(&who, '>', next + 1));
                Decided { lines, answer: Receipt { number: next } }
            }
            Kind::Look => Decided { lines: Vec::new(), answer: Receipt { number: fold.records } },
        }
    }
}

/// A log as a person reads it: `old#1 a#2`, `[` half a record, `NUL` a hole, `b<#3 b>#4` a batch.
#[must_use]
pub fn show(bytes: &[u8]) -> String {
    let mut words = Vec::new();
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        let nuls = piece.iter().take_while(|byte| **byte == 0).count();
        if nuls > 0 {
            words.push("NUL".to_owned());
        }
        let piece = &piece[nuls..];
        if piece.is_empty() {
            continue;
        }
        let word = std::str::from_utf8(piece)
            .ok()
            .and_then(|text| text.strip_prefix("{\"type\":\""))
            .and_then(|text| text.strip_suffix("\"}\n"))
            .filter(|kind| kind.len() == 4 && kind.is_ascii());
        words.push(word.map_or_else(|| "[".to_owned(), show_kind));
    }
    words.join(" ")
}

fn show_kind(kind: &str) -> String {
    let (who, id) = (&kind[..1], &kind[3..]);
    match (&kind[..2], &kind[2..3]) {
        ("o0", _) => format!("old#{id}"),
        ("x0", _) => "foreign".to_owned(),
        (_, ".") => format!("{who}#{id}"),
        (_, part) => format!("{who}{part}#{id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_long_as_it_claims_and_begins_with_its_tag() {
        let tag = Tag { process: 1, command: 0 };
        let line = line(&tag.to_string(), '.', 2);
        assert_eq!(line.len(), LINE_BYTES);
        assert!(line.starts_with(&tag.prefix()));
        assert_eq!(old_line().len(), LINE_BYTES);
        assert_eq!(foreign_line().len(), LINE_BYTES);
    }

    #[test]
    fn a_shown_log_names_halves_holes_and_batches() {
        let mut bytes = old_line();
        bytes.extend(line("a1", '<', 2));
        bytes.extend([0; LINE_BYTES]);
        bytes.extend(line("b1", '.', 3));
        bytes.extend(&line("b1", '.', 4)[..TAG_BYTES]);
        assert_eq!(show(&bytes), "old#1 a<#2 NUL b#3 [");
    }
}
