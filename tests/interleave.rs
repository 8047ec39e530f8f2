//! Promise: threads that get at one disk in any order, with any of them killed after any call, break no
//! promise about logs and locks.
//!
//! Method: loom runs real threads, each with the commit machine that ships, over one simulated disk
//! behind a mutex, in every order.
//!
//! Cannot see: more than the scripted faults, and, for three processes, more preemptions than the bound.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use gaia_bus_harness::disk::bend::Fault;
use gaia_bus_harness::interleave::{Script, interleave};
use gaia_bus_harness::scene::{Budget, Setup};
use gaia_bus_harness::small::Kind;
use gaia_bus_harness::worker::{Plan, Verdict};

fn processes(count: usize) -> Setup {
    Setup::new(vec![Plan::cold(&[Kind::One]); count], Budget::default())
}

#[test]
fn two_processes_in_every_order_break_no_promise() {
    let found = interleave(&processes(2), Script::default());
    assert!(found.broken.is_empty(), "{:?}", found.broken.names());
    assert!(found.verdicts.contains(&Verdict::Answered));
    assert!(found.verdicts.contains(&Verdict::TimedOut));
    assert!(found.orders > 1000, "{found:?}");
}

#[test]
fn a_breaker_of_old_locks_is_found_by_reordering_two_threads() {
    let found = interleave(&processes(2).with(Fault::BreakByAge), Script::default());
    let names = found.broken.names();
    assert!(names.contains(&"foreign_lock_kept"), "{names:?}");
}
