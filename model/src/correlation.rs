//! The correlation issuer: numeric thread ids, who may claim them, and how much room is left.
//!
//! Numeric ids (`cor-` and ASCII digits) share one issuer. Its counter is the highest recognised
//! ordinal in any message, claimed or issued, since the log cannot tell which; so a claimed id is
//! never minted again. A thread that has a name (`cor-voicings`) claims nothing.

use crate::json::{Json, Object};
use crate::text::Text;
use crate::vocabulary::{CLAIM_WINDOW, CORRELATION_CEILING};

/// An issuer at or above this has less than one claim window of room, and is unhealthy.
pub const NEAR_EXHAUSTED_FROM: u64 = CORRELATION_CEILING - CLAIM_WINDOW;

/// The most digits that a recognised ordinal may have, leading zeros included.
const ORDINAL_DIGITS_MAX: usize = 16;

/// The digits of a numeric correlation id, however many; nothing for a thread that has a name.
fn digits(id: &Text) -> Option<&[u8]> {
    let digits = id.as_bytes().strip_prefix(b"cor-")?;
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some(digits)
}

/// Whether an id is numeric: `^cor-\d+$`. It need not be recognised.
#[must_use]
pub fn is_numeric(id: &Text) -> bool {
    digits(id).is_some()
}

/// The ordinal of a numeric id that is recognised: 1 to 16 digits, at most the ceiling. Nothing for
/// any other id.
#[must_use]
pub fn ordinal(id: &Text) -> Option<u64> {
    let digits = digits(id).filter(|digits| digits.len() <= ORDINAL_DIGITS_MAX)?;
    let value = digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
    (value <= CORRELATION_CEILING).then_some(value)
}

/// The ordinal of a message's correlation id as a record holds it: of any type, or missing.
#[must_use]
pub fn ordinal_of_message(message: &Object) -> Option<u64> {
    ordinal(message.get_text("correlationId")?)
}

/// Whether a message brings the issuer near its end: its ordinal is at or above
/// [`NEAR_EXHAUSTED_FROM`].
#[must_use]
pub fn is_near_ceiling(ordinal: u64) -> bool {
    ordinal >= NEAR_EXHAUSTED_FROM
}

/// How the issuer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The highest recognised ordinal so far.
    pub issuer_at: u64,
    /// The stored messages that brought the issuer near its end, in the order in which they are
    /// stored.
    pub findings: Vec<Text>,
}

impl Health {
    /// How many ordinals are left.
    #[must_use]
    pub fn headroom(&self) -> u64 {
        CORRELATION_CEILING.saturating_sub(self.issuer_at)
    }

    /// Whether nothing is left: every send that brings no thread of its own is refused.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.issuer_at >= CORRELATION_CEILING
    }

    /// Whether less than one claim window is left.
    #[must_use]
    pub fn is_near_exhausted(&self) -> bool {
        is_near_ceiling(self.issuer_at)
    }

    /// Whether the issuer is healthy.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        !self.is_near_exhausted()
    }

    /// The report: `issuerAt headroom exhausted nearExhausted ok findings`.
    #[must_use]
    pub fn to_object(&self) -> Object {
        Object::new()
            .with("issuerAt", self.issuer_at)
            .with("headroom", self.headroom())
            .with("exhausted", self.is_exhausted())
            .with("nearExhausted", self.is_near_exhausted())
            .with("ok", self.is_ok())
            .with("findings", Json::from(self.findings.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinal_is_recognised_by_its_digits_and_the_ceiling() {
        for (id, numeric, expected) in [
            ("cor-0", true, Some(0)),
            ("cor-0001", true, Some(1)),
            ("cor-9007199254740991", true, Some(CORRELATION_CEILING)),
            ("cor-9007199254740992", true, None),
            ("cor-9999999999999999", true, None),
            ("cor-0000000000000001", true, Some(1)),
            ("cor-00000000000000001", true, None),
            ("cor-18446744073709551617", true, None),
            ("cor-", false, None),
            ("cor-voicings", false, None),
            ("cor-1a", false, None),
            ("cor--1", false, None),
            ("cor-+1", false, None),
            ("cor-1 ", false, None),
            ("cor-1\n", false, None),
            ("COR-1", false, None),
            ("xcor-1", false, None),
            ("cor-\u{0661}", false, None),
            ("", false, None),
        ] {
            assert_eq!(is_numeric(&id.into()), numeric, "{id}");
            assert_eq!(ordinal(&id.into()), expected, "{id}");
        }
    }

    #[test]
    fn a_correlation_id_of_another_type_has_no_ordinal() {
        assert_eq!(ordinal_of_message(&Object::new()), None);
        assert_eq!(ordinal_of_message(&Object::new().with("correlationId", 7)), None);
        assert_eq!(ordinal_of_message(&Object::new().with("correlationId", "cor-7")), Some(7));
    }

    #[test]
    fn health_turns_exactly_at_its_two_edges() {
        for (issuer_at, near, exhausted) in [
            (0, false, false),
            (9_007_199_253_740_990, false, false),
            (9_007_199_253_740_991, true, false),
            (CORRELATION_CEILING - 1, true, false),
            (CORRELATION_CEILING, true, true),
        ] {
            let health = Health { issuer_at, findings: Vec::new() };
            assert_eq!(health.is_near_exhausted(), near, "{issuer_at}");
            assert_eq!(health.is_exhausted(), exhausted, "{issuer_at}");
            assert_eq!(health.is_ok(), !near, "{issuer_at}");
            assert_eq!(health.headroom(), CORRELATION_CEILING - issuer_at);
        }
    }

    #[test]
    fn the_report_has_its_keys_in_order() {
        let health = Health { issuer_at: CORRELATION_CEILING, findings: vec!["msg-0001".into()] };
        assert_eq!(
            String::from_utf8(health.to_object().to_line()).unwrap(),
            r#"{"issuerAt":9007199254740991,"headroom":0,"exhausted":true,"nearExhausted":true,"ok":false,"findings":["msg-0001"]}"#
        );
    }
}
