//! The fast fold: what decisions ask, in O(1) work an event.
//!
//! Contract. The same answers as the reference [`State`](gaia_bus_model::state::State) to
//! everything a [`View`] is asked, and the same status of every actor, on any log that folds. It
//! keeps where a message stands in the log and not its text; a decision that needs bodies gets them
//! through [`WithBodies`], built from the raw lines by [`Projection::body`].
//!
//! Ageing is computed when asked. After a record with a readable time every actor is judged against
//! that time, so a status is a function of two times, but for one case: a record whose own time is
//! unreadable changes when its actor was last seen and ages nobody, so what the actor was before
//! stands until the next readable time. That is `Actor::frozen`.
//!
//! The price of order: an id that is delivered k times costs O(k log n) when its acknowledgement
//! changes, because every place in every inbox comes and goes with it. No build of ours delivers an
//! id twice.
//!
//! Absent: texts, kinds, capabilities, snapshots (those are [`archive`](crate::archive)'s), time.
//! Guarded by `tests/projection.rs` (against the reference) and `tests/vectors_store.rs`.

use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use gaia_bus_model::correlation;
use gaia_bus_model::event::{Identity, RecordType, Shape, Unreplayable};
use gaia_bus_model::instant::{Status, readable_ms, status_at};
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::state::Counters;
use gaia_bus_model::text::Text;
use gaia_bus_model::view::{Pending, View};
use indexmap::{Equivalent, IndexMap};

use crate::commit::Wanted;
use crate::log::{Record, Span, Str, Value, line_digest, read_value};
use crate::replay::Fold;

/// The bytes of a text, to look it up without making one.
struct Key<'a>(&'a [u8]);

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As the one field of `Text` hashes; `a_key_hashes_as_its_text` holds the two together.
        self.0.hash(state);
    }
}

impl Equivalent<Text> for Key<'_> {
    fn equivalent(&self, text: &Text) -> bool {
        self.0 == text.as_bytes()
    }
}

/// Values by text, in the order in which the texts came up; also equal and hashed in that order.
#[derive(Clone, Debug)]
struct Table<V>(IndexMap<Text, V>);

impl<V> Table<V> {
    fn find(&self, key: &[u8]) -> Option<usize> {
        self.0.get_index_of(&Key(key))
    }

    fn get(&self, key: &[u8]) -> Option<&V> {
        self.0.get(&Key(key))
    }

    fn at(&self, index: usize) -> Option<(&Text, &V)> {
        self.0.get_index(index)
    }

    fn at_mut(&mut self, index: usize) -> Option<&mut V> {
        self.0.get_index_mut(index).map(|(_, value)| value)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

impl<V: Default> Table<V> {
    /// Where a key stands; it is put at the end when it is new.
    fn place(&mut self, key: Str<'_>) -> usize {
        self.find(key.as_bytes())
            .unwrap_or_else(|| self.0.insert_full(key.into_text(), V::default()).0)
    }
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Table(IndexMap::new())
    }
}

impl<V: PartialEq> PartialEq for Table<V> {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().eq(other.0.iter())
    }
}

impl<V: Eq> Eq for Table<V> {}

impl<V: Hash> Hash for Table<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.len().hash(state);
        self.0.iter().for_each(|entry| entry.hash(state));
    }
}

/// A registered actor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Actor {
    /// The place of its present name.
    name: usize,
    /// Its place among the bearers of that name.
    bearing: u64,
    /// When it was last seen, where that is readable.
    last_seen_ms: Option<i64>,
    /// A status that was not computed from two times, and the age in which it stands.
    frozen: Option<(Status, u64)>,
}

/// What is pending for an owner, registered or not: the place of the message, by arrival. Arrivals
/// are numbered through the whole log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Inbox {
    pending: BTreeMap<u64, usize>,
}

/// The `deliveredAt` of a message as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Delivered {
    #[default]
    Missing,
    Null,
    Stamped,
}

/// What an acknowledgement set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ack {
    by: Text,
    at: Option<Json>,
    note: Option<Json>,
}

/// A stored message: where it stands, and what happened to it since.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Message {
    line: Wanted,
    /// The place of its addressee's inbox.
    to: usize,
    /// In which inboxes it arrived, and when.
    arrivals: Vec<(usize, u64)>,
    is_acked: bool,
    /// Its length in an answer, while it is pending.
    answer_bytes: u64,
    delivered: Delivered,
    /// What was stamped since. One record may stamp many messages, so they share it.
    delivered_at: Option<Arc<Json>>,
    ack: Option<Box<Ack>>,
    /// Whether the first stamp came before the first acknowledgement: where a record lacks the
    /// keys, they are added in the order of events.
    is_delivered_first: bool,
}

impl Default for Message {
    fn default() -> Self {
        Message {
            line: Wanted { span: Span { offset: 0, length: 0 }, digest: 0 },
            to: 0,
            arrivals: Vec::new(),
            is_acked: true,
            answer_bytes: 0,
            delivered: Delivered::Missing,
            delivered_at: None,
            ack: None,
            is_delivered_first: false,
        }
    }
}

impl Default for Actor {
    fn default() -> Self {
        Actor { name: usize::MAX, bearing: 0, last_seen_ms: None, frozen: None }
    }
}

/// The fast fold. Equal and hashed by content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Projection {
    events: u64,
    sent: u64,
    issuer: u64,
    /// The newest readable time, and how many there were: the age.
    now_ms: Option<i64>,
    age: u64,
    actors: Table<Actor>,
    /// The place of each bearer of a name, by when it came to bear it.
    names: Table<BTreeMap<u64, usize>>,
    bearings: u64,
    inboxes: Table<Inbox>,
    arrivals: u64,
    messages: Table<Message>,
    /// The place of the message that first bound a key, by sender and key.
    keys: Table<Table<usize>>,
    handed_off: Table<()>,
}

/// What applying a record did, for a fold that keeps more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    /// An actor was registered or updated; its place.
    Registered(usize),
    /// A message was stored or overwritten; its place.
    Sent(usize),
    /// A known message was acknowledged, or an unknown one was not; and who did, where known.
    Acked { message: Option<usize>, actor: Option<usize> },
    /// An inbox was read, by whom where known.
    Polled(Option<usize>),
    /// A heartbeat, of whom where known.
    Heartbeat(Option<usize>),
    /// Any other type that this build knows.
    Other(RecordType),
    /// A type that this build does not know.
    Unknown,
}

impl Fold for Projection {
    fn apply(&mut self, record: &Record<'_>) -> Result<(), Unreplayable> {
        self.applied(record).map(|_| ())
    }
}

impl Projection {
    /// Nothing folded yet.
    #[must_use]
    pub fn new() -> Self {
        Projection::default()
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            actor: self.actor_count(),
            message: self.sent,
            correlation: self.issuer,
            event: self.events,
        }
    }

    /// Whether an actor was seen lately; nothing when it is not registered.
    #[must_use]
    pub fn status(&self, actor_ref: &Text) -> Option<Status> {
        self.actors.get(actor_ref.as_bytes()).map(|actor| self.status_of(actor))
    }

    /// Where the record of a stored message stands.
    #[must_use]
    pub fn span_of(&self, message_id: &Text) -> Option<Span> {
        self.line_of(message_id).map(|line| line.span)
    }

    /// Where the line of a stored message stands, and what it must digest to when it is read again.
    pub fn line_of(&self, message_id: &Text) -> Option<Wanted> {
        self.messages.get(message_id.as_bytes()).map(|message| message.line)
    }

    /// A stored message as it stands, from the line at its [span](Self::span_of). Nothing when
    /// there is no such message or when the line is not its record.
    #[must_use]
    pub fn body(&self, message_id: &Text, line: &[u8]) -> Option<Object> {
        let message = self.messages.get(message_id.as_bytes())?;
        let mut body = read_value(line).ok()?.as_object()?.get("message")?.as_object()?.clone();
        if body.get_text("messageId") != Some(message_id) {
            return None;
        }
        let stamp = |body: &mut Object| {
            if let Some(at) = &message.delivered_at {
                body.set("deliveredAt", Json::clone(at));
            }
        };
        if message.is_delivered_first {
            stamp(&mut body);
        }
        if let Some(ack) = &message.ack {
            body.set("ackedBy", &ack.by);
            body.set("ackedAt", ack.at.clone());
            body.set("ackNote", ack.note.clone());
        }
        stamp(&mut body);
        Some(body)
    }

    /// Folds one record in, and says what it was.
    pub(crate) fn applied(&mut self, record: &Record<'_>) -> Result<Applied, Unreplayable> {
        let record_type = RecordType::ALL.into_iter().find(|known| known.name() == record.kind());
        let at = record.get("at");
        let at_ms = at.and_then(Value::as_text).and_then(|at| readable_ms(&at.into_text()));
        let applied = match record_type {
            Some(RecordType::ActorRegistered) => self.apply_registered(record, at_ms)?,
            Some(RecordType::MessageSent) => self.apply_sent(record)?,
            Some(RecordType::InboxPolled) => self.apply_polled(record, at, at_ms)?,
            Some(RecordType::MessageAcked) => self.apply_acked(record, at, at_ms)?,
            Some(RecordType::ActorHeartbeat) => {
                let actor = text_at(record, RecordType::ActorHeartbeat, 0)?;
                Applied::Heartbeat(self.see(&actor, at_ms))
            }
            Some(RecordType::WorkHandedOff) => {
                if let Some(id) = record.get("messageId").and_then(Value::as_text) {
                    self.handed_off.place(id);
                }
                Applied::Other(RecordType::WorkHandedOff)
            }
            Some(
                other @ (RecordType::AuthorityDenied
                | RecordType::CommandRejected
                | RecordType::MessageRepeated),
            ) => Applied::Other(other),
            None => Applied::Unknown,
        };
        self.events += 1;
        if at_ms.is_some() {
            self.now_ms = at_ms;
            self.age += 1;
        }
        Ok(applied)
    }

    fn apply_registered(
        &mut self,
        record: &Record<'_>,
        at_ms: Option<i64>,
    ) -> Result<Applied, Unreplayable> {
        let actor_ref = text_at(record, RecordType::ActorRegistered, 0)?;
        let name = text_at(record, RecordType::ActorRegistered, 1)?;
        let name = self.names.place(name);
        self.inboxes.place(actor_ref.clone());
        let place = self.actors.place(actor_ref);
        let age = self.age;
        let Some(actor) = self.actors.at_mut(place) else { return Ok(Applied::Unknown) };
        actor.last_seen_ms = at_ms;
        actor.frozen = Some((Status::Online, age));
        if actor.name != name {
            let (old_name, old_bearing) = (actor.name, actor.bearing);
            self.bearings += 1;
            (actor.name, actor.bearing) = (name, self.bearings);
            if let Some(bearers) = self.names.at_mut(old_name) {
                bearers.remove(&old_bearing);
            }
            if let Some(bearers) = self.names.at_mut(name) {
                bearers.insert(self.bearings, place);
            }
        }
        Ok(Applied::Registered(place))
    }

    fn apply_sent(&mut self, record: &Record<'_>) -> Result<Applied, Unreplayable> {
        let id = text_at(record, RecordType::MessageSent, 0)?;
        let from = text_at(record, RecordType::MessageSent, 1)?;
        let to = text_at(record, RecordType::MessageSent, 2)?;
        let found = record.get("message");
        let field = |key| found.and_then(|message| message.get(key));
        let to = self.inboxes.place(to);
        let place = self.messages.place(id);
        self.sent += 1;
        self.arrivals += 1;
        let arrival = self.arrivals;
        // As an acknowledged one it is in no inbox, so that only the change is to be entered below.
        self.set_acked(place, true);
        if let Some(message) = self.messages.at_mut(place) {
            let mut arrivals = std::mem::take(&mut message.arrivals);
            arrivals.push((to, arrival));
            *message = Message {
                line: Wanted { span: record.span(), digest: line_digest(record.bytes()) },
                to,
                arrivals,
                answer_bytes: found.map_or(0, Value::canonical_bytes),
                delivered: match field("deliveredAt") {
                    None => Delivered::Missing,
                    Some(value) if value.is_null() => Delivered::Null,
                    Some(_) => Delivered::Stamped,
                },
                ..Message::default()
            };
        }
        self.set_acked(place, field("ackedBy").is_some_and(|by| !by.is_null()));
        if let Some(id) = field("correlationId").and_then(Value::as_text) {
            let ordinal = correlation::ordinal(&id.into_text()).unwrap_or(0);
            self.issuer = self.issuer.max(ordinal);
        }
        if let Some(key) = field("idempotencyKey").and_then(Value::as_text) {
            let sender = self.keys.place(from);
            if let Some(bound) = self.keys.at_mut(sender)
                && bound.find(key.as_bytes()).is_none()
            {
                bound.0.insert(key.into_text(), place);
            }
        }
        Ok(Applied::Sent(place))
    }

    fn apply_polled(
        &mut self,
        record: &Record<'_>,
        at: Option<Value<'_>>,
        at_ms: Option<i64>,
    ) -> Result<Applied, Unreplayable> {
        let actor = text_at(record, RecordType::InboxPolled, 0)?;
        let ids = record.get("messageIds").and_then(Value::items);
        let ids = ids.filter(|ids| ids.clone().all(|id| id.as_text().is_some()));
        let ids = ids.ok_or_else(|| missing(RecordType::InboxPolled, 1))?;
        if let Some(at) = at {
            let mut stamp = None;
            for id in ids.filter_map(Value::as_text) {
                if let Some(place) = self.messages.find(id.as_bytes())
                    && let Some(message) = self.messages.at_mut(place)
                {
                    message.deliver(at, &mut stamp);
                }
            }
        }
        Ok(Applied::Polled(self.see(&actor, at_ms)))
    }

    fn apply_acked(
        &mut self,
        record: &Record<'_>,
        at: Option<Value<'_>>,
        at_ms: Option<i64>,
    ) -> Result<Applied, Unreplayable> {
        let by = text_at(record, RecordType::MessageAcked, 0)?;
        let id = text_at(record, RecordType::MessageAcked, 1)?;
        let place = self.messages.find(id.as_bytes());
        if let Some(place) = place {
            self.set_acked(place, true);
            if let Some(message) = self.messages.at_mut(place) {
                message.ack = Some(Box::new(Ack {
                    by: by.clone().into_text(),
                    at: at.map(Value::to_json),
                    note: record.get("note").map(Value::to_json),
                }));
            }
        }
        Ok(Applied::Acked { message: place, actor: self.see(&by, at_ms) })
    }

    /// Takes a message out of the inboxes in which it arrived, or puts it back in its places.
    fn set_acked(&mut self, place: usize, is_acked: bool) {
        let Some(message) = self.messages.at_mut(place) else { return };
        if message.is_acked == is_acked {
            return;
        }
        message.is_acked = is_acked;
        for (inbox, arrival) in &message.arrivals {
            if let Some(inbox) = self.inboxes.at_mut(*inbox) {
                if is_acked {
                    inbox.pending.remove(arrival);
                } else {
                    inbox.pending.insert(*arrival, place);
                }
            }
        }
    }

    /// Sets when an actor was last seen; an id that is not known is left alone.
    fn see(&mut self, actor_ref: &Str<'_>, at_ms: Option<i64>) -> Option<usize> {
        let place = self.actors.find(actor_ref.as_bytes())?;
        if at_ms.is_none() {
            let status = self.actors.at(place).map(|(_, actor)| self.status_of(actor))?;
            let age = self.age;
            self.actors.at_mut(place)?.frozen = Some((status, age));
        }
        self.actors.at_mut(place)?.last_seen_ms = at_ms;
        Some(place)
    }

    fn status_of(&self, actor: &Actor) -> Status {
        match (actor.frozen, self.now_ms) {
            (Some((status, age)), _) if age == self.age => status,
            (_, Some(now_ms)) => status_at(actor.last_seen_ms, now_ms),
            // Nobody is judged before the first readable time.
            (_, None) => Status::Online,
        }
    }

    /// The refs of the owners of inboxes, in the order in which these were made.
    pub(crate) fn inbox_owners(&self) -> impl Iterator<Item = &Text> {
        self.inboxes.0.keys()
    }

    /// Refs, names and statuses of the actors, in the order of first registration.
    pub(crate) fn actors(&self) -> impl Iterator<Item = (&Text, Text, Status)> {
        self.actors.0.iter().map(|(actor_ref, actor)| {
            let name = self.names.at(actor.name).map(|(name, _)| name.clone());
            (actor_ref, name.unwrap_or_default(), self.status_of(actor))
        })
    }

    /// How many entries of an inbox are pending.
    pub(crate) fn pending_count(&self, owner: &Text) -> u64 {
        count(self.inboxes.get(owner.as_bytes()).map_or(0, |inbox| inbox.pending.len()))
    }
}

impl Message {
    /// Stamps a message that is not stamped yet.
    fn deliver(&mut self, at: Value<'_>, stamp: &mut Option<Arc<Json>>) {
        const NULL_BYTES: u64 = "null".len() as u64;
        const KEY_BYTES: u64 = ",\"deliveredAt\":".len() as u64;
        match self.delivered {
            Delivered::Stamped => return,
            Delivered::Missing => self.answer_bytes += KEY_BYTES,
            Delivered::Null => self.answer_bytes = self.answer_bytes.saturating_sub(NULL_BYTES),
        }
        self.answer_bytes += at.canonical_bytes();
        self.is_delivered_first |= self.ack.is_none() && self.delivered_at.is_none();
        self.delivered = if at.is_null() { Delivered::Null } else { Delivered::Stamped };
        self.delivered_at = Some(stamp.get_or_insert_with(|| Arc::new(at.to_json())).clone());
    }
}

/// An identity field that is a string, by its place in the model's table.
fn text_at<'a>(
    record: &Record<'a>,
    record_type: RecordType,
    index: usize,
) -> Result<Str<'a>, Unreplayable> {
    let path = record_type.identity().get(index).map_or("", |field| field.path);
    let value = match path.split_once('.') {
        Some((outer, inner)) => record.get(outer).and_then(|outer| outer.get(inner)),
        None => record.get(path),
    };
    value.and_then(Value::as_text).ok_or_else(|| missing(record_type, index))
}

fn missing(record_type: RecordType, index: usize) -> Unreplayable {
    let unknown = Identity { path: "", shape: Shape::Text };
    Unreplayable { record_type, field: *record_type.identity().get(index).unwrap_or(&unknown) }
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

impl View for Projection {
    fn actor_count(&self) -> u64 {
        count(self.actors.len())
    }

    fn message_count(&self) -> u64 {
        self.sent
    }

    fn correlation_issuer(&self) -> u64 {
        self.issuer
    }

    fn is_actor(&self, actor_ref: &Text) -> bool {
        self.actors.find(actor_ref.as_bytes()).is_some()
    }

    fn name_of(&self, actor_ref: &Text) -> Option<Text> {
        let actor = self.actors.get(actor_ref.as_bytes())?;
        self.names.at(actor.name).map(|(name, _)| name.clone())
    }

    fn bearers(&self, name: &Text) -> Vec<Text> {
        let bearers = self.names.get(name.as_bytes()).into_iter().flat_map(BTreeMap::values);
        bearers
            .filter_map(|place| self.actors.at(*place))
            .map(|(bearer, _)| bearer.clone())
            .collect()
    }

    fn addressee(&self, message_id: &Text) -> Option<Text> {
        let message = self.messages.get(message_id.as_bytes())?;
        self.inboxes.at(message.to).map(|(owner, _)| owner.clone())
    }

    fn pending(&self, actor_ref: &Text) -> Vec<Pending> {
        let inbox = self.inboxes.get(actor_ref.as_bytes());
        inbox
            .into_iter()
            .flat_map(|inbox| inbox.pending.values())
            .filter_map(|place| self.messages.at(*place))
            .map(|(id, message)| Pending {
                message_id: id.clone(),
                answer_bytes: message.answer_bytes,
            })
            .collect()
    }

    fn key_holder(&self, sender: &Text, key: &Text) -> Option<Text> {
        let place = *self.keys.get(sender.as_bytes())?.get(key.as_bytes())?;
        self.messages.at(place).map(|(id, _)| id.clone())
    }

    fn was_handed_off(&self, message_id: &Text) -> bool {
        self.handed_off.find(message_id.as_bytes()).is_some()
    }

    /// Always nothing: bodies are not kept. See [`WithBodies`].
    fn message(&self, _: &Text) -> Option<Object> {
        None
    }
}

/// The projection together with the bodies that a decision needs.
#[derive(Clone, Debug)]
pub struct WithBodies<'a> {
    /// All but bodies.
    pub projection: &'a Projection,
    /// Made by [`Projection::body`]: message id and message.
    pub bodies: HashMap<Text, Object>,
}

impl View for WithBodies<'_> {
    fn actor_count(&self) -> u64 {
        self.projection.actor_count()
    }

    fn message_count(&self) -> u64 {
        self.projection.message_count()
    }

    fn correlation_issuer(&self) -> u64 {
        self.projection.correlation_issuer()
    }

    fn is_actor(&self, actor_ref: &Text) -> bool {
        self.projection.is_actor(actor_ref)
    }

    fn name_of(&self, actor_ref: &Text) -> Option<Text> {
        self.projection.name_of(actor_ref)
    }

    fn bearers(&self, name: &Text) -> Vec<Text> {
        self.projection.bearers(name)
    }

    fn addressee(&self, message_id: &Text) -> Option<Text> {
        self.projection.addressee(message_id)
    }

    fn pending(&self, actor_ref: &Text) -> Vec<Pending> {
        self.projection.pending(actor_ref)
    }

    fn key_holder(&self, sender: &Text, key: &Text) -> Option<Text> {
        self.projection.key_holder(sender, key)
    }

    fn was_handed_off(&self, message_id: &Text) -> bool {
        self.projection.was_handed_off(message_id)
    }

    fn message(&self, message_id: &Text) -> Option<Object> {
        self.bodies.get(message_id).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_hashes_as_its_text() {
        let mut table = Table::<u8>::default();
        for text in ["", "act-0001", "caf\u{E9}", "\u{1F600}"] {
            table.0.insert(text.into(), 1);
            assert_eq!(table.get(text.as_bytes()), Some(&1), "{text}");
        }
        assert_eq!(table.find(b"act-0002"), None);
    }

    #[test]
    fn tables_are_equal_and_hash_alike_when_the_same_stands_in_the_same_order() {
        use std::hash::DefaultHasher;
        let table = |keys: &[&str]| {
            let mut table = Table::<u8>::default();
            for (key, value) in keys.iter().zip(1..) {
                table.0.insert((*key).into(), value);
            }
            table
        };
        let hash = |table: &Table<u8>| {
            let mut hasher = DefaultHasher::new();
            table.hash(&mut hasher);
            hasher.finish()
        };
        let tables = [table(&[]), table(&["a"]), table(&["a", "b"]), table(&["b", "a"])];
        for (at, one) in tables.iter().enumerate() {
            for (other_at, other) in tables.iter().enumerate() {
                assert_eq!(one == other, at == other_at, "{at}, {other_at}");
                assert_eq!(hash(one) == hash(other), at == other_at, "{at}, {other_at}");
            }
        }
        // The same, come to in another way.
        let mut again = table(&["a", "b"]);
        again.0.insert("b".into(), 2);
        assert!(again == table(&["a", "b"]) && hash(&again) == hash(&tables[2]));
    }

    #[test]
    fn a_line_that_is_not_the_record_of_the_message_gives_no_body() {
        let line = br#"{"type":"message.sent","message":{"messageId":"m","from":"a","to":"b"}}"#;
        let mut projection = Projection::new();
        let mut scanner = crate::log::Scanner::new();
        scanner
            .feed(&[&line[..], b"\n"].concat(), &mut |record| projection.apply(&record))
            .unwrap();
        assert!(projection.body(&"m".into(), line).is_some());
        assert_eq!(projection.message(&"m".into()), None, "bodies are not kept");
        assert_eq!(projection.body(&"n".into(), line), None);
        for other in [&b"{}"[..], b"nope", br#"{"message":{"messageId":"n"}}"#] {
            assert_eq!(projection.body(&"m".into(), other), None);
        }
    }
}
