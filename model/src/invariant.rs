//! What a log alone can show, as data: defined once, used by every checker and by `verify`.
//!
//! Each [`Invariant`] holds on every log that buses of this protocol write and nobody touched. They
//! judge the raw records, not the state, so that a later record cannot cover up an earlier one.
//! What takes processes or disks to see (one writer, durability) is defined in the harness.
//!
//! Each has negative controls in the tests below: a log that breaks it, and is found by it.

use std::collections::{HashMap, HashSet};

use crate::authority::is_grantable;
use crate::correlation;
use crate::decide::quoted;
use crate::event::{self, RecordType};
use crate::identifier::Series;
use crate::json::{Json, Object};
use crate::state::{State, replay};
use crate::text::Text;
use crate::vocabulary::{BUS_AUTHORITY, CLAIM_WINDOW, EFFECT};

/// Where and how a log breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The index of the record that shows it, from 0.
    pub index: usize,
    /// What is wrong, for a person.
    pub sentence: String,
}

/// A statement about a log, with its check.
#[derive(Clone, Copy, Debug)]
pub struct Invariant {
    /// The name, which is a contract.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Judges the records of a log; the first violation is told.
    pub holds: fn(&[Object]) -> Result<(), Violation>,
}

/// Those that hold always: also after crashes, power cuts and repairs by the book.
pub const ALWAYS: [Invariant; 10] = [
    Invariant {
        name: "records_whole",
        about: "every line is one complete record: all keys of its type, in order",
        holds: records_whole,
    },
    Invariant {
        name: "replay_legal",
        about: "the log folds, so does every prefix; folding it twice gives the same state",
        holds: replay_legal,
    },
    Invariant {
        name: "ids_dense",
        about: "actor refs and message ids are 1, 2, 3, ... in log order; a numeric correlation id \
                is recognised and at most the running counter + the claim window",
        holds: ids_dense,
    },
    Invariant {
        name: "authority_frozen",
        about: "every registration carries the frozen bus authority; what is granted stays inside \
                the grantable list; nothing is ever transferred",
        holds: authority_frozen,
    },
    Invariant {
        name: "effects_none",
        about: "the effect of every grant is none",
        holds: effects_none,
    },
    Invariant {
        name: "acks_addressed",
        about: "every acknowledgement is by the addressee of a message sent before",
        holds: acks_addressed,
    },
    Invariant {
        name: "handoffs_matched",
        about: "every handoff matches its message, which was sent before, and is recorded once",
        holds: handoffs_matched,
    },
    Invariant {
        name: "denials_matched",
        about: "every denial matches what its message denied, and is recorded once",
        holds: denials_matched,
    },
    Invariant {
        name: "polls_pending",
        about: "a poll lists the oldest messages that were pending for its actor, in order",
        holds: polls_pending,
    },
    Invariant {
        name: "repeats_matched",
        about: "every repeat names a message with a key that the same sender sent before",
        holds: repeats_matched,
    },
];

/// The one that a power cut or a kill inside the write may break on a correct bus.
pub const BATCH_WHOLE: Invariant = Invariant {
    name: "batch_whole",
    about: "the records of one command stand together: no denial is missing behind its message",
    holds: batch_whole,
};

/// The invariant of a name. In a constant, a name that there is not stops the build.
///
/// # Panics
///
/// When there is none of that name.
#[must_use]
#[allow(clippy::panic, reason = "for constants: evaluated by the compiler")]
pub const fn named(name: &str) -> Invariant {
    let mut index = 0;
    while index < ALWAYS.len() {
        #[allow(clippy::indexing_slicing, reason = "below the length")]
        let invariant = ALWAYS[index];
        if is_same(invariant.name.as_bytes(), name.as_bytes()) {
            return invariant;
        }
        index += 1;
    }
    panic!("there is no such invariant")
}

const fn is_same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([l, left_rest @ ..], [r, right_rest @ ..]) = (left, right) {
        if *l != *r {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    left.is_empty() && right.is_empty()
}

type Verdict = Result<(), Violation>;

fn violation(index: usize, sentence: impl Into<String>) -> Verdict {
    Err(Violation { index, sentence: sentence.into() })
}

/// Judges every record in order, with its index and type.
fn each<'a>(
    records: &'a [Object],
    mut judge: impl FnMut(&'a Object, RecordType) -> Result<(), String>,
) -> Verdict {
    for (index, record) in records.iter().enumerate() {
        if let Some(record_type) = RecordType::of(record) {
            judge(record, record_type).map_err(|sentence| Violation { index, sentence })?;
        }
    }
    Ok(())
}

fn message_of(record: &Object) -> Option<&Object> {
    record.get("message").and_then(Json::as_object)
}

/// A text field of a record; a record without it cannot be matched with anything.
fn text<'a>(record: &'a Object, key: &str) -> Result<&'a Text, String> {
    record.get_text(key).ok_or_else(|| format!("{key} is no string"))
}

/// A message as sent, by id; the newest where one id was sent twice.
type Sent<'a> = HashMap<&'a Text, &'a Object>;

fn remember<'a>(sent: &mut Sent<'a>, record: &'a Object) {
    if let Some(message) = message_of(record)
        && let Some(id) = message.get_text("messageId")
    {
        sent.insert(id, message);
    }
}

/// The message that a record names, when it was sent before.
fn sent_before<'a>(sent: &Sent<'a>, record: &Object) -> Result<&'a Object, String> {
    let id = text(record, "messageId")?;
    sent.get(id).copied().ok_or_else(|| format!("{} was not sent before", quoted(id)))
}

fn equal(record: &Object, key: &str, message: &Object, message_key: &str) -> Result<(), String> {
    if record.get(key) == message.get(message_key) {
        Ok(())
    } else {
        Err(format!("{key} differs from {message_key} of the message"))
    }
}

fn records_whole(records: &[Object]) -> Verdict {
    for (index, record) in records.iter().enumerate() {
        if record.get_text("type").is_none_or(Text::is_empty) {
            return violation(index, "type is no non-empty string");
        }
    }
    each(records, |record, record_type| {
        keys_in_order(record, record_type.keys())?;
        text(record, "at")?;
        match message_of(record) {
            Some(message) => keys_in_order(message, &event::MESSAGE_KEYS),
            None if record_type == RecordType::MessageSent => Err("message is no object".into()),
            None => Ok(()),
        }
    })
}

/// Keys of a newer build may stand between or behind.
fn keys_in_order(object: &Object, wanted: &[&str]) -> Result<(), String> {
    let mut keys = object.iter().map(|(key, _)| key);
    match wanted.iter().find(|wanted| !keys.any(|key| key == *wanted)) {
        Some(missing) => Err(format!("{missing} is missing or out of order")),
        None => Ok(()),
    }
}

/// A prefix that does not fold is one whose last record does not, so that folding record by record
/// shows every prefix.
fn replay_legal(records: &[Object]) -> Verdict {
    let mut state = State::default();
    for (index, record) in records.iter().enumerate() {
        if let Err(unreplayable) = state.apply(record) {
            return violation(index, unreplayable.to_string());
        }
    }
    if replay(records).as_ref() == Ok(&state) {
        Ok(())
    } else {
        violation(records.len().saturating_sub(1), "folding the log again gives another state")
    }
}

fn ids_dense(records: &[Object]) -> Verdict {
    let mut actors = HashSet::new();
    let mut messages = 0;
    let mut issuer_at = 0;
    each(records, |record, record_type| match record_type {
        RecordType::ActorRegistered => {
            let actor_ref = text(record, "ref")?;
            let is_new = !actors.contains(actor_ref);
            if is_new {
                let next = u64::try_from(actors.len()).unwrap_or(u64::MAX).saturating_add(1);
                is_next(actor_ref, Series::Actor, next)?;
                actors.insert(actor_ref);
            }
            if record.get("isNew") == Some(&Json::Bool(is_new)) {
                Ok(())
            } else {
                Err(format!("isNew is not {is_new} for {}", quoted(actor_ref)))
            }
        }
        RecordType::MessageSent => {
            let message = message_of(record).ok_or("message is no object")?;
            messages += 1;
            is_next(text(message, "messageId")?, Series::Message, messages)?;
            issuer_at = claimed(text(message, "correlationId")?, issuer_at)?;
            Ok(())
        }
        _ => Ok(()),
    })
}

fn is_next(id: &Text, series: Series, number: u64) -> Result<(), String> {
    let expected = series.id(number);
    if *id == expected {
        Ok(())
    } else {
        Err(format!("{} stands where {expected} is due", quoted(id)))
    }
}

/// Where the issuer is after a message of a thread.
fn claimed(id: &Text, issuer_at: u64) -> Result<u64, String> {
    if !correlation::is_numeric(id) {
        return Ok(issuer_at);
    }
    match correlation::ordinal(id) {
        None => Err(format!("{} is outside of the issuer's range", quoted(id))),
        Some(ordinal) if ordinal > issuer_at.saturating_add(CLAIM_WINDOW) => {
            Err(format!("{} is beyond the claim window behind {issuer_at}", quoted(id)))
        }
        Some(ordinal) => Ok(issuer_at.max(ordinal)),
    }
}

fn authority_frozen(records: &[Object]) -> Verdict {
    each(records, |record, record_type| match record_type {
        RecordType::ActorRegistered if !is_bus_authority(record.get("busAuthority")) => {
            Err("busAuthority is not the frozen one".into())
        }
        RecordType::MessageSent => {
            let granted = authority_of(record).and_then(|authority| authority.get("granted"));
            let granted = granted.and_then(Json::as_array).ok_or("granted is no list")?;
            match granted.iter().find(|entry| !entry.as_text().is_some_and(is_grantable)) {
                Some(_) => Err("something was granted that is not grantable".into()),
                None => Ok(()),
            }
        }
        RecordType::WorkHandedOff => match record.get("authorityTransferred") {
            Some(Json::Array(transferred)) if transferred.is_empty() => Ok(()),
            _ => Err("authorityTransferred is not empty".into()),
        },
        _ => Ok(()),
    })
}

/// Order does not matter, doubles do.
#[must_use]
pub fn is_bus_authority(value: Option<&Json>) -> bool {
    let Some(entries) = value.and_then(Json::as_array) else { return false };
    entries.len() == BUS_AUTHORITY.len()
        && BUS_AUTHORITY
            .iter()
            .all(|wanted| entries.iter().any(|entry| entry.as_text().is_some_and(|e| e == wanted)))
}

fn authority_of(record: &Object) -> Option<&Object> {
    message_of(record)?.get("authority").and_then(Json::as_object)
}

fn effects_none(records: &[Object]) -> Verdict {
    each(records, |record, record_type| match record_type {
        RecordType::MessageSent => {
            let effect = authority_of(record).and_then(|authority| authority.get_text("effect"));
            if effect.is_some_and(|effect| effect == EFFECT) {
                Ok(())
            } else {
                Err("authority.effect is not none".into())
            }
        }
        _ => Ok(()),
    })
}

fn acks_addressed(records: &[Object]) -> Verdict {
    let mut sent = Sent::new();
    each(records, |record, record_type| {
        remember(&mut sent, record);
        match record_type {
            RecordType::MessageAcked => equal(record, "actorId", sent_before(&sent, record)?, "to"),
            _ => Ok(()),
        }
    })
}

fn handoffs_matched(records: &[Object]) -> Verdict {
    let mut sent = Sent::new();
    let mut seen = HashSet::new();
    each(records, |record, record_type| {
        remember(&mut sent, record);
        if record_type != RecordType::WorkHandedOff {
            return Ok(());
        }
        let message = sent_before(&sent, record)?;
        for key in ["from", "to", "correlationId", "replyTo"] {
            equal(record, key, message, key)?;
        }
        equal(record, "summary", message, "text")?;
        equal(record, "at", message, "sentAt")?;
        if message.get_text("kind").is_none_or(|kind| *kind != "handoff") {
            return Err("its message is of another kind".into());
        }
        once(&mut seen, record)
    })
}

fn denials_matched(records: &[Object]) -> Verdict {
    let mut sent = Sent::new();
    let mut seen = HashSet::new();
    each(records, |record, record_type| {
        remember(&mut sent, record);
        if record_type != RecordType::AuthorityDenied {
            return Ok(());
        }
        let message = sent_before(&sent, record)?;
        for key in ["from", "to"] {
            equal(record, key, message, key)?;
        }
        equal(record, "at", message, "sentAt")?;
        let authority = message.get("authority").and_then(Json::as_object);
        equal(record, "requested", authority.unwrap_or(&Object::new()), "denied")?;
        once(&mut seen, record)
    })
}

fn once<'a>(seen: &mut HashSet<&'a Text>, record: &'a Object) -> Result<(), String> {
    let id = text(record, "messageId")?;
    if seen.insert(id) { Ok(()) } else { Err(format!("{} has one already", quoted(id))) }
}

fn polls_pending(records: &[Object]) -> Verdict {
    let mut pending: HashMap<&Text, Vec<&Text>> = HashMap::new();
    each(records, |record, record_type| match record_type {
        RecordType::MessageSent => {
            let message = message_of(record).ok_or("message is no object")?;
            pending.entry(text(message, "to")?).or_default().push(text(message, "messageId")?);
            Ok(())
        }
        RecordType::MessageAcked => {
            let id = text(record, "messageId")?;
            if let Some(inbox) = pending.get_mut(text(record, "actorId")?) {
                inbox.retain(|pending| *pending != id);
            }
            Ok(())
        }
        RecordType::InboxPolled => {
            let inbox = pending.get(text(record, "actorId")?).map(Vec::as_slice);
            let inbox = inbox.unwrap_or_default();
            let listed = record.get("messageIds").and_then(Json::as_array);
            let listed = listed.ok_or("messageIds is no list")?;
            if listed.is_empty() && !inbox.is_empty() {
                return Err("nothing is listed although something was pending".into());
            }
            let oldest = inbox.iter().map(|id| Some(*id)).chain(std::iter::repeat(None));
            match listed.iter().zip(oldest).find(|(id, oldest)| id.as_text() != *oldest) {
                Some(_) => Err("the listed messages are not the oldest that were pending".into()),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    })
}

fn repeats_matched(records: &[Object]) -> Verdict {
    let mut sent = Sent::new();
    each(records, |record, record_type| {
        remember(&mut sent, record);
        if record_type != RecordType::MessageRepeated {
            return Ok(());
        }
        let message = sent_before(&sent, record)?;
        text(message, "idempotencyKey")?;
        equal(record, "from", message, "from")
    })
}

/// A handoff that is cut before its second record cannot be told from a `send` of that kind; a
/// denial that is missing can be told.
fn batch_whole(records: &[Object]) -> Verdict {
    for (index, record) in records.iter().enumerate() {
        let denied = match RecordType::of(record) {
            Some(RecordType::MessageSent) => authority_of(record).and_then(|a| a.get("denied")),
            _ => None,
        };
        if denied.and_then(Json::as_array).is_none_or(<[Json]>::is_empty) {
            continue;
        }
        let id = message_of(record).and_then(|message| message.get("messageId"));
        let is_of = |record: &&Object, record_type| {
            RecordType::of(record) == Some(record_type) && record.get("messageId") == id
        };
        let rest = records.iter().skip(index + 1);
        let mut rest = rest.skip_while(|next| is_of(next, RecordType::WorkHandedOff));
        if !rest.next().is_some_and(|next| is_of(&next, RecordType::AuthorityDenied)) {
            return violation(index, "the record of what was denied does not follow");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, Limits, Verb};
    use crate::decide::decide;

    /// A log of every type of record, as the bus writes it.
    fn sound_log() -> Vec<Object> {
        let mut state = State::default();
        let mut log = Vec::new();
        let mut call = |verb, arguments: Object| {
            let command = Command { verb, at: "2026-09-15T23:41:09.954Z".into(), arguments };
            for event in decide(&state, &command, &Limits::default()).events {
                state.apply(&event).unwrap();
                log.push(event);
            }
        };
        let actor = |name: &str| Object::new().with("actorId", name);
        let message = |text: &str| Object::new().with("from", "a").with("to", "b").with(text, "t");
        call(Verb::Register, actor("a"));
        call(Verb::Register, actor("b"));
        call(Verb::Register, actor("b").with("ref", "act-0002"));
        let asking = Json::from(vec!["read", "merge"]);
        let keyed = message("text").with("idempotencyKey", "k").with("correlationId", "cor-7");
        call(Verb::Send, keyed.clone().with("requestedAuthority", asking.clone()));
        call(Verb::Send, keyed.with("requestedAuthority", asking.clone()));
        call(Verb::Handoff, message("summary").with("requestedAuthority", asking));
        call(Verb::Send, message("text"));
        call(Verb::Inbox, actor("b").with("limit", 2));
        call(Verb::Ack, actor("b").with("messageId", "msg-0001"));
        call(Verb::Inbox, actor("b"));
        call(Verb::Inbox, actor("a"));
        call(Verb::Heartbeat, actor("a"));
        call(Verb::Heartbeat, actor("nobody"));
        log
    }

    fn all() -> Vec<Invariant> {
        ALWAYS.into_iter().chain([BATCH_WHOLE]).collect()
    }

    #[test]
    fn every_invariant_holds_on_a_log_with_every_type_of_record() {
        let log = sound_log();
        for record_type in RecordType::ALL {
            let is_there = log.iter().any(|record| RecordType::of(record) == Some(record_type));
            assert!(is_there, "{}", record_type.name());
        }
        for invariant in all() {
            assert_eq!((invariant.holds)(&log), Ok(()), "{}", invariant.name);
            assert_eq!((invariant.holds)(&[]), Ok(()), "{}", invariant.name);
        }
    }

    #[test]
    fn every_invariant_but_the_batch_holds_on_every_prefix() {
        let log = sound_log();
        for length in 0..log.len() {
            for invariant in ALWAYS {
                assert_eq!(
                    (invariant.holds)(&log[..length]),
                    Ok(()),
                    "{} {length}",
                    invariant.name
                );
            }
        }
    }

    #[test]
    fn records_of_unknown_types_and_unknown_keys_break_nothing() {
        let mut log = sound_log();
        log.insert(3, Object::new().with("type", "future.event"));
        log[0].set("more", 1);
        for invariant in all() {
            assert_eq!((invariant.holds)(&log), Ok(()), "{}", invariant.name);
        }
    }

    /// Sets a field of the nth record of a type; the path has up to three keys.
    fn set(log: &mut [Object], record_type: RecordType, nth: usize, path: &str, value: Json) {
        let record = log
            .iter_mut()
            .filter(|record| RecordType::of(record) == Some(record_type))
            .nth(nth)
            .unwrap();
        *record = with_path(record, path, value);
    }

    fn with_path(object: &Object, path: &str, value: Json) -> Object {
        match path.split_once('.') {
            Some((outer, inner)) => {
                let nested = object.get(outer).and_then(Json::as_object).unwrap();
                object.clone().with(outer, with_path(nested, inner, value))
            }
            None => object.clone().with(path, value),
        }
    }

    fn position(log: &[Object], record_type: RecordType) -> usize {
        log.iter().position(|record| RecordType::of(record) == Some(record_type)).unwrap()
    }

    fn without_last_key(record: &Object) -> Object {
        let kept = record.iter().take(record.len() - 1);
        kept.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    #[test]
    fn each_invariant_finds_the_faults_that_it_is_there_for() {
        use RecordType as T;
        type Fault = fn(&mut Vec<Object>);
        let controls: [(&str, Fault); 38] = [
            ("records_whole", |log| log[0] = without_last_key(&log[0])),
            ("records_whole", |log| log[0].set("type", "")),
            ("records_whole", |log| log[0].set("at", 5)),
            ("records_whole", |log| set(log, T::MessageSent, 0, "message", Json::Null)),
            ("records_whole", |log| {
                let at = position(log, T::MessageSent);
                let last_two_gone =
                    without_last_key(&without_last_key(message_of(&log[at]).unwrap()));
                log[at].set("message", last_two_gone);
            }),
            ("replay_legal", |log| set(log, T::InboxPolled, 0, "messageIds", "x".into())),
            ("ids_dense", |log| drop(log.remove(0))),
            ("ids_dense", |log| log.insert(1, log[0].clone())),
            ("ids_dense", |log| log.swap(0, 1)),
            ("ids_dense", |log| set(log, T::ActorRegistered, 2, "isNew", true.into())),
            ("ids_dense", |log| set(log, T::ActorRegistered, 0, "ref", "act-00001".into())),
            ("ids_dense", |log| set(log, T::MessageSent, 1, "message.messageId", "msg-1".into())),
            ("ids_dense", |log| {
                set(log, T::MessageSent, 0, "message.correlationId", "cor-1000001".into());
            }),
            ("ids_dense", |log| {
                let unrecognised = "cor-00000000000000001";
                set(log, T::MessageSent, 0, "message.correlationId", unrecognised.into());
            }),
            ("authority_frozen", |log| {
                set(log, T::ActorRegistered, 0, "busAuthority", vec!["send"].into());
            }),
            ("authority_frozen", |log| {
                let doubled = ["send", "send", "ack", "heartbeat", "handoff"];
                set(log, T::ActorRegistered, 1, "busAuthority", doubled.to_vec().into());
            }),
            ("authority_frozen", |log| {
                set(log, T::MessageSent, 0, "message.authority.granted", vec!["merge"].into());
            }),
            ("authority_frozen", |log| {
                set(log, T::MessageSent, 0, "message.authority.granted", "read".into());
            }),
            ("authority_frozen", |log| {
                set(log, T::WorkHandedOff, 0, "authorityTransferred", vec!["approve"].into());
            }),
            ("authority_frozen", |log| {
                set(log, T::WorkHandedOff, 0, "authorityTransferred", Json::Null);
            }),
            ("effects_none", |log| {
                set(log, T::MessageSent, 2, "message.authority.effect", "applied".into());
            }),
            ("acks_addressed", |log| set(log, T::MessageAcked, 0, "actorId", "act-0001".into())),
            ("acks_addressed", |log| set(log, T::MessageAcked, 0, "messageId", "msg-9".into())),
            ("acks_addressed", |log| {
                let ack = log.remove(position(log, T::MessageAcked));
                log.insert(0, ack);
            }),
            ("handoffs_matched", |log| set(log, T::WorkHandedOff, 0, "from", "act-0002".into())),
            ("handoffs_matched", |log| set(log, T::WorkHandedOff, 0, "summary", "u".into())),
            ("handoffs_matched", |log| set(log, T::WorkHandedOff, 0, "replyTo", Json::Null)),
            ("handoffs_matched", |log| set(log, T::MessageSent, 1, "message.kind", "note".into())),
            ("handoffs_matched", |log| {
                let handoff = log[position(log, T::WorkHandedOff)].clone();
                log.push(handoff);
            }),
            ("denials_matched", |log| {
                set(log, T::AuthorityDenied, 0, "requested", vec!["merge", "push"].into());
            }),
            ("denials_matched", |log| {
                let denial = log[position(log, T::AuthorityDenied)].clone();
                log.push(denial);
            }),
            ("denials_matched", |log| set(log, T::AuthorityDenied, 1, "to", "act-0001".into())),
            ("polls_pending", |log| {
                set(log, T::InboxPolled, 0, "messageIds", vec!["msg-0002", "msg-0001"].into());
            }),
            ("polls_pending", |log| {
                set(log, T::InboxPolled, 1, "messageIds", vec!["msg-0001"].into());
            }),
            ("polls_pending", |log| set(log, T::InboxPolled, 0, "messageIds", Json::Array(vec![]))),
            ("repeats_matched", |log| set(log, T::MessageRepeated, 0, "from", "act-0002".into())),
            ("repeats_matched", |log| {
                set(log, T::MessageRepeated, 0, "messageId", "msg-0003".into());
            }),
            ("batch_whole", |log| drop(log.remove(position(log, T::AuthorityDenied)))),
        ];
        let mut controlled = HashSet::new();
        for (number, (name, fault)) in controls.into_iter().enumerate() {
            let invariant = all().into_iter().find(|invariant| invariant.name == name).unwrap();
            let mut log = sound_log();
            fault(&mut log);
            let found = (invariant.holds)(&log);
            assert!(found.is_err(), "{name} does not find its fault, control {number}");
            controlled.insert(name);
        }
        for invariant in all() {
            assert!(controlled.contains(invariant.name), "{} has no control", invariant.name);
        }
    }

    #[test]
    fn a_violation_says_where_and_what() {
        let mut log = sound_log();
        log.remove(1);
        assert_eq!(
            ids_dense(&log),
            violation(1, "isNew is not true for \"act-0002\""),
            "the second registration is gone, and the third cannot be the first"
        );
    }

    #[test]
    fn an_invariant_is_found_by_its_whole_name() {
        for invariant in ALWAYS {
            assert_eq!(named(invariant.name).about, invariant.about);
        }
        assert!(is_same(b"ids", b"ids") && !is_same(b"ids", b"idz"));
        assert!(!is_same(b"ids", b"ids_dense") && !is_same(b"ids_dense", b"ids"));
    }

    #[test]
    fn a_claim_reaches_to_the_end_of_the_window_and_no_further() {
        assert_eq!(claimed(&"cor-1000007".into(), 7), Ok(1_000_007));
        assert!(claimed(&"cor-1000008".into(), 7).is_err());
        assert_eq!(claimed(&"cor-3".into(), 7), Ok(7));
        assert_eq!(claimed(&"cor-voicings".into(), 7), Ok(7));
    }

    #[test]
    fn the_order_of_the_bus_authority_does_not_matter() {
        let mut reversed = BUS_AUTHORITY.to_vec();
        reversed.reverse();
        assert!(is_bus_authority(Some(&reversed.into())));
        assert!(!is_bus_authority(Some(&"send".into())));
        assert!(!is_bus_authority(None));
    }
}
