//! The snapshot: what a person or a script is shown of a state.
//!
//! Pure builders of rows, shared by the reference state and the store's cold fold, so that the two
//! have one shape without sharing a fold. What a record lacks stays missing; what it holds of
//! another type is kept as found.

use crate::event::is_acked;
use crate::instant::Status;
use crate::json::{Json, Object};
use crate::text::{CodePoint, Text};
use crate::vocabulary::{PROTOCOL, SNAPSHOT_TEXT_UNITS_MAX};

const ELLIPSIS: &str = "...";

/// A text of at most [`SNAPSHOT_TEXT_UNITS_MAX`] UTF-16 units: itself, or its beginning and `...`.
/// A character is never split.
#[must_use]
pub fn clip(text: &Text) -> Text {
    if text.utf16_len() <= SNAPSHOT_TEXT_UNITS_MAX {
        return text.clone();
    }
    let mut room = SNAPSHOT_TEXT_UNITS_MAX - ELLIPSIS.len();
    let mut clipped = Text::new();
    for point in text.code_points() {
        let units = match point {
            CodePoint::Char(c) => c.len_utf16(),
            CodePoint::Surrogate(_) => 1,
        };
        match room.checked_sub(units) {
            Some(left) => room = left,
            None => break,
        }
        clipped.push(point);
    }
    clipped.push_str(ELLIPSIS);
    clipped
}

/// What a row of `actors` is made of. The three optional fields are as the newest registration
/// holds them.
#[derive(Clone, Debug)]
pub struct ActorRow<'a> {
    /// The ref.
    pub actor_ref: &'a Text,
    /// The present name.
    pub name: &'a Text,
    /// The kind.
    pub kind: Option<&'a Json>,
    /// Whether it was seen lately.
    pub status: Status,
    /// How many heartbeats there were.
    pub heartbeats: u64,
    /// What it declares.
    pub declared_capabilities: Option<&'a Json>,
    /// The constant, unless somebody tampered.
    pub bus_authority: Option<&'a Json>,
    /// The *other* bearers of the name, in the order in which they came to bear it.
    pub name_shared_with: Vec<Text>,
    /// How many entries of its inbox are not acknowledged.
    pub pending: u64,
}

/// A row of `actors`.
#[must_use]
pub fn actor_row(row: &ActorRow<'_>) -> Object {
    Object::new()
        .with("ref", row.actor_ref)
        .with("name", row.name)
        .with_some("kind", row.kind.cloned())
        .with("status", row.status.as_str())
        .with("heartbeats", row.heartbeats)
        .with_some("declaredCapabilities", row.declared_capabilities.cloned())
        .with_some("busAuthority", row.bus_authority.cloned())
        .with("nameSharedWith", row.name_shared_with.clone())
        .with("pending", row.pending)
}

/// A row of `messages`, from a message as it stands.
#[must_use]
pub fn message_row(message: &Object) -> Object {
    let authority = |key| message.get("authority").and_then(Json::as_object)?.get(key).cloned();
    let text = message.get("text").map(|text| match text {
        Json::String(text) => Json::String(clip(text)),
        other => other.clone(),
    });
    let mut route = labelled(message, "from", "fromName").unwrap_or_default();
    route.push_str(" -> ");
    route.push_text(&labelled(message, "to", "toName").unwrap_or_default());
    Object::new()
        .with_some("messageId", message.get("messageId").cloned())
        .with_some("correlationId", message.get("correlationId").cloned())
        .with("route", route)
        .with_some("replyTo", labelled(message, "replyTo", "replyToName"))
        .with_some("expectsReply", message.get("expectsReply").cloned())
        .with_some("kind", message.get("kind").cloned())
        .with_some("trust", message.get("trust").cloned())
        .with_some("delivery", message.get("delivery").cloned())
        .with_some("authorityGranted", authority("granted"))
        .with_some("authorityDenied", authority("denied"))
        .with_some("flags", message.get("flags").cloned())
        .with("acked", is_acked(message.get("ackedBy")))
        .with_some("text", text)
}

/// `act-0001(gaia)`; nothing when the ref is missing. A missing name is empty.
fn labelled(message: &Object, ref_key: &str, name_key: &str) -> Option<Text> {
    let mut label = displayed(message.get(ref_key)?);
    label.push_str("(");
    label.push_text(&message.get(name_key).map(displayed).unwrap_or_default());
    label.push_str(")");
    Some(label)
}

/// A value inside a label: a string as it is, null as nothing, anything else as JSON.
fn displayed(value: &Json) -> Text {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => Text::new(),
        other => {
            let mut out = Vec::new();
            other.write(&mut out);
            String::from_utf8_lossy(&out).as_ref().into()
        }
    }
}

/// A row of `handoffs`, from its record.
#[must_use]
pub fn handoff_row(record: &Object) -> Object {
    picked(
        record,
        &[
            "from",
            "to",
            "messageId",
            "correlationId",
            "replyTo",
            "summary",
            "authorityTransferred",
            "at",
        ],
    )
}

/// A row of `authorityDenials`, from its record.
#[must_use]
pub fn denial_row(record: &Object) -> Object {
    picked(record, &["messageId", "from", "to", "requested", "outcome"])
}

/// A row of `rejections`, from its record.
#[must_use]
pub fn rejection_row(record: &Object) -> Object {
    picked(record, &["command", "reason", "code"])
}

fn picked(record: &Object, keys: &[&str]) -> Object {
    keys.iter().fold(Object::new(), |row, key| row.with_some(key, record.get(key).cloned()))
}

/// All that a snapshot is made of.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// How many records were folded.
    pub events_applied: u64,
    /// The `at` of the last record that had one as a string.
    pub last_event_at: Option<Text>,
    /// [`actor_row`]s, in the order of first registration.
    pub actors: Vec<Object>,
    /// [`message_row`]s, in the order in which the ids were first stored.
    pub messages: Vec<Object>,
    /// [`handoff_row`]s, in log order.
    pub handoffs: Vec<Object>,
    /// [`denial_row`]s, in log order.
    pub authority_denials: Vec<Object>,
    /// [`rejection_row`]s, in log order.
    pub rejections: Vec<Object>,
}

/// The snapshot.
#[must_use]
pub fn snapshot(parts: Parts) -> Object {
    Object::new()
        .with("protocol", PROTOCOL)
        .with("eventsApplied", parts.events_applied)
        .with("lastEventAt", parts.last_event_at)
        .with("actors", parts.actors)
        .with("messages", parts.messages)
        .with("handoffs", parts.handoffs)
        .with("authorityDenials", parts.authority_denials)
        .with("rejections", parts.rejections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(object: &Object) -> String {
        String::from_utf8(object.to_line()).unwrap()
    }

    #[test]
    fn a_text_is_clipped_past_96_units_to_93_and_an_ellipsis() {
        let units = |count: usize| Text::from("a".repeat(count));
        assert_eq!(clip(&units(96)), units(96));
        assert_eq!(clip(&units(97)), Text::from(format!("{}...", "a".repeat(93))));
    }

    #[test]
    fn clipping_never_splits_a_pair() {
        let pairs = Text::from("\u{1F469}".repeat(49));
        assert_eq!(clip(&pairs), Text::from(format!("{}...", "\u{1F469}".repeat(46))), "92 units");
        let fits = Text::from("\u{1F469}".repeat(48));
        assert_eq!(clip(&fits), fits, "96 units");
    }

    #[test]
    fn lone_surrogates_count_one_unit_and_survive_clipping() {
        let mut text = Text::new();
        for _ in 0..97 {
            text.push(CodePoint::Surrogate(0xDC00));
        }
        let clipped = clip(&text);
        assert_eq!(clipped.utf16_len(), 96);
        assert_eq!(clipped.code_points().next(), Some(CodePoint::Surrogate(0xDC00)));
    }

    #[test]
    fn what_is_missing_in_a_message_stays_missing_in_its_row() {
        let minimal = Object::new().with("messageId", "m").with("from", "a").with("to", "b");
        assert_eq!(
            line(&message_row(&minimal)),
            r#"{"messageId":"m","route":"a() -> b()","acked":false}"#
        );
    }

    #[test]
    fn what_is_of_another_type_is_kept_as_found() {
        let odd = Object::new()
            .with("messageId", "m")
            .with("correlationId", 7)
            .with("from", "a")
            .with("fromName", 5)
            .with("to", "b")
            .with("toName", Json::Null)
            .with("replyTo", vec!["x"])
            .with("authority", "all")
            .with("flags", "none")
            .with("ackedBy", 0)
            .with("text", 12);
        assert_eq!(
            line(&message_row(&odd)),
            r#"{"messageId":"m","correlationId":7,"route":"a(5) -> b()","replyTo":"[\"x\"]()","flags":"none","acked":true,"text":12}"#
        );
    }

    #[test]
    fn rows_hold_the_keys_of_their_record_in_their_own_order() {
        let record = Object::new()
            .with("type", "work.handed-off")
            .with("at", 5)
            .with("to", "b")
            .with("from", "a");
        assert_eq!(line(&handoff_row(&record)), r#"{"from":"a","to":"b","at":5}"#);
        let rejected = Object::new().with("code", "c").with("reason", "r").with("x", 1);
        assert_eq!(line(&rejection_row(&rejected)), r#"{"reason":"r","code":"c"}"#);
        assert_eq!(line(&denial_row(&Object::new())), "{}");
    }

    #[test]
    fn an_empty_snapshot_has_all_its_keys() {
        assert_eq!(
            line(&snapshot(Parts::default())),
            r#"{"protocol":"gaia-interagent-bus/1.0","eventsApplied":0,"lastEventAt":null,"actors":[],"messages":[],"handoffs":[],"authorityDenials":[],"rejections":[]}"#
        );
    }
}
