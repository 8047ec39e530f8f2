//! Promise: what `verify` sees of a lesson log in which one thing was changed, and what it does
//! not, is known for every single change and written down.
//!
//! Method: every record dropped, doubled and swapped with every other; every field, at any depth,
//! removed, given another type, and given other values that would be legal in such a place. Each
//! change is a line of `verify_mutations.txt` with the checks that go red. `GAIA_BUS_BLESS=1 cargo
//! test
//! -p gaia-bus --test verify_mutations` writes that file anew; else the file is compared. A change
//! that nothing sees must have a reason in [`INVISIBLE`].
//!
//! Cannot see: two changes that cover each other up. A forger who writes a whole consistent log
//! passes; `verify` attests shape and not provenance.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use gaia_bus::verify::{ADVISORY, Check, evidence, history, read_evidence};
use gaia_bus_model::event::RecordType;
use gaia_bus_model::json::{Json, Object};

/// Changes that nothing can see in a log alone: the kind of change, where, and why. `*` is
/// anything.
const INVISIBLE: [(&str, &str, &str); 14] = [
    ("value", "at", "a clock may say anything, and nothing else records the time of this one"),
    ("value", "kind", "what an actor or a message calls itself is the caller's choice"),
    ("value", "declaredCapabilities", "declarations are the caller's choice"),
    ("value", "message.expectsReply", "the caller's choice"),
    ("value", "message.kind", "a send may be of any kind, that of a handoff too"),
    ("value", "message.text", "a body is the caller's choice, as long as its flag fits"),
    ("value", "message.authority.granted", "what was asked for is the caller's choice"),
    ("value", "note", "a note is the caller's choice"),
    ("remove", "declaredCapabilities[*]", "declarations are the caller's choice"),
    ("remove", "message.authority.granted[*]", "what was asked for is the caller's choice"),
    ("type", "note", "a note may be missing: it is then null"),
    ("drop", "inbox.polled", "nothing rests on a reading: a message may be acknowledged unread"),
    ("double", "*", "reading or acknowledging twice is allowed"),
    ("swap", "*", "commands that do not depend on each other may come in either order"),
];

fn lesson() -> Option<Vec<Object>> {
    support::file("lesson.events.jsonl").map(|bytes| support::records(&bytes))
}

/// One change: its kind, where, a line that names it, and the log with it.
struct Mutation {
    kind: &'static str,
    place: String,
    name: String,
    log: Vec<Object>,
}

/// One step into a value.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Item(usize),
}

fn shown(path: &[Step]) -> String {
    let mut out = String::new();
    for step in path {
        match step {
            Step::Key(key) if out.is_empty() => out.push_str(key),
            Step::Key(key) => write!(out, ".{key}").unwrap(),
            Step::Item(_) => out.push_str("[*]"),
        }
    }
    out
}

/// Every place in a value, itself left out.
fn places(value: &Json, path: &mut Vec<Step>, out: &mut Vec<Vec<Step>>) {
    let children: Vec<(Step, &Json)> = match value {
        Json::Object(object) => object
            .iter()
            .map(|(key, value)| (Step::Key(key.to_str_lossy().into_owned()), value))
            .collect(),
        Json::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (Step::Item(index), item)).collect()
        }
        _ => return,
    };
    for (step, child) in children {
        path.push(step);
        out.push(path.clone());
        places(child, path, out);
        path.pop();
    }
}

fn at<'a>(value: &'a Json, path: &[Step]) -> &'a Json {
    path.iter().fold(value, |value, step| match (value, step) {
        (Json::Object(object), Step::Key(key)) => object.get(key).unwrap(),
        (Json::Array(items), Step::Item(index)) => &items[*index],
        _ => panic!("no such place"),
    })
}

/// The value with another one at a place, or with none there.
fn changed(value: &Json, path: &[Step], new: Option<&Json>) -> Json {
    let [step, rest @ ..] = path else { return new.unwrap().clone() };
    let is_here = rest.is_empty();
    match (value, step) {
        (Json::Object(object), Step::Key(key)) => {
            let pairs = object.iter().filter_map(|(own, value)| {
                if *own != **key {
                    return Some((own.clone(), value.clone()));
                }
                if is_here && new.is_none() {
                    return None;
                }
                Some((own.clone(), changed(value, rest, new)))
            });
            Json::Object(pairs.collect())
        }
        (Json::Array(items), Step::Item(index)) => {
            let mut items = items.clone();
            if is_here && new.is_none() {
                items.remove(*index);
            } else {
                items[*index] = changed(&items[*index], rest, new);
            }
            Json::Array(items)
        }
        _ => panic!("no such place"),
    }
}

/// Values of other types.
fn other_types(value: &Json) -> Vec<Json> {
    let number = || Json::from(7);
    match value {
        Json::Null => vec![number(), Json::Object(Object::new())],
        Json::Bool(_) | Json::Number(_) => vec![Json::Null, "true".into()],
        Json::String(_) => vec![Json::Null, number()],
        Json::Array(_) => vec![Json::Null, "approve".into()],
        Json::Object(_) => vec![Json::Null, Json::Array(Vec::new())],
    }
}

/// Other values that would be legal at some time in such a place.
fn other_values(record: &Object, path: &[Step], value: &Json) -> Vec<Json> {
    let key = path.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Item(_) => None,
    });
    let texts = |all: &[&str]| all.iter().map(|&text| Json::from(text)).collect::<Vec<_>>();
    let is_item = matches!(path.last(), Some(Step::Item(_)));
    let list = |all: &[&str]| Json::from(all.to_vec());
    let candidates = match key.unwrap() {
        "type" => RecordType::ALL.iter().map(|known| Json::from(known.name())).collect(),
        "at" | "sentAt" => texts(&["2026-09-15T23:41:10.000Z", "2026-09-15T23:41:48.520Z"]),
        "deliveredAt" | "ackedAt" => texts(&["2026-09-15T23:41:48.115Z"]),
        "ref" | "from" | "to" | "replyTo" | "actorId" | "ackedBy" => {
            texts(&["act-0001", "act-0002", "act-0003", "act-0004", "gaia"])
        }
        "name" | "fromName" | "toName" | "replyToName" => texts(&["gaia", "builder", "operator"]),
        "messageId" | "messageIds" if value.as_text().is_some() => {
            texts(&["msg-0001", "msg-0002", "msg-0003", "msg-0004"])
        }
        "messageIds" => vec![list(&[]), list(&["msg-0001", "msg-0002"])],
        "correlationId" => {
            texts(&["cor-other", "cor-0001", "cor-1000000", "cor-1000001", "cor-9007199254740992"])
        }
        "isNew" | "expectsReply" => vec![true.into(), false.into()],
        "kind" => texts(&["coordinator", "codex", "note", "handoff"]),
        "text" | "summary" => texts(&["Another text.", "Please approve this."]),
        "note" => texts(&["Another note."]),
        "trust" => texts(&["trusted-text", "instruction"]),
        "effect" => texts(&["applied"]),
        "delivery" => texts(&["read, agreed and completed"]),
        "outcome" => texts(&["granted"]),
        "declaredCapabilities" if is_item => texts(&["cwd=C:/repos/other"]),
        "declaredCapabilities" => vec![list(&[]), list(&["approve"])],
        "busAuthority" | "neverGrantable" if is_item => texts(&["approve", "send", "admin"]),
        "busAuthority" => vec![list(&["send", "receive", "ack", "heartbeat", "handoff", "merge"])],
        "neverGrantable" => vec![list(&["approve"])],
        "granted" | "denied" | "requested" | "authorityTransferred" if is_item => {
            texts(&["read", "merge", "approve"])
        }
        "granted" | "denied" | "requested" | "authorityTransferred" => {
            vec![list(&[]), list(&["read"]), list(&["merge"]), list(&["approve", "approve"])]
        }
        "flags" if is_item => texts(&["urgent"]),
        "flags" => vec![list(&[]), list(&["authority-language-detected"]), list(&["urgent"])],
        "message" | "authority" => Vec::new(),
        other => panic!("no values for {other} of {}", support::line(record)),
    };
    candidates.into_iter().filter(|candidate| candidate != value).collect()
}

fn literal(value: &Json) -> String {
    let mut out = Vec::new();
    value.write(&mut out);
    String::from_utf8(out).unwrap()
}

fn field_mutations(log: &[Object], index: usize, out: &mut Vec<Mutation>) {
    let record = Json::Object(log[index].clone());
    let kind_of_record = log[index].get_text("type").unwrap().to_str_lossy().into_owned();
    let mut found = Vec::new();
    places(&record, &mut Vec::new(), &mut found);
    for path in found {
        let value = at(&record, &path);
        let place = shown(&path);
        let exact = path.iter().rev().find_map(|step| match step {
            Step::Item(index) => Some(format!(" #{index}")),
            Step::Key(_) => None,
        });
        let exact =
            exact.filter(|_| matches!(path.last(), Some(Step::Item(_)))).unwrap_or_default();
        let mut plant = |kind, new: Option<&Json>| {
            let Json::Object(record) = changed(&record, &path, new) else { panic!("no object") };
            let mut log = log.to_vec();
            log[index] = record;
            let to = new.map(|new| format!(" {}", literal(new))).unwrap_or_default();
            let line = index + 1;
            let name = format!("{line:2} {kind_of_record} {kind} {place}{exact}{to}");
            out.push(Mutation { kind, place: place.clone(), name, log });
        };
        plant("remove", None);
        for new in other_types(value) {
            plant("type", Some(&new));
        }
        for new in other_values(&log[index], &path, value) {
            plant("value", Some(&new));
        }
    }
}

fn mutations(log: &[Object]) -> Vec<Mutation> {
    let mut out = Vec::new();
    for index in 0..log.len() {
        let kind_of_record = log[index].get_text("type").unwrap().to_str_lossy();
        let line = index + 1;
        let place = kind_of_record.clone().into_owned();
        let mut dropped = log.to_vec();
        dropped.remove(index);
        let name = format!("{line:2} {kind_of_record} drop");
        out.push(Mutation { kind: "drop", place: place.clone(), name, log: dropped });
        let ends = [log.len()].into_iter().filter(|end| *end != index + 1);
        for at in [index + 1].into_iter().chain(ends) {
            let mut doubled = log.to_vec();
            doubled.insert(at, log[index].clone());
            let name = format!("{line:2} {kind_of_record} double as line {}", at + 1);
            out.push(Mutation { kind: "double", place: place.clone(), name, log: doubled });
        }
        for other in index + 1..log.len() {
            let mut swapped = log.to_vec();
            swapped.swap(index, other);
            let name = format!("{line:2} {kind_of_record} swap with line {}", other + 1);
            out.push(Mutation { kind: "swap", place: place.clone(), name, log: swapped });
        }
        field_mutations(log, index, &mut out);
    }
    let mut names: Vec<_> = out.iter().map(|mutation| &mutation.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "every change has a name of its own");
    out
}

/// Every check on a log. The negative controls, which are the same whatever the log, are left out.
fn judge(log: &[Object]) -> Vec<Check> {
    let mut checks = evidence::judge(&evidence::CHECKS, log);
    checks.extend(history::judge(&history::CHECKS, log));
    checks
}

/// The checks that go red, by name; nothing where the log does not fold, so that nothing is
/// answered.
fn red(log: &[Object]) -> Option<Vec<String>> {
    let mut bytes = Vec::new();
    for record in log {
        bytes.extend(record.to_line());
        bytes.push(b'\n');
    }
    let records = read_evidence(bytes.as_slice()).ok()?;
    let checks = judge(records.as_slice()).into_iter();
    Some(checks.filter(|check| !check.ok).map(|check| check.name).collect())
}

fn is_known_invisible(mutation: &Mutation) -> bool {
    INVISIBLE.iter().any(|(kind, place, _)| {
        let whole = mutation.place.strip_suffix("[*]").unwrap_or(&mutation.place);
        *kind == mutation.kind && (*place == "*" || *place == mutation.place || *place == whole)
    })
}

fn table_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/verify_mutations.txt")
}

/// The table, and how many changes there are of each outcome.
fn table(log: &[Object]) -> (String, BTreeMap<&'static str, usize>) {
    let names: Vec<_> = judge(log).into_iter().map(|check| check.name).collect();
    let mut counts = BTreeMap::new();
    let mut rows = String::new();
    let mut unexplained = Vec::new();
    for mutation in mutations(log) {
        let (outcome, seen_by) = match red(&mutation.log) {
            None => ("does not fold: exit 3", String::new()),
            Some(red) if red.is_empty() => {
                if !is_known_invisible(&mutation) {
                    unexplained.push(mutation.name.clone());
                }
                ("invisible", String::new())
            }
            Some(red) => {
                let number = |name: &String| {
                    format!(" {}", names.iter().position(|known| known == name).unwrap() + 1)
                };
                let gates = red.iter().any(|name| !ADVISORY.contains(&name.as_str()));
                let outcome = if gates { "red" } else { "red only as evidence" };
                (outcome, red.iter().map(number).collect())
            }
        };
        *counts.entry(outcome).or_default() += 1;
        writeln!(rows, "{} -> {outcome}{seen_by}", mutation.name).unwrap();
    }
    assert_eq!(unexplained, [""; 0], "nothing sees these");
    let mut text = String::from(
        "# What verify sees of the lesson log with one change: see tests/verify_mutations.rs.\n\n",
    );
    for (index, name) in names.iter().enumerate() {
        writeln!(text, "check {} = {name}", index + 1).unwrap();
    }
    text.push('\n');
    for (outcome, count) in &counts {
        writeln!(text, "{count} {outcome}").unwrap();
    }
    writeln!(text, "{} in all\n\n{rows}", counts.values().sum::<usize>()).unwrap();
    (text, counts)
}

#[test]
fn what_is_seen_of_every_single_change_is_what_the_table_says() {
    let Some(log) = lesson() else { return };
    assert_eq!(red(&log), Some(Vec::new()), "the lesson itself is green");
    let (text, counts) = table(&log);
    println!("{counts:?}");
    let path = table_path();
    if std::env::var_os("GAIA_BUS_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    for (line, (found, expected)) in text.lines().zip(committed.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of {}", line + 1, path.display());
    }
    assert_eq!(text, committed);
}

#[test]
fn every_reason_for_an_invisible_change_is_needed() {
    let Some(log) = lesson() else { return };
    let invisible: Vec<_> = mutations(&log)
        .into_iter()
        .filter(|m| red(&m.log).is_some_and(|red| red.is_empty()))
        .collect();
    for (kind, place, reason) in INVISIBLE {
        let is_used = invisible.iter().any(|mutation| {
            let whole = mutation.place.strip_suffix("[*]").unwrap_or(&mutation.place);
            kind == mutation.kind && (place == "*" || place == mutation.place || place == whole)
        });
        assert!(is_used, "{kind} {place}: {reason}");
    }
}

#[test]
fn every_check_goes_red_for_some_change() {
    let Some(log) = lesson() else { return };
    // These need more than one change, or a record that the lesson does not have; the recorded logs
    // and the controls in the product turn them red.
    const ELSEWHERE: [&str; 4] = [
        "replayable",
        "deterministic replay",
        "more than one actor kind",
        "the correlation issuer still has room to mint",
    ];
    let mut seen: Vec<String> =
        mutations(&log).iter().filter_map(|mutation| red(&mutation.log)).flatten().collect();
    seen.sort();
    seen.dedup();
    for check in judge(&log) {
        let is_elsewhere = ELSEWHERE.contains(&check.name.as_str());
        assert_ne!(seen.contains(&check.name), is_elsewhere, "{}", check.name);
    }
}
