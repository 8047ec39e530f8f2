//! What `send` and `handoff` have in common: the checks, the message they compose, and safe
//! repeats.

use super::arguments::{is_truthy, present, resolve, resolve_required, trimmed};
use super::{Decided, Refusal};
use crate::authority;
use crate::command::Command;
use crate::correlation;
use crate::event::{self, Message, Party};
use crate::identifier::Series;
use crate::json::{Json, Object};
use crate::text::Text;
use crate::view::View;
use crate::vocabulary::{CLAIM_WINDOW, CORRELATION_CEILING};

/// What a handoff and a message differ in.
pub(super) struct Form {
    /// The argument that holds the body.
    pub(super) text_field: &'static str,
    /// The kind, as the verb has it.
    pub(super) kind: Text,
    /// Whether `work.handed-off` follows.
    pub(super) is_handoff: bool,
}

/// What a sender binds a key with, and which message holds it already.
struct Key {
    text: Text,
    holder: Option<Text>,
}

/// Judges a message and either sends it or finds that it was sent before. `answer` builds the
/// verb's answer of the message.
pub(super) fn decide<V: View>(
    view: &V,
    command: &Command,
    form: &Form,
    answer: impl Fn(&Message) -> Object,
) -> Result<Decided, Refusal> {
    let arguments = &command.arguments;
    let from = resolve_required(view, arguments, "from")?;
    let to = resolve_required(view, arguments, "to")?;
    let text = present(arguments, form.text_field)
        .ok_or_else(|| Refusal::missing_field(form.text_field))?;
    let (granted, denied) = authority::split(requested_authority(arguments)?);
    let key = idempotency_key(view, arguments, &from);
    let holder = key.as_ref().and_then(|key| key.holder.clone());
    let claimed = correlation_id(view, arguments, holder.is_some())?;
    let reply_to = match trimmed(arguments, "replyTo") {
        Some(address) => resolve(view, "replyTo", &address)?,
        None => from.clone(),
    };
    let mut message = Message {
        message_id: Text::new(),
        correlation_id: Text::new(),
        from,
        to,
        reply_to,
        expects_reply: is_truthy(arguments.get("expectsReply")),
        kind: form.kind.clone(),
        is_flagged: authority::is_authority_language(text),
        text: text.clone(),
        granted,
        denied,
        idempotency_key: key.map(|key| key.text),
    };
    match holder {
        Some(holder) => {
            let correlation_id = repeated(view, form, &message, claimed.as_ref(), &holder)?;
            message.message_id = holder;
            message.correlation_id = correlation_id;
            Ok(Decided {
                events: vec![event::message_repeated(
                    &command.at,
                    &message.message_id,
                    &message.from.actor_ref,
                )],
                answer: answer(&message).with("repeated", true),
            })
        }
        None => {
            let is_taken = |id: &Text| view.addressee(id).is_some();
            message.message_id = Series::Message.next_free(view.message_count(), is_taken);
            message.correlation_id = claimed.unwrap_or_else(|| {
                Series::Correlation.next_free(view.correlation_issuer(), |_| false)
            });
            Ok(Decided { events: events(&command.at, form, &message), answer: answer(&message) })
        }
    }
}

/// The message whose body [`decide`] will ask for: the holder of the sender's key.
pub(super) fn body_needed<V: View>(view: &V, arguments: &Object) -> Option<Text> {
    let from = resolve_required(view, arguments, "from").ok()?;
    idempotency_key(view, arguments, &from)?.holder
}

/// A key is stored and compared verbatim.
fn idempotency_key<V: View>(view: &V, arguments: &Object, from: &Party) -> Option<Key> {
    let text = present(arguments, "idempotencyKey")?.clone();
    let holder = view.key_holder(&from.actor_ref, &text);
    Some(Key { text, holder })
}

/// Absent or null, or an array of non-empty strings. Turning `"approve"` into an empty list would
/// write an audit record which says that nothing was asked for.
fn requested_authority(arguments: &Object) -> Result<Vec<Text>, Refusal> {
    const FIELD: &str = "requestedAuthority";
    let entries = match arguments.get(FIELD) {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(value) => value.as_array().ok_or_else(|| Refusal::authority_not_a_list(FIELD))?,
    };
    let trimmed = entries.iter().enumerate().map(|(index, entry)| {
        entry
            .as_text()
            .filter(|text| !text.is_blank())
            .map(Text::trim)
            .ok_or_else(|| Refusal::authority_entry_not_a_string(FIELD, index))
    });
    trimmed.collect()
}

/// The thread that the caller gave; nothing when one is to be minted. A repeat mints nothing, so it
/// needs no room in the issuer: the answer to the last message ever minted can still be had again.
fn correlation_id<V: View>(
    view: &V,
    arguments: &Object,
    is_repeat: bool,
) -> Result<Option<Text>, Refusal> {
    const FIELD: &str = "correlationId";
    let issuer_at = view.correlation_issuer();
    let Some(id) = trimmed(arguments, FIELD) else {
        return if issuer_at < CORRELATION_CEILING || is_repeat {
            Ok(None)
        } else {
            Err(Refusal::correlation_exhausted(FIELD))
        };
    };
    if correlation::is_numeric(&id) {
        match correlation::ordinal(&id).filter(|&ordinal| ordinal < CORRELATION_CEILING) {
            None => return Err(Refusal::correlation_out_of_range(FIELD, &id)),
            Some(ordinal) if ordinal > issuer_at.saturating_add(CLAIM_WINDOW) => {
                return Err(Refusal::correlation_too_far_ahead(FIELD, &id, issuer_at));
            }
            Some(_) => {}
        }
    }
    Ok(Some(id))
}

/// The thread of the message that holds the key, when the content is the same.
///
/// A stored message of another shape than ours has other content. The verb is told by the
/// `work.handed-off` record; where a power cut took that away, a repeat is refused rather than
/// guessed.
fn repeated<V: View>(
    view: &V,
    form: &Form,
    message: &Message,
    claimed: Option<&Text>,
    holder: &Text,
) -> Result<Text, Refusal> {
    let stored = view.message(holder).unwrap_or_default();
    let is = |field: &str, value: Json| stored.get(field) == Some(&value);
    let asked = stored.get("authority").and_then(Json::as_object).map(|stored| {
        let is = |field: &str, list: &[Text]| stored.get(field) == Some(&list.to_vec().into());
        is("granted", &message.granted) && is("denied", &message.denied)
    });
    let is_same = view.was_handed_off(holder) == form.is_handoff
        && asked == Some(true)
        && is("from", (&message.from.actor_ref).into())
        && is("to", (&message.to.actor_ref).into())
        && is("replyTo", (&message.reply_to.actor_ref).into())
        && is("kind", (&message.kind).into())
        && is("text", (&message.text).into())
        && is("expectsReply", message.expects_reply.into());
    match stored.get_text("correlationId") {
        Some(thread) if is_same && claimed.is_none_or(|claimed| claimed == thread) => {
            Ok(thread.clone())
        }
        Some(_) | None => {
            let key = message.idempotency_key.clone().unwrap_or_default();
            Err(Refusal::key_reused("idempotencyKey", &key, holder))
        }
    }
}

fn events(at: &Text, form: &Form, message: &Message) -> Vec<Object> {
    let mut events = vec![event::message_sent(at, message)];
    if form.is_handoff {
        events.push(event::work_handed_off(at, message));
    }
    if !message.denied.is_empty() {
        events.push(event::authority_denied(at, message));
    }
    events
}
