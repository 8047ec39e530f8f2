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

use gaia_bus_harness::interleave::{Interleaved, Script, interleave, processes, scripts};
use gaia_bus_harness::scene::Setup;
use gaia_bus_harness::worker::Verdict;

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
    let kills = scripts().into_iter().filter(|(_, script)| script.kill.is_some());
    let orders: Vec<u64> =
        kills.map(|(count, script)| sound(&processes(count), script).orders).collect();
    // The last kills come too late: then it is the run in which nobody is killed.
    assert_eq!(orders.last(), Some(&364), "{orders:?}");
    assert!(orders.iter().all(|orders| *orders > 1), "{orders:?}");
}

#[test]
fn two_processes_of_which_one_meets_a_failing_call_break_no_promise() {
    let fails = scripts().into_iter().filter(|(_, script)| script.fail.is_some());
    let seen: Vec<Verdict> =
        fails.flat_map(|(count, script)| sound(&processes(count), script).verdicts).collect();
    assert!(seen.contains(&Verdict::Io));
}

#[test]
fn three_processes_with_two_preemptions_break_no_promise() {
    let script = Script { preemptions_max: Some(2), ..Script::default() };
    assert_eq!(sound(&processes(3), script).orders, 330);
}
