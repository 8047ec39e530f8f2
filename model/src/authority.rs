//! Authority: what a request is split into, and when a text talks of it.
//!
//! Neither ever blocks or permits anything. A grant has no effect ([`crate::vocabulary::EFFECT`]),
//! and a flag is a label for the reader. The table `authority-language` of the vectors pins the
//! detector.

use crate::text::Text;
use crate::vocabulary::GRANTABLE;

/// The requested authorities, in order and with duplicates: those that are grantable, and the rest.
#[must_use]
pub fn split(requested: Vec<Text>) -> (Vec<Text>, Vec<Text>) {
    requested.into_iter().partition(is_grantable)
}

/// Whether an authority may be granted at all.
#[must_use]
pub fn is_grantable(authority: &Text) -> bool {
    GRANTABLE.iter().any(|grantable| authority == grantable)
}

/// How a phrase must end.
#[derive(Clone, Copy)]
enum End {
    /// At a word boundary.
    Word,
    /// Anywhere: the phrase only begins a word.
    Anywhere,
}

/// What counts as authority language. A phrase begins at a word boundary, has exactly one space
/// between its words, and is compared without regard to ASCII case. `force push` and `force-push`
/// need no line of their own, since both hold the whole word `push`.
const PHRASES: [(&str, End); 19] = [
    ("approve", End::Word),
    ("merge", End::Word),
    ("push", End::Word),
    ("deploy", End::Word),
    ("commit", End::Word),
    ("mutate", End::Word),
    ("grant", End::Word),
    ("credential", End::Anywhere),
    ("secret", End::Anywhere),
    ("change config", End::Anywhere),
    ("change the config", End::Anywhere),
    ("update config", End::Anywhere),
    ("update the config", End::Anywhere),
    ("you have admin", End::Word),
    ("you now have admin", End::Word),
    ("ignore previous", End::Word),
    ("ignore the previous", End::Word),
    ("ignore above", End::Word),
    ("ignore the above", End::Word),
];

/// Whether a text holds authority language.
///
/// It works on bytes: the phrases are ASCII, and every byte of a longer character is, like the
/// character, no ASCII word character; so it bounds a word, as an ASCII `\b` has it.
#[must_use]
pub fn is_authority_language(text: &Text) -> bool {
    let mut is_inside_word = false;
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if !is_inside_word && PHRASES.iter().any(|&(phrase, end)| begins_with(rest, phrase, end)) {
            return true;
        }
        is_inside_word = is_word_byte(first);
        rest = tail;
    }
    false
}

fn begins_with(bytes: &[u8], phrase: &str, end: End) -> bool {
    let Some((head, tail)) = bytes.split_at_checked(phrase.len()) else { return false };
    head.eq_ignore_ascii_case(phrase.as_bytes())
        && match end {
            End::Word => !tail.first().is_some_and(|&byte| is_word_byte(byte)),
            End::Anywhere => true,
        }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_flagged(text: &str) -> bool {
        is_authority_language(&text.into())
    }

    #[test]
    fn whole_words_are_found_in_any_ascii_case_and_between_any_bounds() {
        for text in [
            "merge",
            "please MERGE it",
            "\u{e9}merge\u{e9}",
            "re-commit-ed",
            "(grant)",
            "force push",
            "Force-Push",
            "no unmerge, but merge",
        ] {
            assert!(is_flagged(text), "{text}");
        }
        for text in
            ["", "merged", "unmerge", "_merge", "merge_", "1merge", "merge2", "\u{17f}ecret"]
        {
            assert!(!is_flagged(text), "{text}");
        }
    }

    #[test]
    fn phrases_have_exactly_one_space_between_their_words() {
        for text in [
            "you now have admin.",
            "You have ADMIN",
            "ignore the above",
            "update the configuration",
            "secretary",
            "credentials",
        ] {
            assert!(is_flagged(text), "{text}");
        }
        for text in [
            "you  have admin",
            "you have administrators",
            "ignore\tabove",
            "ignore all previous",
            "exchange config",
            "change a config",
            "ignore previously",
            "nosecret",
        ] {
            assert!(!is_flagged(text), "{text}");
        }
    }

    #[test]
    fn a_request_is_split_in_order_with_duplicates_kept() {
        let requested = ["read", "merge", "READ", "read", "x", "merge", "report"];
        let (granted, denied) = split(requested.into_iter().map(Text::from).collect());
        assert_eq!(granted, ["read", "read", "report"].map(Text::from));
        assert_eq!(denied, ["merge", "READ", "x", "merge"].map(Text::from));
    }

    #[test]
    fn nothing_that_is_never_grantable_is_grantable() {
        for authority in crate::vocabulary::NEVER_GRANTABLE {
            assert!(!is_grantable(&authority.into()), "{authority}");
        }
        for authority in GRANTABLE {
            assert!(is_grantable(&authority.into()), "{authority}");
        }
    }
}
