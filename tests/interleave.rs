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

use gaia_bus_harness::interleave::{Case, Interleaved, cases};
use gaia_bus_harness::worker::Verdict;

/// Every order of the cases, expecting nothing wrong.
fn sound(is_wanted: impl Fn(&Case) -> bool) -> Vec<Interleaved> {
    let wanted: Vec<Case> = cases().into_iter().filter(is_wanted).collect();
    assert!(!wanted.is_empty());
    let judged = wanted.iter().map(|case| {
        let (found, wrong) = case.judge();
        assert!(wrong.is_empty(), "{wrong:?}");
        found
    });
    judged.collect()
}

fn met(found: &[Interleaved], verdict: Verdict) -> bool {
    found.iter().any(|found| found.verdicts.contains(&verdict))
}

#[test]
fn two_in_every_order_and_three_within_the_bound_break_no_promise() {
    let found = sound(|case| case.orders.is_some());
    assert_eq!(found.len(), 2);
    assert!(met(&found, Verdict::Answered) && met(&found, Verdict::TimedOut));
}

#[test]
fn two_of_which_one_is_killed_after_any_call_break_no_promise() {
    let found = sound(|case| case.script.kill.is_some());
    assert!(met(&found, Verdict::Shown));
    // The last kills come too late: then it is the run in which nobody is killed.
    assert!(found.iter().any(|found| found.orders == 364));
}

#[test]
fn two_of_which_one_meets_a_failing_call_break_no_promise() {
    let found = sound(|case| case.script.fail.is_some());
    assert!(met(&found, Verdict::Io));
}
