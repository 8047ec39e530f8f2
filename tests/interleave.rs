//! Promise: threads that get at one disk in any order, with any of them killed after any call,
//! break no promise about logs and locks.
//!
//! Method: loom runs real threads, each with the commit machine that ships, over one simulated disk
//! behind a mutex: two in every order, three with at most two preemptions. The numbers of orders
//! are pinned. `tests/mutants.rs` plants the faults that this finds.
//!
//! Cannot see: more than the scripted faults, and, for three processes, more preemptions than the
//! bound.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use gaia_bus_harness::disk::Outcome;
use gaia_bus_harness::interleave::{Interleaved, Script, interleave};
use gaia_bus_harness::scene::{Budget, Setup};
use gaia_bus_harness::small::Kind;
use gaia_bus_harness::worker::{Plan, Verdict};

/// A commit of one record has fewer calls.
const CALLS_MAX: u32 = 16;

fn processes(count: usize) -> Setup {
    Setup::new(vec![Plan::cold(&[Kind::One]); count], Budget::default())
}

/// Every order of a script, expecting nothing broken.
fn sound(setup: &Setup, script: Script) -> Interleaved {
    let found = interleave(setup, script);
    assert!(found.broken.is_empty(), "{script:?}: {:?}", found.broken.names());
    found
}

#[test]
fn two_processes_in_every_order_break_no_promise() {
    let found = sound(&processes(2), Script::default());
    assert!(found.verdicts.contains(&Verdict::Answered));
    assert!(found.verdicts.contains(&Verdict::TimedOut));
    assert_eq!(found.orders, 364);
}

#[test]
fn two_processes_of_which_one_is_killed_after_any_call_break_no_promise() {
    let kill = |call| Script { kill: Some((0, call)), ..Script::default() };
    let orders: Vec<u64> =
        (0..CALLS_MAX).map(|call| sound(&processes(2), kill(call)).orders).collect();
    // The last kills come too late: then it is the run in which nobody is killed.
    assert_eq!(orders.last(), Some(&364), "{orders:?}");
    assert!(orders.iter().all(|orders| *orders > 1), "{orders:?}");
}

#[test]
fn two_processes_of_which_one_meets_a_failing_call_break_no_promise() {
    let fail = |call| Script {
        fail: Some((0, call, Outcome::SyncFail(0))),
        preemptions_max: Some(3),
        ..Script::default()
    };
    let mut seen = Vec::new();
    for call in 0..CALLS_MAX {
        seen.extend(sound(&processes(2), fail(call)).verdicts);
    }
    assert!(seen.contains(&Verdict::Io));
}

#[test]
fn three_processes_with_two_preemptions_break_no_promise() {
    let script = Script { preemptions_max: Some(2), ..Script::default() };
    assert_eq!(sound(&processes(3), script).orders, 330);
}
