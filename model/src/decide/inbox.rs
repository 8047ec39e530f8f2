//! `inbox`: read what is pending. Reading is a write, and it never consumes: only `ack` removes.

use super::arguments::resolve_required;
use super::{Decided, Refusal};
use crate::command::Command;
use crate::event::{self, Party};
use crate::json::{Json, Object};
use crate::text::Text;
use crate::view::View;
use crate::vocabulary::INBOX_BYTES_MAX;

/// What an inbox answer will show.
struct Shown {
    actor: Party,
    message_ids: Vec<Text>,
    pending_total: usize,
}

pub(super) fn decide<V: View>(view: &V, command: &Command) -> Result<Decided, Refusal> {
    let shown = shown(view, &command.arguments)?;
    let pending: Vec<Object> = shown.message_ids.iter().filter_map(|id| view.message(id)).collect();
    let mut answer = Object::new().with("actorId", &shown.actor.actor_ref).with("pending", pending);
    if shown.message_ids.len() < shown.pending_total {
        let total = u64::try_from(shown.pending_total).unwrap_or(u64::MAX);
        answer = answer.with("pendingTotal", total).with("hasMore", true);
    }
    let event = event::inbox_polled(&command.at, &shown.actor.actor_ref, shown.message_ids);
    Ok(Decided { events: vec![event], answer })
}

/// The messages whose bodies [`decide`] will ask for.
pub(super) fn bodies_needed<V: View>(view: &V, arguments: &Object) -> Vec<Text> {
    shown(view, arguments).map(|shown| shown.message_ids).unwrap_or_default()
}

/// The oldest pending messages, as many as the limit and [`INBOX_BYTES_MAX`] allow; one always.
fn shown<V: View>(view: &V, arguments: &Object) -> Result<Shown, Refusal> {
    let actor = resolve_required(view, arguments, "actorId")?;
    let limit = limit(arguments)?;
    let pending = view.pending(&actor.actor_ref);
    let pending_total = pending.len();
    let mut room = INBOX_BYTES_MAX;
    let mut message_ids = Vec::new();
    for message in pending.into_iter().take(limit) {
        match room.checked_sub(message.answer_bytes) {
            Some(left) => room = left,
            None if message_ids.is_empty() => room = 0,
            None => break,
        }
        // The comma behind it.
        room = room.saturating_sub(1);
        message_ids.push(message.message_id);
    }
    Ok(Shown { actor, message_ids, pending_total })
}

/// An integer from 1, by value (`2.0` is one); absent means everything.
fn limit(arguments: &Object) -> Result<usize, Refusal> {
    const FIELD: &str = "limit";
    match arguments.get(FIELD) {
        None => Ok(usize::MAX),
        Some(Json::Number(number)) if number.value() >= 1.0 && number.value().fract() == 0.0 => {
            // A float beyond the range of the integer becomes its greatest value.
            Ok(number.value() as usize)
        }
        Some(_) => Err(Refusal::bad_limit(FIELD)),
    }
}
