//! Promise: the store reads logs, and its two folds decide and report, as the bus that was
//! observed, to the byte.
//!
//! Method: every raw log goes through the shipped scanner, whole and in pieces, and must parse, or
//! be damaged in the recorded line by the recorded kind. Every sequence is decided on the
//! projection, with bodies fetched from the raw lines as a commit fetches them, appended to a log
//! in memory, and folded back in as a commit does it. Deviations are one list, each with its
//! outcome here.
//!
//! What it cannot see: the file system, the lock and the commit around it; the evidence checks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use gaia_bus::archive::Archive;
use gaia_bus::log::{Damage, DamageKind};
use gaia_bus::projection::{Projection, WithBodies};
use gaia_bus::replay::{LogFault, Replay};
use gaia_bus_model::command::{Command, Limits};
use gaia_bus_model::decide::{self, Decision};
use gaia_bus_model::integrity;
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::text::Text;
use gaia_bus_model::view::{Pending, View};

use support::checks::{self, Fold};
use support::{DEVIATIONS, base64, cases, field, line, nested, text};

/// A log in memory, and the two folds that production makes of one.
#[derive(Debug, PartialEq)]
struct Store {
    log: Vec<u8>,
    projection: Replay<Projection>,
    archive: Replay<Archive>,
}

impl Default for Store {
    fn default() -> Self {
        Store {
            log: Vec::new(),
            projection: Replay::new(Projection::new()),
            archive: Replay::new(Archive::new()),
        }
    }
}

impl Store {
    fn body(&self, message_id: &Text) -> Option<Object> {
        let projection = self.projection.fold();
        let span = projection.span_of(message_id)?;
        let start = usize::try_from(span.offset).unwrap();
        let end = start + usize::try_from(span.length).unwrap();
        projection.body(message_id, &self.log[start..end])
    }
}

impl Fold for Store {
    fn fold(&mut self, _record: &Object, line: &[u8]) -> Result<(), String> {
        let own = [line, b"\n"].concat();
        self.log.extend_from_slice(&own);
        self.projection.committed(&own).map_err(|fault| fault.to_string())?;
        self.archive.committed(&own).map_err(|fault| fault.to_string())?;
        assert_eq!(self.projection.fold(), self.archive.fold().projection());
        assert_eq!(self.projection.length(), self.log.len() as u64);
        Ok(())
    }

    fn decide(&self, command: &Command) -> Decision {
        let projection = self.projection.fold();
        let limits = Limits::default();
        let needed = decide::bodies_needed(projection, command, &limits);
        let bodies = needed.into_iter().filter_map(|id| Some((id.clone(), self.body(&id)?)));
        let view = WithBodies { projection, bodies: bodies.collect() };
        decide::decide(&view, command, &limits)
    }

    fn snapshot(&self) -> Object {
        self.archive.fold().snapshot()
    }

    fn counters(&self) -> Object {
        self.projection.fold().counters().to_object()
    }

    fn integrity(&self) -> Object {
        integrity::report(&self.archive.fold().integrity())
    }

    fn correlation(&self) -> Object {
        self.archive.fold().correlation().to_object()
    }
}

/// Asked by no check, since [`Fold::decide`] goes through [`WithBodies`].
impl View for Store {
    fn actor_count(&self) -> u64 {
        self.projection.fold().actor_count()
    }

    fn message_count(&self) -> u64 {
        self.projection.fold().message_count()
    }

    fn correlation_issuer(&self) -> u64 {
        self.projection.fold().correlation_issuer()
    }

    fn is_actor(&self, actor_ref: &Text) -> bool {
        self.projection.fold().is_actor(actor_ref)
    }

    fn name_of(&self, actor_ref: &Text) -> Option<Text> {
        self.projection.fold().name_of(actor_ref)
    }

    fn bearers(&self, name: &Text) -> Vec<Text> {
        self.projection.fold().bearers(name)
    }

    fn addressee(&self, message_id: &Text) -> Option<Text> {
        self.projection.fold().addressee(message_id)
    }

    fn pending(&self, actor_ref: &Text) -> Vec<Pending> {
        self.projection.fold().pending(actor_ref)
    }

    fn key_holder(&self, sender: &Text, key: &Text) -> Option<Text> {
        self.projection.fold().key_holder(sender, key)
    }

    fn was_handed_off(&self, message_id: &Text) -> bool {
        self.projection.fold().was_handed_off(message_id)
    }

    fn message(&self, message_id: &Text) -> Option<Object> {
        self.body(message_id)
    }
}

/// How the shipped reader takes a raw log: how many records, or what is wrong.
fn read(log: &[u8], chunk_bytes: usize) -> Result<Replay<Archive>, LogFault> {
    let mut replay = Replay::new(Archive::new());
    for chunk in log.chunks(chunk_bytes) {
        replay.feed(chunk)?;
    }
    replay.finish()?;
    Ok(replay)
}

/// Compares how a raw log is read with what the case has.
fn check_parse(case: &Object) -> Result<(), String> {
    let log = base64(text(case, "base64"));
    let expected = nested(case, "parse");
    for chunk_bytes in [log.len().max(1), 1, 61] {
        let read = read(&log, chunk_bytes);
        let is_ok = Json::Bool(!matches!(read, Err(LogFault::Damaged(_))));
        if field(expected, "ok") != &is_ok {
            return Err(format!("{read:?}, expected {}", line(expected)));
        }
        match read {
            Ok(replay) => compare("events", field(expected, "events"), replay.lines())?,
            Err(LogFault::Damaged(damage)) => check_damage(&log, &damage, expected)?,
            // That it parses is all that can be said: the reader folds as it goes.
            Err(LogFault::Unreplayable { .. }) => {
                compare("replay", field(nested(case, "replay"), "ok"), false)?;
            }
            Err(fault @ LogFault::Rewritten { .. }) => return Err(fault.to_string()),
        }
    }
    Ok(())
}

fn check_damage(log: &[u8], damage: &Damage, expected: &Object) -> Result<(), String> {
    compare("line", field(expected, "line"), damage.line)?;
    compare("kind", field(expected, "kind"), damage.kind.as_str())?;
    // The offset is not recorded; it follows from the line.
    let before = usize::try_from(damage.line - 1).unwrap();
    let lines = log.split_inclusive(|byte| *byte == b'\n').take(before);
    let offset: usize = lines.map(<[u8]>::len).sum();
    compare("offset", &Json::from(offset as u64), damage.offset)
}

fn compare(what: &str, expected: &Json, actual: impl Into<Json>) -> Result<(), String> {
    let actual = actual.into();
    if *expected == actual { Ok(()) } else { Err(format!("{what} {actual:?}, not {expected:?}")) }
}

fn is_deviation(case: &Object) -> bool {
    support::deviation(&text(case, "name").to_string()).is_some()
}

#[test]
fn vectors_raw_logs_parse_or_are_damaged_as_recorded() {
    for case in cases("logs.jsonl").iter().filter(|case| !is_deviation(case)) {
        check_parse(case).unwrap_or_else(|what| panic!("{}: {what}", text(case, "name")));
    }
}

#[test]
fn vectors_raw_logs_do_not_parse_as_anything_else() {
    for case in cases("logs.jsonl").iter().filter(|case| !is_deviation(case)) {
        let expected = nested(case, "parse");
        for key in ["ok", "events", "line", "kind"] {
            let Some(value) = expected.get(key) else { continue };
            let other = match value {
                Json::Bool(value) => Json::Bool(!value),
                Json::String(_) => "another".into(),
                _ => Json::from(1_000_000_u64),
            };
            // Of a log that does not fold, the number of events is not known here.
            if key == "events" && field(nested(case, "replay"), "ok") == &Json::Bool(false) {
                continue;
            }
            let tampered = case.clone().with("parse", expected.clone().with(key, other));
            assert!(check_parse(&tampered).is_err(), "{}: {key}", text(case, "name"));
        }
    }
}

/// What this project makes of the raw logs on which it is stricter on purpose.
#[test]
fn vectors_deviations_are_the_ones_on_the_list_and_no_others() {
    let outcome = |name: &str| match name {
        "invalid-utf8-bytes" | "overlong-utf8" => Some(DamageKind::NotUtf8),
        "duplicate-key-type" => Some(DamageKind::DuplicateKey),
        "deep-nesting-5000" => Some(DamageKind::TooDeep),
        "message-empty-object" => None,
        other => panic!("no outcome is given for {other}"),
    };
    for case in cases("logs.jsonl") {
        let name = text(&case, "name").to_string();
        let Some((_, reason)) = DEVIATIONS.iter().find(|(known, _)| *known == name) else {
            continue;
        };
        let read = read(&base64(text(&case, "base64")), 100).map(|_| ());
        match (outcome(&name), read) {
            (Some(kind), Err(LogFault::Damaged(damage))) => assert_eq!(damage.kind, kind, "{name}"),
            (None, Err(LogFault::Unreplayable { .. })) => {}
            (_, read) => panic!("{name}: {read:?}, but {reason}"),
        }
        let is_recorded_as_sound = field(nested(&case, "parse"), "ok") == &Json::Bool(true);
        assert!(is_recorded_as_sound, "{name} is no deviation");
    }
    for (name, _) in DEVIATIONS {
        outcome(name);
    }
}

/// What the scanner hands out is the record verbatim, lone surrogates and all.
#[test]
fn vectors_records_are_read_as_the_trusted_reader_reads_them() {
    for case in cases("logs.jsonl").iter().filter(|case| !is_deviation(case)) {
        if field(nested(case, "parse"), "ok") == &Json::Bool(true) {
            let log = base64(text(case, "base64"));
            let mut read = Vec::new();
            gaia_bus::log::Scanner::new()
                .feed(&log, &mut |record| {
                    read.push(line(&record.to_object()));
                    Ok::<(), ()>(())
                })
                .unwrap();
            let expected: Vec<String> = support::records(&log).iter().map(line).collect();
            assert_eq!(read, expected, "{}", text(case, "name"));
        }
    }
}

/// A process that stays up sees the same as one that starts: any two halves of any log that folds.
#[test]
fn vectors_logs_that_grow_are_read_warm_as_cold() {
    for case in cases("logs.jsonl") {
        let log = base64(text(&case, "base64"));
        let Ok(cold) = read(&log, 4096) else { continue };
        let ends = log.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        for end in ends.map(|(at, _)| at + 1) {
            let mut warm = read(&log[..end], 4096).unwrap();
            warm.begin();
            warm.feed(&log).unwrap();
            warm.finish().unwrap();
            assert_eq!(warm.fold(), cold.fold(), "{}", text(&case, "name"));
            assert_eq!((warm.length(), warm.lines()), (cold.length(), cold.lines()));
        }
    }
}

#[test]
fn vectors_sequences_are_reproduced_step_by_step_on_the_projection() {
    checks::sequences::<Store>();
}

#[test]
fn vectors_logs_that_parse_fold_to_what_was_recorded_in_the_store() {
    checks::logs::<Store>();
}

#[test]
fn vectors_checks_of_the_store_see_a_change_in_any_expectation() {
    checks::negative_control::<Store>();
    checks::negative_control_of_tables::<Store>();
}

#[test]
fn vectors_lesson_is_reproduced_byte_for_byte_through_the_projection() {
    checks::lesson::<Store>();
}

#[test]
fn vectors_tables_are_reproduced_row_by_row_in_the_store() {
    checks::tables::<Store>();
}
