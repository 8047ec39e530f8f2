//! What a decision may ask of a state.
//!
//! Decisions are written once, over this trait. The reference [`State`](crate::state::State) and
//! the store's projection both implement it, so that conformance compares two folds and not a
//! function with itself. The price: a wrong *decision* is wrong in both, and only the recorded
//! vectors, which come from outside, can see it.

use crate::json::Object;
use crate::text::Text;

/// A message that its addressee has not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its id.
    pub message_id: Text,
    /// How many bytes it takes in an answer: its canonical JSON as [`View::message`] gives it.
    pub answer_bytes: u64,
}

/// Read access to a folded log. All answers are about the whole log folded so far.
pub trait View {
    /// How many distinct actor refs were registered.
    fn actor_count(&self) -> u64;
    /// How many `message.sent` records there were.
    fn message_count(&self) -> u64;
    /// The highest recognised correlation ordinal in any stored record of a message; 0 without one.
    fn correlation_issuer(&self) -> u64;
    /// Whether a ref was registered.
    fn is_actor(&self, actor_ref: &Text) -> bool;
    /// The present name of a registered actor.
    fn name_of(&self, actor_ref: &Text) -> Option<Text>;
    /// The refs that bear a name now, in the order in which each came to bear it.
    fn bearers(&self, name: &Text) -> Vec<Text>;
    /// The ref that a stored message is addressed to; nothing when there is no such message.
    fn addressee(&self, message_id: &Text) -> Option<Text>;
    /// The unacknowledged messages in an actor's inbox, in arrival order.
    fn pending(&self, actor_ref: &Text) -> Vec<Pending>;
    /// The message that first bound an idempotency key of a sender.
    fn key_holder(&self, sender: &Text, key: &Text) -> Option<Text>;
    /// Whether a `work.handed-off` record names the message.
    fn was_handed_off(&self, message_id: &Text) -> bool;
    /// A stored message as it stands now: its record's keys, `deliveredAt`, `ackedBy` and `ackedAt`
    /// up to date, then `ackNote` once acknowledged. Asked only for ids that
    /// [`decide::bodies_needed`](crate::decide::bodies_needed) names, because the projection keeps
    /// where a message stands and not its text.
    fn message(&self, message_id: &Text) -> Option<Object>;
}
