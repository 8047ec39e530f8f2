//! A JSON string, verbatim.
//!
//! Other builds write what a client cut in half, so a string in the log may hold a lone surrogate
//! escape. Rust's `str` cannot; [`Text`] can. It keeps WTF-8: UTF-8 in which a lone surrogate is
//! encoded as its three generalised bytes, and a surrogate *pair* always as the one character it
//! means. So equality of bytes is equality of strings, and whatever was read is written back.

use std::borrow::Cow;
use std::fmt;

/// A string of Unicode text that may also hold lone surrogates.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Text(Vec<u8>);

/// One code point of a [`Text`]: a character, or a surrogate that has lost its other half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodePoint {
    /// A Unicode scalar value.
    Char(char),
    /// A lone surrogate, `0xD800..=0xDFFF`.
    Surrogate(u16),
}

impl Text {
    /// The empty string.
    #[must_use]
    pub const fn new() -> Self {
        Text(Vec::new())
    }

    /// Appends one UTF-16 code unit sequence member: a character, or a lone surrogate. A low
    /// surrogate that follows a high one joins it, so that the encoding stays canonical.
    pub fn push(&mut self, point: CodePoint) {
        match point {
            CodePoint::Char(c) => {
                let mut buffer = [0; 4];
                self.0.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            }
            CodePoint::Surrogate(unit) => {
                if let (0xDC00..=0xDFFF, Some(high)) = (unit, self.trailing_high_surrogate()) {
                    self.0.truncate(self.0.len() - 3);
                    let joined =
                        0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(unit) - 0xDC00);
                    self.push(CodePoint::Char(
                        char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER),
                    ));
                } else {
                    let [high, low] = unit.to_be_bytes();
                    let (high, low) = (u32::from(high), u32::from(low));
                    let value = (high << 8) | low;
                    self.0.extend([
                        0xE0 | byte(value >> 12),
                        0x80 | byte((value >> 6) & 0x3F),
                        0x80 | byte(value & 0x3F),
                    ]);
                }
            }
        }
    }

    /// Appends ordinary text.
    pub fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Appends another text; surrogates that meet at the seam join.
    pub fn push_text(&mut self, text: &Text) {
        for point in text.code_points() {
            self.push(point);
        }
    }

    /// The WTF-8 bytes. Their count is what limits are measured in (a lone surrogate counts three).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text as a `str`, or nothing when it holds a lone surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The text with every lone surrogate as U+FFFD: for people, and for strict JSON readers.
    #[must_use]
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(
                self.code_points()
                    .map(|point| match point {
                        CodePoint::Char(c) => c,
                        CodePoint::Surrogate(_) => char::REPLACEMENT_CHARACTER,
                    })
                    .collect(),
            ),
        }
    }

    /// The code points in order.
    pub fn code_points(&self) -> impl Iterator<Item = CodePoint> + '_ {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let (point, tail) = split_code_point(rest)?;
            rest = tail;
            Some(point)
        })
    }

    /// The length in UTF-16 code units, as ECMAScript counts it.
    #[must_use]
    pub fn utf16_len(&self) -> usize {
        self.code_points()
            .map(|point| match point {
                CodePoint::Char(c) => c.len_utf16(),
                CodePoint::Surrogate(_) => 1,
            })
            .sum()
    }

    /// The text without leading and trailing white space, as ECMAScript's `trim` sees it
    /// (ECMA-262, `TrimString`): `str::trim` differs in U+0085 and U+FEFF.
    #[must_use]
    pub fn trim(&self) -> Text {
        let mut start = None;
        let mut end = 0;
        let mut position = 0;
        let mut rest = self.0.as_slice();
        while let Some((point, tail)) = split_code_point(rest) {
            let next = position + (rest.len() - tail.len());
            if !is_ecmascript_space(point) {
                start.get_or_insert(position);
                end = next;
            }
            position = next;
            rest = tail;
        }
        let start = start.unwrap_or(end);
        Text(self.0.get(start..end).unwrap_or_default().to_vec())
    }

    /// Whether nothing is left after [`trim`](Self::trim).
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.code_points().all(is_ecmascript_space)
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn trailing_high_surrogate(&self) -> Option<u16> {
        match self.0.as_slice() {
            [.., 0xED, second @ 0xA0..=0xAF, third] => {
                Some(0xD000 | (u16::from(second & 0x3F) << 6) | u16::from(third & 0x3F))
            }
            _ => None,
        }
    }
}

fn byte(value: u32) -> u8 {
    u8::try_from(value & 0xFF).unwrap_or_default()
}

/// White space and line terminators of ECMA-262: what its `trim` removes.
#[must_use]
pub fn is_ecmascript_space(point: CodePoint) -> bool {
    matches!(
        point,
        CodePoint::Char(
            '\u{9}'..='\u{D}'
            | ' '
            | '\u{A0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200A}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202F}'
            | '\u{205F}'
            | '\u{3000}'
            | '\u{FEFF}',
        )
    )
}

/// The first code point of WTF-8 and what follows it. `Text` only ever holds WTF-8, so the
/// replacement character in the arms that cannot be reached merely keeps this total.
fn split_code_point(bytes: &[u8]) -> Option<(CodePoint, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let length = match first {
        0x00..=0x7F => return Some((CodePoint::Char(char::from(first)), rest)),
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0.. => 4,
    };
    let (head, tail) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
    let point = match (std::str::from_utf8(head), head) {
        (Ok(text), _) => CodePoint::Char(text.chars().next().unwrap_or('\u{FFFD}')),
        (Err(_), [0xED, second, third]) => {
            CodePoint::Surrogate(0xD000 | (u16::from(second & 0x3F) << 6) | u16::from(third & 0x3F))
        }
        (Err(_), _) => CodePoint::Char(char::REPLACEMENT_CHARACTER),
    };
    Some((point, tail))
}

/// Whether a terminal would obey the character rather than show it: C0, DEL and C1 controls, line
/// and paragraph separators, and the controls of bidirectional text (Unicode Standard Annex 9).
#[must_use]
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
        )
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text(text.into_bytes())
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str_lossy())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.to_str_lossy(), f)
    }
}

impl serde::Serialize for Text {
    /// Lossy on purpose: strict readers reject lone surrogates, so they leave as U+FFFD.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_str_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lone(unit: u16) -> Text {
        let mut text = Text::new();
        text.push(CodePoint::Surrogate(unit));
        text
    }

    #[test]
    fn a_text_is_shown_and_lent_as_what_it_holds() {
        let text = Text::from("caf\u{e9} \"x\"");
        assert_eq!(text.as_str(), Some("caf\u{e9} \"x\""));
        assert_eq!(format!("{text} {text:?}"), "caf\u{e9} \"x\" \"caf\u{e9} \\\"x\\\"\"");
        let mut lone = text;
        lone.push(CodePoint::Surrogate(0xD800));
        assert_eq!(lone.as_str(), None);
    }

    #[test]
    fn trim_is_that_of_ecmascript_and_not_of_rust() {
        for (text, trimmed) in [
            ("\u{FEFF}a\u{FEFF}", "a"),
            ("\u{85}a\u{85}", "\u{85}a\u{85}"),
            ("\u{A0}\u{2028}\u{2029}\u{3000}\t\u{B}\u{C}\r\n a b \u{202F}", "a b"),
            ("\u{200B}a\u{180E}", "\u{200B}a\u{180E}"),
            (" \t ", ""),
            ("", ""),
        ] {
            assert_eq!(Text::from(text).trim(), trimmed, "{text:?}");
            assert_eq!(Text::from(text).is_blank(), trimmed.is_empty(), "{text:?}");
        }
    }

    #[test]
    fn halves_that_meet_become_the_character_they_mean() {
        let mut text = lone(0xD83D);
        text.push_text(&lone(0xDC69));
        assert_eq!(text, "\u{1F469}");
        let mut apart = lone(0xDC69);
        apart.push_text(&lone(0xD83D));
        assert_eq!((apart.as_str(), apart.utf16_len()), (None, 2), "the wrong way round");
        for (high, low, joined) in [(0xD800, 0xDC00, '\u{10000}'), (0xDBFF, 0xDFFF, '\u{10FFFF}')] {
            let mut text = lone(high);
            text.push_text(&lone(low));
            assert_eq!(text, joined.to_string().as_str());
        }
    }

    #[test]
    fn a_lone_surrogate_counts_three_bytes_and_leaves_as_the_replacement_character() {
        let text = lone(0xD83D);
        assert_eq!(text.as_bytes().len(), 3);
        assert_eq!(text.to_str_lossy(), "\u{FFFD}");
        assert_eq!(text.to_string(), "\u{FFFD}");
        assert_eq!(text.trim(), text);
        assert!(!text.is_blank());
        assert_ne!(text, "\u{FFFD}", "it is not the same string");
    }
}
