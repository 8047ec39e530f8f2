//! Identifiers of actors, messages and threads: `act-NNNN`, `msg-NNNN`, `cor-NNNN`.
//!
//! They are minted from counters of the state, never from a clock or a random source: counter + 1,
//! padded to four digits, wider past 9999.

use crate::text::Text;

/// What an identifier names; the prefix that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// Actors.
    Actor,
    /// Messages.
    Message,
    /// Numeric correlation ids.
    Correlation,
}

impl Series {
    /// The prefix, hyphen included.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Series::Actor => "act-",
            Series::Message => "msg-",
            Series::Correlation => "cor-",
        }
    }

    /// The identifier of a number.
    #[must_use]
    pub fn id(self, number: u64) -> Text {
        format!("{}{number:04}", self.prefix()).into()
    }

    /// The identifier after a counter. On a log that no bus wrote it may be taken: then the next
    /// free number, since a new actor would take over an old identity otherwise. Every number that
    /// is taken is one of finitely many stored ids, so the search ends.
    #[must_use]
    pub fn next_free(self, counter: u64, is_taken: impl Fn(&Text) -> bool) -> Text {
        let mut number = counter.saturating_add(1);
        loop {
            let id = self.id(number);
            if number == u64::MAX || !is_taken(&id) {
                return id;
            }
            number += 1;
        }
    }

    /// The digits of an id of this series, when it has at least so many and nothing else.
    fn digits(self, id: &Text, digits_min: usize) -> Option<&[u8]> {
        let digits = id.as_bytes().strip_prefix(self.prefix().as_bytes())?;
        (digits.len() >= digits_min && digits.iter().all(u8::is_ascii_digit)).then_some(digits)
    }
}

/// Whether a name looks like a ref (`^act-\d+$`), which no name may.
#[must_use]
pub fn is_ref_shaped(name: &Text) -> bool {
    Series::Actor.digits(name, 1).is_some()
}

/// Whether a ref looks like one that the bus mints (`^act-\d{4,}$`). It is minted when it is also a
/// registered actor.
#[must_use]
pub fn is_mint_shaped(actor_ref: &Text) -> bool {
    Series::Actor.digits(actor_ref, 4).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_padded_to_four_digits_and_grow_past_them() {
        assert_eq!(Series::Actor.id(1), "act-0001");
        assert_eq!(Series::Message.id(9_999), "msg-9999");
        assert_eq!(Series::Correlation.id(10_000), "cor-10000");
    }

    #[test]
    fn the_next_free_number_skips_what_is_taken_and_never_wraps() {
        let taken = [Series::Actor.id(3), Series::Actor.id(4)];
        assert_eq!(Series::Actor.next_free(1, |id| taken.contains(id)), "act-0002");
        assert_eq!(Series::Actor.next_free(2, |id| taken.contains(id)), "act-0005");
        assert_eq!(Series::Actor.next_free(u64::MAX, |_| true), "act-18446744073709551615");
    }

    #[test]
    fn a_ref_shape_is_ascii_digits_to_the_very_end() {
        for (text, shaped, mintable) in [
            ("act-1", true, false),
            ("act-001", true, false),
            ("act-0001", true, true),
            ("act-00001", true, true),
            ("act-", false, false),
            ("act-x", false, false),
            ("act-0001x", false, false),
            ("act-0001\n", false, false),
            ("ACT-0001", false, false),
            (" act-0001", false, false),
            ("act-\u{0661}\u{0661}\u{0661}\u{0661}", false, false),
        ] {
            assert_eq!(is_ref_shaped(&text.into()), shaped, "{text:?}");
            assert_eq!(is_mint_shaped(&text.into()), mintable, "{text:?}");
        }
    }
}
