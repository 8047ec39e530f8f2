//! `handoff`: pass work on. The authority that is transferred is always none.

use super::message::{self, Form};
use super::{Decided, Refusal};
use crate::command::Command;
use crate::json::{Json, Object};
use crate::view::View;
use crate::vocabulary::DELIVERY;

pub(super) fn decide<V: View>(view: &V, command: &Command) -> Result<Decided, Refusal> {
    let form = Form { text_field: "summary", kind: "handoff".into(), is_handoff: true };
    message::decide(view, command, &form, |message| {
        Object::new()
            .with("messageId", &message.message_id)
            .with("correlationId", &message.correlation_id)
            .with("replyTo", &message.reply_to.actor_ref)
            .with("authorityTransferred", Json::Array(Vec::new()))
            .with("delivery", DELIVERY)
    })
}
