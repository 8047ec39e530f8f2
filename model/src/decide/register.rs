//! `register`: become an actor, or update one in place.

use super::arguments::trimmed;
use super::{Decided, Refusal};
use crate::command::Command;
use crate::event::{self, Party};
use crate::identifier::{Series, is_mint_shaped, is_ref_shaped};
use crate::json::{Json, Object};
use crate::text::Text;
use crate::view::View;
use crate::vocabulary::BUS_AUTHORITY;

pub(super) fn decide<V: View>(view: &V, command: &Command) -> Result<Decided, Refusal> {
    let arguments = &command.arguments;
    let name = trimmed(arguments, "actorId").ok_or_else(|| Refusal::missing_field("actorId"))?;
    if is_ref_shaped(&name) {
        return Err(Refusal::ref_shaped_name("actorId", &name));
    }
    let known = trimmed(arguments, "ref");
    if let Some(actor_ref) = &known
        && !(is_mint_shaped(actor_ref) && view.is_actor(actor_ref))
    {
        return Err(Refusal::unknown_ref("ref", actor_ref));
    }
    let is_new = known.is_none();
    let actor_ref = known
        .unwrap_or_else(|| Series::Actor.next_free(view.actor_count(), |id| view.is_actor(id)));
    let kind = trimmed(arguments, "kind").unwrap_or_else(|| "unknown".into());
    let actor = Party { actor_ref, name };
    let capabilities = declared_capabilities(arguments);
    Ok(Decided {
        events: vec![event::actor_registered(&command.at, &actor, is_new, &kind, &capabilities)],
        answer: answer(view, &actor),
    })
}

/// Declarations, never consulted to decide; so what is no non-empty string is merely not kept.
fn declared_capabilities(arguments: &Object) -> Vec<Text> {
    let entries = arguments.get("capabilities").and_then(Json::as_array).unwrap_or_default();
    let texts = entries.iter().filter_map(Json::as_text);
    texts.filter(|text| !text.is_blank()).map(Text::trim).collect()
}

fn answer<V: View>(view: &V, actor: &Party) -> Object {
    let mut others = view.bearers(&actor.name);
    others.retain(|bearer| *bearer != actor.actor_ref);
    let (before, between) = if others.is_empty() {
        ("addressable as \"", "\" or ")
    } else {
        ("name \"", "\" is ambiguous \u{2014} address this actor as ")
    };
    let mut addressing = Text::from(before);
    addressing.push_text(&actor.name);
    addressing.push_str(between);
    addressing.push_text(&actor.actor_ref);
    Object::new()
        .with("ref", &actor.actor_ref)
        .with("name", &actor.name)
        .with("busAuthority", BUS_AUTHORITY.to_vec())
        .with("nameSharedWith", others)
        .with("addressing", addressing)
}
