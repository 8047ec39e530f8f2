//! Promise: a signal that ends a process does not end a commit. From the making of the lock to its
//! release it waits; then the process ends by it, no lock is left and the log is whole.
//!
//! Method: this test starts itself again as a child, which raises the signal inside the commit, at
//! each call in turn, through a disk around the real one. The control raises SIGKILL, which nothing
//! can hold back, and sees the lock left behind.
//!
//! Cannot see: signals to a process with several threads, of which only one carries the commit.

#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gaia_bus::bus::{Bus, SystemEdge};
use gaia_bus::commit::{Call, Reply};
use gaia_bus::disk::{Disk, LocalDisk};
use gaia_bus::settings::{Paths, Settings};
use gaia_bus_model::command::Verb;
use gaia_bus_model::json::Object;
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};

/// Set for the child: the data directory, the signal, the number of the call.
const CHILD: &str = "GAIA_BUS_TEST_SIGNAL_CHILD";

struct Raising {
    inner: LocalDisk,
    signal: i32,
    calls_left: usize,
}

impl Disk for Raising {
    fn perform<'d>(&'d mut self, call: Call<'_>) -> Reply<'d> {
        if let Some(left) = self.calls_left.checked_sub(1) {
            self.calls_left = left;
            if left == 0 {
                signal_hook::low_level::raise(self.signal).unwrap();
            }
        }
        self.inner.perform(call)
    }

    fn close(&mut self) {
        self.inner.close();
    }
}

/// In the child: one registration with a signal in it. Returns only when no signal came.
fn child(parameters: &str) {
    let mut parts = parameters.split('\n');
    let mut next = || parts.next().unwrap();
    let settings = Settings::of_data_dir(Path::new(next()));
    let inner = LocalDisk::new(&settings.paths, Duration::ZERO);
    let disk =
        Raising { inner, signal: next().parse().unwrap(), calls_left: next().parse().unwrap() };
    let mut bus = Bus::on(settings, disk, SystemEdge);
    assert!(bus.call(Verb::Register, Object::new().with("actorId", "child")).ok);
}

/// Runs a child that raises the signal at its call of this number; what ended it, and what it left.
fn raise(signal: i32, call: usize) -> (Option<i32>, bool, Vec<u8>) {
    let home = tempfile::tempdir().unwrap();
    let data_dir = home.path().join("data");
    let test = "a_signal_inside_a_commit_waits_for_the_release";
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(CHILD, format!("{}\n{signal}\n{call}", data_dir.display()))
        .output()
        .unwrap()
        .status;
    let paths = Paths::of(&data_dir);
    (status.signal(), paths.lock.exists(), fs::read(paths.log).unwrap_or_default())
}

/// The signals that whoever started this test has told it to ignore, as a mask.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap())
}

#[test]
fn a_signal_inside_a_commit_waits_for_the_release() {
    if let Ok(parameters) = std::env::var(CHILD) {
        return child(&parameters);
    }
    let ignored = ignored();
    assert_eq!(ignored & 1 << (SIGTERM - 1), 0);
    for signal in [SIGTERM, SIGINT, SIGQUIT, SIGHUP] {
        // Inherited from `nohup` or a shell's background job: then it ends no process at all.
        if ignored & 1 << (signal - 1) != 0 {
            continue;
        }
        let mut calls = 0;
        loop {
            let (ended_by, locked, log) = raise(signal, calls + 1);
            assert!(!locked, "signal {signal} at call {calls} left the lock");
            assert_eq!(log.iter().filter(|b| **b == b'\n').count(), 1, "signal {signal}: {log:?}");
            assert!(log.ends_with(b"\n"));
            if ended_by.is_none() {
                break;
            }
            assert_eq!(ended_by, Some(signal), "it ends the process, only later");
            calls += 1;
        }
        assert!(calls >= 12, "a first commit has at least twelve calls, not {calls}");
    }
    // The control: what cannot be held back does leave the lock, from the second call on.
    let (ended_by, locked, _) = raise(SIGKILL, 1);
    assert_eq!((ended_by, locked), (Some(SIGKILL), false));
    let (ended_by, locked, log) = raise(SIGKILL, 3);
    assert_eq!((ended_by, locked, log.len()), (Some(SIGKILL), true, 0));
}
