//! Damage on purpose: lines that a log must not hold, one way or more for each kind.
//!
//! The kind is known by construction and not found by any scanner, so what the store says of a
//! damaged log can be compared with it. [`DamageKind::TooLong`] is not among them: such a line has
//! more than 256 MiB, and [`conform`](crate::conform) plants it once, in a hole of a file.

use gaia_bus::log::{Damage, DamageKind};

/// The kinds that can be planted.
pub const KINDS: [DamageKind; 8] = [
    DamageKind::TornTail,
    DamageKind::NotUtf8,
    DamageKind::BlankLine,
    DamageKind::NotJson,
    DamageKind::TooDeep,
    DamageKind::DuplicateKey,
    DamageKind::NotAnObject,
    DamageKind::NoType,
];

/// How many ways there are to plant a kind.
#[must_use]
pub fn variants(kind: DamageKind) -> usize {
    lines(kind, b"{\"type\":\"x\"}").len()
}

/// A damaged line, with its newline unless it is torn, made of a whole one (without its newline)
/// where a whole one is needed. `variant` may be any number.
///
/// # Panics
///
/// When the kind cannot be planted, or the whole line has less than two bytes.
#[must_use]
pub fn line(kind: DamageKind, whole: &[u8], variant: usize) -> Vec<u8> {
    let mut all = lines(kind, whole);
    assert!(!all.is_empty(), "{kind} cannot be planted");
    let mut line = all.swap_remove(variant % all.len());
    if kind != DamageKind::TornTail {
        line.push(b'\n');
    }
    line
}

/// What is to be said of a damaged line that stands there.
#[must_use]
pub fn report(kind: DamageKind, line: &[u8], number: usize, offset: usize) -> Damage {
    let bytes = line.strip_suffix(b"\n").unwrap_or(line);
    let count = |length: usize| u64::try_from(length).expect("lengths fit");
    Damage {
        line: count(number),
        offset: count(offset),
        kind,
        length: count(bytes.len()),
        nul_run: count(bytes.iter().filter(|byte| **byte == 0).count()),
    }
}

fn lines(kind: DamageKind, whole: &[u8]) -> Vec<Vec<u8>> {
    let with = |at: usize, bytes: &[u8]| [&whole[..at], bytes, &whole[at..]].concat();
    match kind {
        DamageKind::TornTail => vec![
            whole.to_vec(),
            whole[..1].to_vec(),
            whole[..whole.len() / 2].to_vec(),
            whole[..whole.len() - 1].to_vec(),
            [&whole[..whole.len() / 2], &[0; 40]].concat(),
            b" ".to_vec(),
            b"\xF0\x9F".to_vec(),
        ],
        DamageKind::TooLong => Vec::new(),
        DamageKind::NotUtf8 => vec![
            with(whole.len() - 1, b"\xFF"),
            with(whole.len() / 2, b"\xC0\x80"),
            b"{\"type\":\"x\",\"text\":\"\xED\xA0\xBD\"}".to_vec(),
            b"\xFF\xFE{\0}\0".to_vec(),
        ],
        DamageKind::BlankLine => vec![
            Vec::new(),
            b" \t ".to_vec(),
            b"\r".to_vec(),
            "\u{FEFF}".into(),
            "\u{2028}\u{A0}".into(),
        ],
        DamageKind::NotJson => vec![
            whole[..whole.len() - 1].to_vec(),
            vec![0; 64],
            [whole, b"\0\0\0\0"].concat(),
            [whole, whole].concat(),
            b"{'type':'x'}".to_vec(),
            b"{\"type\":\"x\",}".to_vec(),
            b"{\"type\":\"x\",\"n\":01}".to_vec(),
            b"{\"type\":\"a\tb\"}".to_vec(),
            with(0, "\u{FEFF}".as_bytes()),
        ],
        DamageKind::TooDeep => vec![nested(128), nested(2_000)],
        DamageKind::DuplicateKey => vec![
            b"{\"type\":\"x\",\"type\":\"y\"}".to_vec(),
            b"{\"type\":\"x\",\"a\":[{\"k\":1,\"\\u006b\":2}]}".to_vec(),
        ],
        DamageKind::NotAnObject => {
            [&b"[]"[..], b"\"type\"", b"1", b"null", b" [{\"type\":\"x\"}] "].map(Into::into).into()
        }
        DamageKind::NoType => {
            [&b"{}"[..], b"{\"type\":\"\"}", b"{\"type\":1}", b"{\"Type\":\"x\"}"]
                .map(Into::into)
                .into()
        }
    }
}

/// An object that holds so many arrays in one another.
fn nested(levels: usize) -> Vec<u8> {
    format!("{{\"type\":\"x\",\"a\":{}1{}}}", "[".repeat(levels), "]".repeat(levels)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_planted_but_for_the_one_that_is_too_long() {
        for kind in DamageKind::ALL {
            assert_eq!(KINDS.contains(&kind), kind != DamageKind::TooLong, "{kind}");
            assert_eq!(variants(kind) > 0, kind != DamageKind::TooLong, "{kind}");
        }
    }
}
