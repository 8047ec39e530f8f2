//! Refusals: a code for scripts, and a sentence for people that names the field, what was wrong
//! with it and what to do.
//!
//! A sentence is recorded and shown on terminals, so what a caller wrote enters it only through
//! [`quoted`]: bounded in length, without control characters. Only `ambiguous-name` has a wording
//! that is a contract.

use std::fmt::Write;

use crate::snapshot::clip;
use crate::text::{CodePoint, Text, is_deceptive};
use crate::vocabulary::{CLAIM_WINDOW, CORRELATION_CEILING};

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RefusalCode {
    /// A field that must be a non-empty string is not.
    MissingField,
    /// An address resolves to nobody.
    UnknownActor,
    /// An address is a name that several actors bear.
    AmbiguousName,
    /// A name that looks like a ref.
    RefShapedName,
    /// A registration under a ref that was never minted.
    UnknownRef,
    /// The requested authorities are no list.
    AuthorityNotAList,
    /// A requested authority is no non-empty string.
    AuthorityEntryNotAString,
    /// A numeric correlation id that is not recognised, or at the ceiling.
    CorrelationOutOfRange,
    /// A numeric correlation id beyond the claim window.
    CorrelationTooFarAhead,
    /// The correlation issuer is at its ceiling.
    CorrelationExhausted,
    /// There is no such message.
    UnknownMessage,
    /// The message is addressed to somebody else.
    NotTheAddressee,
    /// A limit that is no integer from 1.
    BadLimit,
    /// An idempotency key that is bound to other content.
    KeyReused,
    /// An argument that the verb does not know.
    UnknownField,
    /// An argument of too many bytes.
    TextTooLong,
}

impl RefusalCode {
    /// All of them.
    pub const ALL: [RefusalCode; 16] = [
        RefusalCode::MissingField,
        RefusalCode::UnknownActor,
        RefusalCode::AmbiguousName,
        RefusalCode::RefShapedName,
        RefusalCode::UnknownRef,
        RefusalCode::AuthorityNotAList,
        RefusalCode::AuthorityEntryNotAString,
        RefusalCode::CorrelationOutOfRange,
        RefusalCode::CorrelationTooFarAhead,
        RefusalCode::CorrelationExhausted,
        RefusalCode::UnknownMessage,
        RefusalCode::NotTheAddressee,
        RefusalCode::BadLimit,
        RefusalCode::KeyReused,
        RefusalCode::UnknownField,
        RefusalCode::TextTooLong,
    ];

    /// The wire name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            RefusalCode::MissingField => "missing-field",
            RefusalCode::UnknownActor => "unknown-actor",
            RefusalCode::AmbiguousName => "ambiguous-name",
            RefusalCode::RefShapedName => "ref-shaped-name",
            RefusalCode::UnknownRef => "unknown-ref",
            RefusalCode::AuthorityNotAList => "authority-not-a-list",
            RefusalCode::AuthorityEntryNotAString => "authority-entry-not-a-string",
            RefusalCode::CorrelationOutOfRange => "correlation-out-of-range",
            RefusalCode::CorrelationTooFarAhead => "correlation-too-far-ahead",
            RefusalCode::CorrelationExhausted => "correlation-exhausted",
            RefusalCode::UnknownMessage => "unknown-message",
            RefusalCode::NotTheAddressee => "not-the-addressee",
            RefusalCode::BadLimit => "bad-limit",
            RefusalCode::KeyReused => "key-reused",
            RefusalCode::UnknownField => "unknown-field",
            RefusalCode::TextTooLong => "text-too-long",
        }
    }
}

/// A refused command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// Why, for scripts.
    pub code: RefusalCode,
    /// Why, for people: which field, what was wrong, what to do.
    pub reason: String,
    /// The argument that it is about.
    pub field: Option<Text>,
    /// Every ref that an ambiguous name may mean, in the order in which each came to bear it.
    pub candidates: Vec<Text>,
    /// The address that resolved to nobody, trimmed.
    pub subject: Option<Text>,
}

impl Refusal {
    fn about(code: RefusalCode, field: &str, what: impl AsRef<str>) -> Self {
        Refusal {
            code,
            reason: format!("{field}: {}", what.as_ref()),
            field: Some(field.into()),
            candidates: Vec::new(),
            subject: None,
        }
    }

    pub(super) fn missing_field(field: &str) -> Self {
        let what = "missing, blank or not a string; give a non-empty string";
        Refusal::about(RefusalCode::MissingField, field, what)
    }

    pub(super) fn unknown_actor(field: &str, address: &Text) -> Self {
        let what = format!(
            "nobody is registered as {}; give the ref or the present name of a registered actor",
            quoted(address)
        );
        Refusal {
            subject: Some(address.clone()),
            ..Refusal::about(RefusalCode::UnknownActor, field, what)
        }
    }

    /// The one sentence whose wording users script against.
    pub(super) fn ambiguous_name(field: &str, name: &Text, candidates: Vec<Text>) -> Self {
        let refs: Vec<_> = candidates.iter().map(Text::to_str_lossy).collect();
        let what = format!(
            "ambiguous actor name {} \u{2014} {} actors share it; address by ref: {}",
            quoted(name),
            candidates.len(),
            refs.join(", ")
        );
        Refusal { candidates, ..Refusal::about(RefusalCode::AmbiguousName, field, what) }
    }

    pub(super) fn ref_shaped_name(field: &str, name: &Text) -> Self {
        let what = format!(
            "{} looks like a ref, which no name may; choose another name, or give the ref as ref",
            quoted(name)
        );
        Refusal::about(RefusalCode::RefShapedName, field, what)
    }

    pub(super) fn unknown_ref(field: &str, actor_ref: &Text) -> Self {
        let what = format!(
            "{} was never minted here; leave ref out to be given a new one",
            quoted(actor_ref)
        );
        Refusal::about(RefusalCode::UnknownRef, field, what)
    }

    pub(super) fn authority_not_a_list(field: &str) -> Self {
        let what = "not a list; give an array of strings, or leave it out";
        Refusal::about(RefusalCode::AuthorityNotAList, field, what)
    }

    pub(super) fn authority_entry_not_a_string(field: &str, index: usize) -> Self {
        let what = format!("entry {index} is not a non-empty string; name each authority");
        Refusal::about(RefusalCode::AuthorityEntryNotAString, field, what)
    }

    pub(super) fn correlation_out_of_range(field: &str, id: &Text) -> Self {
        let what = format!(
            "{} is outside of the issuer's range; a numeric id has at most 16 digits and is below \
             {CORRELATION_CEILING}",
            quoted(id)
        );
        Refusal::about(RefusalCode::CorrelationOutOfRange, field, what)
    }

    pub(super) fn correlation_too_far_ahead(field: &str, id: &Text, issuer_at: u64) -> Self {
        let what = format!(
            "{} is more than {CLAIM_WINDOW} ahead of the issuer, which is at {issuer_at}; \
             leave it out to be given the next one, or use a name",
            quoted(id)
        );
        Refusal::about(RefusalCode::CorrelationTooFarAhead, field, what)
    }

    pub(super) fn correlation_exhausted(field: &str) -> Self {
        let what = "the issuer has reached its ceiling and has no number left; give the thread a \
                    name that is not a number";
        Refusal::about(RefusalCode::CorrelationExhausted, field, what)
    }

    pub(super) fn unknown_message(field: &str, message_id: Option<&Text>) -> Self {
        let what = match message_id {
            Some(id) => format!("there is no message {}; give an id from the inbox", quoted(id)),
            None => "missing or not a string; give an id from the inbox".to_owned(),
        };
        Refusal::about(RefusalCode::UnknownMessage, field, what)
    }

    pub(super) fn not_the_addressee(field: &str, message_id: &Text, actor_ref: &Text) -> Self {
        let what = format!(
            "{} is not addressed to {}; only its addressee acknowledges a message",
            quoted(message_id),
            quoted(actor_ref)
        );
        Refusal::about(RefusalCode::NotTheAddressee, field, what)
    }

    pub(super) fn bad_limit(field: &str) -> Self {
        let what = "not an integer from 1; give one, or leave it out to see everything";
        Refusal::about(RefusalCode::BadLimit, field, what)
    }

    pub(super) fn key_reused(field: &str, key: &Text, message_id: &Text) -> Self {
        let what = format!(
            "{} is bound to {}, whose content is different; use a new key for a new message",
            quoted(key),
            quoted(message_id)
        );
        Refusal::about(RefusalCode::KeyReused, field, what)
    }

    /// The field is a key that the caller wrote, so it is bounded like any other text of callers.
    pub(super) fn unknown_field(key: &Text, verb: &str, known: &[&str]) -> Self {
        Refusal {
            code: RefusalCode::UnknownField,
            reason: format!(
                "{}: {verb} has no such argument; it knows {}",
                quoted(key),
                known.join(", ")
            ),
            field: Some(clip(key)),
            candidates: Vec::new(),
            subject: None,
        }
    }

    pub(super) fn text_too_long(field: &str, bytes: u64, bytes_max: u64) -> Self {
        let what = format!("{bytes} bytes, and at most {bytes_max} are taken; shorten it");
        Refusal::about(RefusalCode::TextTooLong, field, what)
    }
}

/// A caller's text inside a sentence: clipped as in a snapshot, quoted, and with an escape for
/// whatever could move a cursor, reverse the reading order or end the line.
#[must_use]
pub fn quoted(text: &Text) -> String {
    let mut out = String::from("\"");
    for point in clip(text).code_points() {
        match point {
            CodePoint::Char(c @ ('"' | '\\')) => out.extend(['\\', c]),
            CodePoint::Char(c) if !is_deceptive(c) => out.push(c),
            CodePoint::Char(c) => push_escape(u32::from(c), &mut out),
            CodePoint::Surrogate(unit) => push_escape(u32::from(unit), &mut out),
        }
    }
    out.push('"');
    out
}

/// All that is escaped lies in the basic plane, so that four digits hold it. Writing to a `String`
/// cannot fail.
fn push_escape(value: u32, out: &mut String) {
    let _ = write!(out, "\\u{value:04x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_names_are_distinct() {
        let names: std::collections::BTreeSet<_> =
            RefusalCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), RefusalCode::ALL.len());
    }

    #[test]
    fn the_ambiguous_name_has_its_contractual_wording() {
        let candidates = vec![Text::from("act-0002"), Text::from("act-0004")];
        assert_eq!(
            Refusal::ambiguous_name("to", &"builder".into(), candidates).reason,
            "to: ambiguous actor name \"builder\" \u{2014} 2 actors share it; \
             address by ref: act-0002, act-0004"
        );
    }

    #[test]
    fn quoting_leaves_no_control_character_and_bounds_the_length() {
        assert_eq!(quoted(&"a\"b\\c".into()), r#""a\"b\\c""#);
        assert_eq!(quoted(&"\u{1b}[31m\n\u{7f}\u{9b}".into()), r#""\u001b[31m\u000a\u007f\u009b""#);
        assert_eq!(quoted(&"\u{202e}x\u{2028}".into()), r#""\u202ex\u2028""#);
        assert_eq!(quoted(&"caf\u{e9}".into()), "\"caf\u{e9}\"");
        let mut lone = Text::new();
        lone.push(CodePoint::Surrogate(0xD83D));
        assert_eq!(quoted(&lone), r#""\ud83d""#);
        assert_eq!(quoted(&"a".repeat(1_000_000).into()).len(), 98);
    }
}
