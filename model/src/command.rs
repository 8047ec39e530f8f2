//! A command: a verb, a timestamp and the arguments *as the caller sent them*. Nothing is parsed
//! away here; arguments of the wrong type are judged by [`decide`](crate::decide) and a refusal is
//! recorded.

use std::fmt;

use crate::json::Object;
use crate::text::Text;

/// The six verbs, and never a seventh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Become an actor, or update one.
    Register,
    /// Address a message to an actor.
    Send,
    /// Read what is pending. Reading is a write.
    Inbox,
    /// Acknowledge one message.
    Ack,
    /// Say that one is still there.
    Heartbeat,
    /// Pass work on, without passing any authority on.
    Handoff,
}

impl Verb {
    /// All of them, in the order in which they are listed everywhere.
    pub const ALL: [Verb; 6] =
        [Verb::Register, Verb::Send, Verb::Inbox, Verb::Ack, Verb::Heartbeat, Verb::Handoff];

    /// The wire name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verb::Register => "register",
            Verb::Send => "send",
            Verb::Inbox => "inbox",
            Verb::Ack => "ack",
            Verb::Heartbeat => "heartbeat",
            Verb::Handoff => "handoff",
        }
    }

    /// The verb of a wire name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Verb> {
        Verb::ALL.into_iter().find(|verb| verb.name() == name)
    }

    /// The arguments that the verb knows; any other is refused as `unknown-field`.
    #[must_use]
    pub const fn fields(self) -> &'static [&'static str] {
        match self {
            Verb::Register => &["actorId", "kind", "capabilities", "ref"],
            Verb::Send => &[
                "from",
                "to",
                "text",
                "kind",
                "correlationId",
                "replyTo",
                "expectsReply",
                "requestedAuthority",
                "idempotencyKey",
            ],
            Verb::Inbox => &["actorId", "limit"],
            Verb::Ack => &["actorId", "messageId", "note"],
            Verb::Heartbeat => &["actorId", "note"],
            Verb::Handoff => &[
                "from",
                "to",
                "summary",
                "correlationId",
                "replyTo",
                "expectsReply",
                "requestedAuthority",
                "idempotencyKey",
            ],
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a caller asks of the bus.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    /// Which of the six.
    pub verb: Verb,
    /// When, as it will be recorded: `2026-09-15T23:41:09.954Z`. Injected at the edge.
    pub at: Text,
    /// The arguments as sent.
    pub arguments: Object,
}

/// The limits that a deployment sets. They travel as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The most UTF-8 bytes of a string argument, or of an array argument as a whole.
    pub text_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { text_bytes_max: 1_048_576 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_is_shown_by_its_wire_name_and_found_by_it() {
        for verb in Verb::ALL {
            assert_eq!(verb.to_string(), verb.name());
            assert_eq!(Verb::from_name(verb.name()), Some(verb));
        }
        let names: Vec<&str> = Verb::ALL.iter().map(|verb| verb.name()).collect();
        assert_eq!(names, ["register", "send", "inbox", "ack", "heartbeat", "handoff"]);
        assert_eq!(Verb::from_name("approve"), None);
    }
}
