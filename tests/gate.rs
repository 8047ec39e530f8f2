//! Promise: the gate is red when a promise breaks. A fault planted in the explored protocol turns
//! the table red, names the broken promise, and the program exits with 1; without it, it exits with
//! 0.
//!
//! Method: the shipped program, end to end, with its simulated checks.
//!
//! Cannot see: the checks that need processes and file systems, which have tests of their own.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::process::Command;

use gaia_bus_harness::checks::{Check, Request};
use gaia_bus_harness::fuzzing;
use gaia_bus_harness::promises::promises;
use gaia_bus_harness::report;
use gaia_bus_harness::runs::Reach;

fn gate(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gaia-bus-harness"))
        .args(["gate", "--simulated"])
        .args(arguments)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_planted_fault_turns_the_gate_red_and_its_absence_green() {
    let (code, table) = gate(&["--plant", "skip fsync"]);
    assert_eq!(code, Some(1), "{table}");
    assert!(table.contains("RED") && table.contains("acked_durable"), "{table}");

    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("table.json");
    let (code, table) = gate(&["--json", file.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{table}");
    assert!(table.contains("GREEN"), "{table}");
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(json["green"], true);
    assert_eq!(json["options"]["simulated"], true);
    assert!(table.contains("NOT RUN: conformance, "), "{table}");
    let rows = json["rows"].as_array().unwrap();
    let planted = rows.iter().flat_map(|row| row["controls"].as_array().unwrap());
    let found: Vec<&str> = planted
        .filter(|control| control["found"] == true)
        .filter_map(|control| control["name"].as_str())
        .collect();
    for promise in promises() {
        let planted_elsewhere = fuzzing::PLANTED.iter().any(|fault| fault.1 == promise.control);
        let was_found = found.contains(&promise.control.as_str());
        assert!(was_found || planted_elsewhere, "{}: {}", promise.name, promise.control);
    }
}

#[test]
fn what_is_planted_for_the_fuzz_targets_is_found() {
    fuzzing::check(2).demand();
}

/// A check that cannot do its work is a red row, and the others are run all the same.
#[test]
fn a_check_that_cannot_work_is_a_red_row_and_a_panic_is_told() {
    let check = Check::named("many-processes").unwrap();
    let nowhere = Path::new("/nowhere/gaia-bus");
    let request = Request { executable: nowhere, reach: Reach::Test, planted: None };
    let report = check.run(&request);
    assert!(!report.is_green(), "{report}");
    let told = report::panics_as_errors(|| -> () { panic!("planted") }).unwrap_err();
    assert!(told.contains("planted") && told.contains("gate.rs"), "{told}");
}

#[test]
fn an_unknown_fault_or_story_is_refused_with_those_there_are() {
    let run = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_gaia-bus-harness")).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let (code, text) = run(&["gate", "--plant", "nothing"]);
    assert!(code == Some(2) && text.contains("skip fsync"), "{text}");
    let (code, text) = run(&["gate", "--story", "nothing"]);
    assert!(code == Some(1) && text.contains("stale-lock"), "{text}");
    let (code, text) = run(&["gate", "--story", "stale-lock"]);
    assert!(code == Some(0) && text.contains("removes the lock"), "{text}");
}
