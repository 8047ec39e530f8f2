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

#[path = "support/stored.rs"]
mod stored;

use gaia_bus::log::DamageKind;
use gaia_bus::replay::LogFault;
use gaia_bus_model::json::Json;

use stored::{Store, is_deviation, negative_control_of_raw_logs, raw_logs, read};
use support::{DEVIATIONS, base64, cases, checks, field, line, nested, text};

#[test]
fn vectors_raw_logs_parse_or_are_damaged_as_recorded() {
    assert!(raw_logs() > 0);
}

#[test]
fn vectors_raw_logs_do_not_parse_as_anything_else() {
    assert!(negative_control_of_raw_logs() > 0);
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
    assert!(checks::sequences::<Store>() > 0);
}

#[test]
fn vectors_logs_that_parse_fold_to_what_was_recorded_in_the_store() {
    assert!(checks::logs::<Store>() > 0);
}

#[test]
fn vectors_checks_of_the_store_see_a_change_in_any_expectation() {
    assert!(checks::negative_control::<Store>() > 0);
    assert!(checks::negative_control_of_tables::<Store>() > 0);
}

#[test]
fn vectors_lesson_is_reproduced_byte_for_byte_through_the_projection() {
    assert!(checks::lesson::<Store>() > 0);
}

#[test]
fn vectors_tables_are_reproduced_row_by_row_in_the_store() {
    assert!(checks::tables::<Store>() > 0);
}
