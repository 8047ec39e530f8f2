//! Promise: what the recorded vectors do not show is decided as the contract has it: every refusal
//! is reachable and comes in its order, repeats are safe, limits hold, ids are never taken over.
//!
//! Method: small buses in memory, one claim a test; the table of refusals is checked for being
//! exhaustive. A view that records what is asked of it guards `bodies_needed`.
//!
//! What it cannot see: a decision that is wrong here and in the contract's author's head alike.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::cell::RefCell;
use std::collections::BTreeSet;

use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::{Decision, Refusal, RefusalCode, bodies_needed, decide};
use gaia_bus_model::json::{Json, Number, Object};
use gaia_bus_model::state::State;
use gaia_bus_model::text::Text;
use gaia_bus_model::view::{Pending, View};
use gaia_bus_model::vocabulary::{CLAIM_WINDOW, CORRELATION_CEILING, INBOX_BYTES_MAX};

use support::{line, list, nested, object, text};

const AT: &str = "2026-09-15T23:41:09.954Z";

/// A bus in memory.
#[derive(Default)]
struct Bus(State);

impl Bus {
    /// A bus with `act-0001` (a), `act-0002` (b), and `act-0003` and `act-0004` that share a name.
    fn populated() -> Self {
        let mut bus = Bus::default();
        for name in ["a", "b", "twin", "twin"] {
            bus.ok(Verb::Register, &format!(r#"{{"actorId":"{name}"}}"#));
        }
        bus
    }

    fn decide(&self, verb: Verb, arguments: &str) -> Decision {
        self.decide_within(verb, &object(arguments.as_bytes()), &Limits::default())
    }

    /// Decides, and holds the decision to what is true of all of them: it is the same again, and it
    /// asks only for the bodies that it said it would need.
    fn decide_within(&self, verb: Verb, arguments: &Object, limits: &Limits) -> Decision {
        let command = Command { verb, at: AT.into(), arguments: arguments.clone() };
        let needed = bodies_needed(&self.0, &command, limits);
        let asked = RefCell::new(Vec::new());
        let recorder = Recorder { state: &self.0, asked: &asked };
        let decision = decide(&recorder, &command, limits);
        for id in asked.borrow().iter() {
            assert!(needed.contains(id), "{id} was asked for and not announced: {needed:?}");
        }
        assert_eq!(decision, decide(&self.0, &command, limits), "deciding again differs");
        decision
    }

    fn fold(&mut self, record: &str) {
        self.0.apply(&object(record.as_bytes())).unwrap();
    }

    fn call(&mut self, verb: Verb, arguments: &str) -> Decision {
        let decision = self.decide(verb, arguments);
        for event in &decision.events {
            self.0.apply(event).unwrap();
        }
        decision
    }

    fn ok(&mut self, verb: Verb, arguments: &str) -> Object {
        self.call(verb, arguments).answer.unwrap_or_else(|r| panic!("{arguments}: {}", r.reason))
    }

    fn refused(&mut self, verb: Verb, arguments: &str) -> Refusal {
        let decision = self.call(verb, arguments);
        assert_is_one_rejection(&decision, verb);
        decision.answer.unwrap_err()
    }
}

fn assert_is_one_rejection(decision: &Decision, verb: Verb) {
    let refusal = decision.answer.as_ref().unwrap_err();
    let expected = Object::new()
        .with("type", "command.rejected")
        .with("at", AT)
        .with("command", verb.name())
        .with("reason", refusal.reason.as_str())
        .with("code", refusal.code.as_str());
    assert_eq!(decision.events, [expected]);
}

/// Passes everything on, and keeps the ids whose bodies were asked for.
struct Recorder<'a> {
    state: &'a State,
    asked: &'a RefCell<Vec<Text>>,
}

impl View for Recorder<'_> {
    fn actor_count(&self) -> u64 {
        self.state.actor_count()
    }

    fn message_count(&self) -> u64 {
        self.state.message_count()
    }

    fn correlation_issuer(&self) -> u64 {
        self.state.correlation_issuer()
    }

    fn is_actor(&self, actor_ref: &Text) -> bool {
        self.state.is_actor(actor_ref)
    }

    fn name_of(&self, actor_ref: &Text) -> Option<Text> {
        self.state.name_of(actor_ref)
    }

    fn bearers(&self, name: &Text) -> Vec<Text> {
        self.state.bearers(name)
    }

    fn addressee(&self, message_id: &Text) -> Option<Text> {
        self.state.addressee(message_id)
    }

    fn pending(&self, actor_ref: &Text) -> Vec<Pending> {
        self.state.pending(actor_ref)
    }

    fn key_holder(&self, sender: &Text, key: &Text) -> Option<Text> {
        self.state.key_holder(sender, key)
    }

    fn was_handed_off(&self, message_id: &Text) -> bool {
        self.state.was_handed_off(message_id)
    }

    fn message(&self, message_id: &Text) -> Option<Object> {
        self.asked.borrow_mut().push(message_id.clone());
        self.state.message(message_id)
    }
}

/// A verb, its arguments, and the code and field of the refusal.
type Row = (Verb, &'static str, RefusalCode, &'static str);

/// Refusals on the populated bus, in the order of the contract's checks.
const REFUSALS: [Row; 40] = {
    use RefusalCode as R;
    use Verb::{Ack, Handoff, Heartbeat, Inbox, Register, Send};
    [
        (Register, r#"{}"#, R::MissingField, "actorId"),
        (Register, r#"{"actorId":7,"ref":"act-9999"}"#, R::MissingField, "actorId"),
        (Register, r#"{"actorId":"act-1","ref":"act-9999"}"#, R::RefShapedName, "actorId"),
        (Register, r#"{"actorId":" act-0001 "}"#, R::RefShapedName, "actorId"),
        (Register, r#"{"actorId":"x","ref":"act-9999"}"#, R::UnknownRef, "ref"),
        (Register, r#"{"actorId":"x","ref":"a"}"#, R::UnknownRef, "ref"),
        (Register, r#"{"actorId":"x","name":"y"}"#, R::UnknownField, "name"),
        (Send, r#"{"to":7,"text":7}"#, R::MissingField, "from"),
        (Send, r#"{"from":"nobody","to":7}"#, R::UnknownActor, "from"),
        (Send, r#"{"from":"twin","to":7}"#, R::AmbiguousName, "from"),
        (Send, r#"{"from":"a","to":" "}"#, R::MissingField, "to"),
        (Send, r#"{"from":"a","to":"A"}"#, R::UnknownActor, "to"),
        (Send, r#"{"from":"a","to":"twin"}"#, R::AmbiguousName, "to"),
        (Send, r#"{"from":"a","to":"b","summary":"x"}"#, R::UnknownField, "summary"),
        (
            Send,
            r#"{"from":"a","to":"b","text":" ","requestedAuthority":"x"}"#,
            R::MissingField,
            "text",
        ),
        (
            Send,
            r#"{"from":"a","to":"b","text":"t","requestedAuthority":"approve","correlationId":"cor-9999999"}"#,
            R::AuthorityNotAList,
            "requestedAuthority",
        ),
        (
            Send,
            r#"{"from":"a","to":"b","text":"t","requestedAuthority":["read",""],"correlationId":"cor-9999999"}"#,
            R::AuthorityEntryNotAString,
            "requestedAuthority",
        ),
        (
            Send,
            r#"{"from":"a","to":"b","text":"t","correlationId":"cor-9007199254740991","replyTo":"x"}"#,
            R::CorrelationOutOfRange,
            "correlationId",
        ),
        (
            Send,
            r#"{"from":"a","to":"b","text":"t","correlationId":"cor-00000000000000001"}"#,
            R::CorrelationOutOfRange,
            "correlationId",
        ),
        (
            Send,
            r#"{"from":"a","to":"b","text":"t","correlationId":"cor-1000001","replyTo":"x"}"#,
            R::CorrelationTooFarAhead,
            "correlationId",
        ),
        (Send, r#"{"from":"a","to":"b","text":"t","replyTo":"x"}"#, R::UnknownActor, "replyTo"),
        (Send, r#"{"from":"a","to":"b","text":"t","replyTo":"twin"}"#, R::AmbiguousName, "replyTo"),
        (Handoff, r#"{"from":"a","to":"b","text":"t"}"#, R::UnknownField, "text"),
        (Handoff, r#"{"from":"a","to":"b","kind":"t"}"#, R::UnknownField, "kind"),
        (Handoff, r#"{"from":"a","to":"b"}"#, R::MissingField, "summary"),
        (Handoff, r#"{"from":"a","to":"nobody","summary":"t"}"#, R::UnknownActor, "to"),
        (Inbox, r#"{"limit":0}"#, R::MissingField, "actorId"),
        (Inbox, r#"{"actorId":"nobody","limit":0}"#, R::UnknownActor, "actorId"),
        (Inbox, r#"{"actorId":"a","limit":0}"#, R::BadLimit, "limit"),
        (Inbox, r#"{"actorId":"a","limit":-1}"#, R::BadLimit, "limit"),
        (Inbox, r#"{"actorId":"a","limit":1.5}"#, R::BadLimit, "limit"),
        (Inbox, r#"{"actorId":"a","limit":"5"}"#, R::BadLimit, "limit"),
        (Inbox, r#"{"actorId":"a","limit":null}"#, R::BadLimit, "limit"),
        (Inbox, r#"{"actorId":"a","limit":1e999}"#, R::BadLimit, "limit"),
        (Ack, r#"{"messageId":7}"#, R::MissingField, "actorId"),
        (Ack, r#"{"actorId":"b","messageId":7}"#, R::UnknownMessage, "messageId"),
        (Ack, r#"{"actorId":"b","messageId":" msg-0001 "}"#, R::UnknownMessage, "messageId"),
        (Ack, r#"{"actorId":"a","messageId":"msg-0001"}"#, R::NotTheAddressee, "messageId"),
        (Heartbeat, r#"{"actorId":"twin"}"#, R::AmbiguousName, "actorId"),
        (Heartbeat, r#"{"actorId":"a","at":"now"}"#, R::UnknownField, "at"),
    ]
};

#[test]
fn every_refusal_code_is_reachable_and_the_first_failing_check_wins() {
    let mut bus = Bus::populated();
    bus.ok(Verb::Send, r#"{"from":"a","to":"b","text":"t","correlationId":"thread"}"#);
    let mut reached = BTreeSet::new();
    let mut reach = |refusal: &Refusal, row: &str, code, field: &str| {
        assert_eq!((refusal.code, refusal.field.clone()), (code, Some(field.into())), "{row}");
        reached.insert(refusal.code);
    };
    for (verb, arguments, code, field) in REFUSALS {
        reach(&bus.refused(verb, arguments), arguments, code, field);
    }
    let keyed = r#"{"from":"a","to":"b","text":"t","idempotencyKey":"k"}"#;
    bus.ok(Verb::Send, keyed);
    let other = keyed.replace("\"t\"", "\"u\"");
    reach(&bus.refused(Verb::Send, &other), &other, RefusalCode::KeyReused, "idempotencyKey");
    let long = format!(r#"{{"from":"a","to":"b","text":"{}"}}"#, "x".repeat(1_048_577));
    reach(&bus.refused(Verb::Send, &long), "a long text", RefusalCode::TextTooLong, "text");
    exhaust(&mut bus);
    let plain = r#"{"from":"a","to":"b","text":"t","replyTo":"nobody"}"#;
    let refusal = bus.refused(Verb::Send, plain);
    reach(&refusal, plain, RefusalCode::CorrelationExhausted, "correlationId");
    assert_eq!(reached, RefusalCode::ALL.into_iter().collect(), "some codes were not reached");
}

/// Brings the issuer to its ceiling, as only a log can.
fn exhaust(bus: &mut Bus) {
    let number = bus.0.message_count() + 1;
    bus.fold(&format!(
        r#"{{"type":"message.sent","message":{{"messageId":"msg-{number:04}","from":"act-0001","to":"act-0001","correlationId":"cor-{CORRELATION_CEILING}","ackedBy":"act-0001"}}}}"#
    ));
}

#[test]
fn a_refusal_lists_candidates_and_subject_only_where_there_are_any() {
    let mut bus = Bus::populated();
    let ambiguous = bus.refused(Verb::Heartbeat, r#"{"actorId":" twin "}"#);
    assert_eq!(ambiguous.candidates, ["act-0003", "act-0004"].map(Text::from));
    assert_eq!(ambiguous.subject, None);
    assert_eq!(
        ambiguous.reason,
        "actorId: ambiguous actor name \"twin\" \u{2014} 2 actors share it; \
         address by ref: act-0003, act-0004"
    );
    let unknown = bus.refused(Verb::Heartbeat, r#"{"actorId":" nobody "}"#);
    assert_eq!((unknown.candidates, unknown.subject), (vec![], Some("nobody".into())));
}

#[test]
fn sentences_of_refusals_are_bounded_and_without_control_characters() {
    let mut bus = Bus::populated();
    let hostile = format!(r"\u001b[2J\n\u202e\ud800{}", "x".repeat(10_000));
    for (verb, arguments) in [
        (Verb::Heartbeat, format!(r#"{{"actorId":"{hostile}"}}"#)),
        (Verb::Heartbeat, format!(r#"{{"actorId":"a","{hostile}":1}}"#)),
        (Verb::Register, format!(r#"{{"actorId":"a","ref":"{hostile}"}}"#)),
        (Verb::Ack, format!(r#"{{"actorId":"a","messageId":"{hostile}"}}"#)),
    ] {
        let refusal = bus.refused(verb, &arguments);
        assert!(refusal.reason.len() < 400, "{}", refusal.reason);
        let is_plain = refusal.reason.chars().all(|c| !c.is_control() && c != '\u{202e}');
        assert!(is_plain, "{:?}", refusal.reason);
    }
}

#[test]
fn what_is_too_long_is_recorded_without_it() {
    let bus = Bus::populated();
    let limits = Limits { text_bytes_max: 64 };
    for (verb, field) in [
        (Verb::Send, "text"),
        (Verb::Send, "idempotencyKey"),
        (Verb::Send, "requestedAuthority"),
        (Verb::Register, "capabilities"),
        (Verb::Ack, "messageId"),
    ] {
        let secret = "s3cr3t".repeat(20);
        let value = match field {
            "requestedAuthority" | "capabilities" => Json::from(vec![secret.as_str()]),
            _ => Json::from(secret.as_str()),
        };
        let decision = bus.decide_within(verb, &Object::new().with(field, value), &limits);
        assert_is_one_rejection(&decision, verb);
        assert!(!line(&decision.events[0]).contains("s3cr3t"));
        let refusal = decision.answer.unwrap_err();
        assert_eq!((refusal.code, refusal.field), (RefusalCode::TextTooLong, Some(field.into())));
    }
}

#[test]
fn an_unknown_argument_is_refused_before_anything_else_and_the_first_is_named() {
    let mut bus = Bus::populated();
    let refusal = bus.refused(Verb::Send, r#"{"from":7,"corelationId":"x","zzz":1}"#);
    assert_eq!(refusal.code, RefusalCode::UnknownField);
    assert_eq!(refusal.field, Some("corelationId".into()));
}

#[test]
fn a_ref_that_is_blank_or_no_string_counts_as_absent() {
    for given in ["null", "7", "\" \"", "[]", "{}"] {
        let mut bus = Bus::populated();
        let answer = bus.ok(Verb::Register, &format!(r#"{{"actorId":"a","ref":{given}}}"#));
        assert_eq!(text(&answer, "ref"), &Text::from("act-0005"), "{given}");
    }
}

#[test]
fn a_taken_name_is_shared_and_a_rename_frees_the_old_one() {
    let mut bus = Bus::populated();
    let shared = bus.ok(Verb::Register, r#"{"actorId":"a","ref":"act-0004"}"#);
    assert_eq!(list(&shared, "nameSharedWith"), [Json::from("act-0001")]);
    bus.ok(Verb::Heartbeat, r#"{"actorId":"twin"}"#);
    bus.ok(Verb::Register, r#"{"actorId":"a","ref":"act-0001"}"#);
    let ambiguous = bus.refused(Verb::Heartbeat, r#"{"actorId":"a"}"#);
    let in_order = ["act-0001", "act-0004"].map(Text::from);
    assert_eq!(ambiguous.candidates, in_order, "registering again keeps the place");
    bus.ok(Verb::Register, r#"{"actorId":"c","ref":"act-0001"}"#);
    bus.ok(Verb::Register, r#"{"actorId":"a","ref":"act-0001"}"#);
    let ambiguous = bus.refused(Verb::Heartbeat, r#"{"actorId":"a"}"#);
    assert_eq!(
        ambiguous.candidates,
        ["act-0004", "act-0001"].map(Text::from),
        "coming back is last"
    );
}

#[test]
fn a_registered_ref_wins_over_a_name() {
    let mut bus = Bus::populated();
    bus.fold(r#"{"type":"actor.registered","ref":"b","name":"foreign"}"#);
    let answer = bus.ok(Verb::Heartbeat, r#"{"actorId":"b"}"#);
    assert_eq!(text(&answer, "actorId"), &Text::from("b"));
    assert_eq!(
        bus.refused(Verb::Register, r#"{"actorId":"x","ref":"b"}"#).code,
        RefusalCode::UnknownRef,
        "a ref that is not of the minted shape is never updated"
    );
}

#[test]
fn minting_skips_ids_that_a_foreign_log_has_taken() {
    let mut bus = Bus::populated();
    bus.fold(r#"{"type":"actor.registered","ref":"act-0006","name":"foreign"}"#);
    let answer = bus.ok(Verb::Register, r#"{"actorId":"new"}"#);
    assert_eq!(text(&answer, "ref"), &Text::from("act-0007"));
    let sent = |id: &str| {
        format!(
            r#"{{"type":"message.sent","message":{{"messageId":"{id}","from":"act-0001","to":"act-0002"}}}}"#
        )
    };
    bus.fold(&sent("msg-0003"));
    bus.fold(&sent("msg-0004"));
    let answer = bus.ok(Verb::Send, r#"{"from":"a","to":"b","text":"t"}"#);
    assert_eq!(text(&answer, "messageId"), &Text::from("msg-0005"));
}

#[test]
fn the_claim_window_is_inclusive_and_a_claimed_id_is_never_minted_again() {
    let mut bus = Bus::populated();
    let send =
        |id: u64| format!(r#"{{"from":"a","to":"b","text":"t","correlationId":"cor-{id}"}}"#);
    bus.ok(Verb::Send, &send(CLAIM_WINDOW));
    let minted = bus.ok(Verb::Send, r#"{"from":"a","to":"b","text":"t","correlationId":" "}"#);
    assert_eq!(text(&minted, "correlationId"), &Text::from("cor-1000001"));
    let refusal = bus.refused(Verb::Send, &send(1_000_001 + CLAIM_WINDOW + 1));
    assert_eq!(refusal.code, RefusalCode::CorrelationTooFarAhead);
    bus.ok(Verb::Send, &send(1_000_001 + CLAIM_WINDOW));
}

#[test]
fn an_exhausted_issuer_still_takes_named_threads_and_lower_numbers() {
    let mut bus = Bus::populated();
    exhaust(&mut bus);
    for id in ["voicings", "cor-voicings", "cor-7", "cor-9007199254740990"] {
        bus.ok(
            Verb::Send,
            &format!(r#"{{"from":"a","to":"b","text":"t","correlationId":"{id}"}}"#),
        );
    }
    let at_ceiling = r#"{"from":"a","to":"b","text":"t","correlationId":"cor-9007199254740991"}"#;
    assert_eq!(bus.refused(Verb::Send, at_ceiling).code, RefusalCode::CorrelationOutOfRange);
}

const KEYED: &str = r#"{"from":"a","to":"b","text":" t ","kind":"k","correlationId":"cor-7","replyTo":"b","expectsReply":1,"requestedAuthority":["read","merge"],"idempotencyKey":" key "}"#;

#[test]
fn a_repeat_records_one_event_and_gets_the_first_answer_again() {
    let mut bus = Bus::populated();
    let first = bus.ok(Verb::Send, KEYED);
    let unthreaded = KEYED.replace(r#""correlationId":"cor-7","#, "");
    let by_ref = KEYED.replace(r#""to":"b""#, r#""to":"act-0002""#);
    let truthy = KEYED.replace(r#""expectsReply":1"#, r#""expectsReply":true"#);
    for repeat in [KEYED, &unthreaded, &by_ref, &truthy] {
        let decision = bus.call(Verb::Send, repeat);
        let lines: Vec<_> = decision.events.iter().map(line).collect();
        assert_eq!(
            lines,
            [format!(
                r#"{{"type":"message.repeated","at":"{AT}","messageId":"msg-0001","from":"act-0001"}}"#
            )]
        );
        assert_eq!(decision.answer, Ok(first.clone().with("repeated", true)));
    }
    assert_eq!(bus.0.message_count(), 1);
}

#[test]
fn the_key_is_stored_verbatim_and_last() {
    let mut bus = Bus::populated();
    bus.ok(Verb::Send, KEYED);
    let message = bus.0.message(&"msg-0001".into()).unwrap();
    assert!(line(&message).ends_with(r#""ackedAt":null,"idempotencyKey":" key "}"#));
    let trimmed = KEYED.replace(" key ", "key");
    assert_eq!(text(&bus.ok(Verb::Send, &trimmed), "messageId"), &Text::from("msg-0002"));
}

#[test]
fn a_key_that_is_blank_or_no_string_binds_nothing() {
    for key in ["\" \"", "7", "null", "[\"k\"]"] {
        let mut bus = Bus::populated();
        let send = format!(r#"{{"from":"a","to":"b","text":"t","idempotencyKey":{key}}}"#);
        bus.ok(Verb::Send, &send);
        let again = bus.ok(Verb::Send, &send);
        assert_eq!(text(&again, "messageId"), &Text::from("msg-0002"), "{key}");
        let message = bus.0.message(&"msg-0001".into()).unwrap();
        assert_eq!(message.get("idempotencyKey"), None, "{key}");
    }
}

#[test]
fn any_other_content_under_a_bound_key_is_refused() {
    let mut bus = Bus::populated();
    bus.ok(Verb::Send, KEYED);
    for (from, to) in [
        (r#""to":"b""#, r#""to":"a""#),
        (r#"" t ""#, r#""t""#),
        (r#""kind":"k""#, r#""kind":"K""#),
        (r#""cor-7""#, r#""cor-8""#),
        (r#""cor-7""#, r#""cor-07""#),
        (r#""replyTo":"b""#, r#""replyTo":"a""#),
        (r#","replyTo":"b""#, ""),
        (r#""expectsReply":1"#, r#""expectsReply":0"#),
        (r#"["read","merge"]"#, r#"["read"]"#),
        (r#"["read","merge"]"#, r#"["merge"]"#),
        (r#"["read","merge"]"#, r#"["read","read","merge"]"#),
    ] {
        assert!(KEYED.contains(from), "{from}");
        let refusal = bus.refused(Verb::Send, &KEYED.replacen(from, to, 1));
        assert_eq!(refusal.code, RefusalCode::KeyReused, "{to}");
        assert!(refusal.reason.contains("msg-0001"), "{}", refusal.reason);
    }
    assert_eq!(bus.0.message_count(), 1);
}

#[test]
fn a_key_belongs_to_its_sender() {
    let mut bus = Bus::populated();
    bus.ok(Verb::Send, KEYED);
    let other = KEYED.replace(r#""from":"a""#, r#""from":"b""#);
    assert_eq!(text(&bus.ok(Verb::Send, &other), "messageId"), &Text::from("msg-0002"));
}

#[test]
fn a_send_of_kind_handoff_is_no_repeat_of_a_handoff_nor_the_other_way_round() {
    let handoff = r#"{"from":"a","to":"b","summary":"t","idempotencyKey":"k"}"#;
    let send = r#"{"from":"a","to":"b","text":"t","kind":"handoff","idempotencyKey":"k"}"#;
    for (first, second) in [
        ((Verb::Handoff, handoff), (Verb::Send, send)),
        ((Verb::Send, send), (Verb::Handoff, handoff)),
    ] {
        let mut bus = Bus::populated();
        let answer = bus.ok(first.0, first.1);
        assert_eq!(bus.refused(second.0, second.1).code, RefusalCode::KeyReused);
        let repeated = bus.ok(first.0, first.1);
        assert_eq!(repeated, answer.with("repeated", true));
    }
}

#[test]
fn a_refused_attempt_binds_no_key() {
    let mut bus = Bus::populated();
    let refused = r#"{"from":"a","to":"nobody","text":"t","idempotencyKey":"k"}"#;
    assert_eq!(bus.refused(Verb::Send, refused).code, RefusalCode::UnknownActor);
    let sent = bus.ok(Verb::Send, r#"{"from":"a","to":"b","text":"u","idempotencyKey":"k"}"#);
    assert_eq!(sent.get("repeated"), None);
}

#[test]
fn a_repeat_needs_no_room_in_the_issuer_and_a_new_message_does() {
    let mut bus = Bus::populated();
    let send = r#"{"from":"a","to":"b","text":"t","idempotencyKey":"k"}"#;
    let first = bus.ok(Verb::Send, send);
    exhaust(&mut bus);
    assert_eq!(bus.ok(Verb::Send, send), first.with("repeated", true));
    let new = send.replace("\"k\"", "\"l\"");
    assert_eq!(bus.refused(Verb::Send, &new).code, RefusalCode::CorrelationExhausted);
}

#[test]
fn a_foreign_message_with_a_key_but_without_content_is_not_repeated() {
    let mut bus = Bus::populated();
    bus.fold(
        r#"{"type":"message.sent","message":{"messageId":"msg-0001","from":"act-0001","to":"act-0002","idempotencyKey":"k"}}"#,
    );
    let send = r#"{"from":"a","to":"b","text":"t","idempotencyKey":"k"}"#;
    assert_eq!(bus.refused(Verb::Send, send).code, RefusalCode::KeyReused);
}

#[test]
fn an_inbox_shows_the_oldest_within_its_limit_and_says_what_is_left_out() {
    let mut bus = Bus::populated();
    for _ in 0..3 {
        bus.ok(Verb::Send, r#"{"from":"a","to":"b","text":"t"}"#);
    }
    for (limit, shown) in [("1", 1), ("2.0", 2), ("3", 3), ("1e300", 3)] {
        let decision = bus.decide(Verb::Inbox, &format!(r#"{{"actorId":"b","limit":{limit}}}"#));
        let answer = decision.answer.unwrap();
        let ids: Vec<_> = list(&answer, "pending")
            .iter()
            .map(|message| message.as_object().unwrap().get("messageId").unwrap().clone())
            .collect();
        assert_eq!(ids, ["msg-0001", "msg-0002", "msg-0003"].map(Json::from)[..shown]);
        assert_eq!(list(&decision.events[0], "messageIds"), ids, "the record lists what was shown");
        let keys: Vec<_> = answer.iter().map(|(key, _)| key.to_string()).collect();
        if shown < 3 {
            assert_eq!(keys, ["actorId", "pending", "pendingTotal", "hasMore"]);
            assert_eq!(answer.get("pendingTotal"), Some(&Json::from(3)));
            assert_eq!(answer.get("hasMore"), Some(&Json::from(true)));
        } else {
            assert_eq!(keys, ["actorId", "pending"]);
        }
    }
}

#[test]
fn an_inbox_answer_stays_within_its_bytes_but_always_shows_one() {
    let huge = usize::try_from(INBOX_BYTES_MAX).unwrap();
    for (sizes, shown) in [
        (vec![huge + 1, 10], 1),
        (vec![10, huge + 1, 10], 1),
        (vec![huge / 2, huge / 2, 10], 1),
        (vec![huge / 2, huge / 2 - 2_000, 10], 3),
    ] {
        let mut bus = Bus::populated();
        for size in &sizes {
            let text = "x".repeat(*size);
            bus.fold(&format!(
                r#"{{"type":"message.sent","message":{{"messageId":"msg-{}","from":"act-0001","to":"act-0002","text":"{text}"}}}}"#,
                bus.0.message_count() + 1
            ));
        }
        let answer = bus.ok(Verb::Inbox, r#"{"actorId":"b"}"#);
        assert_eq!(list(&answer, "pending").len(), shown, "{sizes:?}");
        let is_cut = answer.get("hasMore") == Some(&Json::Bool(true));
        assert_eq!(is_cut, shown < sizes.len(), "{sizes:?}");
        let bytes = line(&answer).len();
        assert!(shown == 1 || bytes <= huge + 100, "{bytes}");
    }
}

#[test]
fn exactly_the_bodies_that_are_shown_are_announced() {
    let mut bus = Bus::populated();
    bus.ok(Verb::Send, r#"{"from":"a","to":"b","text":"t"}"#);
    bus.ok(Verb::Send, r#"{"from":"a","to":"b","text":"t","idempotencyKey":"k"}"#);
    bus.ok(Verb::Send, r#"{"from":"a","to":"b","text":"t"}"#);
    for (verb, arguments, needed) in [
        (Verb::Inbox, r#"{"actorId":"b"}"#, &["msg-0001", "msg-0002", "msg-0003"][..]),
        (Verb::Inbox, r#"{"actorId":"b","limit":2}"#, &["msg-0001", "msg-0002"]),
        (Verb::Inbox, r#"{"actorId":"a"}"#, &[]),
        (Verb::Inbox, r#"{"actorId":"nobody"}"#, &[]),
        (Verb::Inbox, r#"{"actorId":"b","x":1}"#, &[]),
        (Verb::Send, r#"{"from":"a","idempotencyKey":"k"}"#, &["msg-0002"]),
        (Verb::Handoff, r#"{"from":"act-0001","idempotencyKey":"k"}"#, &["msg-0002"]),
        (Verb::Send, r#"{"from":"b","idempotencyKey":"k"}"#, &[]),
        (Verb::Send, r#"{"from":"a"}"#, &[]),
        (Verb::Ack, r#"{"actorId":"b","messageId":"msg-0001"}"#, &[]),
        (Verb::Register, r#"{"actorId":"b"}"#, &[]),
        (Verb::Heartbeat, r#"{"actorId":"b"}"#, &[]),
    ] {
        let arguments = object(arguments.as_bytes());
        let command = Command { verb, at: AT.into(), arguments };
        let expected: Vec<Text> = needed.iter().map(|id| Text::from(*id)).collect();
        assert_eq!(bodies_needed(&bus.0, &command, &Limits::default()), expected, "{command:?}");
    }
}

#[test]
fn reading_never_consumes_and_shows_messages_as_they_stood_before_the_poll() {
    let mut bus = Bus::populated();
    bus.ok(Verb::Send, r#"{"from":"a","to":"b","text":"t"}"#);
    let delivered_at = |answer: &Object| {
        list(answer, "pending")[0].as_object().unwrap().get("deliveredAt").unwrap().clone()
    };
    assert_eq!(delivered_at(&bus.ok(Verb::Inbox, r#"{"actorId":"b"}"#)), Json::Null);
    assert_eq!(delivered_at(&bus.ok(Verb::Inbox, r#"{"actorId":"b"}"#)), Json::from(AT));
    bus.ok(Verb::Ack, r#"{"actorId":"b","messageId":"msg-0001"}"#);
    bus.ok(Verb::Ack, r#"{"actorId":"b","messageId":"msg-0001","note":"again"}"#);
    assert!(list(&bus.ok(Verb::Inbox, r#"{"actorId":"b"}"#), "pending").is_empty());
    let message = bus.0.message(&"msg-0001".into()).unwrap();
    assert_eq!(message.get("ackNote"), Some(&Json::from("again")), "the newest note counts");
}

#[test]
fn a_note_that_is_blank_or_no_string_is_recorded_as_null() {
    let bus = Bus::populated();
    for (note, recorded) in [
        ("7", Json::Null),
        ("\" \"", Json::Null),
        ("[\"x\"]", Json::Null),
        ("\" x \"", Json::from(" x ")),
    ] {
        let arguments = format!(r#"{{"actorId":"a","note":{note}}}"#);
        let decision = bus.decide(Verb::Heartbeat, &arguments);
        assert_eq!(decision.events[0].get("note"), Some(&recorded), "{note}");
    }
}

#[test]
fn a_handoff_appends_message_handoff_and_denial_in_this_order() {
    let bus = Bus::populated();
    let types = |arguments: &str| -> Vec<String> {
        let decision = bus.decide(Verb::Handoff, arguments);
        decision.events.iter().map(|event| text(event, "type").to_string()).collect()
    };
    let plain = r#"{"from":"a","to":"b","summary":"s","requestedAuthority":["read"]}"#;
    assert_eq!(types(plain), ["message.sent", "work.handed-off"]);
    assert_eq!(
        types(&plain.replace("read", "admin")),
        ["message.sent", "work.handed-off", "authority.denied"]
    );
}

#[test]
fn lone_surrogates_pass_through_a_bus_unchanged() {
    let mut bus = Bus::populated();
    let decision =
        bus.call(Verb::Send, r#"{"from":"a","to":"b","text":"cut \ud83d","kind":"\udc00"}"#);
    let record = line(&decision.events[0]);
    assert!(record.contains(r#""kind":"\udc00","text":"cut \ud83d""#), "{record}");
    let answer = bus.ok(Verb::Inbox, r#"{"actorId":"b"}"#);
    let shown = list(&answer, "pending")[0].as_object().unwrap();
    assert_eq!(shown, nested(&object(record.as_bytes()), "message"));
}

#[test]
fn a_number_is_a_limit_by_its_value() {
    let bus = Bus::populated();
    for literal in ["1", "1.0", "10e-1", "0.1e1"] {
        let limit = Json::Number(Number::from_literal(literal));
        let arguments = Object::new().with("actorId", "a").with("limit", limit);
        let decision = bus.decide_within(Verb::Inbox, &arguments, &Limits::default());
        assert!(decision.answer.is_ok(), "{literal}");
    }
}
