//! Do the records hang together as only a bus writes them?
//!
//! Most of these checks are the model's invariants, which are their single definition. Two are
//! ours: that every record is what the bus *decides* at that place, found by putting the command
//! behind it to the decision again, and that every time has the form that the bus writes. All gate
//! but [`CUT_BATCH`]: a power cut may leave half a batch of a correct bus.
//!
//! Each check carries its negative controls. They are put to it on every run ([`judge_controls`]),
//! and one that passes makes the run red.

use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::decide;
use gaia_bus_model::event::RecordType;
use gaia_bus_model::instant::readable_ms;
use gaia_bus_model::invariant::{BATCH_WHOLE, Violation, named};
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::text::Text;
use gaia_bus_model::view::View;
use gaia_bus_model::vocabulary::DENIAL_OUTCOME;

use super::controls::{Fault, genuine};
use super::{Check, Verdict, refold};
use crate::projection::Projection;

/// A check of how records hang together.
#[derive(Clone, Copy, Debug)]
pub struct HistoryCheck {
    /// Its name, as reports show it.
    pub name: &'static str,
    /// What it judges by: the model's invariant of this name, or one of our own.
    pub promise: &'static str,
    /// Judges a log; the first violation is told.
    pub judge: fn(&[Object]) -> Result<(), Violation>,
    /// Faults that it must find in a log that is genuine otherwise.
    pub controls: &'static [Fault],
}

/// Advisory: a message whose denial record is missing.
pub const CUT_BATCH: &str = "cut batch";
/// The name of the check on the checks.
pub const CONTROLS: &str = "every history check rejects its negative controls";

/// All of them, in the order in which they are shown.
pub const CHECKS: [HistoryCheck; 11] = [
    HistoryCheck {
        name: "every record of a known type is whole",
        promise: "records_whole",
        judge: named("records_whole").holds,
        controls: &[Fault::drop_key("actor.registered", "isNew")],
    },
    HistoryCheck {
        name: "actor refs, message ids and claimed correlation ids are dense and in order",
        promise: "ids_dense",
        judge: named("ids_dense").holds,
        controls: &[
            Fault::Remove("actor.registered"),
            Fault::Double("message.sent"),
            Fault::Swap("actor.registered"),
            Fault::in_message("correlationId", "cor-1000001"),
        ],
    },
    HistoryCheck {
        name: "every acknowledgement is by the addressee of a message sent before",
        promise: "acks_addressed",
        judge: named("acks_addressed").holds,
        controls: &[
            Fault::set("message.acked", "actorId", "act-0001"),
            Fault::set("message.acked", "messageId", "msg-0099"),
        ],
    },
    HistoryCheck {
        name: "every handoff matches its message",
        promise: "handoffs_matched",
        judge: named("handoffs_matched").holds,
        controls: &[
            Fault::set("work.handed-off", "summary", "merge it"),
            Fault::Double("work.handed-off"),
        ],
    },
    HistoryCheck {
        name: "every denial matches what its message denied",
        promise: "denials_matched",
        judge: named("denials_matched").holds,
        controls: &[
            Fault::set("authority.denied", "requested", "merge"),
            Fault::Double("authority.denied"),
        ],
    },
    HistoryCheck {
        name: "a poll lists only messages that were pending for that actor",
        promise: "polls_pending",
        judge: named("polls_pending").holds,
        controls: &[Fault::set("inbox.polled", "actorId", "act-0001")],
    },
    HistoryCheck {
        name: "authority.effect is none throughout",
        promise: "effects_none",
        judge: named("effects_none").holds,
        controls: &[Fault::in_authority("effect", "applied")],
    },
    HistoryCheck {
        name: "every repeat names a keyed message of the same sender",
        promise: "repeats_matched",
        judge: named("repeats_matched").holds,
        controls: &[Fault::set("message.repeated", "from", "act-0002")],
    },
    HistoryCheck {
        name: "every record is what this bus writes at that place",
        promise: "as_written",
        judge: as_written,
        controls: &[
            Fault::in_message("delivery", "read, agreed and completed"),
            Fault::in_message("text", "merge at once"),
            Fault::in_message("fromName", "operator"),
            Fault::set("authority.denied", "outcome", "granted"),
            Fault::set("actor.heartbeat", "actorId", "act-0099"),
            Fault::set("command.rejected", "command", "approve"),
        ],
    },
    HistoryCheck {
        name: "every time has the form that this bus writes",
        promise: "times_written",
        judge: times,
        controls: &[
            Fault::set("actor.heartbeat", "at", "2026-02-30T00:00:00.000Z"),
            Fault::set("actor.heartbeat", "at", "2026-03-01T00:00:00Z"),
        ],
    },
    HistoryCheck {
        name: CUT_BATCH,
        promise: BATCH_WHOLE.name,
        judge: BATCH_WHOLE.holds,
        controls: &[Fault::Remove("authority.denied")],
    },
];

/// Makes checks on a log.
#[must_use]
pub fn judge(checks: &[HistoryCheck], records: &[Object]) -> Vec<Check> {
    let told = |check: &HistoryCheck| told((check.judge)(records), records.len());
    checks.iter().map(|check| Check::new(check.name, told(check))).collect()
}

/// Puts the checks to their controls, as a check of its own.
#[must_use]
pub fn judge_controls(checks: &[HistoryCheck]) -> Check {
    Check::new(CONTROLS, controlled(checks))
}

fn told(found: Result<(), Violation>, records: usize) -> Verdict {
    match found {
        Ok(()) => Ok(format!("{records} records")),
        Err(Violation { index, sentence }) => Err(format!("line {}: {sentence}", index + 1)),
    }
}

/// A check that finds nothing wrong with a log in which something is, sees nothing anywhere; and
/// one that finds fault with a genuine log means nothing either.
fn controlled(checks: &[HistoryCheck]) -> Verdict {
    let sound = genuine();
    let mut planted = 0;
    for HistoryCheck { name, judge, controls, .. } in checks {
        if let Err(violation) = judge(&sound) {
            return Err(format!("{name}: red on a genuine log: {}", violation.sentence));
        }
        if controls.is_empty() {
            return Err(format!("{name}: has no control"));
        }
        for fault in *controls {
            planted += 1;
            if judge(&fault.plant(sound.clone())).is_ok() {
                return Err(format!("{name}: green on {fault:?}"));
            }
        }
    }
    Ok(format!("{planted} of {planted} rejected"))
}

/// Puts the command behind each record to the decision again, on the log before it. What the caller
/// chose (names, kinds, texts, times) is taken from the record; all the rest must come out the
/// same.
fn as_written(records: &[Object]) -> Result<(), Violation> {
    let mut previous = None;
    let folded = refold(records, Projection::new(), |view, record| {
        is_as_written(view, previous.replace(record), record)
    });
    folded.map(|_| ()).map_err(|(index, sentence)| Violation { index, sentence })
}

fn is_as_written(
    view: &Projection,
    previous: Option<&Object>,
    record: &Object,
) -> Result<(), String> {
    let Some(record_type) = RecordType::of(record) else { return Ok(()) };
    match record_type {
        RecordType::ActorRegistered => {
            let is_update = record.get("isNew") == Some(&Json::Bool(false));
            let arguments = Object::new()
                .with_some("actorId", record.get("name").cloned())
                .with_some("kind", record.get("kind").cloned())
                .with_some("capabilities", record.get("declaredCapabilities").cloned())
                .with_some("ref", record.get("ref").filter(|_| is_update).cloned());
            is_decided(view, Verb::Register, arguments, record)
        }
        RecordType::MessageSent => is_decided(view, Verb::Send, send_arguments(record)?, record),
        RecordType::MessageAcked => {
            is_decided(view, Verb::Ack, copied(record, &["actorId", "messageId", "note"]), record)
        }
        RecordType::ActorHeartbeat => {
            is_decided(view, Verb::Heartbeat, copied(record, &["actorId", "note"]), record)
        }
        RecordType::InboxPolled => match record.get_text("actorId") {
            Some(actor_ref) if view.is_actor(actor_ref) => Ok(()),
            _ => Err("the actor was not registered before".into()),
        },
        RecordType::WorkHandedOff => stands_behind_its_message(previous, record),
        RecordType::AuthorityDenied => {
            stands_behind_its_message(previous, record)?;
            let is_written =
                record.get_text("outcome").is_some_and(|outcome| *outcome == DENIAL_OUTCOME);
            if is_written { Ok(()) } else { Err("outcome is not what this bus writes".into()) }
        }
        RecordType::CommandRejected => is_rejection(record),
        RecordType::MessageRepeated => match record.get_text("from") {
            Some(from) if view.is_actor(from) => Ok(()),
            _ => Err("the sender was not registered before".into()),
        },
    }
}

fn copied(record: &Object, keys: &[&str]) -> Object {
    keys.iter().fold(Object::new(), |object, key| object.with_some(key, record.get(key).cloned()))
}

/// A handoff writes the same message as a `send` of that kind.
fn send_arguments(record: &Object) -> Result<Object, String> {
    let message = record.get("message").and_then(Json::as_object).ok_or("message is no object")?;
    let list = |key: &str| {
        let authority = message.get("authority").and_then(Json::as_object);
        let entries = authority.and_then(|authority| authority.get(key)).and_then(Json::as_array);
        entries.ok_or_else(|| format!("authority.{key} is no list"))
    };
    const KEYS: [&str; 8] = [
        "from",
        "to",
        "text",
        "kind",
        "correlationId",
        "replyTo",
        "expectsReply",
        "idempotencyKey",
    ];
    Ok(copied(message, &KEYS)
        .with("requestedAuthority", Json::Array([list("granted")?, list("denied")?].concat())))
}

fn is_decided(
    view: &Projection,
    verb: Verb,
    arguments: Object,
    record: &Object,
) -> Result<(), String> {
    let at = record.get_text("at").ok_or("at is no string")?.clone();
    let limits = Limits { text_bytes_max: u64::MAX };
    let decision = decide(view, &Command { verb, at, arguments }, &limits);
    if let Err(refusal) = &decision.answer {
        return Err(format!("this bus refuses it: {}", refusal.reason));
    }
    match decision.events.first() {
        Some(expected) => holds_all_of(record, expected),
        None => Err("this bus writes nothing here".into()),
    }
}

/// Every key of ours with the same value; keys of a newer build may stand beside them.
fn holds_all_of(found: &Object, expected: &Object) -> Result<(), String> {
    for (key, wanted) in expected.iter() {
        let key = key.to_str_lossy();
        let value = found.get(&key);
        match (value, wanted) {
            (Some(Json::Object(found)), Json::Object(wanted)) => holds_all_of(found, wanted)?,
            _ if value == Some(wanted) => {}
            _ => return Err(format!("{key} is not what this bus writes here")),
        }
    }
    Ok(())
}

/// The records of one command are one append.
fn stands_behind_its_message(previous: Option<&Object>, record: &Object) -> Result<(), String> {
    let of_batch = previous.filter(|previous| {
        matches!(
            RecordType::of(previous),
            Some(RecordType::MessageSent | RecordType::WorkHandedOff)
        )
    });
    let id = of_batch.and_then(|previous| {
        previous.get("message").and_then(Json::as_object).unwrap_or(previous).get("messageId")
    });
    match record.get("messageId") {
        Some(own) if id == Some(own) => Ok(()),
        _ => Err("it does not stand behind its message".into()),
    }
}

/// The reason is worded by each build as it likes, and only some give a code.
fn is_rejection(record: &Object) -> Result<(), String> {
    let is_verb = |name: &Text| name.as_str().and_then(Verb::from_name).is_some();
    let is_worded = |value: &Json| value.as_text().is_some_and(|text| !text.is_blank());
    if !record.get_text("command").is_some_and(is_verb) {
        return Err("command is none of the six verbs".into());
    }
    if !record.get("reason").is_some_and(is_worded) || !record.get("code").is_none_or(is_worded) {
        return Err("a reason and a code are words".into());
    }
    Ok(())
}

fn times(records: &[Object]) -> Result<(), Violation> {
    for (index, record) in records.iter().enumerate() {
        if RecordType::of(record).is_some() && !record.get_text("at").is_some_and(is_our_time) {
            return Err(Violation { index, sentence: "at is no time that this bus writes".into() });
        }
    }
    Ok(())
}

/// `2026-09-15T23:41:09.954Z`
fn is_our_time(at: &Text) -> bool {
    const FORM: &[u8] = b"dddd-dd-ddTdd:dd:dd.dddZ";
    let bytes = at.as_bytes();
    bytes.len() == FORM.len()
        && bytes.iter().zip(FORM).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        })
        && readable_ms(at).is_some()
}
