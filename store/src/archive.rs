//! The cold fold: what reports show, made anew for each of them.
//!
//! Contract. An [`Archive`] answers what [`Projection`] answers, and beyond it all that a snapshot,
//! the integrity findings, the correlation health and `status` are made of, the same as the
//! reference state gives, in O(events). It keeps rows and not records: a text is clipped as soon as
//! it is read.
//!
//! Absent: decisions. Nothing on the path of a verb builds one. Guarded by `tests/projection.rs`
//! (against the reference) and `tests/vectors_store.rs`.

use gaia_bus_model::correlation::{self, Health};
use gaia_bus_model::event::{RecordType, Unreplayable, is_acked};
use gaia_bus_model::identifier::is_mint_shaped;
use gaia_bus_model::instant::Status;
use gaia_bus_model::integrity::{self, Finding};
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::snapshot::{self, ActorRow, Parts};
use gaia_bus_model::state::Counters;
use gaia_bus_model::text::Text;
use gaia_bus_model::view::View;

use crate::log::{Record, Value};
use crate::projection::{Applied, Projection};
use crate::replay::Fold;

/// What a report knows of an actor beyond the projection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct ActorNotes {
    kind: Option<Json>,
    declared_capabilities: Option<Json>,
    bus_authority: Option<Json>,
    last_seen_at: Option<Json>,
    heartbeats: u64,
}

/// What a report knows of a stored message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct MessageNotes {
    id: Text,
    /// Its row, but for whether it is acknowledged.
    row: Object,
    /// `from to replyTo ackedBy`, as they stand.
    parties: Object,
    is_near_ceiling: bool,
}

/// An actor as reports show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActorReport<'a> {
    /// Its ref.
    pub actor_ref: &'a Text,
    /// Its present name.
    pub name: Text,
    /// Whether it was seen lately.
    pub status: Status,
    /// The `at` of the newest record that it made, as found.
    pub last_seen_at: Option<&'a Json>,
    /// What it declares, as found.
    pub declared_capabilities: Option<&'a Json>,
    /// Its kind, as found.
    pub kind: Option<&'a Json>,
}

/// The cold fold. See the module header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Archive {
    projection: Projection,
    last_event_at: Option<Text>,
    /// By the place of the actor in the projection.
    actors: Vec<ActorNotes>,
    /// By the place of the message in the projection.
    messages: Vec<MessageNotes>,
    handoffs: Vec<Object>,
    authority_denials: Vec<Object>,
    rejections: Vec<Object>,
}

impl Fold for Archive {
    fn apply(&mut self, record: &Record<'_>) -> Result<(), Unreplayable> {
        let applied = self.projection.applied(record)?;
        let at = record.get("at");
        if let Some(at) = at.and_then(Value::as_text) {
            self.last_event_at = Some(at.into_text());
        }
        match applied {
            Applied::Registered(place) => self.note_registered(place, record, at),
            Applied::Sent(place) => self.note_sent(place, record),
            Applied::Acked { message, actor } => {
                self.note_acked(message, record);
                self.note_seen(actor, at);
            }
            Applied::Polled(actor) => self.note_seen(actor, at),
            Applied::Heartbeat(actor) => {
                if let Some(notes) = actor.and_then(|place| self.actors.get_mut(place)) {
                    notes.heartbeats += 1;
                }
                self.note_seen(actor, at);
            }
            Applied::Other(RecordType::WorkHandedOff) => {
                self.handoffs.push(snapshot::handoff_row(&record.to_object()));
            }
            Applied::Other(RecordType::AuthorityDenied) => {
                self.authority_denials.push(snapshot::denial_row(&record.to_object()));
            }
            Applied::Other(RecordType::CommandRejected) => {
                self.rejections.push(snapshot::rejection_row(&record.to_object()));
            }
            Applied::Other(_) | Applied::Unknown => {}
        }
        Ok(())
    }
}

impl Archive {
    /// Nothing folded yet.
    #[must_use]
    pub fn new() -> Self {
        Archive::default()
    }

    /// What decisions would ask.
    #[must_use]
    pub fn projection(&self) -> &Projection {
        &self.projection
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.projection.counters()
    }

    /// The `at` of the last record that had one as a string.
    #[must_use]
    pub fn last_event_at(&self) -> Option<&Text> {
        self.last_event_at.as_ref()
    }

    /// The actors, in the order of first registration.
    pub fn actors(&self) -> impl Iterator<Item = ActorReport<'_>> {
        self.projection.actors().zip(&self.actors).map(|((actor_ref, name, status), notes)| {
            ActorReport {
                actor_ref,
                name,
                status,
                last_seen_at: notes.last_seen_at.as_ref(),
                declared_capabilities: notes.declared_capabilities.as_ref(),
                kind: notes.kind.as_ref(),
            }
        })
    }

    /// All addresses that were never minted.
    #[must_use]
    pub fn integrity(&self) -> Vec<Finding> {
        integrity::findings(
            |actor_ref| is_mint_shaped(actor_ref) && self.projection.is_actor(actor_ref),
            self.projection.actors().map(|(actor_ref, ..)| actor_ref),
            self.messages.iter().map(|notes| &notes.parties),
            &self.handoffs,
            self.projection.inbox_owners(),
        )
    }

    /// How the correlation issuer stands.
    #[must_use]
    pub fn correlation(&self) -> Health {
        let near = self.messages.iter().filter(|notes| notes.is_near_ceiling);
        Health {
            issuer_at: self.projection.correlation_issuer(),
            findings: near.map(|notes| notes.id.clone()).collect(),
        }
    }

    /// The snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Object {
        snapshot::snapshot(Parts {
            events_applied: self.counters().event,
            last_event_at: self.last_event_at.clone(),
            actors: self.actor_rows(),
            messages: self.messages.iter().map(MessageNotes::row).collect(),
            handoffs: self.handoffs.clone(),
            authority_denials: self.authority_denials.clone(),
            rejections: self.rejections.clone(),
        })
    }

    fn actor_rows(&self) -> Vec<Object> {
        let rows = self.projection.actors().zip(&self.actors);
        rows.map(|((actor_ref, name, status), notes)| {
            let mut name_shared_with = self.projection.bearers(&name);
            name_shared_with.retain(|bearer| bearer != actor_ref);
            snapshot::actor_row(&ActorRow {
                actor_ref,
                name: &name,
                kind: notes.kind.as_ref(),
                status,
                heartbeats: notes.heartbeats,
                declared_capabilities: notes.declared_capabilities.as_ref(),
                bus_authority: notes.bus_authority.as_ref(),
                name_shared_with,
                pending: self.projection.pending_count(actor_ref),
            })
        })
        .collect()
    }

    fn note_registered(&mut self, place: usize, record: &Record<'_>, at: Option<Value<'_>>) {
        let found = |key| record.get(key).map(Value::to_json);
        let Some(notes) = entry(&mut self.actors, place) else { return };
        notes.kind = found("kind");
        notes.declared_capabilities = found("declaredCapabilities");
        notes.bus_authority = found("busAuthority");
        notes.last_seen_at = at.map(Value::to_json);
    }

    fn note_sent(&mut self, place: usize, record: &Record<'_>) {
        let message = record.get("message").and_then(Value::to_object).unwrap_or_default();
        let parties = ["from", "to", "replyTo", "ackedBy"]
            .into_iter()
            .fold(Object::new(), |parties, key| parties.with_some(key, message.get(key).cloned()));
        let ordinal = correlation::ordinal_of_message(&message);
        let notes = MessageNotes {
            id: message.get_text("messageId").cloned().unwrap_or_default(),
            row: snapshot::message_row(&message),
            parties,
            is_near_ceiling: ordinal.is_some_and(correlation::is_near_ceiling),
        };
        if let Some(slot) = entry(&mut self.messages, place) {
            *slot = notes;
        }
    }

    fn note_acked(&mut self, message: Option<usize>, record: &Record<'_>) {
        let by = record.get("actorId").map(Value::to_json);
        if let (Some(notes), Some(by)) = (message.and_then(|at| self.messages.get_mut(at)), by) {
            notes.parties.set("ackedBy", by);
        }
    }

    fn note_seen(&mut self, actor: Option<usize>, at: Option<Value<'_>>) {
        if let Some(notes) = actor.and_then(|place| self.actors.get_mut(place)) {
            notes.last_seen_at = at.map(Value::to_json);
        }
    }
}

impl MessageNotes {
    fn row(&self) -> Object {
        self.row.clone().with("acked", is_acked(self.parties.get("ackedBy")))
    }
}

/// The notes at a place. Places are given out in order, so there is at most one to add.
fn entry<N: Default>(notes: &mut Vec<N>, place: usize) -> Option<&mut N> {
    if place >= notes.len() {
        notes.resize_with(place + 1, N::default);
    }
    notes.get_mut(place)
}
