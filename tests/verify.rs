//! Promise: `verify` judges a log as the recorded verdicts have it, asks more in its history
//! section, and never prints a failure that it does not return: every red check gates unless it is
//! one of the named advisory ones, and a negative control that passes is red itself.
//!
//! Method: the recorded logs for names, verdicts and green details; every recorded sequence as a
//! log that must be green throughout (no false alarm); drifted names and blinded checks for the
//! gate.
//!
//! Cannot see: which single faults no check notices (`tests/verify_mutations.rs` lists those), and
//! whether doctor agrees (`tests/verify_relation.rs`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/mod.rs"]
mod support;

use std::io::{ErrorKind, Read};

use gaia_bus::failure::Failure;
use gaia_bus::verify::controls::Fault;
use gaia_bus::verify::evidence::{self, EvidenceCheck};
use gaia_bus::verify::history::{self, HistoryCheck};
use gaia_bus::verify::{
    ADVISORY, Check, Claim, Records, Report, Section, controls, log_sections, read_evidence,
};
use gaia_bus_model::json::{Json, Object};

/// Recorded verdicts in which this project is stricter on purpose: the log, the check, the reason.
const STRICTER: [(&str, &str, &str); 1] = [(
    "granted-unknown",
    "no message was granted a privileged authority",
    "a grant outside the grantable list is red even when it is not on the never-grantable one",
)];

fn read(log: &[u8]) -> Records {
    read_evidence(log).unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// The check as the vectors show it: a detail only where it is green.
fn as_recorded(check: &Check) -> Object {
    Object::new()
        .with("name", check.name.as_str())
        .with("ok", check.ok)
        .with_some("detail", check.ok.then_some(check.detail.as_str()))
}

fn compare(case: &Object, checks: &[Check]) -> Result<(), String> {
    let name = support::text(case, "name").to_str_lossy();
    let expected = support::list(case, "evidence");
    if expected.len() != checks.len() {
        return Err(format!("{name}: {} checks, expected {}", checks.len(), expected.len()));
    }
    for (check, expected) in checks.iter().zip(expected) {
        let expected = expected.as_object().unwrap();
        let stricter =
            STRICTER.iter().any(|(log, stricter, _)| *log == name && *stricter == check.name);
        if stricter {
            if check.ok {
                return Err(format!("{name}: {} is no stricter than recorded", check.name));
            }
        } else if as_recorded(check) != *expected {
            let shown = support::line(expected);
            return Err(format!("{name}: {check:?}, expected {shown}"));
        }
    }
    Ok(())
}

/// The recorded logs that fold, with their verdicts.
fn judged_cases() -> Vec<Object> {
    let mut cases = support::cases("logs.jsonl");
    cases.retain(|case| {
        case.get("evidence").is_some_and(|evidence| evidence.as_array().is_some())
            && support::deviation(&support::text(case, "name").to_str_lossy()).is_none()
    });
    cases
}

#[test]
fn vectors_every_recorded_verdict_and_green_detail_is_ours() {
    for case in judged_cases() {
        let records = read(&support::base64(support::text(&case, "base64")));
        let checks = evidence::judge(&evidence::CHECKS, records.as_slice());
        compare(&case, &checks).unwrap_or_else(|what| panic!("{what}"));
        // The negative control: a verdict that is turned around, or a detail that drifts, is seen.
        for place in 0..checks.len() {
            let mut tampered = checks.clone();
            tampered[place].ok = !tampered[place].ok;
            let is_named = STRICTER.iter().any(|(_, name, _)| *name == checks[place].name);
            assert!(is_named || compare(&case, &tampered).is_err());
            if checks[place].ok {
                tampered[place] = checks[place].clone();
                tampered[place].detail.push('.');
                assert!(compare(&case, &tampered).is_err());
            }
        }
    }
}

#[test]
fn vectors_every_recorded_sequence_is_green_in_history_and_in_every_gating_check() {
    for case in support::cases("sequences.jsonl") {
        let mut log: Vec<Object> = Vec::new();
        for step in support::list(&case, "steps") {
            for line in support::list(step.as_object().unwrap(), "appended") {
                log.push(support::object(line.as_text().unwrap().to_str_lossy().as_bytes()));
            }
        }
        let seed = support::field(&case, "seed");
        for section in log_sections(&log, Claim::None) {
            for check in section.checks {
                let advisory = ADVISORY.contains(&check.name.as_str());
                let expected = check.name != history::CUT_BATCH && advisory;
                assert!(check.ok || expected, "{seed:?}: {check:?}");
            }
        }
    }
}

fn lesson() -> Option<Records> {
    support::file("lesson.events.jsonl").map(|bytes| read(&bytes))
}

#[test]
fn vectors_the_lesson_log_is_green_throughout_and_passes_as_evidence() {
    let Some(records) = lesson() else { return };
    let [evidence, history] = log_sections(records.as_slice(), Claim::Evidence);
    assert_eq!(evidence.checks.len(), 17);
    assert_eq!(history.checks.len(), history::CHECKS.len() + 1);
    for check in evidence.checks.iter().chain(&history.checks) {
        assert!(check.ok, "{check:?}");
    }
}

fn report(records: &[Object], claim: Claim) -> Report {
    Report::of(Vec::new(), records, "memory".into(), claim)
}

fn red(report: &Report) -> Vec<&str> {
    let checks = report.sections.iter().flat_map(|section| &section.checks);
    checks.filter(|check| !check.ok).map(|check| check.name.as_str()).collect()
}

#[test]
fn an_empty_workspace_shows_five_red_checks_that_gate_only_where_it_is_claimed_as_evidence() {
    let looked = report(&[], Claim::None);
    assert_eq!(red(&looked), &ADVISORY[..5]);
    assert!(looked.ok && !looked.evidence_ok && !looked.evidence_gates_result);
    let all: usize = looked.sections.iter().map(|section| section.checks.len()).sum();
    assert_eq!((looked.exit_code(), looked.failed, looked.passed), (0, 5, all - 5));
    let gating = |report: &Report| report.sections.iter().map(|s| s.gates_result).collect();
    let gates: Vec<_> = gating(&looked);
    assert_eq!(gates, [Some(false), Some(true)]);
    let claimed = report(&[], Claim::Evidence);
    assert_eq!(red(&claimed), &ADVISORY[..5]);
    assert!(!claimed.ok && claimed.evidence_gates_result);
    let gates: Vec<_> = gating(&claimed);
    assert_eq!(gates, [Some(true), Some(true)]);
    assert_eq!(claimed.exit_code(), 1);
}

#[test]
fn a_cut_batch_is_shown_and_gates_only_where_the_log_is_claimed_as_evidence() {
    let mut log = controls::genuine();
    log.retain(|record| *record.get_text("type").unwrap() != "authority.denied");
    let looked = report(&log, Claim::None);
    assert_eq!(red(&looked), [history::CUT_BATCH]);
    assert_eq!((looked.exit_code(), looked.evidence_ok), (0, false));
    assert_eq!(report(&log, Claim::Evidence).exit_code(), 1);
}

#[test]
fn every_check_gates_unless_its_very_name_is_on_the_advisory_list() {
    let names = [
        "a check that nobody has heard of yet".to_owned(),
        String::new(),
        format!("{} ", ADVISORY[0]),
        ADVISORY[1].to_uppercase(),
        format!("{}s", ADVISORY[2]),
        ADVISORY[3].replace("one", "two"),
        history::CUT_BATCH.replace(' ', "-"),
    ];
    let made = |name: &str, claim| {
        let checks = vec![Check::new(name, Err("red".into()))];
        let section = Section { section: "any", gates_result: None, checks };
        Report::from_sections(vec![section], 0, "memory".into(), claim)
    };
    for name in &names {
        assert_eq!(made(name, Claim::None).exit_code(), 1, "{name:?}");
        assert_eq!(made(name, Claim::Evidence).exit_code(), 1, "{name:?}");
    }
    for name in ADVISORY {
        assert_eq!(made(name, Claim::None).exit_code(), 0, "{name:?}");
        assert_eq!(made(name, Claim::Evidence).exit_code(), 1, "{name:?}");
    }
}

#[test]
fn every_advisory_name_is_the_name_of_a_check() {
    let evidence = evidence::CHECKS.iter().map(|check| check.name);
    let names: Vec<_> = evidence.chain(history::CHECKS.iter().map(|check| check.name)).collect();
    for name in ADVISORY {
        assert!(names.contains(&name), "{name}");
    }
}

/// Gives its bytes one at a time, and each only after it was interrupted; then it fails or ends.
struct Interrupted<'a> {
    rest: &'a [u8],
    is_interrupted: bool,
    last: Option<ErrorKind>,
}

impl Read for Interrupted<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.is_interrupted = !self.is_interrupted;
        match (self.is_interrupted, self.rest, self.last) {
            (true, ..) => Err(ErrorKind::Interrupted.into()),
            (false, [], Some(kind)) => Err(kind.into()),
            (false, rest, _) => {
                let read = rest.len().min(1);
                into[..read].copy_from_slice(&rest[..read]);
                self.rest = &rest[read..];
                Ok(read)
            }
        }
    }
}

#[test]
fn an_evidence_file_is_read_to_its_end_through_interruptions_and_no_failure_is_an_end() {
    let lines = |record: &Object| [record.to_line(), vec![b'\n']].concat();
    let log: Vec<u8> = controls::genuine().iter().flat_map(lines).collect();
    let file = |last| Interrupted { rest: &log, is_interrupted: false, last };
    assert_eq!(read_evidence(file(None)).unwrap(), read(&log));
    for kind in [ErrorKind::PermissionDenied, ErrorKind::Other] {
        let failure = read_evidence(file(Some(kind))).unwrap_err();
        assert!(matches!(failure, Failure::Io { .. }), "{failure:?}");
    }
}

fn place(log: &[Object], record_type: &str) -> usize {
    log.iter().position(|record| *record.get_text("type").unwrap() == record_type).unwrap()
}

fn without(record: &Object, key: &str) -> Object {
    let kept = record.iter().filter(|(own, _)| **own != key);
    kept.map(|(own, value)| (own.clone(), value.clone())).collect()
}

/// What a check says of a log in which it is red.
fn red_detail(log: &[Object], name: &str) -> String {
    let checks = report(log, Claim::None).sections.into_iter().flat_map(|section| section.checks);
    let mut red = checks.filter(|check| !check.ok && check.name == name);
    red.next().unwrap_or_else(|| panic!("{name} is green")).detail
}

#[test]
fn a_red_detail_names_the_line_the_message_and_the_value_that_were_found() {
    let genuine = controls::genuine();
    let handoff = place(&genuine, "work.handed-off");
    let mut log = genuine.clone();
    log[handoff].set("authorityTransferred", vec!["merge"]);
    let once = red_detail(&log, evidence::NOTHING_TRANSFERRED);
    assert_eq!(once, r#"the handoff of "msg-0003" has authorityTransferred "[\"merge\"]""#);
    log.push(log[handoff].clone());
    let twice = red_detail(&log, evidence::NOTHING_TRANSFERRED);
    assert_eq!(twice, format!("{once}, and 1 more"));
    log.truncate(genuine.len());
    log[handoff] = without(&log[handoff], "authorityTransferred");
    let told = red_detail(&log, evidence::NOTHING_TRANSFERRED);
    assert_eq!(told, r#"the handoff of "msg-0003" has authorityTransferred nothing"#);

    let mut log = genuine.clone();
    let sent = place(&log, "message.sent");
    log[sent] = without(&log[sent], "message");
    let told = red_detail(&log, "replayable");
    assert!(told.starts_with(&format!("line {} does not fold: ", sent + 1)), "{told}");

    let mut log = genuine;
    let beat = place(&log, "actor.heartbeat");
    log[beat].set("at", "today");
    let told = red_detail(&log, "every time has the form that this bus writes");
    assert_eq!(told, format!("line {}: at is no time that this bus writes", beat + 1));
}

#[test]
fn a_rejection_in_no_words_and_a_record_of_an_actor_that_there_is_not_are_red() {
    let genuine = controls::genuine();
    for (record_type, key, value) in [
        ("command.rejected", "reason", Json::from(" ")),
        ("command.rejected", "code", Json::from(" ")),
        ("command.rejected", "code", Json::from(7_u64)),
        ("message.repeated", "from", Json::from("act-0099")),
        ("inbox.polled", "actorId", Json::from("act-0099")),
    ] {
        let mut log = genuine.clone();
        let place = place(&log, record_type);
        log[place].set(key, value);
        red_detail(&log, "every record is what this bus writes at that place");
    }
}

#[test]
fn of_threads_of_one_size_the_first_to_reach_it_is_named() {
    let mut log = controls::genuine();
    let sent = place(&log, "message.sent");
    let message = log[sent].get("message").unwrap().as_object().unwrap().clone();
    for number in 10..13 {
        let id = format!("msg-00{number}");
        let other = message.clone().with("messageId", id).with("correlationId", "cor-other");
        log.push(Object::new().with("type", "message.sent").with("message", other));
    }
    let checks = evidence::judge(&evidence::CHECKS, &log);
    let thread = checks.iter().find(|check| check.name == evidence::THREAD).unwrap();
    assert_eq!(thread.detail, "widest thread cor-control has 3 messages");
}

#[test]
fn a_fault_is_planted_in_the_first_record_of_its_type_and_changes_nothing_else() {
    let log = controls::genuine();
    let beat = place(&log, "actor.heartbeat");
    let last = log.len() - 1;
    let (before, after) = (&log[..beat], &log[beat + 1..]);
    let changed = |record: Object| [before, &[record], after].concat();
    let beat_of = "actor.heartbeat";
    for (fault, wanted) in [
        (Fault::Remove(beat_of), [before, after].concat()),
        (Fault::Double(beat_of), [&log[..], &log[beat..=beat]].concat()),
        (Fault::Swap(beat_of), [before, &after[..1], &log[beat..=beat], &after[1..]].concat()),
        (
            Fault::Set { record_type: beat_of, path: &[], key: "at", value: "x" },
            changed(log[beat].clone().with("at", "x")),
        ),
        (
            Fault::Set { record_type: beat_of, path: &["none"], key: "at", value: "x" },
            changed(log[beat].clone()),
        ),
        (Fault::DropKey { record_type: beat_of, key: "at" }, changed(without(&log[beat], "at"))),
        (Fault::Remove("no such type"), log.clone()),
    ] {
        assert_eq!(fault.plant(log.clone()), wanted, "{fault:?}");
    }
    assert_eq!(Fault::Swap(beat_of).plant(log[beat..=beat].to_vec()), log[beat..=beat]);
    assert_eq!(last, beat + 1, "a swap with the last record is among the cases");
}

/// A run whose evidence checks are these.
fn run_with(checks: &[EvidenceCheck], claim: Claim) -> Report {
    let checks = controls::judge(checks);
    let section = Section { section: "evidence", gates_result: Some(false), checks };
    Report::from_sections(vec![section], 0, "memory".into(), claim)
}

#[test]
fn a_run_in_which_a_negative_control_passes_is_red_in_both_regimes() {
    let guarded =
        [evidence::THREE_ACTORS, evidence::AUTHORITY_FROZEN, evidence::NOTHING_TRANSFERRED];
    for claim in [Claim::None, Claim::Evidence] {
        assert_eq!(run_with(&evidence::CHECKS, claim).exit_code(), 0);
        for name in guarded {
            let mut blinded = evidence::CHECKS;
            let check = blinded.iter_mut().find(|check| check.name == name).unwrap();
            check.judge = |_| Ok("all is well".into());
            assert_eq!(run_with(&blinded, claim).exit_code(), 1, "{name} sees nothing");
            // A check that is red on everything rejects the control for no reason.
            let check = blinded.iter_mut().find(|check| check.name == name).unwrap();
            check.judge = |_| Err("all is lost".into());
            assert_eq!(run_with(&blinded, claim).exit_code(), 1, "{name} rejects everything");
        }
        // The first control is a log of one actor, and not one of none.
        let mut counting = evidence::CHECKS;
        let check = counting.iter_mut().find(|check| check.name == evidence::THREE_ACTORS);
        check.unwrap().judge = |log| {
            if log.actors.len() == 1 { Err("one".into()) } else { Ok("none, or more".into()) }
        };
        assert_eq!(run_with(&counting, claim).exit_code(), 0);
    }
}

#[test]
fn a_history_check_that_sees_nothing_or_lacks_a_control_makes_the_run_red() {
    let judged = |checks: &[HistoryCheck]| {
        let made = history::judge_controls(checks);
        assert_eq!(made.name, history::CONTROLS);
        assert!(made.gates(Claim::None));
        if made.ok { Ok(made.detail) } else { Err(made.detail) }
    };
    let all: usize = history::CHECKS.iter().map(|check| check.controls.len()).sum();
    assert_eq!(judged(&history::CHECKS), Ok(format!("{all} of {all} rejected")));
    for place in 0..history::CHECKS.len() {
        let name = history::CHECKS[place].name;
        let mut blinded = history::CHECKS;
        blinded[place].judge = |_| Ok(());
        let told = judged(&blinded).unwrap_err();
        assert_eq!(told, format!("{name}: green on {:?}", blinded[place].controls[0]));
        assert!(told.contains(": green on a log with"), "{told}");
        let mut uncontrolled = history::CHECKS;
        uncontrolled[place].controls = &[];
        assert_eq!(judged(&uncontrolled), Err(format!("{name}: has no control")));
    }
}

#[test]
fn the_genuine_log_holds_every_type_of_record_and_is_green() {
    let log = controls::genuine();
    for record_type in gaia_bus_model::event::RecordType::ALL {
        let is_there =
            log.iter().any(|record| *record.get_text("type").unwrap() == record_type.name());
        assert!(is_there, "{}", record_type.name());
    }
    assert_eq!(red(&report(&log, Claim::Evidence)), [""; 0]);
}

#[test]
fn a_later_clean_record_does_not_cover_up_an_earlier_one() {
    let privileged = |log: &mut Vec<Object>| {
        let place = log.iter().position(|record| record.get("message").is_some()).unwrap();
        let clean = log[place].clone();
        let message = clean.get("message").unwrap().as_object().unwrap();
        let authority = message.get("authority").unwrap().as_object().unwrap();
        let tampered = authority.clone().with("granted", vec!["merge"]);
        log[place].set("message", message.clone().with("authority", tampered));
        log.push(clean);
    };
    let mut log = controls::genuine();
    privileged(&mut log);
    let report = report(&log, Claim::None);
    assert!(red(&report).contains(&"no message was granted a privileged authority"));
    assert_eq!(report.exit_code(), 1);
}

#[test]
fn a_later_acknowledgement_does_not_cover_up_one_by_nobody() {
    let mut log = controls::genuine();
    let place = place(&log, "message.acked");
    let clean = log[place].clone();
    log[place].set("actorId", Json::from("act-0099"));
    log.push(clean);
    let report = report(&log, Claim::None);
    assert!(red(&report).contains(&"every address in the log belongs to an actor this bus minted"));
}

#[test]
fn records_and_keys_of_a_newer_build_raise_no_alarm() {
    let mut log = controls::genuine();
    log.insert(2, Object::new().with("type", "future.event"));
    log[0].set("more", true);
    let place = log.iter().position(|record| record.get("message").is_some()).unwrap();
    let message = log[place].get("message").unwrap().as_object().unwrap().clone();
    log[place].set("message", message.with("more", Json::Null));
    assert_eq!(red(&report(&log, Claim::Evidence)), [""; 0]);
}
