//! Promise: however many processes share a directory and whichever of them die, one order that
//! agrees with real time explains every answer, and the log is that order.
//!
//! Method: real workers of the shipped entry point, killed at random, judged by the witness checker
//! (`gaia_bus_harness::processes` and `history`); the checker itself is held against exhaustive
//! search.
//!
//! Cannot see: power loss, and interleavings that this machine's scheduler never makes.

#![allow(missing_docs)]

use std::path::Path;

use gaia_bus_harness::{history, processes};

#[test]
fn one_order_explains_what_many_killed_processes_were_told() {
    let executable = Path::new(env!("CARGO_BIN_EXE_gaia-bus-harness"));
    processes::check(processes::Size::TEST, executable).demand();
}

#[test]
fn the_witness_checker_agrees_with_exhaustive_search() {
    history::cross_check(20_000).demand();
}
