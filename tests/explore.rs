//! Promise: whatever order processes take their calls in, whichever of them is killed, whenever the
//! power fails and whatever the disk refuses, within the budgets named in `harness/src/runs.rs`, no
//! promise about logs and locks is broken.
//!
//! Method: explicit-state search over the commit machine that ships, on a simulated disk; every
//! state there is within a budget. The numbers of states are pinned, so that a change of the
//! protocol or of the fault model is seen; each run also has to have seen what it is about.
//!
//! Cannot see: more processes and faults than the budgets, and what the fault model leaves out (see
//! `harness/src/disk/mod.rs`). The larger bounds are in the gate.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use gaia_bus_harness::controls::{breakers, plant_breakers};
use gaia_bus_harness::disk::bend::Fault;
use gaia_bus_harness::explore::{explore, shortest};
use gaia_bus_harness::invariant::{Broken, INVARIANTS};
use gaia_bus_harness::report::Draft;
use gaia_bus_harness::runs::{self, Reach};
use gaia_bus_harness::scene::{Budget, Setup};
use gaia_bus_harness::small::Kind;
use gaia_bus_harness::story;
use gaia_bus_harness::worker::Plan;

fn some(count: usize, budget: Budget) -> Setup {
    Setup::new(vec![Plan::cold(&[Kind::One]); count], budget)
}

#[test]
fn no_promise_breaks_within_the_budgets_and_every_run_sees_what_it_is_about() {
    let wrong: Vec<String> = runs::of(Reach::Test).iter().flat_map(|run| run.judge().1).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_breaker_of_old_locks_makes_two_writers_in_six_steps() {
    let story = shortest(&story::by_age()).unwrap();
    assert_eq!(story.broken.names(), ["one_writer"]);
    assert_eq!(story.moves.len(), 6, "\n{story}");
}

#[test]
fn the_story_of_the_stale_lock_names_every_step_and_what_it_breaks() {
    let text = story::tell_of("stale-lock").unwrap();
    for words in [
        "A removes the lock that it took for abandoned",
        "C is killed",
        "broken: one_writer: at most one live process is between acquire and release",
    ] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    assert_eq!(story::tell_of("no such story"), None);
}

/// Two people repair the same lock. With the claim nothing happens; without it the second removes
/// the lock of a live writer.
#[test]
fn two_people_who_do_not_claim_the_lock_make_two_writers() {
    let budget = Budget { crashes: 1, repairs: 2, ..Budget::default() };
    let people = Setup { people: 2, ..some(3, budget) };
    assert!(explore(&people).violation.is_none());
    let careless = people.with(Fault::PersonDoesNotClaim);
    let story = shortest(&careless.clone().watching(Broken::named(&["one_writer"]))).unwrap();
    assert_eq!(story.moves.len(), 15, "\n{story}");
    let one = Setup { people: 1, ..careless };
    assert!(explore(&one).violation.is_none());
}

/// A limit: between `mkdir` and the open of the lock directory a process cannot tell its lock from
/// one that was made there after someone removed its own.
#[test]
fn limit_a_lock_removed_before_it_is_opened_can_be_confused_with_the_next_one() {
    let budget = Budget { careless: 1, ..Budget::default() };
    let setup = some(2, budget).watching(Broken::named(&["foreign_lock_kept"]));
    assert!(explore(&setup).violation.is_none());
    let story = shortest(&Setup { is_indecent: true, ..setup }).unwrap();
    assert_eq!(story.moves.len(), 14, "\n{story}");
}

/// A limit: bytes that another program appends between reading back and truncating are cut.
#[test]
fn limit_a_foreign_append_during_the_truncation_is_cut() {
    let budget = Budget { foreign_appends: 1, short_writes: 1, ..Budget::default() };
    let setup = some(1, budget).watching(Broken::named(&["log_extends"]));
    assert!(explore(&setup).violation.is_none());
    let story = shortest(&Setup { is_indecent: true, ..setup }).unwrap();
    assert_eq!(story.moves.len(), 12, "\n{story}");
}

/// Every invariant can fail: for each there is a planted fault that breaks it, with nothing else
/// watched.
#[test]
fn every_invariant_is_broken_by_some_planted_fault() {
    let mut draft = Draft::new("breakers", "one for each invariant");
    plant_breakers(&mut draft);
    let report = draft.finish();
    assert_eq!((report.controls_found(), report.controls_missed()), (INVARIANTS.len(), 0));
    for ((name, _), invariant) in breakers().into_iter().zip(&INVARIANTS) {
        assert_eq!(name, invariant.name);
    }
}
