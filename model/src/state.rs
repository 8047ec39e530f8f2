//! The reference state: the fold of the log, written exactly as the contract has it.
//!
//! Obviously right and slow. Ageing visits every actor after every record, O(events x actors), and
//! a message is stored as it was found. The store's projection must give the same answers in O(1)
//! an event; conformance compares the two. `tests/vectors_model.rs` guards this one.
//!
//! The log may hold what no build of ours would write. Apply reports, it never repairs.

use std::collections::{BTreeMap, BTreeSet};

use crate::correlation::{self, Health};
use crate::event::{RecordType, Unreplayable, check_identity, is_acked};
use crate::identifier::is_mint_shaped;
use crate::instant::{Status, readable_ms, status_at};
use crate::integrity::{self, Finding};
use crate::json::{Json, Object};
use crate::snapshot::{self, ActorRow, Parts};
use crate::text::Text;
use crate::view::{Pending, View};

/// The counters of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Distinct actor refs.
    pub actor: u64,
    /// `message.sent` records.
    pub message: u64,
    /// The highest recognised correlation ordinal of any message.
    pub correlation: u64,
    /// Records of any type.
    pub event: u64,
}

impl Counters {
    /// `actor message correlation event`
    #[must_use]
    pub fn to_object(&self) -> Object {
        Object::new()
            .with("actor", self.actor)
            .with("message", self.message)
            .with("correlation", self.correlation)
            .with("event", self.event)
    }
}

/// A registered actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Its ref: its identity.
    pub actor_ref: Text,
    /// Its present name.
    pub name: Text,
    /// Its kind, as the newest registration has it.
    pub kind: Option<Json>,
    /// What it declares, as the newest registration has it.
    pub declared_capabilities: Option<Json>,
    /// Its bus authority, as the newest registration has it.
    pub bus_authority: Option<Json>,
    /// The `at` of its first registration, as found.
    pub registered_at: Option<Json>,
    /// The `at` of the newest record that it made itself, as found.
    pub last_seen_at: Option<Json>,
    /// Whether it was seen lately, as of the last record with a readable time.
    pub status: Status,
    /// How many heartbeats it gave.
    pub heartbeats: u64,
}

/// The reference state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    counters: Counters,
    last_event_at: Option<Text>,
    /// In the order of first registration.
    actors: Vec<Actor>,
    /// The refs that bear each name now, in the order in which each came to bear it.
    bearers: BTreeMap<Text, Vec<Text>>,
    /// In the order in which the ids were first stored; as they stand, with `ackNote` once
    /// acknowledged.
    messages: Vec<(Text, Object)>,
    /// Message ids in arrival order, by owner, in the order in which the inboxes were made.
    inboxes: Vec<(Text, Vec<Text>)>,
    /// Which message first bound a key, by sender and key.
    keys: BTreeMap<(Text, Text), Text>,
    handed_off: BTreeSet<Text>,
    handoffs: Vec<Object>,
    authority_denials: Vec<Object>,
    rejections: Vec<Object>,
}

/// Folds a log. The index of a record that does not fold is given with the reason.
///
/// # Errors
/// The first record without its identity fields.
pub fn replay<'a>(
    records: impl IntoIterator<Item = &'a Object>,
) -> Result<State, (usize, Unreplayable)> {
    let mut state = State::default();
    for (index, record) in records.into_iter().enumerate() {
        state.apply(record).map_err(|unreplayable| (index, unreplayable))?;
    }
    Ok(state)
}

impl State {
    /// Folds one record in.
    ///
    /// # Errors
    /// An identity field is missing; the state is then as it was.
    pub fn apply(&mut self, record: &Object) -> Result<(), Unreplayable> {
        let record_type = check_identity(record)?;
        let at = record.get("at");
        self.counters.event += 1;
        if let Some(at) = at.and_then(Json::as_text) {
            self.last_event_at = Some(at.clone());
        }
        match record_type {
            Some(RecordType::ActorRegistered) => self.apply_registered(record, at),
            Some(RecordType::MessageSent) => self.apply_sent(record),
            Some(RecordType::InboxPolled) => self.apply_polled(record, at),
            Some(RecordType::MessageAcked) => self.apply_acked(record, at),
            Some(RecordType::ActorHeartbeat) => self.apply_heartbeat(record, at),
            Some(RecordType::WorkHandedOff) => {
                self.handed_off.extend(record.get_text("messageId").cloned());
                self.handoffs.push(record.clone());
            }
            Some(RecordType::AuthorityDenied) => self.authority_denials.push(record.clone()),
            Some(RecordType::CommandRejected) => self.rejections.push(record.clone()),
            Some(RecordType::MessageRepeated) | None => {}
        }
        self.age(at);
        Ok(())
    }

    fn apply_registered(&mut self, record: &Object, at: Option<&Json>) {
        let (Some(actor_ref), Some(name)) = (record.get_text("ref"), record.get_text("name"))
        else {
            return;
        };
        let known = self.actor(actor_ref);
        let actor = Actor {
            actor_ref: actor_ref.clone(),
            name: name.clone(),
            kind: record.get("kind").cloned(),
            declared_capabilities: record.get("declaredCapabilities").cloned(),
            bus_authority: record.get("busAuthority").cloned(),
            registered_at: known.map_or(at.cloned(), |known| known.registered_at.clone()),
            last_seen_at: at.cloned(),
            status: Status::Online,
            heartbeats: known.map_or(0, |known| known.heartbeats),
        };
        let old_name = known.map(|known| known.name.clone());
        self.bear(actor_ref, old_name.as_ref(), name);
        match self.actor_mut(actor_ref) {
            Some(slot) => *slot = actor,
            None => {
                self.counters.actor += 1;
                self.actors.push(actor);
            }
        }
        self.deliver(actor_ref, None);
    }

    /// Moves a ref between names. Registering again under the same name keeps its place.
    fn bear(&mut self, actor_ref: &Text, old_name: Option<&Text>, name: &Text) {
        if old_name == Some(name) {
            return;
        }
        if let Some(bearers) = old_name.and_then(|old_name| self.bearers.get_mut(old_name)) {
            bearers.retain(|bearer| bearer != actor_ref);
        }
        self.bearers.entry(name.clone()).or_default().push(actor_ref.clone());
    }

    fn apply_sent(&mut self, record: &Object) {
        let Some(message) = record.get("message").and_then(Json::as_object) else { return };
        let (Some(id), Some(from), Some(to)) =
            (message.get_text("messageId"), message.get_text("from"), message.get_text("to"))
        else {
            return;
        };
        match self.message_mut(id) {
            Some(slot) => *slot = message.clone(),
            None => self.messages.push((id.clone(), message.clone())),
        }
        self.deliver(to, Some(id));
        self.counters.message += 1;
        if let Some(ordinal) = correlation::ordinal_of_message(message) {
            self.counters.correlation = self.counters.correlation.max(ordinal);
        }
        if let Some(key) = message.get_text("idempotencyKey") {
            self.keys.entry((from.clone(), key.clone())).or_insert_with(|| id.clone());
        }
    }

    fn apply_polled(&mut self, record: &Object, at: Option<&Json>) {
        let listed = record.get("messageIds").and_then(Json::as_array).unwrap_or_default();
        for id in listed.iter().filter_map(Json::as_text) {
            if let (Some(message), Some(at)) = (self.message_mut(id), at)
                && matches!(message.get("deliveredAt"), None | Some(Json::Null))
            {
                message.set("deliveredAt", at.clone());
            }
        }
        self.see(record, at);
    }

    fn apply_acked(&mut self, record: &Object, at: Option<&Json>) {
        if let (Some(actor_ref), Some(id)) =
            (record.get_text("actorId"), record.get_text("messageId"))
            && let Some(message) = self.message_mut(id)
        {
            message.set("ackedBy", actor_ref);
            message.set("ackedAt", at.cloned());
            message.set("ackNote", record.get("note").cloned());
        }
        self.see(record, at);
    }

    fn apply_heartbeat(&mut self, record: &Object, at: Option<&Json>) {
        if let Some(actor) = record.get_text("actorId").and_then(|id| self.actor_mut(id)) {
            actor.heartbeats += 1;
        }
        self.see(record, at);
    }

    /// Sets when the actor that made a record was last seen; an id that is not known is left alone.
    fn see(&mut self, record: &Object, at: Option<&Json>) {
        if let Some(actor) = record.get_text("actorId").and_then(|id| self.actor_mut(id)) {
            actor.last_seen_at = at.cloned();
        }
    }

    /// After each record with a readable time, every actor is judged against *that* time.
    fn age(&mut self, at: Option<&Json>) {
        let readable = |at: Option<&Json>| at.and_then(Json::as_text).and_then(readable_ms);
        if let Some(now_ms) = readable(at) {
            for actor in &mut self.actors {
                actor.status = status_at(readable(actor.last_seen_at.as_ref()), now_ms);
            }
        }
    }

    fn actor(&self, actor_ref: &Text) -> Option<&Actor> {
        self.actors.iter().find(|actor| actor.actor_ref == *actor_ref)
    }

    fn actor_mut(&mut self, actor_ref: &Text) -> Option<&mut Actor> {
        self.actors.iter_mut().find(|actor| actor.actor_ref == *actor_ref)
    }

    fn stored(&self, message_id: &Text) -> Option<&Object> {
        self.messages.iter().find(|(id, _)| id == message_id).map(|(_, message)| message)
    }

    fn message_mut(&mut self, message_id: &Text) -> Option<&mut Object> {
        self.messages.iter_mut().find(|(id, _)| id == message_id).map(|(_, message)| message)
    }

    /// Adds to the inbox of an owner, which is made when there is none.
    fn deliver(&mut self, owner: &Text, message_id: Option<&Text>) {
        match self.inboxes.iter_mut().find(|(known, _)| known == owner) {
            Some((_, inbox)) => inbox.extend(message_id.cloned()),
            None => {
                self.inboxes.push((owner.clone(), message_id.cloned().into_iter().collect()));
            }
        }
    }

    /// What is in an inbox and not acknowledged, with the messages as they stand.
    fn pending_messages(&self, owner: &Text) -> impl Iterator<Item = (&Text, &Object)> {
        let inbox = self.inboxes.iter().find(|(known, _)| known == owner);
        let ids = inbox.map(|(_, ids)| ids.as_slice()).unwrap_or_default();
        ids.iter()
            .filter_map(|id| Some((id, self.stored(id)?)))
            .filter(|(_, message)| !is_acked(message.get("ackedBy")))
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The `at` of the last record that had one as a string.
    #[must_use]
    pub fn last_event_at(&self) -> Option<&Text> {
        self.last_event_at.as_ref()
    }

    /// The actors, in the order of first registration.
    #[must_use]
    pub fn actors(&self) -> &[Actor] {
        &self.actors
    }

    /// Whether a ref is one that the bus mints and a registered actor.
    #[must_use]
    pub fn is_minted(&self, actor_ref: &Text) -> bool {
        is_mint_shaped(actor_ref) && self.is_actor(actor_ref)
    }

    /// All addresses that were never minted.
    #[must_use]
    pub fn integrity(&self) -> Vec<Finding> {
        integrity::findings(
            |actor_ref| self.is_minted(actor_ref),
            self.actors.iter().map(|actor| &actor.actor_ref),
            self.messages.iter().map(|(_, message)| message),
            &self.handoffs,
            self.inboxes.iter().map(|(owner, _)| owner),
        )
    }

    /// How the correlation issuer stands.
    #[must_use]
    pub fn correlation(&self) -> Health {
        let near = self.messages.iter().filter(|(_, message)| {
            correlation::ordinal_of_message(message).is_some_and(correlation::is_near_ceiling)
        });
        Health {
            issuer_at: self.counters.correlation,
            findings: near.map(|(id, _)| id.clone()).collect(),
        }
    }

    /// The snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Object {
        snapshot::snapshot(Parts {
            events_applied: self.counters.event,
            last_event_at: self.last_event_at.clone(),
            actors: self.actors.iter().map(|actor| self.actor_row(actor)).collect(),
            messages: self.messages.iter().map(|(_, m)| snapshot::message_row(m)).collect(),
            handoffs: self.handoffs.iter().map(snapshot::handoff_row).collect(),
            authority_denials: self.authority_denials.iter().map(snapshot::denial_row).collect(),
            rejections: self.rejections.iter().map(snapshot::rejection_row).collect(),
        })
    }

    fn actor_row(&self, actor: &Actor) -> Object {
        let mut name_shared_with = self.bearers(&actor.name);
        name_shared_with.retain(|bearer| *bearer != actor.actor_ref);
        snapshot::actor_row(&ActorRow {
            actor_ref: &actor.actor_ref,
            name: &actor.name,
            kind: actor.kind.as_ref(),
            status: actor.status,
            heartbeats: actor.heartbeats,
            declared_capabilities: actor.declared_capabilities.as_ref(),
            bus_authority: actor.bus_authority.as_ref(),
            name_shared_with,
            pending: count(self.pending_messages(&actor.actor_ref).count()),
        })
    }
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

impl View for State {
    fn actor_count(&self) -> u64 {
        self.counters.actor
    }

    fn message_count(&self) -> u64 {
        self.counters.message
    }

    fn correlation_issuer(&self) -> u64 {
        self.counters.correlation
    }

    fn is_actor(&self, actor_ref: &Text) -> bool {
        self.actor(actor_ref).is_some()
    }

    fn name_of(&self, actor_ref: &Text) -> Option<Text> {
        self.actor(actor_ref).map(|actor| actor.name.clone())
    }

    fn bearers(&self, name: &Text) -> Vec<Text> {
        self.bearers.get(name).cloned().unwrap_or_default()
    }

    fn addressee(&self, message_id: &Text) -> Option<Text> {
        self.stored(message_id)?.get_text("to").cloned()
    }

    fn pending(&self, actor_ref: &Text) -> Vec<Pending> {
        self.pending_messages(actor_ref)
            .map(|(id, message)| Pending {
                message_id: id.clone(),
                answer_bytes: count(message.to_line().len()),
            })
            .collect()
    }

    fn key_holder(&self, sender: &Text, key: &Text) -> Option<Text> {
        self.keys.get(&(sender.clone(), key.clone())).cloned()
    }

    fn was_handed_off(&self, message_id: &Text) -> bool {
        self.handed_off.contains(message_id)
    }

    fn message(&self, message_id: &Text) -> Option<Object> {
        self.stored(message_id).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Identity;

    const T0: &str = "2026-09-15T23:41:00.000Z";
    const T31: &str = "2026-09-15T23:41:31.000Z";
    const T62: &str = "2026-09-15T23:42:02.000Z";

    fn record(record_type: &str, at: &str) -> Object {
        Object::new().with("type", record_type).with("at", at)
    }

    fn registered(at: &str, actor_ref: &str, name: &str) -> Object {
        record("actor.registered", at).with("ref", actor_ref).with("name", name)
    }

    fn sent(id: &str, to: &str) -> Object {
        let message = Object::new().with("messageId", id).with("from", "act-0001").with("to", to);
        record("message.sent", T0).with("message", message)
    }

    fn by(record_type: &str, at: &str, actor_ref: &str) -> Object {
        record(record_type, at).with("actorId", actor_ref)
    }

    fn polled(at: &str, ids: &[&str]) -> Object {
        by("inbox.polled", at, "act-0001").with("messageIds", ids.to_vec())
    }

    fn folded(records: &[Object]) -> State {
        replay(records).unwrap()
    }

    fn pending_ids(state: &State, owner: &str) -> Vec<Text> {
        state.pending(&owner.into()).into_iter().map(|pending| pending.message_id).collect()
    }

    #[test]
    fn registering_again_keeps_first_registration_heartbeats_and_inbox() {
        let first = [
            registered(T0, "act-0001", "old").with("kind", "k"),
            by("actor.heartbeat", T0, "act-0001"),
            sent("msg-0001", "act-0001"),
        ];
        let mut state = folded(&first);
        state.apply(&registered(T31, "act-0001", "new").with("isNew", true)).unwrap();
        let [actor] = state.actors() else { panic!("one actor, whatever isNew says") };
        assert_eq!(actor.registered_at, Some(T0.into()));
        assert_eq!(actor.last_seen_at, Some(T31.into()));
        assert_eq!((actor.heartbeats, actor.kind.clone()), (1, None), "kind is replaced");
        assert_eq!(pending_ids(&state, "act-0001"), [Text::from("msg-0001")]);
        assert!(state.bearers(&"old".into()).is_empty());
        assert_eq!(state.bearers(&"new".into()), [Text::from("act-0001")]);
        assert_eq!(state.counters().actor, 1);
    }

    #[test]
    fn only_what_an_actor_does_itself_on_the_inbox_is_seeing_it() {
        let registered = registered(T0, "act-0001", "a");
        let message = sent("msg-0001", "act-0001").with("at", T31);
        let handoff = record("work.handed-off", T31).with("from", "act-0001");
        for unseen in [message, handoff, record("command.rejected", T31), record("x", T31)] {
            let state = folded(&[registered.clone(), unseen]);
            assert_eq!(state.actors()[0].status, Status::Stale);
        }
        for seen in ["inbox.polled", "message.acked", "actor.heartbeat"] {
            let seen = by(seen, T31, "act-0001")
                .with("messageIds", Json::Array(vec![]))
                .with("messageId", "unknown");
            assert_eq!(folded(&[registered.clone(), seen]).actors()[0].status, Status::Online);
        }
    }

    #[test]
    fn ageing_judges_against_the_time_of_the_record_also_when_it_goes_back() {
        let log = [registered(T0, "act-0001", "a"), record("x", T31), record("x", T0)];
        assert_eq!(folded(&log[..2]).actors()[0].status, Status::Stale);
        let state = folded(&log);
        assert_eq!(state.actors()[0].status, Status::Online);
        assert_eq!(state.last_event_at(), Some(&T0.into()), "the newest, later or not");
    }

    #[test]
    fn an_unreadable_time_changes_last_seen_and_judges_nobody() {
        let stale = [registered(T0, "act-0001", "a"), record("x", T31)];
        let mut state = folded(&stale);
        state.apply(&by("actor.heartbeat", "soon", "act-0001")).unwrap();
        assert_eq!(state.actors()[0].status, Status::Stale, "not judged yet");
        state.apply(&record("x", T62)).unwrap();
        assert_eq!(state.actors()[0].status, Status::Online, "its last-seen is unreadable");
        assert_eq!(state.last_event_at(), Some(&T62.into()));
    }

    #[test]
    fn a_registration_is_online_at_once_also_without_a_readable_time() {
        let mut state = folded(&[registered(T0, "act-0001", "a"), record("x", T31)]);
        state.apply(&registered("soon", "act-0001", "a")).unwrap();
        assert_eq!(state.actors()[0].status, Status::Online);
    }

    #[test]
    fn an_at_that_is_no_string_is_no_time_and_is_kept_as_found() {
        let mut state = folded(&[registered(T0, "act-0001", "a"), record("x", T31)]);
        let odd = Object::new().with("type", "actor.heartbeat").with("actorId", "act-0001");
        state.apply(&odd.clone().with("at", 5)).unwrap();
        assert_eq!(state.actors()[0].last_seen_at, Some(5.into()));
        state.apply(&odd).unwrap();
        assert_eq!(state.actors()[0].last_seen_at, None);
        assert_eq!(state.last_event_at(), Some(&T31.into()));
        assert_eq!((state.actors()[0].heartbeats, state.counters().event), (2, 4));
    }

    #[test]
    fn an_id_seen_before_is_overwritten_in_its_place_and_delivered_again() {
        let mut state = folded(&[sent("msg-0001", "act-0002"), sent("msg-0002", "act-0002")]);
        let acked = by("message.acked", T0, "act-0002").with("messageId", "msg-0001");
        state.apply(&acked).unwrap();
        state.apply(&sent("msg-0001", "act-0003")).unwrap();
        assert_eq!(state.counters().message, 3);
        let twice = ["msg-0001", "msg-0002"].map(Text::from);
        assert_eq!(pending_ids(&state, "act-0002"), twice, "overwritten is unacknowledged");
        assert_eq!(pending_ids(&state, "act-0003"), ["msg-0001"].map(Text::from));
        assert_eq!(state.addressee(&"msg-0001".into()), Some("act-0003".into()));
        let ids: Vec<_> = state.messages.iter().map(|(id, _)| id.clone()).collect();
        assert_eq!(ids, twice);
    }

    #[test]
    fn delivery_is_stamped_once() {
        let mut state = folded(&[sent("msg-0001", "act-0001")]);
        let delivered_at =
            |state: &State| state.message(&"msg-0001".into()).unwrap().get("deliveredAt").cloned();
        state.apply(&polled(T31, &["msg-0001", "unknown"])).unwrap();
        state.apply(&polled(T62, &["msg-0001"])).unwrap();
        assert_eq!(delivered_at(&state), Some(T31.into()));
    }

    #[test]
    fn acknowledging_sets_three_fields_and_again_overwrites_them() {
        let mut state = folded(&[sent("msg-0001", "act-0001")]);
        for (at, note) in [(T0, "first"), (T31, "second")] {
            let ack = by("message.acked", at, "act-0009").with("messageId", "msg-0001");
            state.apply(&ack.with("note", note)).unwrap();
        }
        let message = state.message(&"msg-0001".into()).unwrap();
        assert_eq!(
            String::from_utf8(message.to_line()).unwrap(),
            format!(
                r#"{{"messageId":"msg-0001","from":"act-0001","to":"act-0001","ackedBy":"act-0009","ackedAt":"{T31}","ackNote":"second"}}"#
            )
        );
        assert!(pending_ids(&state, "act-0001").is_empty());
    }

    #[test]
    fn ids_that_are_not_known_are_left_alone() {
        let mut state = State::default();
        for record in [
            polled(T0, &["msg-0001"]),
            by("message.acked", T0, "act-0001").with("messageId", "msg-0001"),
            by("actor.heartbeat", T0, "act-0001"),
        ] {
            state.apply(&record).unwrap();
        }
        let expected = State {
            counters: Counters { event: 3, ..Counters::default() },
            last_event_at: Some(T0.into()),
            ..State::default()
        };
        assert_eq!(state, expected);
    }

    #[test]
    fn the_first_message_under_a_key_holds_it() {
        let keyed = |id: &str, from: &str| {
            let message = Object::new()
                .with("messageId", id)
                .with("from", from)
                .with("to", "x")
                .with("idempotencyKey", "k");
            record("message.sent", T0).with("message", message)
        };
        let state = folded(&[keyed("m1", "a"), keyed("m2", "a"), keyed("m3", "b")]);
        assert_eq!(state.key_holder(&"a".into(), &"k".into()), Some("m1".into()));
        assert_eq!(state.key_holder(&"b".into(), &"k".into()), Some("m3".into()));
        assert_eq!(state.key_holder(&"c".into(), &"k".into()), None);
    }

    #[test]
    fn the_issuer_never_falls_and_an_unrecognised_number_does_not_raise_it() {
        let threaded = |id: &str, thread: &str| {
            let message = Object::new()
                .with("messageId", id)
                .with("from", "a")
                .with("to", "b")
                .with("correlationId", thread);
            record("message.sent", T0).with("message", message)
        };
        let state = folded(&[
            threaded("m1", "cor-7"),
            threaded("m1", "cor-3"),
            threaded("m2", "cor-00000000000000009"),
        ]);
        assert_eq!(state.correlation_issuer(), 7, "also after the claimant was overwritten");
    }

    #[test]
    fn an_unreplayable_record_is_reported_by_index_and_changes_nothing() {
        let bad = record("actor.heartbeat", T62);
        let log = [registered(T0, "act-0001", "a"), bad.clone()];
        let expected = Unreplayable {
            record_type: RecordType::ActorHeartbeat,
            field: Identity { path: "actorId", shape: crate::event::Shape::Text },
        };
        assert_eq!(replay(&log), Err((1, expected)));
        let mut state = folded(&log[..1]);
        let before = state.clone();
        assert_eq!(state.apply(&bad), Err(expected));
        assert_eq!(state, before);
    }

    #[test]
    fn inboxes_are_owned_in_the_order_in_which_they_were_made() {
        let state = folded(&[
            registered(T0, "root", "a"),
            sent("m1", "act-0042"),
            registered(T0, "act-0001", "b"),
        ]);
        let owners: Vec<_> = state
            .integrity()
            .into_iter()
            .filter(|finding| finding.kind == integrity::FindingKind::UnmintedInboxOwner)
            .map(|finding| finding.subject)
            .collect();
        assert_eq!(owners, [Some("root".into()), Some("act-0042".into())]);
    }

    #[test]
    fn a_message_without_ackedby_is_pending() {
        let state = folded(&[sent("msg-0001", "act-0001")]);
        assert_eq!(pending_ids(&state, "act-0001"), [Text::from("msg-0001")]);
        let bytes = state.pending(&"act-0001".into())[0].answer_bytes;
        let message = state.message(&"msg-0001".into()).unwrap();
        assert_eq!(bytes, u64::try_from(message.to_line().len()).unwrap());
    }
}
