//! Promise: `verify` never disagrees with `doctor`, it only asks more: where doctor is red, verify
//! is not green.
//!
//! Method: both judge a corpus: the lesson, every recorded raw log, each of them torn, and the
//! lesson with every field of every record removed or made another value in turn. Doctor's verdict
//! is made of the archive that doctor shows; the shipped binary is asked for a sample of them.
//!
//! Cannot see: the lock, which `verify --evidence` does not take.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod binary;
#[path = "support/mod.rs"]
mod support;

use binary::Bench;
use gaia_bus::archive::Archive;
use gaia_bus::replay::Replay;
use gaia_bus::verify::{Claim, Report, Section, evidence, history, read_evidence};
use gaia_bus_model::json::{Json, Object};

/// The exit code of doctor on a log: 3 damaged, 1 unsound, 0 sound.
fn doctor(log: &[u8]) -> u8 {
    let mut replay: Replay<Archive> = Replay::new(Archive::new());
    replay.begin();
    if replay.feed(log).and_then(|()| replay.finish()).is_err() {
        return 3;
    }
    let archive = replay.into_fold();
    u8::from(!archive.integrity().is_empty() || !archive.correlation().is_ok())
}

/// The exit code of verify on it, with all that is the same whatever the log left out.
fn verify(log: &[u8]) -> u8 {
    match read_evidence(log) {
        Ok(records) => {
            let records = records.as_slice();
            let mut checks = evidence::judge(&evidence::CHECKS, records);
            checks.extend(history::judge(&history::CHECKS, records));
            let section = Section { section: "log", gates_result: None, checks };
            Report::from_sections(vec![section], records.len(), "memory".into(), Claim::None)
                .exit_code()
        }
        Err(failure) => failure.exit_code(),
    }
}

fn bytes(records: &[Object]) -> Vec<u8> {
    records.iter().flat_map(|record| [record.to_line(), b"\n".to_vec()].concat()).collect()
}

/// The object with each of its keys removed, or set to each of some values, at any depth of
/// objects.
fn variants(object: &Object) -> Vec<Object> {
    let others = [
        Json::Null,
        7.into(),
        "act-0009".into(),
        "cor-9007199254740991".into(),
        "cor-99999999999999999".into(),
        vec!["approve"].into(),
    ];
    let mut found = Vec::new();
    for (key, value) in object.iter() {
        let name = key.to_str_lossy();
        let kept = object.iter().filter(|(own, _)| *own != key);
        found.push(kept.map(|(key, value)| (key.clone(), value.clone())).collect());
        found.extend(others.iter().map(|other| object.clone().with(&name, other.clone())));
        if let Json::Object(inner) = value {
            found
                .extend(variants(inner).into_iter().map(|inner| object.clone().with(&name, inner)));
        }
    }
    found
}

/// Named logs, sound and unsound.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let mut corpus = vec![("empty".to_owned(), Vec::new())];
    for case in support::cases("logs.jsonl") {
        let name = support::text(&case, "name").to_str_lossy().into_owned();
        let log = support::base64(support::text(&case, "base64"));
        let torn = log[..log.len().saturating_sub(5)].to_vec();
        corpus.push((format!("{name}, torn"), torn));
        corpus.push((name, log));
    }
    let Some(lesson) = support::file("lesson.events.jsonl") else { return corpus };
    let records = support::records(&lesson);
    for index in 0..records.len() {
        for (number, variant) in variants(&records[index]).into_iter().enumerate() {
            let mut changed = records.clone();
            changed[index] = variant;
            corpus.push((format!("lesson, line {} change {number}", index + 1), bytes(&changed)));
        }
    }
    corpus.push(("lesson".to_owned(), lesson));
    corpus
}

#[test]
fn verify_is_never_green_where_doctor_is_red() {
    let mut seen = [[0_u32; 4]; 4];
    for (name, log) in corpus() {
        let (doctor, verify) = (doctor(&log), verify(&log));
        assert!(doctor == 0 || verify != 0, "{name}: doctor {doctor}, verify {verify}");
        assert_eq!(doctor == 3, verify == 3, "{name}: doctor {doctor}, verify {verify}");
        seen[usize::from(doctor)][usize::from(verify)] += 1;
    }
    println!("doctor x verify: {seen:?}");
    // The corpus shows every combination that may be: it asks more, and it is not always red.
    for (doctor, verify) in [(0, 0), (0, 1), (1, 1), (3, 3)] {
        assert!(seen[doctor][verify] > 0, "no log has doctor {doctor} and verify {verify}");
    }
}

#[test]
fn the_shipped_binary_keeps_the_relation_on_every_recorded_log() {
    for case in support::cases("logs.jsonl") {
        let name = support::text(&case, "name").to_str_lossy().into_owned();
        let log = support::base64(support::text(&case, "base64"));
        let bench = Bench::with_log(&log);
        let doctored = bench.run(&["doctor"]);
        let verified = bench.run(&["verify"]);
        assert_eq!(doctored.code, i32::from(doctor(&log)), "{name}: {doctored:?}");
        assert_eq!(verified.code, i32::from(verify(&log)), "{name}: {verified:?}");
        assert!(doctored.code == 0 || verified.code != 0, "{name}");
    }
}
