//! Logs that must be rejected. Each is built in memory, on every run and in both regimes; a run in
//! which one of them passes is red, because its green checks mean nothing.

use std::fmt;

use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::decide;
use gaia_bus_model::event::RecordType;
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::state::State;
use gaia_bus_model::text::Text;
use gaia_bus_model::vocabulary::BUS_AUTHORITY;

use super::evidence::{self, AUTHORITY_FROZEN, EvidenceCheck, NOTHING_TRANSFERRED, THREE_ACTORS};
use super::{Check, Verdict};

/// One fault, planted in the first record of a type.
#[derive(Clone, Copy)]
pub enum Fault {
    /// The record is not there.
    Remove(&'static str),
    /// It is there twice.
    Double(&'static str),
    /// It has changed places with the next one.
    Swap(&'static str),
    /// A field has another value.
    Set {
        /// The type of the record.
        record_type: &'static str,
        /// The keys that lead to the field.
        path: &'static [&'static str],
        /// The field.
        key: &'static str,
        /// The value.
        value: &'static str,
    },
    /// A field is not there.
    DropKey {
        /// The type of the record.
        record_type: &'static str,
        /// The field.
        key: &'static str,
    },
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Remove(record_type) => write!(f, "a log without its first {record_type}"),
            Fault::Double(record_type) => write!(f, "a log with its first {record_type} twice"),
            Fault::Swap(record_type) => write!(f, "a log with its first {record_type} too late"),
            Fault::Set { record_type, key, value, .. } => {
                write!(f, "a log with {key} {value:?} in its first {record_type}")
            }
            Fault::DropKey { record_type, key } => {
                write!(f, "a log without {key} in its first {record_type}")
            }
        }
    }
}

impl Fault {
    pub(super) const fn set(
        record_type: &'static str,
        key: &'static str,
        value: &'static str,
    ) -> Fault {
        Fault::Set { record_type, path: &[], key, value }
    }

    pub(super) const fn in_message(key: &'static str, value: &'static str) -> Fault {
        Fault::Set { record_type: "message.sent", path: &["message"], key, value }
    }

    pub(super) const fn in_authority(key: &'static str, value: &'static str) -> Fault {
        Fault::Set { record_type: "message.sent", path: &["message", "authority"], key, value }
    }

    pub(super) const fn drop_key(record_type: &'static str, key: &'static str) -> Fault {
        Fault::DropKey { record_type, key }
    }

    /// The log with the fault; the log as it is, where it has no such record.
    #[must_use]
    pub fn plant(&self, mut log: Vec<Object>) -> Vec<Object> {
        let wanted = match *self {
            Fault::Remove(wanted) | Fault::Double(wanted) | Fault::Swap(wanted) => wanted,
            Fault::Set { record_type, .. } | Fault::DropKey { record_type, .. } => record_type,
        };
        let is_wanted = |record: &Object| {
            RecordType::of(record).is_some_and(|record_type| record_type.name() == wanted)
        };
        let Some(at) = log.iter().position(is_wanted) else { return log };
        match *self {
            Fault::Remove(_) => drop(log.remove(at)),
            Fault::Double(_) => log.extend_from_within(at..=at),
            Fault::Swap(_) if at + 1 < log.len() => log.swap(at, at + 1),
            Fault::Swap(_) => {}
            Fault::Set { path, key, value, .. } => {
                if let Some(record) = log.get_mut(at) {
                    *record = with_path(record, path, key, value);
                }
            }
            Fault::DropKey { key, .. } => {
                if let Some(record) = log.get_mut(at) {
                    let kept = record.iter().filter(|(own, _)| **own != key);
                    *record = kept.map(|(own, value)| (own.clone(), value.clone())).collect();
                }
            }
        }
        log
    }
}

fn with_path(object: &Object, path: &[&str], key: &str, value: &str) -> Object {
    match path {
        [] => object.clone().with(key, value),
        [outer, rest @ ..] => match object.get(outer).and_then(Json::as_object) {
            Some(nested) => object.clone().with(outer, with_path(nested, rest, key, value)),
            None => object.clone(),
        },
    }
}

/// The commands behind [`genuine`]: every type of record comes of them.
const COMMANDS: [(Verb, &[(&str, &str)]); 11] = [
    (Verb::Register, &[("actorId", "gaia"), ("kind", "coordinator")]),
    (Verb::Register, &[("actorId", "builder"), ("kind", "claude-code")]),
    (Verb::Register, &[("actorId", "reviewer"), ("kind", "codex")]),
    (Verb::Send, TASK),
    (Verb::Send, TASK),
    (Verb::Inbox, &[("actorId", "builder")]),
    (Verb::Ack, &[("actorId", "builder"), ("messageId", "msg-0001"), ("note", "read")]),
    (
        Verb::Send,
        &[
            ("from", "builder"),
            ("to", "reviewer"),
            ("text", "see"),
            ("correlationId", "cor-control"),
            ("requestedAuthority", "merge"),
        ],
    ),
    (
        Verb::Handoff,
        &[
            ("from", "builder"),
            ("to", "reviewer"),
            ("summary", "done"),
            ("correlationId", "cor-control"),
        ],
    ),
    (Verb::Heartbeat, &[("actorId", "reviewer")]),
    (Verb::Heartbeat, &[("actorId", "nobody")]),
];

/// A message that is sent twice, so that the log holds a repeat.
const TASK: &[(&str, &str)] = &[
    ("from", "gaia"),
    ("to", "builder"),
    ("text", "build"),
    ("correlationId", "cor-control"),
    ("idempotencyKey", "1"),
];

/// A genuine log, which passes as evidence: what the decisions append, one command after another.
#[must_use]
pub fn genuine() -> Vec<Object> {
    let mut state = State::default();
    let mut log = Vec::new();
    for (second, (verb, fields)) in COMMANDS.into_iter().enumerate() {
        let at: Text = format!("2026-03-01T00:00:{second:02}.000Z").into();
        let arguments = fields.iter().fold(Object::new(), |object, (key, value)| match *key {
            "requestedAuthority" => object.with(key, vec![*value]),
            key => object.with(key, *value),
        });
        let decision = decide(&state, &Command { verb, at, arguments }, &Limits::default());
        for event in decision.events {
            // A record that did not fold would be missed by the checks that are put to this log.
            if state.apply(&event).is_ok() {
                log.push(event);
            }
        }
    }
    log
}

fn single_actor() -> Vec<Object> {
    genuine().into_iter().take(1).collect()
}

fn widened() -> Vec<Object> {
    let mut log = genuine();
    if let Some(first) = log.first_mut() {
        first.set("busAuthority", [&BUS_AUTHORITY[..], &["approve"]].concat());
    }
    log
}

fn tampered_handoff() -> Vec<Object> {
    let mut log = genuine();
    let is_handoff =
        |record: &&mut Object| RecordType::of(record) == Some(RecordType::WorkHandedOff);
    if let Some(handoff) = log.iter_mut().find(is_handoff) {
        handoff.set("authorityTransferred", vec!["approve"]);
    }
    log
}

/// A log that must be rejected, and the check that must reject it.
struct Control {
    name: &'static str,
    log: fn() -> Vec<Object>,
    rejected_by: &'static str,
}

const CONTROLS: [Control; 3] = [
    Control {
        name: "negative control: a synthetic single-actor log is rejected",
        log: single_actor,
        rejected_by: THREE_ACTORS,
    },
    Control {
        name: "negative control: a widened busAuthority is rejected",
        log: widened,
        rejected_by: AUTHORITY_FROZEN,
    },
    Control {
        name: "negative control: a tampered handoff is rejected",
        log: tampered_handoff,
        rejected_by: NOTHING_TRANSFERRED,
    },
];

/// Puts the checks of a log to their controls. The log that the faults are planted in must pass, or
/// else its rejection would show nothing.
#[must_use]
pub fn judge(checks: &[EvidenceCheck]) -> Vec<Check> {
    let is_red = |log: &[Object], name: &str| {
        evidence::judge(checks, log).iter().any(|check| check.name == name && !check.ok)
    };
    let sound = genuine();
    let verdict = |control: &Control| -> Verdict {
        let Control { log, rejected_by, .. } = control;
        if is_red(&sound, rejected_by) {
            Err(format!("`{rejected_by}` is red on a genuine log too"))
        } else if is_red(&log(), rejected_by) {
            Ok(format!("rejected by `{rejected_by}`"))
        } else {
            Err(format!("`{rejected_by}` let it pass"))
        }
    };
    CONTROLS.iter().map(|control| Check::new(control.name, verdict(control))).collect()
}
