//! The checks of the vectors, written once over any fold of the log. Each says how many cases it
//! judged, so that one which judged nothing is seen.

use std::fmt::Debug;

use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::{self, Decision, Refusal, RefusalCode};
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::text::Text;
use gaia_bus_model::view::View;

use super::{field, line, list, masked, masked_snapshot, nested, text};

/// A fold under test.
pub(crate) trait Fold: View + Default + PartialEq + Debug {
    /// Folds one record in; `line` is the same record as the log holds it, without its newline.
    fn fold(&mut self, record: &Object, line: &[u8]) -> Result<(), String>;
    /// Decides a command; a fold that keeps no bodies fetches those that the decision needs.
    fn decide(&self, command: &Command) -> Decision {
        decide::decide(self, command, &Limits::default())
    }
    /// The snapshot.
    fn snapshot(&self) -> Object;
    /// `actor message correlation event`
    fn counters(&self) -> Object;
    /// `ok findings`
    fn integrity(&self) -> Object;
    /// `issuerAt headroom exhausted nearExhausted ok findings`
    fn correlation(&self) -> Object;
}

/// A bus in memory: decides on the fold, and folds what it decided.
#[derive(Default)]
struct Bus<F> {
    fold: F,
    log: Vec<u8>,
}

impl<F: Fold> Bus<F> {
    fn call(&mut self, verb: Verb, at: &Text, arguments: &Object) -> (Vec<Object>, Answer) {
        let command = Command { verb, at: at.clone(), arguments: arguments.clone() };
        let decision = self.fold.decide(&command);
        for event in &decision.events {
            let line = event.to_line();
            self.fold.fold(event, &line).unwrap();
            self.log.extend(line);
            self.log.push(b'\n');
        }
        (decision.events, decision.answer)
    }
}

type Answer = Result<Object, Refusal>;

/// A refusal as the vectors show it.
fn shown(refusal: &Refusal) -> Object {
    let candidates = Some(refusal.candidates.clone()).filter(|candidates| !candidates.is_empty());
    Object::new()
        .with("code", refusal.code.as_str())
        .with_some("field", refusal.field.as_ref())
        .with_some("candidates", candidates)
        .with_some("subject", refusal.subject.as_ref())
}

/// Compares two objects by value and by key order.
fn same(actual: &Object, expected: &Object, what: &str) -> Result<(), String> {
    if actual == expected {
        Ok(())
    } else {
        Err(format!("{what}\n  actual: {}\nexpected: {}", line(actual), line(expected)))
    }
}

/// Compares the same keys of two objects: sequences do not list the findings of the issuer.
fn same_as_far_as_shown(actual: &Object, expected: &Object, what: &str) -> Result<(), String> {
    let kept = actual.iter().filter(|(key, _)| expected.get(&key.to_string()).is_some());
    let kept: Object = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    same(&kept, expected, what)
}

fn check_sequence<F: Fold>(case: &Object) -> Result<(), String> {
    let mut bus = Bus::<F>::default();
    for (index, step) in list(case, "steps").iter().enumerate() {
        let step = step.as_object().unwrap();
        check_step(&mut bus, step)
            .map_err(|what| format!("step {index}, {}: {what}", line(nested(step, "args"))))?;
    }
    let fold = &bus.fold;
    same(&masked_snapshot(&fold.snapshot()), nested(case, "snapshot"), "snapshot")?;
    same(&fold.counters(), nested(case, "counters"), "counters")?;
    let integrity_ok = Object::new().with("ok", field(case, "integrityOk").clone());
    same_as_far_as_shown(&fold.integrity(), &integrity_ok, "integrity")?;
    let correlation = fold.correlation();
    same_as_far_as_shown(&correlation, nested(case, "correlation"), "correlation")?;
    if replay::<F>(&bus.log)? == bus.fold { Ok(()) } else { Err("replay differs".into()) }
}

fn check_step<F: Fold>(bus: &mut Bus<F>, step: &Object) -> Result<(), String> {
    let verb = Verb::from_name(&text(step, "verb").to_string()).unwrap();
    let (events, answer) = bus.call(verb, text(step, "at"), nested(step, "args"));
    let appended: Vec<String> = events.iter().map(masked).collect();
    let appended = Object::new().with("appended", appended);
    same(&appended, &Object::new().with("appended", field(step, "appended").clone()), "")?;
    match (field(step, "refusal"), answer) {
        (Json::Null, Ok(answer)) => same(&answer, nested(step, "result"), "result"),
        (Json::Object(expected), Err(refusal)) => same(&shown(&refusal), expected, "refusal"),
        (expected, answer) => Err(format!("{answer:?}, expected refusal {expected:?}")),
    }
}

/// Folds a log of well-formed lines.
fn replay<F: Fold>(log: &[u8]) -> Result<F, String> {
    let mut fold = F::default();
    for line in log.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        fold.fold(&super::object(line), line)?;
    }
    Ok(fold)
}

/// Checks a raw log that parses: how it folds, and what is then said of it.
fn check_log<F: Fold>(case: &Object) -> Result<(), String> {
    let folded = replay::<F>(&super::base64(text(case, "base64")));
    if &Json::Bool(folded.is_ok()) != field(nested(case, "replay"), "ok") {
        return Err(format!("{:?}", folded.map(|fold| fold.counters())));
    }
    let Ok(fold) = folded else { return Ok(()) };
    if case.get("snapshot").is_some() {
        let expected = masked_snapshot(nested(case, "snapshot"));
        same(&masked_snapshot(&fold.snapshot()), &expected, "snapshot")?;
    }
    same(&fold.counters(), nested(case, "counters"), "counters")?;
    same(&fold.integrity(), nested(case, "integrity"), "integrity")?;
    same(&fold.correlation(), nested(case, "correlation"), "correlation")
}

/// The raw logs that parse here and there.
fn logs_that_parse() -> Vec<Object> {
    let mut cases = super::cases("logs.jsonl");
    cases.retain(|case| {
        let is_parsed = field(nested(case, "parse"), "ok") == &Json::Bool(true);
        is_parsed && super::deviation(&text(case, "name").to_string()).is_none()
    });
    cases
}

/// Every sequence: refusals, answers, appended lines, and what is said of the fold in the end.
pub(crate) fn sequences<F: Fold>() -> usize {
    let cases = super::cases("sequences.jsonl");
    for case in &cases {
        let seed = field(case, "seed");
        check_sequence::<F>(case).unwrap_or_else(|what| panic!("sequence {seed:?}: {what}"));
    }
    cases.len()
}

/// Every raw log that parses.
pub(crate) fn logs<F: Fold>() -> usize {
    let cases = logs_that_parse();
    for case in &cases {
        let name = text(case, "name");
        check_log::<F>(case).unwrap_or_else(|what| panic!("{name}: {what}"));
    }
    cases.len()
}

/// The negative control: a case in which one expectation is changed does not pass.
pub(crate) fn negative_control<F: Fold>() -> usize {
    let mut planted = 0;
    for case in super::cases("sequences.jsonl").iter().take(3) {
        for key in ["snapshot", "counters", "correlation"] {
            let tampered = case.clone().with(key, reversed(nested(case, key)));
            assert!(check_sequence::<F>(&tampered).is_err(), "key order of {key}");
            planted += 1;
        }
        let integrity_ok = field(case, "integrityOk") != &Json::Bool(true);
        assert!(check_sequence::<F>(&case.clone().with("integrityOk", integrity_ok)).is_err());
        planted += 1;
        for (index, step) in list(case, "steps").iter().enumerate() {
            let step = step.as_object().unwrap();
            for tampered in tampered_steps(step) {
                let mut steps = list(case, "steps").to_vec();
                steps[index] = tampered.into();
                let tampered = case.clone().with("steps", steps);
                assert!(check_sequence::<F>(&tampered).is_err(), "step {index}");
                planted += 1;
            }
        }
    }
    for case in logs_that_parse().iter().filter(|case| case.get("snapshot").is_some()) {
        for key in ["replay", "snapshot", "counters", "integrity", "correlation"] {
            let tampered = match key {
                "replay" => Object::new().with("ok", false),
                key => reversed(nested(case, key)),
            };
            assert!(check_log::<F>(&case.clone().with(key, tampered)).is_err(), "{key}");
            planted += 1;
        }
    }
    planted
}

/// The same for the tables: no row passes when the answer it expects is another.
pub(crate) fn negative_control_of_tables<F: Fold>() -> usize {
    let rows = super::cases("tables.jsonl");
    for row in &rows {
        let expected = match text(row, "table").to_string().as_str() {
            "authority-language" => "flagged",
            "trim" => "name",
            "truthy" => "expectsReply",
            "clip" => "snapshot",
            _ => "status",
        };
        let tampered = row.clone().with(expected, "something else");
        assert!(check_row::<F>(&tampered).is_err(), "{}", line(&tampered));
    }
    rows.len()
}

/// The step with each of its expectations changed in turn.
fn tampered_steps(step: &Object) -> Vec<Object> {
    let more = [list(step, "appended"), &["{}".into()]].concat();
    let mut tampered = vec![step.clone().with("appended", more)];
    for key in ["refusal", "result"] {
        if let Json::Object(expected) = field(step, key) {
            tampered.push(step.clone().with(key, reversed(expected)));
            tampered.push(step.clone().with(key, expected.clone().with("more", 1)));
        }
    }
    tampered
}

/// The same keys and values in the opposite order.
fn reversed(object: &Object) -> Object {
    let mut pairs: Vec<_> = object.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    pairs.reverse();
    pairs.into_iter().collect()
}

/// The eight commands behind the lesson's ten records.
const LESSON: [(&str, &str); 8] = [
    ("register", r#"{"actorId":"gaia","kind":"coordinator","capabilities":["observe","report"]}"#),
    (
        "register",
        r#"{"actorId":"builder","kind":"claude-code","capabilities":["cwd=C:/repos/ga","branch=feat/voicings"]}"#,
    ),
    (
        "register",
        r#"{"actorId":"reviewer","kind":"codex","capabilities":["cwd=C:/repos/ga","branch=feat/voicings"]}"#,
    ),
    (
        "send",
        r#"{"from":"gaia","to":"builder","text":"Add the voicing-search cancellation test.","correlationId":"cor-voicings","expectsReply":true,"requestedAuthority":["draft","report"]}"#,
    ),
    (
        "send",
        r#"{"from":"builder","to":"reviewer","text":"Please merge this.","correlationId":"cor-voicings","requestedAuthority":["approve","merge"]}"#,
    ),
    ("inbox", r#"{"actorId":"reviewer"}"#),
    (
        "ack",
        r#"{"actorId":"reviewer","messageId":"msg-0002","note":"Read. No merge authority exists on this bus."}"#,
    ),
    (
        "handoff",
        r#"{"from":"builder","to":"reviewer","summary":"Candidate ready on feat/voicings; review only.","correlationId":"cor-voicings"}"#,
    ),
];

/// The lesson's eight commands reproduce its ten records, byte for byte.
pub(crate) fn lesson<F: Fold>() -> usize {
    let Some(lesson) = super::file("lesson.events.jsonl") else { return 0 };
    let mut records = super::records(&lesson).into_iter();
    let mut bus = Bus::<F>::default();
    for (verb, arguments) in LESSON {
        let at = text(&records.next().unwrap(), "at").clone();
        let arguments = super::object(arguments.as_bytes());
        let (events, answer) = bus.call(Verb::from_name(verb).unwrap(), &at, &arguments);
        assert!(answer.is_ok(), "{verb}: {answer:?}");
        records.by_ref().take(events.len() - 1).for_each(drop);
    }
    assert_eq!(String::from_utf8(bus.log).unwrap(), String::from_utf8(lesson).unwrap());
    LESSON.len()
}

/// Every row of every table.
pub(crate) fn tables<F: Fold>() -> usize {
    let rows = super::cases("tables.jsonl");
    for row in &rows {
        check_row::<F>(row).unwrap_or_else(|what| panic!("{}: {what}", line(row)));
    }
    rows.len()
}

/// A row whose table nothing here reads is an error: it would be a rule that nothing checks.
fn check_row<F: Fold>(row: &Object) -> Result<(), String> {
    match text(row, "table").to_string().as_str() {
        "authority-language" => {
            let message = sent(&mut with_one_actor::<F>(), "text", field(row, "text"));
            let is_flagged = Json::Bool(!list(&message, "flags").is_empty());
            equal(&is_flagged, field(row, "flagged"))
        }
        "trim" => check_trim::<F>(row),
        "truthy" => {
            let message = sent(&mut with_one_actor::<F>(), "expectsReply", field(row, "value"));
            equal(field(&message, "expectsReply"), field(row, "expectsReply"))
        }
        "clip" => {
            let mut bus = with_one_actor::<F>();
            sent(&mut bus, "text", field(row, "text"));
            let snapshot = bus.fold.snapshot();
            equal(field(&first(&snapshot, "messages"), "text"), field(row, "snapshot"))
        }
        "ageing" => {
            let registered = Object::new()
                .with("type", "actor.registered")
                .with("at", text(row, "registeredAt"))
                .with("ref", "act-0001")
                .with("name", "x");
            let newest =
                Object::new().with("type", "command.rejected").with("at", text(row, "newestAt"));
            check_aged::<F>(row, &[line(&registered), line(&newest)])
        }
        "ageing-log" => {
            let lines = list(row, "lines").iter().map(|line| line.as_text().unwrap().to_string());
            check_aged::<F>(row, &lines.collect::<Vec<_>>())
        }
        other => Err(format!("nothing reads the table {other}")),
    }
}

fn check_trim<F: Fold>(row: &Object) -> Result<(), String> {
    let arguments = Object::new().with("actorId", text(row, "input"));
    let (_, answer) = Bus::<F>::default().call(Verb::Register, &Text::new(), &arguments);
    match (field(row, "name"), answer) {
        (Json::Null, Err(refusal)) if refusal.code == RefusalCode::MissingField => Ok(()),
        (name, Ok(answer)) => equal(field(&answer, "name"), name),
        (name, Err(refusal)) => Err(format!("{refusal:?}, expected the name {name:?}")),
    }
}

fn check_aged<F: Fold>(row: &Object, lines: &[String]) -> Result<(), String> {
    let snapshot = replay::<F>(lines.join("\n").as_bytes())?.snapshot();
    equal(field(&first(&snapshot, "actors"), "status"), field(row, "status"))?;
    equal(field(&snapshot, "lastEventAt"), field(row, "lastEventAt"))
}

fn equal(actual: &Json, expected: &Json) -> Result<(), String> {
    if actual == expected { Ok(()) } else { Err(format!("{actual:?}, expected {expected:?}")) }
}

fn first(snapshot: &Object, rows: &str) -> Object {
    list(snapshot, rows)[0].as_object().unwrap().clone()
}

/// A bus with one actor, `act-0001`.
fn with_one_actor<F: Fold>() -> Bus<F> {
    let mut bus = Bus::default();
    let arguments = Object::new().with("actorId", "one");
    bus.call(Verb::Register, &"2026-09-15T23:41:09.954Z".into(), &arguments).1.unwrap();
    bus
}

/// The message that the one actor sends to itself, as the log holds it.
fn sent<F: Fold>(bus: &mut Bus<F>, key: &str, value: &Json) -> Object {
    let arguments = Object::new()
        .with("from", "act-0001")
        .with("to", "act-0001")
        .with("text", "t")
        .with(key, value.clone());
    let (events, answer) = bus.call(Verb::Send, &"2026-09-15T23:41:10.000Z".into(), &arguments);
    assert!(answer.is_ok(), "{}: {answer:?}", line(&arguments));
    nested(&events[0], "message").clone()
}
