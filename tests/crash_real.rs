//! Promise: wherever the shipped program is killed, whichever of its system calls fails and
//! whenever the power goes, what was answered is there, what failed closed left nothing, and things
//! go on soundly.
//!
//! Method: signals and errnos injected by strace at each system call; power loss on a real file
//! system in a loop-mounted image (`gaia_bus_harness::crash_real`). Where strace, root or mounts
//! are missing the report says so, and `GAIA_BUS_REQUIRE_FAULTS=1` makes that a failure.
//!
//! Cannot see: a disk that lies about what it has stored.

#![allow(missing_docs)]

use std::path::Path;

use gaia_bus_harness::crash_real::{self, Size};

const EXECUTABLE: &str = env!("CARGO_BIN_EXE_gaia-bus-harness");

#[test]
fn a_kill_or_an_errno_at_any_system_call_leaves_a_sound_log() {
    crash_real::system_calls(Size::TEST, Path::new(EXECUTABLE)).demand();
}

#[test]
fn what_was_answered_survives_a_power_cut_on_a_real_file_system() {
    crash_real::power_loss(Size::TEST, Path::new(EXECUTABLE)).demand();
}
