//! Integrity: addresses in a state that this bus never minted.
//!
//! A finding makes a log unsound, not unreadable. The fold that has the pieces calls [`findings`];
//! the order of the findings is part of the contract, and duplicates are kept.

use std::borrow::Borrow;

use crate::event::is_acked;
use crate::json::{Json, Object};
use crate::text::Text;

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// An actor bears a ref that the bus does not mint.
    UnmintedActorRef,
    /// A message is from, to, or to be answered to somebody unminted.
    UnmintedMessageParty,
    /// A message was acknowledged by somebody unminted.
    UnmintedAckActor,
    /// A handoff is from, to, or to be answered to somebody unminted.
    UnmintedHandoffParty,
    /// An inbox belongs to somebody unminted.
    UnmintedInboxOwner,
}

impl FindingKind {
    /// All of them, in the order in which they are looked for.
    pub const ALL: [FindingKind; 5] = [
        FindingKind::UnmintedActorRef,
        FindingKind::UnmintedMessageParty,
        FindingKind::UnmintedAckActor,
        FindingKind::UnmintedHandoffParty,
        FindingKind::UnmintedInboxOwner,
    ];

    /// The wire name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FindingKind::UnmintedActorRef => "unminted-actor-ref",
            FindingKind::UnmintedMessageParty => "unminted-message-party",
            FindingKind::UnmintedAckActor => "unminted-ack-actor",
            FindingKind::UnmintedHandoffParty => "unminted-handoff-party",
            FindingKind::UnmintedInboxOwner => "unminted-inbox-owner",
        }
    }

    /// What it means, as a sentence for a person.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            FindingKind::UnmintedActorRef => "an actor bears a ref that this bus never minted",
            FindingKind::UnmintedMessageParty => {
                "a message names a party that this bus never minted"
            }
            FindingKind::UnmintedAckActor => {
                "a message was acknowledged by an actor that this bus never minted"
            }
            FindingKind::UnmintedHandoffParty => {
                "a handoff names a party that this bus never minted"
            }
            FindingKind::UnmintedInboxOwner => {
                "an inbox belongs to an actor that this bus never minted"
            }
        }
    }
}

/// One address that this bus never minted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The address as found; nothing where it is missing.
    pub subject: Option<Json>,
}

impl Finding {
    /// `finding subject`
    #[must_use]
    pub fn to_object(&self) -> Object {
        Object::new().with("finding", self.kind.as_str()).with_some("subject", self.subject.clone())
    }
}

/// The report: `ok findings`.
#[must_use]
pub fn report(findings: &[Finding]) -> Object {
    Object::new()
        .with("ok", findings.is_empty())
        .with("findings", findings.iter().map(Finding::to_object).collect::<Vec<_>>())
}

/// All findings of a state: its actors by first registration, its messages as they stand and as
/// stored, its handoff records in log order, and the owners of inboxes in the order in which the
/// inboxes were made (by registration or by delivery).
pub fn findings<A, M, H, O>(
    is_minted: impl Fn(&Text) -> bool,
    actors: impl IntoIterator<Item = A>,
    messages: impl IntoIterator<Item = M>,
    handoffs: impl IntoIterator<Item = H>,
    inbox_owners: impl IntoIterator<Item = O>,
) -> Vec<Finding>
where
    A: Borrow<Text>,
    M: Borrow<Object>,
    H: Borrow<Object>,
    O: Borrow<Text>,
{
    const PARTIES: [&str; 3] = ["from", "to", "replyTo"];
    let mut found = Vec::new();
    let mut judge = |kind, subject: Option<&Json>| {
        if !subject.and_then(Json::as_text).is_some_and(&is_minted) {
            found.push(Finding { kind, subject: subject.cloned() });
        }
    };
    for actor_ref in actors {
        judge(FindingKind::UnmintedActorRef, Some(&actor_ref.borrow().into()));
    }
    for message in messages {
        let message = message.borrow();
        for party in PARTIES {
            judge(FindingKind::UnmintedMessageParty, message.get(party));
        }
        if is_acked(message.get("ackedBy")) {
            judge(FindingKind::UnmintedAckActor, message.get("ackedBy"));
        }
    }
    for handoff in handoffs {
        for party in PARTIES {
            judge(FindingKind::UnmintedHandoffParty, handoff.borrow().get(party));
        }
    }
    for owner in inbox_owners {
        judge(FindingKind::UnmintedInboxOwner, Some(&owner.borrow().into()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Text {
        value.into()
    }

    fn parties(from: &str, to: &str, reply_to: &str) -> Object {
        Object::new().with("from", from).with("to", to).with("replyTo", reply_to)
    }

    #[test]
    fn every_kind_has_a_sentence_of_its_own() {
        let expected = [
            (FindingKind::UnmintedActorRef, "an actor bears a ref"),
            (FindingKind::UnmintedMessageParty, "a message names a party"),
            (FindingKind::UnmintedAckActor, "a message was acknowledged by an actor"),
            (FindingKind::UnmintedHandoffParty, "a handoff names a party"),
            (FindingKind::UnmintedInboxOwner, "an inbox belongs to an actor"),
        ];
        for (kind, words) in expected {
            assert_eq!(kind.sentence(), format!("{words} that this bus never minted"));
        }
    }

    #[test]
    fn every_kind_is_found_in_order_with_its_subject_and_duplicates_kept() {
        let found = findings(
            |actor_ref| *actor_ref == "act-0001",
            [text("root"), text("act-0001")],
            [
                parties("x", "act-0001", "x").with("ackedBy", "y"),
                parties("act-0001", "act-0001", "act-0001").with("ackedBy", Json::Null),
            ],
            [parties("act-0001", "z", "act-0001")],
            [text("act-0001"), text("w")],
        );
        let seen: Vec<_> = found.iter().map(|f| (f.kind, f.subject.clone().unwrap())).collect();
        assert_eq!(
            seen,
            [
                (FindingKind::UnmintedActorRef, "root".into()),
                (FindingKind::UnmintedMessageParty, "x".into()),
                (FindingKind::UnmintedMessageParty, "x".into()),
                (FindingKind::UnmintedAckActor, "y".into()),
                (FindingKind::UnmintedHandoffParty, "z".into()),
                (FindingKind::UnmintedInboxOwner, "w".into()),
            ]
        );
    }

    #[test]
    fn a_missing_party_is_a_finding_without_a_subject_and_a_number_one_with_it() {
        let message = Object::new().with("from", "act-0001").with("to", 7);
        let found =
            findings(|_| true, [text("a")], [message], [parties("a", "a", "a")], [text("a")]);
        let lines: Vec<_> =
            found.iter().map(|f| String::from_utf8(f.to_object().to_line()).unwrap()).collect();
        assert_eq!(
            lines,
            [
                r#"{"finding":"unminted-message-party","subject":7}"#,
                r#"{"finding":"unminted-message-party"}"#,
            ]
        );
    }

    #[test]
    fn a_state_in_which_all_is_minted_has_no_findings() {
        let message = parties("a", "b", "a").with("ackedBy", "b");
        let found =
            findings(|_| true, [text("a")], [message], [parties("a", "b", "a")], [text("b")]);
        assert_eq!(found, []);
        assert_eq!(
            report(&found),
            Object::new().with("ok", true).with("findings", Json::Array(vec![]))
        );
    }
}
