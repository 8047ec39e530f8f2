//! `heartbeat`: say that one is still there.

use super::arguments::{present, resolve_required};
use super::{Decided, Refusal};
use crate::command::Command;
use crate::event;
use crate::json::Object;
use crate::view::View;

pub(super) fn decide<V: View>(view: &V, command: &Command) -> Result<Decided, Refusal> {
    let actor = resolve_required(view, &command.arguments, "actorId")?.actor_ref;
    let note = present(&command.arguments, "note");
    Ok(Decided {
        events: vec![event::actor_heartbeat(&command.at, &actor, note)],
        answer: Object::new().with("actorId", &actor).with("at", &command.at),
    })
}
