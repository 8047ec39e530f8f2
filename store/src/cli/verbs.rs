//! The six verbs: from flags to the arguments of [`Bus::call`](crate::bus::Bus::call), and back.
//!
//! Which arguments a verb takes is the model's table, [`Verb::fields`]. No flag is required here
//! and no value is judged: what is missing or wrong is refused by the bus, and the refusal is
//! recorded.

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use gaia_bus_model::command::Verb;
use gaia_bus_model::json::{Json, Number, Object};

use super::{Call, Console, Usage, after_help, flag};
use crate::bus::Bus;

/// How the text of a flag becomes a JSON value.
#[derive(Clone, Copy)]
enum Shape {
    /// A string, as typed.
    Text,
    /// An array: the text split at commas; no text, no entries.
    List,
    /// A number where the text is one, else the string as typed.
    Number,
    /// A switch; `true` unless `=false` is joined to it.
    Switch,
}

pub(super) fn define(verb: Verb) -> Command {
    let command = Command::new(verb.name()).args(verb.fields().iter().map(|name| arg(verb, name)));
    let (about, long_about, examples): (_, _, &[&str]) = match verb {
        Verb::Register => (
            "Become an actor, or update one",
            "Become an actor, or, with --ref, update one in place. Names are not unique: the \
             answer says how this actor is addressed. Every actor has the same frozen bus \
             authority; capabilities are declarations and grant nothing.",
            &["gaia-bus register --actorId builder --kind builder --capabilities cwd=/src/app"],
        ),
        Verb::Send => (
            "Send a text to an actor",
            "Send a text to an actor, by ref (act-0002) or by a name that one actor bears. \
             Accepted for delivery means just that: not read, not agreed, not completed. Requested \
             authority is recorded, and has no effect whatever is granted.",
            &[
                "gaia-bus send --from gaia --to builder --text 'please build' --expectsReply",
                "gaia-bus send --from act-0001 --to act-0002 --text \"$(git diff)\" --kind diff",
            ],
        ),
        Verb::Inbox => (
            "Read an actor's pending messages",
            "Read the messages that an actor has not acknowledged, oldest first. Reading is \
             recorded and consumes nothing: a message stays pending until it is acknowledged.",
            &["gaia-bus inbox --actorId builder --limit 10 --pretty"],
        ),
        Verb::Ack => (
            "Acknowledge the receipt of a message",
            "Acknowledge the receipt of a message that is addressed to this actor. Receipt only: \
             not agreement, approval, or completion.",
            &["gaia-bus ack --actorId builder --messageId msg-0001 --note 'will look tonight'"],
        ),
        Verb::Heartbeat => (
            "Say that an actor is still there",
            "Say that an actor is still there. An actor that was not seen for 30 seconds of bus \
             time counts as stale; it stays registered and addressable.",
            &["gaia-bus heartbeat --actorId builder --note 'tests running'"],
        ),
        Verb::Handoff => (
            "Hand work over to another actor",
            "Hand work over to another actor. The summary travels as a message; no authority ever \
             travels with it.",
            &["gaia-bus handoff --from builder --to reviewer --summary 'branch fix-7 is ready'"],
        ),
    };
    let command = match verb {
        Verb::Ack => command.visible_alias("acknowledge"),
        _ => command,
    };
    command.about(about).long_about(long_about).after_help(after_help(examples))
}

/// The flag of one argument.
fn arg(verb: Verb, name: &'static str) -> Arg {
    let (value, help) = match (verb, name) {
        (Verb::Register, "actorId") => ("NAME", "The display name to bear"),
        (_, "actorId") => ("ACTOR", "Who is acting, by ref or name"),
        (_, "ref") => ("act-NNNN", "Update this registered actor instead of becoming a new one"),
        (Verb::Register, "kind") => ("KIND", "What the actor is, as in builder"),
        (_, "kind") => ("KIND", "What the message is [default: note]"),
        (_, "capabilities") => ("A,B", "What the actor declares of itself, separated by commas"),
        (_, "from") => ("ACTOR", "Who sends, by ref or name"),
        (_, "to") => ("ACTOR", "Whom it is addressed to, by ref or name"),
        (_, "text") => ("TEXT", "The body, kept verbatim; may begin with a dash"),
        (_, "summary") => ("TEXT", "What is handed over, kept verbatim"),
        (_, "correlationId") => ("ID", "The thread to continue, as in cor-0001; else a new one"),
        (_, "replyTo") => ("ACTOR", "Who should get the reply [default: the sender]"),
        (_, "expectsReply") => ("true|false", "Say that a reply is expected"),
        (_, "requestedAuthority") => {
            ("A,B", "Authority to ask for, separated by commas; recorded, without effect")
        }
        (_, "idempotencyKey") => ("KEY", "Makes a repeat safe: same key and content, one message"),
        (_, "limit") => ("N", "At most this many messages, the oldest first"),
        (_, "messageId") => ("msg-NNNN", "The message to acknowledge"),
        (_, "note") => ("TEXT", "A note to record with it"),
        // A field that the model learns shows up under its own name until it is described here.
        (_, other) => ("VALUE", other),
    };
    let arg = flag(name, value, help);
    match shape(name) {
        Shape::Text | Shape::List | Shape::Number => arg,
        Shape::Switch => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(ValueParser::bool())
            .hide_possible_values(true)
            .action(ArgAction::Set),
    }
}

fn shape(name: &str) -> Shape {
    match name {
        "capabilities" | "requestedAuthority" => Shape::List,
        "expectsReply" => Shape::Switch,
        "limit" => Shape::Number,
        _ => Shape::Text,
    }
}

/// The arguments as the bus takes them. A flag that was not given is absent.
fn arguments(verb: Verb, matches: &ArgMatches) -> Object {
    let mut arguments = Object::new();
    for name in verb.fields() {
        let value = match shape(name) {
            Shape::Switch => matches.get_one::<bool>(name).map(|value| Json::Bool(*value)),
            Shape::Text => matches.get_one::<String>(name).map(|text| text.as_str().into()),
            Shape::List => matches.get_one::<String>(name).map(|text| list(text)),
            Shape::Number => matches.get_one::<String>(name).map(|text| number(text)),
        };
        if let Some(value) = value {
            arguments.set(*name, value);
        }
    }
    arguments
}

pub(super) fn run(verb: Verb, call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let answer = Bus::new(call.settings()?).call(verb, arguments(verb, call.matches));
    console.show(&answer, &answer.result);
    // Both: that it was refused is no reason to keep quiet about a lock that is left.
    console.warn(answer.error.as_deref());
    console.warn(answer.warning.as_deref());
    Ok(answer.exit_code)
}

fn list(text: &str) -> Json {
    match text {
        "" => Json::Array(Vec::new()),
        _ => Json::from(text.split(',').map(Json::from).collect::<Vec<_>>()),
    }
}

fn number(text: &str) -> Json {
    let is_bare = !text.contains(|c: char| c.is_ascii_whitespace());
    match serde_json::from_str::<serde_json::Number>(text) {
        Ok(_) if is_bare => Json::Number(Number::from_literal(text)),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(argv: &[&str]) -> String {
        let root = super::super::command();
        let argv = super::super::argv::normalise(&root, argv.iter().map(Into::into).collect());
        let matches = root.try_get_matches_from(argv).unwrap();
        let (name, matches) = matches.subcommand().unwrap();
        String::from_utf8(arguments(Verb::from_name(name).unwrap(), matches).to_line()).unwrap()
    }

    #[test]
    fn lists_are_split_at_commas_and_kept_verbatim() {
        for (typed, list) in [
            ("", "[]"),
            ("read", r#"["read"]"#),
            ("read,draft", r#"["read","draft"]"#),
            ("read,, draft", r#"["read",""," draft"]"#),
        ] {
            let flag = format!("--requestedAuthority={typed}");
            let expected = format!(r#"{{"requestedAuthority":{list}}}"#);
            assert_eq!(parsed(&["gaia-bus", "send", &flag]), expected);
        }
    }

    #[test]
    fn a_limit_is_a_number_only_when_it_is_one() {
        for (typed, json) in [
            ("5", "5"),
            ("-5", "-5"),
            ("0", "0"),
            ("1.5", "1.5"),
            ("1e1", "1e1"),
            ("05", r#""05""#),
            (" 5", r#"" 5""#),
            ("", r#""""#),
            ("many", r#""many""#),
            ("0x5", r#""0x5""#),
        ] {
            let expected = format!(r#"{{"limit":{json}}}"#);
            assert_eq!(parsed(&["gaia-bus", "inbox", "--limit", typed]), expected);
        }
    }

    #[test]
    fn an_expected_reply_is_a_switch() {
        assert_eq!(parsed(&["gaia-bus", "send"]), "{}");
        assert_eq!(parsed(&["gaia-bus", "send", "--expectsReply"]), r#"{"expectsReply":true}"#);
        let expected = r#"{"from":"a","expectsReply":false}"#;
        assert_eq!(parsed(&["gaia-bus", "send", "--expects-reply=false", "--from", "a"]), expected);
    }

    #[test]
    fn every_argument_of_every_verb_has_a_described_flag() {
        for verb in Verb::ALL {
            let command = define(verb);
            for name in verb.fields() {
                let arg = command.get_arguments().find(|arg| arg.get_id() == name).unwrap();
                assert_ne!(arg.get_help().unwrap().to_string(), *name, "{verb} {name}");
            }
        }
    }
}
