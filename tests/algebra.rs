//! Promise: the pure core is total on any input, and obeys its laws.
//!
//! Method: quickcheck over texts of any UTF-16 units, JSON of any shape, commands with arguments of
//! any type (biased towards refs, names and boundaries that exist), and logs that no build would
//! write.
//!
//! What it cannot see: whether an answer is the right one; it sees that there is exactly one, that
//! it can be folded, and that no sequence of commands breaks an invariant.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::needless_pass_by_value, reason = "quickcheck hands its values over")]

mod support;

use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::{bodies_needed, decide};
use gaia_bus_model::event::{RecordType, check_identity};
use gaia_bus_model::instant::readable_ms;
use gaia_bus_model::invariant::{ALWAYS, BATCH_WHOLE};
use gaia_bus_model::json::{Json, Number, Object};
use gaia_bus_model::snapshot::clip;
use gaia_bus_model::state::{State, replay};
use gaia_bus_model::text::{CodePoint, Text, is_ecmascript_space};
use gaia_bus_model::view::View;
use quickcheck::{Arbitrary, Gen, QuickCheck};

/// A text made of any UTF-16 units, half of them from those that matter.
#[derive(Clone, Debug)]
struct Units(Vec<u16>);

impl Units {
    fn text(&self) -> Text {
        let mut text = Text::new();
        for &unit in &self.0 {
            text.push(match char::from_u32(u32::from(unit)) {
                Some(c) => CodePoint::Char(c),
                None => CodePoint::Surrogate(unit),
            });
        }
        text
    }
}

impl Arbitrary for Units {
    fn arbitrary(g: &mut Gen) -> Self {
        const TELLING: [u16; 14] = [
            0x20, 0x09, 0xFEFF, 0x85, 0x2028, 0xD83D, 0xDC69, 0xDFFF, 0xDBFF, 0x22, 0x5C, 0x61,
            0x0, 0xE9,
        ];
        Units(
            Vec::<u16>::arbitrary(g)
                .into_iter()
                .map(|unit| if bool::arbitrary(g) { unit } else { *g.choose(&TELLING).unwrap() })
                .collect(),
        )
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(self.0.shrink().map(Units))
    }
}

/// A JSON value of any shape, a few levels deep.
#[derive(Clone, Debug)]
struct Value(Json);

impl Arbitrary for Value {
    fn arbitrary(g: &mut Gen) -> Self {
        Value(json(g, 3))
    }
}

fn json(g: &mut Gen, depth: u32) -> Json {
    const LITERALS: [&str; 9] =
        ["0", "-0", "1", "2", "1.5", "1e999", "9007199254740993", "-1", "1E+2"];
    let few = |g: &mut Gen| 0..*g.choose(&[0, 1, 2, 3]).unwrap();
    match g.choose(&[0, 1, 2, 3, 4, 5]).unwrap() {
        0 => Json::Null,
        1 => bool::arbitrary(g).into(),
        2 => Json::Number(Number::from_literal(g.choose(&LITERALS).unwrap())),
        4 if depth > 0 => Json::Array(few(g).map(|_| json(g, depth - 1)).collect()),
        5 if depth > 0 => {
            let mut object = Object::new();
            for _ in few(g) {
                object.set(Units::arbitrary(g).text(), json(g, depth - 1));
            }
            Json::Object(object)
        }
        _ => Json::String(Units::arbitrary(g).text()),
    }
}

/// Strings that mean something on a small bus.
const TELLING: [&str; 27] = [
    "act-0001",
    "act-0002",
    " act-0001 ",
    "act-9999",
    "act-1",
    "a",
    "b",
    "twin",
    "",
    " ",
    "msg-0001",
    "msg-0002",
    "msg-0003",
    "cor-0001",
    "cor-7",
    "cor-1000000",
    "cor-9007199254740990",
    "cor-9007199254740991",
    "cor-00000000000000001",
    "voicings",
    "read",
    "merge",
    "k",
    "please push",
    "\u{1F469}",
    "__proto__",
    "2026-09-15T23:41:09.954Z",
];

/// A value that means something more often than not.
fn biased(g: &mut Gen) -> Json {
    match g.choose(&[0, 0, 0, 0, 0, 1, 2]).unwrap() {
        0 => (*g.choose(&TELLING).unwrap()).into(),
        1 => Json::Array((0..3).map(|_| (*g.choose(&TELLING).unwrap()).into()).collect()),
        _ => json(g, 2),
    }
}

/// A value that fits the field, as callers mostly send.
fn fitting(g: &mut Gen, field: &str) -> Json {
    let choices: &[&str] = match field {
        "from" | "to" | "replyTo" => &["act-0001", "act-0002", "a", " b ", "twin"],
        "actorId" => &["act-0001", "act-0002", "a", "b", "twin"],
        "ref" => &["", "act-0002", "act-0003", "act-9999"],
        "messageId" => &["msg-0001", "msg-0002", "msg-0003", "msg-9999"],
        "correlationId" => &[
            "voicings",
            "cor-7",
            "cor-1000000",
            "cor-1000009",
            "cor-2000000",
            "cor-9007199254740991",
        ],
        "idempotencyKey" => &["k", "l", ""],
        "text" | "summary" | "note" => &["t", "please push", "\u{1F469}"],
        "requestedAuthority" => {
            let lists: [&[&str]; 3] = [&[], &["read"], &["merge", "report"]];
            return g.choose(&lists).unwrap().to_vec().into();
        }
        "expectsReply" => return bool::arbitrary(g).into(),
        "limit" => return (*g.choose(&[1, 2, 3]).unwrap()).into(),
        _ => &["handoff", "note"],
    };
    (*g.choose(choices).unwrap()).into()
}

/// Mostly fitting arguments; sometimes one of any type, one that is missing or one too many.
fn arguments(g: &mut Gen, verb: Verb) -> Object {
    let mut arguments = Object::new();
    for field in verb.fields() {
        match g.choose(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]).unwrap() {
            0 => arguments.set(*field, fitting(g, field)),
            1 => arguments.set(*field, biased(g)),
            _ => {}
        }
    }
    if *g.choose(&[true, false, false, false, false, false, false, false]).unwrap() {
        arguments.set(Units::arbitrary(g).text(), json(g, 1));
    }
    arguments
}

/// Commands, each with the argument fields of its verb in any type.
#[derive(Clone, Debug)]
struct Commands(Vec<Command>);

impl Arbitrary for Commands {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut commands: Vec<Command> = ["a", "b", "twin", "twin"]
            .map(|name| command(Verb::Register, Object::new().with("actorId", name)))
            .into();
        for _ in 0..g.size().min(40) {
            let is_repeat = *g.choose(&[true, false, false, false]).unwrap();
            let earlier = g.choose(&commands).filter(|_| is_repeat).cloned();
            commands.push(earlier.unwrap_or_else(|| {
                let verb = *g.choose(&Verb::ALL).unwrap();
                command(verb, arguments(g, verb))
            }));
        }
        Commands(commands)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let all = self.0.clone();
        Box::new((0..all.len()).map(move |left_out| {
            let mut fewer = all.clone();
            fewer.remove(left_out);
            Commands(fewer)
        }))
    }
}

fn command(verb: Verb, arguments: Object) -> Command {
    Command { verb, at: "2026-09-15T23:41:09.954Z".into(), arguments }
}

/// Records of known and unknown types whose fields may be anything, or missing.
#[derive(Clone, Debug)]
struct Foreign(Vec<Object>);

impl Arbitrary for Foreign {
    fn arbitrary(g: &mut Gen) -> Self {
        Foreign((0..g.size().min(30)).map(|_| foreign(g)).collect())
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let all = self.0.clone();
        Box::new((0..all.len()).map(move |left_out| {
            let mut fewer = all.clone();
            fewer.remove(left_out);
            Foreign(fewer)
        }))
    }
}

fn foreign(g: &mut Gen) -> Object {
    const MESSAGE_FIELDS: [&str; 12] = [
        "messageId",
        "correlationId",
        "from",
        "fromName",
        "to",
        "toName",
        "replyTo",
        "authority",
        "text",
        "deliveredAt",
        "ackedBy",
        "idempotencyKey",
    ];
    let Some(&record_type) = g.choose(&RecordType::ALL).filter(|_| g.size() > 0) else {
        return Object::new();
    };
    let mut record = Object::new();
    for key in record_type.keys() {
        let value = match *key {
            "type" => record_type.name().into(),
            "message" => {
                let mut message = Object::new();
                for field in MESSAGE_FIELDS {
                    if *g.choose(&[true, true, true, true, false]).unwrap() {
                        message.set(field, biased(g));
                    }
                }
                message.into()
            }
            "messageIds" => vec![*g.choose(&TELLING).unwrap()].into(),
            _ => biased(g),
        };
        if *g.choose(&[true, true, true, true, true, true, false]).unwrap() {
            record.set(*key, value);
        }
    }
    record
}

fn check<A: quickcheck::Testable>(cases: u64, property: A) {
    QuickCheck::new().tests(cases).quickcheck(property);
}

#[test]
fn a_text_is_its_utf16_units() {
    fn property(units: Units) -> bool {
        let text = units.text();
        let valid = String::from_utf16(&units.0);
        text.utf16_len() == units.0.len()
            && text.as_str() == valid.as_deref().ok()
            && text.to_str_lossy() == String::from_utf16_lossy(&units.0)
    }
    check(2_000, property as fn(Units) -> bool);
}

#[test]
fn a_text_is_canonical_however_it_was_put_together() {
    fn property(units: Units, at: usize) -> bool {
        let at = at.checked_rem(units.0.len() + 1).unwrap_or(0);
        let (head, tail) = units.0.split_at(at);
        let mut joined = Units(head.to_vec()).text();
        joined.push_text(&Units(tail.to_vec()).text());
        joined == units.text()
    }
    check(2_000, property as fn(Units, usize) -> bool);
}

#[test]
fn trimming_is_idempotent_and_leaves_no_space_at_either_end() {
    fn property(units: Units) -> bool {
        let trimmed = units.text().trim();
        let points: Vec<_> = trimmed.code_points().collect();
        let ends = points.first().into_iter().chain(points.last());
        trimmed.trim() == trimmed
            && ends.copied().all(|point| !is_ecmascript_space(point))
            && trimmed.is_empty() == units.text().is_blank()
    }
    check(2_000, property as fn(Units) -> bool);
}

#[test]
fn clipping_keeps_a_whole_prefix_and_is_idempotent() {
    fn property(units: Units, times: u8) -> bool {
        let mut text = Text::new();
        for _ in 0..times % 16 {
            text.push_text(&units.text());
        }
        let clipped = clip(&text);
        let units = clipped.utf16_len();
        let is_prefix = || {
            let whole = text.code_points();
            let mut kept: Vec<_> = clipped.code_points().collect();
            kept.truncate(kept.len() - 3);
            kept.iter().copied().eq(whole.take(kept.len()))
        };
        clip(&clipped) == clipped
            && if text.utf16_len() <= 96 {
                clipped == text
            } else {
                (95..=96).contains(&units) && is_prefix()
            }
    }
    check(2_000, property as fn(Units, u8) -> bool);
}

#[test]
fn what_is_written_is_what_is_read_back() {
    fn property(value: Value) -> bool {
        let mut line = Vec::new();
        value.0.write(&mut line);
        let read = support::read(&line);
        let mut again = Vec::new();
        read.write(&mut again);
        // Of the controls only C0 is escaped: U+007F stands as it is.
        read == value.0 && again == line && line.iter().all(|&byte| byte >= 0x20)
    }
    check(2_000, property as fn(Value) -> bool);
}

#[test]
fn an_instant_does_not_depend_on_the_offset_that_tells_it() {
    fn property(minutes: u32, offset: i16) -> bool {
        let told = |minutes: i64, suffix: &str| {
            let (day, minute) = (minutes / 1_440, minutes % 1_440);
            let text = format!("2026-09-{day:02}T{:02}:{:02}{suffix}", minute / 60, minute % 60);
            readable_ms(&text.into())
        };
        let minutes = 10 * 1_440 + i64::from(minutes % 14_400);
        let offset = i64::from(offset % 1_440);
        let sign = if offset < 0 { '-' } else { '+' };
        let suffix = format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60);
        let utc = told(minutes, "Z");
        utc.is_some() && told(minutes + offset, &suffix) == utc
    }
    check(2_000, property as fn(u32, i16) -> bool);
}

#[test]
fn any_text_is_readable_or_not_without_a_panic() {
    fn property(units: Units, at: usize) -> bool {
        const WHOLE: &str = "2026-09-15T23:41:09.954+02:30";
        let mut text = Text::from(&WHOLE[..at % WHOLE.len()]);
        text.push_text(&units.text());
        readable_ms(&text).is_none_or(|ms| (0..4_000_000_000_000).contains(&ms))
    }
    check(2_000, property as fn(Units, usize) -> bool);
}

/// What must be true of every decision: it is refused with exactly one rejection or accepted
/// without any, decided the same again, and everything that it appends folds and reads back.
fn decided(state: &State, command: &Command) -> Vec<Object> {
    let limits = Limits { text_bytes_max: 200 };
    let decision = decide(state, command, &limits);
    let rejections = decision
        .events
        .iter()
        .filter(|event| RecordType::of(event) == Some(RecordType::CommandRejected))
        .count();
    assert_eq!(rejections, usize::from(decision.answer.is_err()), "{command:?}");
    assert!(decision.answer.is_ok() || decision.events.len() == 1, "{command:?}");
    assert!(!decision.events.is_empty(), "every verb appends: {command:?}");
    assert_eq!(decide(state, command, &limits), decision, "{command:?}");
    for id in bodies_needed(state, command, &limits) {
        assert!(state.message(&id).is_some(), "{id} is announced and not there: {command:?}");
    }
    for event in &decision.events {
        assert!(check_identity(event).is_ok(), "{}", support::line(event));
        assert_eq!(event.get_text("at"), Some(&command.at));
        assert_eq!(&support::object(&event.to_line()), event);
    }
    decision.events
}

#[test]
fn no_sequence_of_commands_breaks_an_invariant() {
    fn property(commands: Commands) {
        let mut state = State::default();
        let mut log = Vec::new();
        for command in &commands.0 {
            for event in decided(&state, command) {
                state.apply(&event).unwrap();
                log.push(event);
            }
        }
        for invariant in ALWAYS.iter().chain([&BATCH_WHOLE]) {
            assert_eq!((invariant.holds)(&log), Ok(()), "{}", invariant.name);
        }
        assert_eq!(state.integrity(), [], "everything is minted");
        assert!(state.correlation().is_ok(), "a claim never reaches the end at once");
        assert_eq!(state.counters().event, u64::try_from(log.len()).unwrap());
    }
    check(300, property as fn(Commands));
}

#[test]
fn replaying_a_concatenation_is_folding_the_second_half_onto_the_first() {
    fn property(log: Foreign, at: usize) -> bool {
        let log: Vec<Object> =
            log.0.into_iter().filter(|record| check_identity(record).is_ok()).collect();
        let (head, tail) = log.split_at(at.checked_rem(log.len() + 1).unwrap_or(0));
        let mut folded = replay(head).unwrap();
        for record in tail {
            folded.apply(record).unwrap();
        }
        replay(&log) == Ok(folded)
    }
    check(500, property as fn(Foreign, usize) -> bool);
}

#[test]
fn any_log_folds_or_says_why_and_anything_can_be_decided_on_it() {
    fn property(log: Foreign, commands: Commands) {
        let mut state = State::default();
        for record in &log.0 {
            let before = state.clone();
            let verdict = check_identity(record);
            assert_eq!(state.apply(record), verdict.map(drop));
            assert!(
                verdict.is_ok() || state == before,
                "a record that does not fold changes nothing"
            );
        }
        for command in &commands.0 {
            for event in decided(&state, command) {
                let known = state.actors().len();
                let is_new = event.get("isNew") == Some(&Json::Bool(true));
                state.apply(&event).unwrap();
                assert_eq!(
                    state.actors().len(),
                    known + usize::from(is_new),
                    "no identity is taken"
                );
            }
        }
        let snapshot = state.snapshot();
        assert_eq!(support::object(&snapshot.to_line()), snapshot);
        for invariant in ALWAYS.iter().chain([&BATCH_WHOLE]) {
            let _total = (invariant.holds)(&log.0);
        }
    }
    check(300, property as fn(Foreign, Commands));
}

/// The negative control: the generators reach what the properties are about.
#[test]
fn the_generated_commands_exercise_every_verb_and_most_outcomes() {
    let mut g = Gen::new(40);
    let mut types = std::collections::BTreeSet::new();
    let mut codes = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let mut state = State::default();
        for command in Commands::arbitrary(&mut g).0 {
            let decision = decide(&state, &command, &Limits { text_bytes_max: 200 });
            codes.extend(decision.answer.err().map(|refusal| refusal.code));
            for event in decision.events {
                types.extend(RecordType::of(&event));
                state.apply(&event).unwrap();
            }
        }
    }
    assert_eq!(types, RecordType::ALL.into_iter().collect());
    assert!(codes.len() >= 13, "only {codes:?}");
}
