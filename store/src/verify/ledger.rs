//! What the evidence checks count: one pass over the raw records, kept apart from the folds that
//! the bus decides with, so that a fault in one of those does not hide behind itself.

use std::collections::{HashMap, HashSet};

use gaia_bus_model::correlation;
use gaia_bus_model::event::{RecordType, is_acked};
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::text::Text;

/// The facts of a log. Everything is borrowed from its records.
#[derive(Debug, Default)]
pub struct Ledger<'a> {
    /// All records.
    pub records: &'a [Object],
    /// Every `actor.registered`, in order.
    pub registrations: Vec<&'a Object>,
    /// The newest registration of each ref, in the order of the first.
    pub actors: Vec<(&'a Text, &'a Object)>,
    /// Every message that was ever sent, in order.
    pub sent: Vec<&'a Object>,
    /// Which of [`sent`](Self::sent) is stored under each id (the newest), by first arrival.
    pub stored: Vec<usize>,
    /// Every acknowledgement of a message sent before, in order.
    pub acks: Vec<&'a Object>,
    /// Every `work.handed-off`, in order.
    pub handoffs: Vec<&'a Object>,
    /// The ids of stored messages that are acknowledged.
    acked: HashSet<&'a Text>,
}

impl<'a> Ledger<'a> {
    /// Reads a log.
    #[must_use]
    pub fn of(records: &'a [Object]) -> Self {
        let mut ledger = Ledger { records, ..Ledger::default() };
        let mut actors = HashMap::new();
        let mut stored = HashMap::new();
        for record in records {
            match RecordType::of(record) {
                Some(RecordType::ActorRegistered) => ledger.register(record, &mut actors),
                Some(RecordType::MessageSent) => ledger.send(record, &mut stored),
                Some(RecordType::MessageAcked) => {
                    if let Some(id) =
                        record.get_text("messageId").filter(|id| stored.contains_key(id))
                    {
                        ledger.acks.push(record);
                        ledger.acked.insert(id);
                    }
                }
                Some(RecordType::WorkHandedOff) => ledger.handoffs.push(record),
                Some(
                    RecordType::AuthorityDenied
                    | RecordType::InboxPolled
                    | RecordType::ActorHeartbeat
                    | RecordType::CommandRejected
                    | RecordType::MessageRepeated,
                )
                | None => {}
            }
        }
        ledger
    }

    fn register(&mut self, record: &'a Object, places: &mut HashMap<&'a Text, usize>) {
        self.registrations.push(record);
        let Some(actor_ref) = record.get_text("ref") else { return };
        let place = *places.entry(actor_ref).or_insert(self.actors.len());
        match self.actors.get_mut(place) {
            Some((_, newest)) => *newest = record,
            None => self.actors.push((actor_ref, record)),
        }
    }

    /// A message that is stored anew takes its place and its own word on whether it is
    /// acknowledged.
    fn send(&mut self, record: &'a Object, places: &mut HashMap<&'a Text, usize>) {
        let Some(message) = record.get("message").and_then(Json::as_object) else { return };
        let index = self.sent.len();
        self.sent.push(message);
        let Some(id) = message.get_text("messageId") else { return };
        let place = *places.entry(id).or_insert(self.stored.len());
        match self.stored.get_mut(place) {
            Some(newest) => *newest = index,
            None => self.stored.push(index),
        }
        if is_acked(message.get("ackedBy")) {
            self.acked.insert(id);
        } else {
            self.acked.remove(id);
        }
    }

    /// The messages as stored: the newest of each id.
    pub fn messages(&self) -> impl Iterator<Item = &'a Object> {
        self.stored.iter().filter_map(|&index| self.sent.get(index).copied())
    }

    /// How many stored messages are acknowledged.
    #[must_use]
    pub fn acked_count(&self) -> usize {
        self.acked.len()
    }

    /// The highest recognised correlation ordinal of any message; 0 without one.
    #[must_use]
    pub fn issuer_at(&self) -> u64 {
        self.sent
            .iter()
            .filter_map(|message| correlation::ordinal_of_message(message))
            .max()
            .unwrap_or(0)
    }
}
