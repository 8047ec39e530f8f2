//! Arguments as the caller sent them: what counts as present, and who an address means.

use super::Refusal;
use crate::command::{Command, Limits};
use crate::event::Party;
use crate::json::{Json, Object};
use crate::text::Text;
use crate::view::View;

/// The checks before those of any verb: no argument that the verb does not know, none too long.
/// What is too long is recorded without it.
pub(super) fn check_all(command: &Command, limits: &Limits) -> Result<(), Refusal> {
    let known = command.verb.fields();
    for (key, _) in command.arguments.iter() {
        if !known.iter().any(|field| key == field) {
            return Err(Refusal::unknown_field(key, command.verb.name(), known));
        }
    }
    for field in known {
        let bytes = command.arguments.get(field).map_or(0, measured_bytes);
        if bytes > limits.text_bytes_max {
            return Err(Refusal::text_too_long(field, bytes, limits.text_bytes_max));
        }
    }
    Ok(())
}

/// What the limit measures: a string in UTF-8, an array as a whole in compact JSON. Nothing of any
/// other value is ever recorded.
fn measured_bytes(value: &Json) -> u64 {
    let bytes = match value {
        Json::String(text) => text.as_bytes().len(),
        Json::Array(_) => {
            let mut out = Vec::new();
            value.write(&mut out);
            out.len()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => 0,
    };
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A string that is not blank, verbatim; nothing when it is absent, blank or of another type.
pub(super) fn present<'a>(arguments: &'a Object, field: &str) -> Option<&'a Text> {
    arguments.get_text(field).filter(|text| !text.is_blank())
}

/// The same, trimmed.
pub(super) fn trimmed(arguments: &Object, field: &str) -> Option<Text> {
    present(arguments, field).map(Text::trim)
}

/// The actor that an address names: a registered ref wins, otherwise the one bearer of a name.
pub(super) fn resolve<V: View>(view: &V, field: &str, address: &Text) -> Result<Party, Refusal> {
    let party = |actor_ref: &Text| Party {
        actor_ref: actor_ref.clone(),
        name: view.name_of(actor_ref).unwrap_or_default(),
    };
    if view.is_actor(address) {
        return Ok(party(address));
    }
    let bearers = view.bearers(address);
    match bearers.as_slice() {
        [] => Err(Refusal::unknown_actor(field, address)),
        [only] => Ok(party(only)),
        [_, _, ..] => Err(Refusal::ambiguous_name(field, address, bearers)),
    }
}

/// The actor that a required address names.
pub(super) fn resolve_required<V: View>(
    view: &V,
    arguments: &Object,
    field: &str,
) -> Result<Party, Refusal> {
    let address = trimmed(arguments, field).ok_or_else(|| Refusal::missing_field(field))?;
    resolve(view, field, &address)
}

/// ECMAScript truthiness: false for absent, null, false, the empty string and zero.
pub(super) fn is_truthy(value: Option<&Json>) -> bool {
    match value {
        None | Some(Json::Null) => false,
        Some(Json::Bool(value)) => *value,
        Some(Json::Number(number)) => number.value() != 0.0,
        Some(Json::String(text)) => !text.is_empty(),
        Some(Json::Array(_) | Json::Object(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Verb;
    use crate::json::Number;

    #[test]
    fn truthiness_is_that_of_ecmascript() {
        let number = |literal| Json::Number(Number::from_literal(literal));
        for value in ["0", "-0", "0.0", "0e9", "1e-999"] {
            assert!(!is_truthy(Some(&number(value))), "{value}");
        }
        for value in ["1", "-1", "0.5", "1e999", "1e-300"] {
            assert!(is_truthy(Some(&number(value))), "{value}");
        }
        for value in [Json::Null, false.into(), "".into()] {
            assert!(!is_truthy(Some(&value)), "{value:?}");
        }
        let [array, object] = [Json::Array(vec![]), Json::Object(Object::new())];
        for value in [true.into(), " ".into(), "0".into(), array, object] {
            assert!(is_truthy(Some(&value)), "{value:?}");
        }
        assert!(!is_truthy(None));
    }

    #[test]
    fn the_limit_is_inclusive_and_measures_bytes_of_strings_and_whole_arrays() {
        let limits = Limits { text_bytes_max: 6 };
        let judge = |field: &str, value: Json| {
            let arguments = Object::new().with(field, value);
            let command = Command { verb: Verb::Register, at: Text::new(), arguments };
            check_all(&command, &limits).map_err(|refusal| refusal.reason)
        };
        assert_eq!(judge("actorId", "\u{e9}\u{e9}\u{e9}".into()), Ok(()));
        assert_eq!(
            judge("actorId", "\u{e9}\u{e9}\u{e9}x".into()),
            Err("actorId: 7 bytes, and at most 6 are taken; shorten it".into())
        );
        assert_eq!(judge("capabilities", vec!["ab"].into()), Ok(()));
        assert!(judge("capabilities", vec!["abc"].into()).is_err());
        assert!(judge("capabilities", vec![Json::Null, Json::Null].into()).is_err());
        assert_eq!(judge("kind", Json::Object(Object::new().with("a", "long enough"))), Ok(()));
    }

    #[test]
    fn an_unknown_field_is_named_before_any_length_is_judged() {
        let arguments = Object::new().with("text", "too long").with("corelationId", 1).with("x", 2);
        let command = Command { verb: Verb::Send, at: Text::new(), arguments };
        let refusal = check_all(&command, &Limits { text_bytes_max: 1 }).unwrap_err();
        assert_eq!(refusal.field, Some("corelationId".into()));
        assert!(refusal.reason.starts_with("\"corelationId\": send has no such argument"));
    }
}
