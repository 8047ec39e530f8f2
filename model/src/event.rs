//! The records that the log holds: how ours are written, and what must be there in anyone's.
//!
//! A record is an [`Object`]; there is no second representation, since the log may hold what no
//! build of ours would write and it is kept as found. The constructors fix the key order. Of a
//! record that is read, only the *identity fields* must be there ([`RecordType::identity`]);
//! without them the log is unreplayable and everything fails closed.

use crate::command::Verb;
use crate::decide::RefusalCode;
use crate::json::{Json, Object};
use crate::text::Text;
use crate::vocabulary::{
    AUTHORITY_FLAG, BUS_AUTHORITY, DELIVERY, DENIAL_OUTCOME, EFFECT, NEVER_GRANTABLE, TRUST,
};

/// The types of record that this build knows. Others count as an event and change nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordType {
    /// An actor was registered or updated.
    ActorRegistered,
    /// A message was sent.
    MessageSent,
    /// Requested authority was denied.
    AuthorityDenied,
    /// An inbox was read.
    InboxPolled,
    /// A message was acknowledged.
    MessageAcked,
    /// An actor said that it is still there.
    ActorHeartbeat,
    /// Work was passed on.
    WorkHandedOff,
    /// A command was refused.
    CommandRejected,
    /// A command was repeated and got its first answer again (ours).
    MessageRepeated,
}

/// What an identity field must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A string.
    Text,
    /// An array of strings.
    TextList,
}

/// A field without which a record does not fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Where it stands: one key, or two joined by a dot.
    pub path: &'static str,
    /// What it must be.
    pub shape: Shape,
}

/// Why a record does not fold: an identity field is missing or of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{} without {} as {}", record_type.name(), field.path, field.shape.in_words())]
pub struct Unreplayable {
    /// The type of the record.
    pub record_type: RecordType,
    /// The first identity field that is not as it must be.
    pub field: Identity,
}

impl Shape {
    const fn in_words(self) -> &'static str {
        match self {
            Shape::Text => "a string",
            Shape::TextList => "a list of strings",
        }
    }

    fn fits(self, value: &Json) -> bool {
        match self {
            Shape::Text => value.as_text().is_some(),
            Shape::TextList => value
                .as_array()
                .is_some_and(|items| items.iter().all(|item| item.as_text().is_some())),
        }
    }
}

const fn text(path: &'static str) -> Identity {
    Identity { path, shape: Shape::Text }
}

/// The keys of a message inside `message.sent`, in order; `idempotencyKey` follows where there is
/// one.
pub const MESSAGE_KEYS: [&str; 19] = [
    "messageId",
    "correlationId",
    "from",
    "fromName",
    "to",
    "toName",
    "replyTo",
    "replyToName",
    "expectsReply",
    "kind",
    "text",
    "trust",
    "authority",
    "flags",
    "sentAt",
    "delivery",
    "deliveredAt",
    "ackedBy",
    "ackedAt",
];

impl RecordType {
    /// All of them.
    pub const ALL: [RecordType; 9] = [
        RecordType::ActorRegistered,
        RecordType::MessageSent,
        RecordType::AuthorityDenied,
        RecordType::InboxPolled,
        RecordType::MessageAcked,
        RecordType::ActorHeartbeat,
        RecordType::WorkHandedOff,
        RecordType::CommandRejected,
        RecordType::MessageRepeated,
    ];

    /// The wire name: the value of `type`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            RecordType::ActorRegistered => "actor.registered",
            RecordType::MessageSent => "message.sent",
            RecordType::AuthorityDenied => "authority.denied",
            RecordType::InboxPolled => "inbox.polled",
            RecordType::MessageAcked => "message.acked",
            RecordType::ActorHeartbeat => "actor.heartbeat",
            RecordType::WorkHandedOff => "work.handed-off",
            RecordType::CommandRejected => "command.rejected",
            RecordType::MessageRepeated => "message.repeated",
        }
    }

    /// The type of a wire name, when this build knows it.
    #[must_use]
    pub fn from_name(name: &Text) -> Option<RecordType> {
        RecordType::ALL.into_iter().find(|record_type| *name == record_type.name())
    }

    /// The type of a record, when this build knows it.
    #[must_use]
    pub fn of(record: &Object) -> Option<RecordType> {
        RecordType::from_name(record.get_text("type")?)
    }

    /// The keys that a record of this type has, in order, as this build writes it.
    #[must_use]
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            RecordType::ActorRegistered => &[
                "type",
                "at",
                "ref",
                "name",
                "isNew",
                "kind",
                "declaredCapabilities",
                "busAuthority",
            ],
            RecordType::MessageSent => &["type", "at", "message"],
            RecordType::AuthorityDenied => {
                &["type", "at", "messageId", "from", "to", "requested", "outcome"]
            }
            RecordType::InboxPolled => &["type", "at", "actorId", "messageIds"],
            RecordType::MessageAcked => &["type", "at", "actorId", "messageId", "note"],
            RecordType::ActorHeartbeat => &["type", "at", "actorId", "note"],
            RecordType::WorkHandedOff => &[
                "type",
                "at",
                "from",
                "to",
                "messageId",
                "correlationId",
                "replyTo",
                "summary",
                "authorityTransferred",
            ],
            RecordType::CommandRejected => &["type", "at", "command", "reason"],
            RecordType::MessageRepeated => &["type", "at", "messageId", "from"],
        }
    }

    /// The fields without which a record of this type does not fold, in the order of judgement.
    #[must_use]
    pub const fn identity(self) -> &'static [Identity] {
        match self {
            RecordType::ActorRegistered => const { &[text("ref"), text("name")] },
            RecordType::MessageSent => {
                const { &[text("message.messageId"), text("message.from"), text("message.to")] }
            }
            RecordType::InboxPolled => {
                const IDS: Identity = Identity { path: "messageIds", shape: Shape::TextList };
                const { &[text("actorId"), IDS] }
            }
            RecordType::MessageAcked => const { &[text("actorId"), text("messageId")] },
            RecordType::ActorHeartbeat => const { &[text("actorId")] },
            RecordType::AuthorityDenied
            | RecordType::WorkHandedOff
            | RecordType::CommandRejected
            | RecordType::MessageRepeated => &[],
        }
    }
}

/// The type of a record, when this build knows it and all its identity fields are there.
///
/// # Errors
/// The first identity field that is missing or of another type. Apply reports, it never repairs.
pub fn check_identity(record: &Object) -> Result<Option<RecordType>, Unreplayable> {
    let Some(record_type) = RecordType::of(record) else { return Ok(None) };
    match record_type.identity().iter().find(|field| !is_there(record, field)) {
        Some(&field) => Err(Unreplayable { record_type, field }),
        None => Ok(Some(record_type)),
    }
}

fn is_there(record: &Object, field: &Identity) -> bool {
    let value = match field.path.split_once('.') {
        Some((outer, inner)) => {
            record.get(outer).and_then(Json::as_object).and_then(|object| object.get(inner))
        }
        None => record.get(field.path),
    };
    value.is_some_and(|value| field.shape.fits(value))
}

/// Whether a message is acknowledged, given its `ackedBy` as found. Nobody has acknowledged a
/// message that does not say who: one without the field stays pending rather than being lost from
/// sight.
#[must_use]
pub fn is_acked(acked_by: Option<&Json>) -> bool {
    !matches!(acked_by, None | Some(Json::Null))
}

/// A ref and the name that it bore at the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The ref.
    pub actor_ref: Text,
    /// The name; it stays in the record as it was at sending.
    pub name: Text,
}

/// What differs between messages; the rest of the record is constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub message_id: Text,
    /// Its thread.
    pub correlation_id: Text,
    /// Who sent it.
    pub from: Party,
    /// Whom it is addressed to.
    pub to: Party,
    /// Whom an answer goes to.
    pub reply_to: Party,
    /// Whether an answer is expected.
    pub expects_reply: bool,
    /// What sort of message it is.
    pub kind: Text,
    /// The body, verbatim: untrusted.
    pub text: Text,
    /// What was requested and is grantable. Granting changes nothing.
    pub granted: Vec<Text>,
    /// What was requested and is not.
    pub denied: Vec<Text>,
    /// Whether the text talks of authority.
    pub is_flagged: bool,
    /// The key of a safe repeat, where the sender gave one.
    pub idempotency_key: Option<Text>,
}

/// The `authority` of a message: what was granted and denied, to no effect.
#[must_use]
pub fn authority(granted: &[Text], denied: &[Text]) -> Object {
    Object::new()
        .with("granted", granted.to_vec())
        .with("denied", denied.to_vec())
        .with("effect", EFFECT)
        .with("neverGrantable", NEVER_GRANTABLE.to_vec())
}

fn record(record_type: RecordType, at: &Text) -> Object {
    Object::new().with("type", record_type.name()).with("at", at)
}

/// `actor.registered`
#[must_use]
pub fn actor_registered(
    at: &Text,
    actor: &Party,
    is_new: bool,
    kind: &Text,
    capabilities: &[Text],
) -> Object {
    record(RecordType::ActorRegistered, at)
        .with("ref", &actor.actor_ref)
        .with("name", &actor.name)
        .with("isNew", is_new)
        .with("kind", kind)
        .with("declaredCapabilities", capabilities.to_vec())
        .with("busAuthority", BUS_AUTHORITY.to_vec())
}

/// `message.sent`
#[must_use]
pub fn message_sent(at: &Text, message: &Message) -> Object {
    let flags = if message.is_flagged { vec![AUTHORITY_FLAG] } else { Vec::new() };
    let body = Object::new()
        .with("messageId", &message.message_id)
        .with("correlationId", &message.correlation_id)
        .with("from", &message.from.actor_ref)
        .with("fromName", &message.from.name)
        .with("to", &message.to.actor_ref)
        .with("toName", &message.to.name)
        .with("replyTo", &message.reply_to.actor_ref)
        .with("replyToName", &message.reply_to.name)
        .with("expectsReply", message.expects_reply)
        .with("kind", &message.kind)
        .with("text", &message.text)
        .with("trust", TRUST)
        .with("authority", authority(&message.granted, &message.denied))
        .with("flags", flags)
        .with("sentAt", at)
        .with("delivery", DELIVERY)
        .with("deliveredAt", Json::Null)
        .with("ackedBy", Json::Null)
        .with("ackedAt", Json::Null)
        .with_some("idempotencyKey", message.idempotency_key.as_ref());
    record(RecordType::MessageSent, at).with("message", body)
}

/// `authority.denied`: the part of a request that was denied.
#[must_use]
pub fn authority_denied(at: &Text, message: &Message) -> Object {
    record(RecordType::AuthorityDenied, at)
        .with("messageId", &message.message_id)
        .with("from", &message.from.actor_ref)
        .with("to", &message.to.actor_ref)
        .with("requested", message.denied.clone())
        .with("outcome", DENIAL_OUTCOME)
}

/// `inbox.polled`: the messages that were shown.
#[must_use]
pub fn inbox_polled(at: &Text, actor_ref: &Text, message_ids: Vec<Text>) -> Object {
    record(RecordType::InboxPolled, at).with("actorId", actor_ref).with("messageIds", message_ids)
}

/// `message.acked`
#[must_use]
pub fn message_acked(
    at: &Text,
    actor_ref: &Text,
    message_id: &Text,
    note: Option<&Text>,
) -> Object {
    record(RecordType::MessageAcked, at)
        .with("actorId", actor_ref)
        .with("messageId", message_id)
        .with("note", note)
}

/// `actor.heartbeat`
#[must_use]
pub fn actor_heartbeat(at: &Text, actor_ref: &Text, note: Option<&Text>) -> Object {
    record(RecordType::ActorHeartbeat, at).with("actorId", actor_ref).with("note", note)
}

/// `work.handed-off`: no authority ever passes with the work.
#[must_use]
pub fn work_handed_off(at: &Text, message: &Message) -> Object {
    record(RecordType::WorkHandedOff, at)
        .with("from", &message.from.actor_ref)
        .with("to", &message.to.actor_ref)
        .with("messageId", &message.message_id)
        .with("correlationId", &message.correlation_id)
        .with("replyTo", &message.reply_to.actor_ref)
        .with("summary", &message.text)
        .with("authorityTransferred", Json::Array(Vec::new()))
}

/// `command.rejected`
#[must_use]
pub fn command_rejected(at: &Text, verb: Verb, reason: &str, code: RefusalCode) -> Object {
    record(RecordType::CommandRejected, at)
        .with("command", verb.name())
        .with("reason", reason)
        .with("code", code.as_str())
}

/// `message.repeated`
#[must_use]
pub fn message_repeated(at: &Text, message_id: &Text, sender: &Text) -> Object {
    record(RecordType::MessageRepeated, at).with("messageId", message_id).with("from", sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        let party = |number: u8| Party {
            actor_ref: format!("act-000{number}").into(),
            name: format!("n{number}").into(),
        };
        Message {
            message_id: "msg-0001".into(),
            correlation_id: "cor-0001".into(),
            from: party(1),
            to: party(2),
            reply_to: party(3),
            expects_reply: true,
            kind: "note".into(),
            text: "t".into(),
            granted: vec!["read".into()],
            denied: vec!["merge".into()],
            is_flagged: true,
            idempotency_key: None,
        }
    }

    /// One record of each type, as this build writes it.
    fn one_of_each() -> Vec<Object> {
        let (at, id) = (Text::from("2026-09-15T23:41:09.954Z"), Text::from("act-0001"));
        let message = message();
        vec![
            actor_registered(&at, &message.from, true, &message.kind, &[]),
            message_sent(&at, &message),
            authority_denied(&at, &message),
            inbox_polled(&at, &id, vec!["msg-0001".into()]),
            message_acked(&at, &id, &message.message_id, None),
            actor_heartbeat(&at, &id, Some(&message.text)),
            work_handed_off(&at, &message),
            command_rejected(&at, Verb::Ack, "why", RefusalCode::MissingField),
            message_repeated(&at, &message.message_id, &id),
        ]
    }

    #[test]
    fn every_constructor_writes_its_keys_in_order() {
        let records = one_of_each();
        assert_eq!(records.len(), RecordType::ALL.len());
        for (record, record_type) in records.iter().zip(RecordType::ALL) {
            assert_eq!(RecordType::of(record), Some(record_type));
            let mut keys: Vec<String> = record.iter().map(|(key, _)| key.to_string()).collect();
            if record_type == RecordType::CommandRejected {
                assert_eq!(keys.pop().unwrap(), "code", "ours comes last");
            }
            assert_eq!(keys, record_type.keys(), "{}", record_type.name());
            assert_eq!(check_identity(record), Ok(Some(record_type)));
        }
    }

    #[test]
    fn a_message_has_its_keys_in_order_and_its_idempotency_key_last() {
        let keys = |record: &Object| -> Vec<String> {
            let message = record.get("message").and_then(Json::as_object).unwrap();
            message.iter().map(|(key, _)| key.to_string()).collect()
        };
        let at = Text::from("x");
        assert_eq!(keys(&message_sent(&at, &message())), MESSAGE_KEYS);
        let keyed = Message { idempotency_key: Some("k".into()), ..message() };
        let with_key = keys(&message_sent(&at, &keyed));
        assert_eq!(with_key.last().unwrap(), "idempotencyKey");
        assert_eq!(with_key.len(), MESSAGE_KEYS.len() + 1);
    }

    #[test]
    fn each_identity_field_is_missed_by_name_when_absent_or_of_another_type() {
        for record in one_of_each() {
            let record_type = RecordType::of(&record).unwrap();
            for field in record_type.identity() {
                for wrong in
                    [None, Some(Json::Null), Some(Json::from(7)), Some(Json::from(vec![7]))]
                {
                    let mutant = with_field(&record, field.path, wrong);
                    assert_eq!(
                        check_identity(&mutant),
                        Err(Unreplayable { record_type, field: *field })
                    );
                }
            }
        }
    }

    /// The record with one field set to a value, or without it.
    fn with_field(record: &Object, path: &str, value: Option<Json>) -> Object {
        match path.split_once('.') {
            Some((outer, inner)) => {
                let nested = record.get(outer).and_then(Json::as_object).unwrap();
                record.clone().with(outer, with_field(nested, inner, value))
            }
            None => match value {
                Some(value) => record.clone().with(path, value),
                None => record
                    .iter()
                    .filter(|(key, _)| *key != path)
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            },
        }
    }

    #[test]
    fn unreplayable_says_which_field_in_words() {
        let polled = Object::new().with("type", "inbox.polled").with("actorId", "act-0001");
        assert_eq!(
            check_identity(&polled).unwrap_err().to_string(),
            "inbox.polled without messageIds as a list of strings"
        );
        let sent = Object::new().with("type", "message.sent").with("message", Json::Null);
        assert_eq!(
            check_identity(&sent).unwrap_err().to_string(),
            "message.sent without message.messageId as a string"
        );
    }

    #[test]
    fn a_record_of_an_unknown_type_always_folds() {
        for record in
            [Object::new(), Object::new().with("type", 7), Object::new().with("type", "x")]
        {
            assert_eq!(check_identity(&record), Ok(None));
        }
    }

    #[test]
    fn a_message_is_acknowledged_only_when_it_says_by_whom() {
        assert!(!is_acked(None));
        assert!(!is_acked(Some(&Json::Null)));
        assert!(is_acked(Some(&Json::from("act-0001"))));
        assert!(is_acked(Some(&Json::from(false))), "kept as found: not null");
    }
}
