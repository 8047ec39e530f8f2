//! Promise: whatever order processes take their calls in, whichever of them is killed, and whatever the
//! disk refuses, within the budgets named here, no promise about logs and locks is broken.
//!
//! Method: explicit-state search over the commit machine that ships, on a simulated disk; every state
//! there is within a budget. The numbers of states are pinned, so that a change of the protocol or
//! of the fault model is seen; each run also has to have seen what it is about.
//!
//! Cannot see: more processes and faults than the budgets, and what the fault model leaves out (see
//! `harness/src/disk/mod.rs`). The larger bounds are in the gate.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use gaia_bus_harness::explore::{Explored, explore, shortest};
use gaia_bus_harness::scene::{Budget, Setup};
use gaia_bus_harness::small::Kind;
use gaia_bus_harness::story;
use gaia_bus_harness::worker::Plan;

fn one() -> Plan {
    Plan::cold(&[Kind::One])
}

/// Explores everything, expecting no violation and these sights.
fn sound(setup: &Setup, sights: &[&str]) -> Explored {
    let explored = explore(setup);
    if let Some(story) = &explored.violation {
        panic!("{}:\n{story}", setup.budget);
    }
    for sight in sights {
        assert!(
            explored.sights.contains(sight),
            "never seen: {sight}; seen: {:?}",
            explored.sights
        );
    }
    explored
}

#[test]
fn two_processes_and_a_kill_at_any_call_break_no_promise() {
    let budget = Budget { crashes: 1, ..Budget::default() };
    let setup = Setup::new(vec![one(), one()], budget);
    let sights = ["a commit is answered", "a waiter times out", "a lock outlives its owner"];
    assert_eq!(sound(&setup, &sights).states, 95);
}

#[test]
fn a_breaker_of_old_locks_makes_two_writers_in_six_steps() {
    let story = shortest(&story::by_age()).unwrap();
    assert_eq!(story.broken.names(), ["one_writer"]);
    assert_eq!(story.moves.len(), 6, "\n{story}");
}

#[test]
fn a_breaker_of_dead_owners_locks_makes_two_writers_in_eleven_steps() {
    let setup = story::if_owner_is_dead();
    let found = shortest(&setup).unwrap();
    assert_eq!(found.broken.names(), ["one_writer"]);
    assert_eq!(found.moves.len(), 11, "\n{found}");
    // One process fewer, or nobody killed, and there is nothing to find: the bound is tight.
    let two = Setup { plans: setup.plans[1..].to_vec(), ..setup.clone() };
    assert!(explore(&two).violation.is_none());
    assert!(explore(&Setup { budget: Budget::default(), ..setup }).violation.is_none());
}
