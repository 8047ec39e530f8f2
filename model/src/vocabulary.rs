//! The wire constants, spelled once. Their source is the bus contract; other builds on the same
//! machine match them byte for byte.

/// The protocol and its version.
pub const PROTOCOL: &str = "gaia-interagent-bus/1.0";

/// What every actor may do on the bus: frozen, the same for all.
pub const BUS_AUTHORITY: [&str; 5] = ["send", "receive", "ack", "heartbeat", "handoff"];

/// What a message may be granted. Granting changes nothing: the effect is always [`EFFECT`].
pub const GRANTABLE: [&str; 5] = ["read", "observe", "suggest", "draft", "report"];

/// What no message is ever granted.
pub const NEVER_GRANTABLE: [&str; 10] = [
    "approve",
    "merge",
    "push",
    "commit",
    "deploy",
    "config-write",
    "credential-read",
    "grant-authority",
    "execute",
    "admin",
];

/// The effect of any grant.
pub const EFFECT: &str = "none";

/// The label that every message body bears.
pub const TRUST: &str = "untrusted-text";

/// What sending promises.
pub const DELIVERY: &str = "accepted-for-delivery; not read, not agreed, not completed";

/// What an acknowledgement means.
pub const ACK_MEANING: &str = "receipt only; not agreement, approval, or completion";

/// What became of a request for authority that was denied.
pub const DENIAL_OUTCOME: &str = "stored-as-untrusted-text; no authority applied";

/// The flag on a text that talks of authority. It never blocks.
pub const AUTHORITY_FLAG: &str = "authority-language-detected";

/// An actor is stale when it was last seen longer ago than this.
pub const STALE_AFTER_MS: i64 = 30_000;

/// The highest correlation ordinal: 2^53 - 1, the last integer that a double holds exactly.
pub const CORRELATION_CEILING: u64 = 9_007_199_254_740_991;

/// How far ahead of the issuer a caller may claim a correlation id.
pub const CLAIM_WINDOW: u64 = 1_000_000;

/// The longest text shown in a snapshot, in UTF-16 code units.
pub const SNAPSHOT_TEXT_UNITS_MAX: usize = 96;

/// The largest inbox answer, in bytes of its pending messages; one message is always shown.
pub const INBOX_BYTES_MAX: u64 = 4 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_answer_has_at_most_4_mib() {
        assert_eq!(INBOX_BYTES_MAX, 4_194_304);
    }
}
