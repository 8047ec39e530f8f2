//! Promise: the fast fold and the cold fold answer as the reference state does, on any log: every
//! question that a decision asks, every status, every body, and every byte of a snapshot.
//!
//! Method: random logs, biased towards few ids and names so that they collide, of records whose
//! fields are missing, of the wrong type, overwritten, repeated and out of order in time, compared
//! after *every* record. Named logs for the cases that are easy to get wrong. Controls: a fold that
//! misses one record is told apart, for each type that means something.
//!
//! Cannot see: a rule that both folds get wrong; only the vectors can.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use gaia_bus::archive::Archive;
use gaia_bus::log::{Record, Scanner};
use gaia_bus::projection::{Projection, WithBodies};
use gaia_bus::replay::{Fold, Replay, Unreplayable};
use gaia_bus_model::instant::Status;
use gaia_bus_model::integrity;
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::state::State;
use gaia_bus_model::text::Text;
use gaia_bus_model::view::View;
use proptest::prelude::*;

const REFS: [&str; 6] = ["act-0001", "act-0002", "act-0003", "act-9", "root", ""];
const NAMES: [&str; 4] = ["gaia", "builder", "caf\u{E9}", ""];
const IDS: [&str; 4] = ["msg-0001", "msg-0002", "msg-0003", "m"];
const KEYS: [&str; 3] = ["k", "", " "];
const READABLE: [&str; 6] = [
    "2026-09-15T23:41:00.000Z",
    "2026-09-15T23:41:30.000Z",
    "2026-09-15T23:41:30.001Z",
    "2026-09-15T23:42:31.000Z",
    "2026-09-16T01:41:00+02:00",
    "2026-09-15",
];

/// The three folds of one log, and the log.
#[derive(Clone, Default)]
struct Folds {
    log: Vec<u8>,
    scanner: Scanner,
    state: State,
    projection: Projection,
    archive: Archive,
}

impl Folds {
    /// Feeds one line to all three; they must agree on whether it folds.
    fn apply(&mut self, line: &[u8]) -> Result<(), Unreplayable> {
        let Folds { log, scanner, state, projection, archive } = self;
        log.extend_from_slice(line);
        log.push(b'\n');
        let mut result = Ok(());
        scanner
            .feed(&[line, b"\n"].concat(), &mut |record: Record<'_>| {
                let before = (projection.clone(), archive.clone());
                result = state.apply(&record.to_object());
                assert_eq!(projection.apply(&record), result);
                assert_eq!(archive.apply(&record), result);
                if result.is_err() {
                    assert_eq!((&*projection, &*archive), (&before.0, &before.1));
                }
                Ok::<(), ()>(())
            })
            .unwrap();
        result
    }

    /// Every question on which the folds do not answer alike.
    fn differences(&self) -> Vec<String> {
        let Folds { state, projection, archive, .. } = self;
        let mut found = Vec::new();
        let mut compare = |about: String, expected: String, actual: String| {
            if expected != actual {
                found.push(format!("{about}: {expected} != {actual}"));
            }
        };
        for view in [projection, archive.projection()] {
            let bodies = IDS.iter().filter_map(|id| {
                let id = Text::from(*id);
                let span = view.span_of(&id)?;
                let start = usize::try_from(span.offset).unwrap();
                let end = start + usize::try_from(span.length).unwrap();
                Some((id.clone(), view.body(&id, self.log.get(start..end)?)?))
            });
            let with_bodies = WithBodies { projection: view, bodies: bodies.collect() };
            for question in 0..=QUESTION_MAX {
                compare(
                    format!("question {question}"),
                    answers(state, question),
                    answers(&with_bodies, question),
                );
            }
            for actor in state.actors() {
                let about = format!("status of {:?}", actor.actor_ref);
                let status = view.status(&actor.actor_ref);
                compare(about, format!("{:?}", Some(actor.status)), format!("{status:?}"));
            }
            compare(
                "counters".to_owned(),
                line(&state.counters().to_object()),
                line(&view.counters().to_object()),
            );
        }
        compare("snapshot".to_owned(), line(&state.snapshot()), line(&archive.snapshot()));
        compare(
            "integrity".to_owned(),
            line(&integrity::report(&state.integrity())),
            line(&integrity::report(&archive.integrity())),
        );
        compare(
            "correlation".to_owned(),
            line(&state.correlation().to_object()),
            line(&archive.correlation().to_object()),
        );
        compare(
            "last event".to_owned(),
            format!("{:?}", state.last_event_at()),
            format!("{:?}", archive.last_event_at()),
        );
        let expected: Vec<_> = state
            .actors()
            .iter()
            .map(|a| (&a.actor_ref, &a.name, a.status, &a.last_seen_at, &a.declared_capabilities))
            .map(|row| format!("{row:?}"))
            .collect();
        let actual: Vec<_> = archive
            .actors()
            .map(|a| {
                let seen = a.last_seen_at.cloned();
                let declared = a.declared_capabilities.cloned();
                format!("{:?}", (a.actor_ref, &a.name, a.status, &seen, &declared))
            })
            .collect();
        compare("actors".to_owned(), expected.join("\n"), actual.join("\n"));
        found
    }
}

fn line(object: &Object) -> String {
    String::from_utf8(object.to_line()).unwrap()
}

const QUESTION_MAX: usize = 8;

/// Everything that can be asked of a view about the ids and names of these tests.
fn answers(view: &impl View, question: usize) -> String {
    let over = |pool: &[&str], ask: &dyn Fn(&Text) -> String| {
        pool.iter().map(|text| ask(&Text::from(*text))).collect::<Vec<_>>().join(" | ")
    };
    match question {
        0 => {
            format!("{} {} {}", view.actor_count(), view.message_count(), view.correlation_issuer())
        }
        1 => over(&REFS, &|text| view.is_actor(text).to_string()),
        2 => over(&REFS, &|text| format!("{:?}", view.name_of(text))),
        3 => over(&NAMES, &|text| format!("{:?}", view.bearers(text))),
        4 => over(&IDS, &|text| format!("{:?}", view.addressee(text))),
        5 => over(&REFS, &|text| format!("{:?}", view.pending(text))),
        6 => {
            over(&REFS, &|sender| over(&KEYS, &|key| format!("{:?}", view.key_holder(sender, key))))
        }
        7 => over(&IDS, &|text| view.was_handed_off(text).to_string()),
        _ => over(&IDS, &|text| format!("{:?}", view.message(text).map(|body| line(&body)))),
    }
}

// ---- named logs --------------------------------------------------------------------------------

fn folded(lines: &[String]) -> Folds {
    let mut folds = Folds::default();
    for text in lines {
        folds.apply(text.as_bytes()).unwrap();
        assert_eq!(folds.differences(), Vec::<String>::new(), "after {text}");
    }
    folds
}

fn register(actor_ref: &str, name: &str, at: &str) -> String {
    format!(r#"{{"type":"actor.registered","at":{at},"ref":"{actor_ref}","name":"{name}"}}"#)
}

fn heartbeat(actor_ref: &str, at: &str) -> String {
    format!(r#"{{"type":"actor.heartbeat","at":{at},"actorId":"{actor_ref}"}}"#)
}

fn sent(id: &str, to: &str, more: &str) -> String {
    format!(
        r#"{{"type":"message.sent","message":{{"messageId":"{id}","from":"x","to":"{to}"{more}}}}}"#
    )
}

fn acked(id: &str, by: &str) -> String {
    format!(r#"{{"type":"message.acked","at":"x","actorId":"{by}","messageId":"{id}"}}"#)
}

fn polled(by: &str, ids: &str, at: &str) -> String {
    format!(r#"{{"type":"inbox.polled"{at},"actorId":"{by}","messageIds":[{ids}]}}"#)
}

fn status(folds: &Folds, actor_ref: &str) -> Option<Status> {
    folds.projection.status(&actor_ref.into())
}

#[test]
fn a_status_stands_while_no_time_is_readable() {
    let early = r#""2026-09-15T23:41:00.000Z""#;
    let late = r#""2026-09-15T23:45:00.000Z""#;
    let folds = folded(&[register("act-0001", "gaia", early), heartbeat("root", late)]);
    assert_eq!(status(&folds, "act-0001"), Some(Status::Stale));
    // Seen at a time that nobody can read: it stays what it was, until somebody's time is readable.
    let frozen = [
        register("act-0001", "gaia", early),
        heartbeat("root", late),
        heartbeat("act-0001", "\"garbage\""),
    ];
    assert_eq!(status(&folded(&frozen), "act-0001"), Some(Status::Stale));
    let thawed = [&frozen[..], &[heartbeat("root", early)]].concat();
    assert_eq!(status(&folded(&thawed), "act-0001"), Some(Status::Online));
    // Registration alone sets online, also without a time.
    let again = [&frozen[..], &[register("act-0001", "gaia", "null")]].concat();
    assert_eq!(status(&folded(&again), "act-0001"), Some(Status::Online));
}

#[test]
fn time_that_runs_backwards_judges_by_the_newest_record() {
    let folds = folded(&[
        register("act-0001", "gaia", r#""2026-09-15T23:41:00Z""#),
        register("act-0002", "builder", r#""2026-09-15T23:45:00Z""#),
        heartbeat("root", r#""2026-09-15T23:41:10Z""#),
    ]);
    assert_eq!(status(&folds, "act-0001"), Some(Status::Online));
}

#[test]
fn a_message_that_is_sent_again_comes_back_to_its_old_places() {
    let folds = folded(&[
        sent("msg-0001", "act-0001", ""),
        sent("msg-0002", "act-0001", ""),
        acked("msg-0001", "act-0001"),
        // Overwritten: unacknowledged again, in the old inbox and in the new one.
        sent("msg-0001", "act-0002", ",\"ackedBy\":null"),
        sent("msg-0002", "act-0001", ",\"ackedBy\":\"x\""),
        acked("msg-0002", "act-0002"),
        sent("msg-0002", "act-0001", ""),
    ]);
    let pending = |owner: &str| -> Vec<Text> {
        folds.projection.pending(&owner.into()).into_iter().map(|p| p.message_id).collect()
    };
    assert_eq!(pending("act-0001"), ["msg-0001", "msg-0002", "msg-0002", "msg-0002"]);
    assert_eq!(pending("act-0002"), ["msg-0001"]);
}

#[test]
fn missing_keys_are_added_in_the_order_of_events() {
    let ids = "\"msg-0001\",\"msg-0001\"";
    for records in [
        [polled("x", ids, ",\"at\":\"t\""), acked("msg-0001", "y")],
        [acked("msg-0001", "y"), polled("x", ids, ",\"at\":\"t\"")],
        [polled("x", ids, ",\"at\":null"), polled("x", ids, ",\"at\":7")],
        [polled("x", ids, ""), polled("x", ids, ",\"at\":{\"a\":1}")],
    ] {
        for more in ["", ",\"ackNote\":1", ",\"deliveredAt\":null", ",\"deliveredAt\":0,\"x\":2"] {
            folded(&[&[sent("msg-0001", "act-0001", more)], &records[..]].concat());
        }
    }
}

#[test]
fn a_name_lists_its_bearers_in_the_order_in_which_they_came_to_bear_it() {
    let at = "\"2026-09-15T23:41:00Z\"";
    let folds = folded(&[
        register("act-0001", "gaia", at),
        register("act-0002", "gaia", at),
        register("act-0001", "gaia", at),
        register("act-0001", "builder", at),
        register("act-0003", "gaia", at),
        register("act-0001", "gaia", at),
    ]);
    let bearers = folds.projection.bearers(&"gaia".into());
    assert_eq!(bearers, ["act-0002", "act-0003", "act-0001"]);
}

#[test]
fn control_a_fold_that_misses_a_record_is_told_apart() {
    let at = "\"2026-09-15T23:41:00Z\"";
    let records = [
        register("act-0001", "gaia", at),
        sent("msg-0001", "act-0001", ",\"idempotencyKey\":\"k\",\"correlationId\":\"cor-0007\""),
        polled("act-0001", "\"msg-0001\"", ",\"at\":\"2026-09-15T23:41:05Z\""),
        heartbeat("act-0001", "\"2026-09-15T23:41:20Z\""),
        acked("msg-0001", "act-0001"),
        r#"{"type":"work.handed-off","at":"t","messageId":"msg-0001","from":"a"}"#.to_owned(),
        r#"{"type":"authority.denied","at":"t","messageId":"msg-0001"}"#.to_owned(),
        r#"{"type":"command.rejected","at":"t","command":"send"}"#.to_owned(),
        r#"{"type":"unknown","at":"2026-09-15T23:51:00Z"}"#.to_owned(),
    ];
    let whole = folded(&records);
    for missed in 0..records.len() {
        let kept = records.iter().enumerate().filter(|(index, _)| *index != missed);
        let lacking = folded(&kept.map(|(_, record)| record.clone()).collect::<Vec<_>>());
        let mixed = Folds { projection: lacking.projection.clone(), ..whole.clone() };
        assert!(!mixed.differences().is_empty(), "projection without {}", records[missed]);
        let mixed = Folds { archive: lacking.archive.clone(), ..whole.clone() };
        assert!(!mixed.differences().is_empty(), "archive without {}", records[missed]);
        assert_ne!(whole.projection, lacking.projection);
        assert_ne!(whole.archive, lacking.archive);
    }
}

// ---- random logs -------------------------------------------------------------------------------

/// Any of a pool, and rarely something of another type or nothing at all.
fn field(pool: &'static [&'static str], odd: u32) -> BoxedStrategy<Option<Json>> {
    prop_oneof![
        (60 - odd) => proptest::sample::select(pool).prop_map(|text| Some(text.into())),
        odd => odd_value(),
        odd => Just(None),
    ]
    .boxed()
}

fn odd_value() -> impl Strategy<Value = Option<Json>> {
    let lone = gaia_bus::log::read_value(br#""cut \ud83d \n\"""#).unwrap();
    proptest::sample::select(vec![
        Json::Null,
        Json::Bool(false),
        0.into(),
        "".into(),
        " ".into(),
        lone,
        vec!["x"].into(),
        Object::new().with("a", vec![1, 2]).into(),
        Json::Number(gaia_bus_model::json::Number::from_literal("1e999")),
    ])
    .prop_map(Some)
}

fn at() -> BoxedStrategy<Option<Json>> {
    prop_oneof![
        12 => proptest::sample::select(&READABLE[..]).prop_map(|text| Some(text.into())),
        2 => proptest::sample::select(&["garbage", "2026-02-30", ""][..])
            .prop_map(|text| Some(text.into())),
        1 => odd_value(),
        2 => Just(None),
    ]
    .boxed()
}

/// An object of the fields that are there.
fn object(fields: Vec<(&'static str, BoxedStrategy<Option<Json>>)>) -> BoxedStrategy<Object> {
    let (keys, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    values
        .prop_map(move |values| {
            keys.iter()
                .zip(values)
                .fold(Object::new(), |object, (key, value)| object.with_some(key, value))
        })
        .boxed()
}

fn ids() -> BoxedStrategy<Option<Json>> {
    let id = proptest::sample::select(&IDS[..]);
    prop_oneof![
        30 => proptest::collection::vec(id, 0..5).prop_map(|ids| Some(ids.into())),
        1 => Just(Some(Json::Array(vec!["m".into(), 1.into()]))),
        1 => odd_value(),
        1 => Just(None),
    ]
    .boxed()
}

const CORRELATIONS: [&str; 6] =
    ["cor-0001", "cor-0007", "cor-9007199254740990", "cor-9007199254740992", "thread", "cor-"];

fn message() -> BoxedStrategy<Option<Json>> {
    let fields = vec![
        ("messageId", field(&IDS, 1)),
        ("correlationId", field(&CORRELATIONS, 6)),
        ("from", field(&REFS, 1)),
        ("fromName", field(&NAMES, 6)),
        ("to", field(&REFS, 1)),
        ("toName", field(&NAMES, 6)),
        ("replyTo", field(&REFS, 6)),
        ("replyToName", field(&NAMES, 6)),
        ("text", field(&["hello", "a \u{1F600} \n\" text"], 6)),
        ("flags", field(&["x"], 20)),
        ("deliveredAt", prop_oneof![Just(Some(Json::Null)), Just(None), odd_value()].boxed()),
        (
            "ackedBy",
            prop_oneof![4 => Just(Some(Json::Null)), 4 => Just(None), 1 => odd_value()].boxed(),
        ),
        ("ackedAt", prop_oneof![Just(Some(Json::Null)), Just(None)].boxed()),
        ("ackNote", prop_oneof![9 => Just(None), 1 => odd_value()].boxed()),
        ("idempotencyKey", field(&KEYS, 20)),
    ];
    prop_oneof![
        40 => object(fields).prop_map(|message| Some(message.into())),
        1 => odd_value(),
        1 => Just(None),
    ]
    .boxed()
}

fn record() -> impl Strategy<Value = Object> {
    let typed = |name: &'static str| ("type", Just(Some(Json::from(name))).boxed());
    prop_oneof![
        6 => object(vec![
            typed("actor.registered"), ("at", at()), ("ref", field(&REFS, 1)),
            ("name", field(&NAMES, 1)), ("kind", field(&["codex"], 6)),
            ("declaredCapabilities", field(&["x"], 20)), ("busAuthority", field(&["x"], 20)),
        ]),
        8 => object(vec![typed("message.sent"), ("at", at()), ("message", message())]),
        4 => object(vec![
            typed("inbox.polled"), ("at", at()), ("actorId", field(&REFS, 1)),
            ("messageIds", ids()),
        ]),
        5 => object(vec![
            typed("message.acked"), ("at", at()), ("actorId", field(&REFS, 1)),
            ("messageId", field(&IDS, 1)), ("note", field(&["ok"], 20)),
        ]),
        4 => object(vec![typed("actor.heartbeat"), ("at", at()), ("actorId", field(&REFS, 1))]),
        2 => object(vec![
            typed("work.handed-off"), ("at", at()), ("from", field(&REFS, 6)),
            ("to", field(&REFS, 6)), ("messageId", field(&IDS, 6)), ("replyTo", field(&REFS, 6)),
            ("summary", field(&["work"], 6)), ("authorityTransferred", field(&["x"], 20)),
        ]),
        1 => object(vec![
            typed("authority.denied"), ("at", at()), ("messageId", field(&IDS, 6)),
            ("requested", field(&["x"], 20)),
        ]),
        1 => object(vec![
            typed("command.rejected"), ("at", at()), ("command", field(&["send"], 6)),
            ("code", field(&["bad-limit"], 20)),
        ]),
        1 => object(vec![typed("message.repeated"), ("at", at())]),
        2 => object(vec![typed("of.tomorrow"), ("at", at()), ("actorId", field(&REFS, 1))]),
    ]
}

/// The same record as another writer might put it: spaces, a carriage return, an escaped key.
fn written(record: &Object, style: u8) -> Vec<u8> {
    let line = record.to_line();
    match style {
        0 => [b" ", &line[..], b" \r"].concat(),
        1 => String::from_utf8(line).unwrap().replace("\"to\"", "\"\\u0074o\"").into_bytes(),
        2 => String::from_utf8(line).unwrap().replace("\":", "\" :\t").into_bytes(),
        _ => line,
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn any_log_folds_alike(records in proptest::collection::vec((record(), 0..8_u8), 0..40)) {
        let mut folds = Folds::default();
        let mut sound = Vec::new();
        for (record, style) in &records {
            let line = written(record, *style);
            if folds.apply(&line).is_ok() {
                sound.extend_from_slice(&line);
                sound.push(b'\n');
            }
            let differences = folds.differences();
            let line = line.escape_ascii();
            prop_assert!(differences.is_empty(), "after {}: {:#?}", line, differences);
        }
        // Content alone decides equality, not how it came in.
        let mut whole = Replay::<Archive>::new(Archive::new());
        whole.feed(&sound).unwrap();
        let mut pieces = Replay::<Archive>::new(Archive::new());
        for chunk in sound.chunks(7) {
            pieces.feed(chunk).unwrap();
        }
        prop_assert_eq!(whole.fold(), pieces.fold());
        prop_assert_eq!(hash(whole.fold()), hash(pieces.fold()));
        if sound == folds.log {
            prop_assert_eq!(whole.fold(), &folds.archive);
        }
    }
}

/// The generator must reach what it is there for, or the property above proves little.
#[test]
fn the_random_logs_are_not_vacuous() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = proptest::collection::vec(record(), 40..41);
    let mut seen = HashSet::new();
    for _ in 0..60 {
        let mut folds = Folds::default();
        let mut refused = 0;
        for record in strategy.new_tree(&mut runner).unwrap().current() {
            refused += usize::from(folds.apply(&record.to_line()).is_err());
        }
        let statuses: Vec<_> = folds.state.actors().iter().map(|actor| actor.status).collect();
        let pending: Vec<_> =
            REFS.iter().flat_map(|owner| folds.state.pending(&Text::from(*owner))).collect();
        let ids: HashSet<_> = pending.iter().map(|entry| entry.message_id.clone()).collect();
        let shared = NAMES.iter().any(|name| folds.state.bearers(&Text::from(*name)).len() > 1);
        let bound = REFS.iter().any(|sender| {
            KEYS.iter()
                .any(|key| folds.state.key_holder(&(*sender).into(), &(*key).into()).is_some())
        });
        for (what, is_so) in [
            ("a record that does not fold", refused > 0),
            ("stale and online side by side", {
                statuses.contains(&Status::Stale) && statuses.contains(&Status::Online)
            }),
            ("one message pending in several places", ids.len() < pending.len()),
            ("a shared name", shared),
            ("a bound key", bound),
            ("an issuer near its end", !folds.state.correlation().findings.is_empty()),
            ("an integrity finding", !folds.state.integrity().is_empty()),
        ] {
            if is_so {
                seen.insert(what);
            }
        }
    }
    assert_eq!(seen.len(), 7, "only {seen:?}");
}
