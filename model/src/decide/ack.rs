//! `ack`: acknowledge one message. It means receipt, nothing more.

use super::arguments::{present, resolve_required};
use super::{Decided, Refusal};
use crate::command::Command;
use crate::event;
use crate::json::Object;
use crate::view::View;
use crate::vocabulary::ACK_MEANING;

pub(super) fn decide<V: View>(view: &V, command: &Command) -> Result<Decided, Refusal> {
    const FIELD: &str = "messageId";
    let actor = resolve_required(view, &command.arguments, "actorId")?.actor_ref;
    let given = command.arguments.get_text(FIELD);
    let message_id = given.ok_or_else(|| Refusal::unknown_message(FIELD, None))?;
    let addressee = view
        .addressee(message_id)
        .ok_or_else(|| Refusal::unknown_message(FIELD, Some(message_id)))?;
    if addressee != actor {
        return Err(Refusal::not_the_addressee(FIELD, message_id, &actor));
    }
    let note = present(&command.arguments, "note");
    Ok(Decided {
        events: vec![event::message_acked(&command.at, &actor, message_id, note)],
        answer: Object::new()
            .with("messageId", message_id)
            .with("ackedBy", &actor)
            .with("meaning", ACK_MEANING),
    })
}
