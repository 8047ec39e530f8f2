//! Promise: `smoke` plays the whole exchange through a real server in a directory that it makes
//! itself, ends with the log judged as evidence, and overwrites nothing.
//!
//! Method: the shipped binary, its receipt, the log that it leaves, and everything that could be in
//! the way.
//!
//! Cannot see: whether real clients would do the same; `tests/clients` is for that.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod binary;

use std::fs;

use binary::{Bench, Done};
use serde_json::Value;

/// The SHA-256 of `abc`, from the standard that defines it (FIPS 180-4).
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn smoke(bench: &Bench, more: &[&str]) -> Done {
    let data = bench.data.to_str().unwrap();
    bench.run(&[&["smoke", "--data-dir", data][..], more].concat())
}

#[test]
fn the_exchange_goes_through_and_its_log_passes_as_evidence() {
    let bench = Bench::new();
    let artifact = bench.outside().join("candidate.patch");
    let receipt = bench.outside().join("receipt.json");
    fs::write(&artifact, "abc").unwrap();
    let arguments = ["--artifact", artifact.to_str().unwrap(), "--out", receipt.to_str().unwrap()];
    let done = smoke(&bench, &arguments);
    assert_eq!(done.code, 0, "{done:?}");
    let shown = done.json();
    assert_eq!(shown["evidenceGatesResult"], true);
    assert_eq!(shown["verify"]["evidenceOk"], true);
    assert_eq!(shown["verify"]["failed"], 0);
    assert_eq!(
        (&shown["artifact"]["sha256"], &shown["artifact"]["bytes"]),
        (&ABC.into(), &3.into())
    );
    let exchange = shown["exchange"].as_array().unwrap();
    let kinds: Vec<_> = exchange.iter().map(|message| message["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["task", "candidate", "handoff", "verdict"]);
    for message in exchange {
        let text = message["text"].as_str().unwrap();
        assert!(text.contains(ABC) && text.contains("3 bytes"), "{text}");
        assert_eq!((&message["read"], &message["acknowledged"]), (&true.into(), &true.into()));
        assert!(done.stderr.contains(text), "the exchange is shown to a person");
    }
    assert_eq!(exchange[1]["denied"], serde_json::json!(["approve", "merge"]));
    let written: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    assert_eq!(written, shown);

    assert_eq!(bench.names(), ["events.jsonl"]);
    assert_eq!(shown["log"]["bytes"], bench.log_bytes().len());
    let verified = bench.ok(&["verify", "--evidence", bench.log().to_str().unwrap()]);
    assert_eq!(verified["evidence"]["events"], shown["events"]);
    assert_eq!(fs::read_dir(bench.outside()).unwrap().count(), 3, "nothing else is left");
}

#[test]
fn without_flags_it_is_about_this_program_in_a_directory_of_its_own() {
    let bench = Bench::new();
    let run = || {
        let mut command = bench.command(&["smoke"]);
        command.env("TMPDIR", bench.outside());
        Done::of(command.output().unwrap())
    };
    let (first, second) = (run(), run());
    assert_eq!((first.code, second.code), (0, 0), "{first:?} {second:?}");
    assert_ne!(first.json()["dataDir"], second.json()["dataDir"]);
    assert!(!bench.data.exists(), "the directory of the environment holds somebody's log");
}

#[test]
fn a_directory_that_exists_is_refused_and_stays_as_it_is() {
    let bench = Bench::new();
    fs::create_dir(&bench.data).unwrap();
    let done = smoke(&bench, &[]);
    assert_eq!(done.code, 1, "{done:?}");
    assert_eq!(done.json()["ok"], false);
    assert_eq!(bench.names(), [""; 0]);
}

#[test]
fn a_receipt_that_exists_is_refused_before_anything_is_done() {
    let bench = Bench::new();
    let receipt = bench.outside().join("receipt.json");
    fs::write(&receipt, "theirs").unwrap();
    let done = smoke(&bench, &["--out", receipt.to_str().unwrap()]);
    assert_eq!(done.code, 1, "{done:?}");
    assert_eq!(fs::read(&receipt).unwrap(), b"theirs");
    assert!(!bench.data.exists());
}

#[test]
fn an_artifact_that_is_not_there_is_a_failure_before_anything_is_done() {
    let bench = Bench::new();
    let done = smoke(&bench, &["--artifact", "none"]);
    assert_eq!(done.code, 3, "{done:?}");
    assert!(!bench.data.exists());
}

#[test]
fn a_receipt_without_a_place_is_refused_before_anything_is_done() {
    let bench = Bench::new();
    for (place, code) in [("none/receipt.json", 3), ("data/receipt.json", 3), (".", 1)] {
        let done = smoke(&bench, &["--out", place]);
        assert_eq!(done.code, code, "{place}: {done:?}");
        assert_eq!(fs::read_dir(bench.outside()).unwrap().count(), 0, "{place}");
    }
}

#[test]
fn an_exchange_that_breaks_off_does_not_claim_that_nothing_was_written() {
    let bench = Bench::new();
    let mut command = bench.command(&["smoke", "--data-dir", bench.data.to_str().unwrap()]);
    let done = Done::of(command.env("GAIA_BUS_MAX_TEXT_BYTES", "10").output().unwrap());
    assert_eq!(done.code, 1, "{done:?}");
    assert_eq!(done.json()["ok"], false);
    assert!(!bench.log_bytes().is_empty(), "something was written");
}

#[test]
fn an_artifact_that_is_no_regular_file_is_refused_at_once() {
    let bench = Bench::new();
    let fifo = bench.outside().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (artifact, found) in [
        (fifo.to_str().unwrap(), "special file"),
        ("/dev/zero", "special file"),
        (".", "directory"),
    ] {
        let done = smoke(&bench, &["--artifact", artifact]);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains(found), "{done:?}");
        assert!(!bench.data.exists());
    }
}
