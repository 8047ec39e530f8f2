//! The store's reader and its two folds under test.

use gaia_bus::archive::Archive;
use gaia_bus::log::Damage;
use gaia_bus::projection::{Projection, WithBodies};
use gaia_bus::replay::{LogFault, Replay};
use gaia_bus_model::command::{Command, Limits};
use gaia_bus_model::decide::{self, Decision};
use gaia_bus_model::integrity;
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::text::Text;
use gaia_bus_model::view::{Pending, View};

use super::support::checks::Fold;
use super::support::{self, base64, cases, field, line, nested, text};

/// A log in memory, and the two folds that production makes of one.
#[derive(Debug, PartialEq)]
pub(crate) struct Store {
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
pub(crate) fn read(log: &[u8], chunk_bytes: usize) -> Result<Replay<Archive>, LogFault> {
    let mut replay = Replay::new(Archive::new());
    for chunk in log.chunks(chunk_bytes) {
        replay.feed(chunk)?;
    }
    replay.finish()?;
    Ok(replay)
}

/// Compares how a raw log is read with what the case has.
pub(crate) fn check_parse(case: &Object) -> Result<(), String> {
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

pub(crate) fn is_deviation(case: &Object) -> bool {
    support::deviation(&text(case, "name").to_string()).is_some()
}

/// Every raw log that is no deviation: it parses, or is damaged in the recorded line by the
/// recorded kind.
pub(crate) fn raw_logs() -> usize {
    let mut cases = cases("logs.jsonl");
    cases.retain(|case| !is_deviation(case));
    for case in &cases {
        check_parse(case).unwrap_or_else(|what| panic!("{}: {what}", text(case, "name")));
    }
    cases.len()
}

/// The negative control: no raw log is read as anything but what was recorded, and damage that is
/// named one byte off is seen.
pub(crate) fn negative_control_of_raw_logs() -> usize {
    let mut planted = 0;
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
            planted += 1;
        }
        let log = base64(text(case, "base64"));
        if let Err(LogFault::Damaged(mut damage)) = read(&log, log.len().max(1)) {
            damage.offset += 1;
            assert!(check_damage(&log, &damage, expected).is_err());
            planted += 1;
        }
    }
    planted
}
