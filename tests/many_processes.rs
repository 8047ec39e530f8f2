//! Promise: however many processes share a directory and whichever of them die, one order that
//! agrees with real time explains every answer, and the log is that order.
//!
//! Method: real workers of the shipped entry point, killed at random, judged by the witness checker
//! (`gaia_bus_harness::processes` and `history`); the checker itself is held against exhaustive
//! search. Programs that are no bus at all show that misbehaviour is a violation, never a panic or
//! a pass.
//!
//! Cannot see: power loss, and interleavings that this machine's scheduler never makes.

#![allow(missing_docs)]

use std::path::Path;

use gaia_bus_harness::history::{Operation, Outcome, Unexplained, judge};
use gaia_bus_harness::strategy::instant;
use gaia_bus_harness::{crash_real, history, processes, program};
use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::decide;
use gaia_bus_model::json::Object;
use gaia_bus_model::state::State;

#[test]
fn one_order_explains_what_many_killed_processes_were_told() {
    let executable = Path::new(env!("CARGO_BIN_EXE_gaia-bus-harness"));
    processes::check(processes::Size::TEST, executable).demand();
}

#[test]
fn the_witness_checker_agrees_with_exhaustive_search() {
    history::cross_check(20_000).demand();
}

#[test]
fn a_program_that_is_no_bus_is_a_violation_and_no_panic() {
    if program::strace_is_missing().is_some() || std::env::var_os("GAIA_BUS_BIN").is_some() {
        return;
    }
    // One that says nothing and succeeds, and one that says what is no JSON.
    for mute in ["/bin/true", "/bin/echo"] {
        let row = processes::check(processes::Size::TEST, Path::new(mute));
        assert!(row.skipped.is_none() && !row.violations.is_empty(), "{row}");
        let row = crash_real::system_calls(crash_real::Size::TEST, Path::new(mute));
        assert!(row.skipped.is_none() && !row.violations.is_empty(), "{row}");
        assert_eq!(row.controls_found(), 0, "{row}");
    }
}

/// Two registrations, one after the other, as they are told and logged.
fn two_registrations() -> (Vec<Object>, Vec<Operation>) {
    let (mut state, mut log, mut history) = (State::default(), Vec::new(), Vec::new());
    for (process, invoked) in [(0, 1), (1, 5)] {
        let arguments = Object::new().with("actorId", format!("p{process}"));
        let verb = Verb::Register;
        let command = Command { verb, at: instant(1), arguments: arguments.clone() };
        let decision = decide(&state, &command, &Limits::default());
        for event in decision.events {
            state.apply(&event).expect("own records fold");
            log.push(event);
        }
        let answer = decision.answer.map_err(|refusal| refusal.code.as_str().to_owned());
        let outcome = Outcome::Answered(answer);
        let returned = invoked + 1;
        history.push(Operation { process, invoked, returned, verb, arguments, outcome });
    }
    (log, history)
}

#[test]
fn what_no_order_explains_is_told_apart() {
    let (log, history) = two_registrations();
    assert!(judge(&log, &history).is_ok());
    let is_record = |log: &[Object], at: usize| {
        let judged = judge(log, &history);
        matches!(judged, Err(Unexplained::Record { place, .. }) if place == at)
    };
    assert!(is_record(&log[1..], 0));
    assert!(is_record(&[&log[..], &log[1..]].concat(), 2));
    assert!(matches!(judge(&log[..1], &history), Err(Unexplained::Missing { .. })));
    let mut late = history.clone();
    (late[0].invoked, late[0].returned) = (8, 9);
    assert!(matches!(judge(&log, &late), Err(Unexplained::OutOfTime { place: 0, .. })));
    // What does not fold is the answer to nobody: a sentence, not a panic.
    assert!(is_record(&[Object::new().with("type", "actor.registered").with("at", instant(1))], 0));
}

#[test]
fn a_log_judges_no_invariant_of_which_it_has_no_record() {
    let (log, _) = two_registrations();
    let judged = program::judged(&program::types(&log));
    assert_eq!(judged, ["records_whole", "replay_legal"]);
    assert!(program::judged(&program::types(&[])).is_empty());
}

#[test]
fn an_answer_that_is_none_is_told_as_such() {
    for none in ["", "[]\n", "{}\n", "{\"ok\":true\n", "{\"failClosed\":false}\n"] {
        assert!(program::told_by(none.as_bytes()).is_err(), "{none}");
    }
    let closed = program::told_by(b"{\"failClosed\":true,\"code\":\"io\"}\n");
    assert_eq!(closed, Ok(Outcome::FailedClosed));
}
