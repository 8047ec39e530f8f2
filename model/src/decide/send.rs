//! `send`: address a message to an actor.

use super::arguments::trimmed;
use super::message::{self, Form};
use super::{Decided, Refusal};
use crate::command::Command;
use crate::event;
use crate::json::Object;
use crate::text::Text;
use crate::view::View;
use crate::vocabulary::DELIVERY;

pub(super) fn decide<V: View>(view: &V, command: &Command) -> Result<Decided, Refusal> {
    let form = Form {
        text_field: "text",
        kind: trimmed(&command.arguments, "kind").unwrap_or_else(|| "note".into()),
        is_handoff: false,
    };
    message::decide(view, command, &form, |message| {
        let mut route = Text::new();
        route.push_text(&message.from.actor_ref);
        route.push_str(" -> ");
        route.push_text(&message.to.actor_ref);
        Object::new()
            .with("messageId", &message.message_id)
            .with("correlationId", &message.correlation_id)
            .with("route", route)
            .with("replyTo", &message.reply_to.actor_ref)
            .with("authority", event::authority(&message.granted, &message.denied))
            .with("delivery", DELIVERY)
    })
}
