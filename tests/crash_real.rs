//! Promise: wherever the shipped program is killed, whichever of its system calls fails and
//! whenever the power goes, what was answered is there, what failed closed left nothing, and things
//! go on soundly.
//!
//! Method: signals and errnos injected by strace at each system call; power loss on a real file
//! system in a loop-mounted image (`gaia_bus_harness::crash_real`). Where strace, root or mounts
//! are missing the report says so, and `GAIA_BUS_REQUIRE_FAULTS=1` makes that a failure. Traces as
//! strace writes them show that a fault counts only where it was meant.
//!
//! Cannot see: a disk that lies about what it has stored.

#![allow(missing_docs)]

use std::path::Path;

use gaia_bus_harness::crash_real::{self, FILE_SYSTEMS, FileSystem, Injection, Point, Size, Trace};
use gaia_bus_harness::report::Draft;

const EXECUTABLE: &str = env!("CARGO_BIN_EXE_gaia-bus-harness");

#[test]
fn a_kill_or_an_errno_at_any_system_call_leaves_a_sound_log() {
    crash_real::system_calls(Size::TEST, Path::new(EXECUTABLE)).demand();
}

#[test]
fn what_was_answered_survives_a_power_cut_on_a_real_file_system() {
    crash_real::power_loss(Size::TEST, Path::new(EXECUTABLE)).demand();
}

#[test]
fn a_file_system_that_was_not_tried_makes_the_row_skipped_and_hides_no_violation() {
    let absent = FileSystem { mkfs: "mkfs.absent", ..FILE_SYSTEMS[0] };
    let row = crash_real::power_loss_on(&[absent], Size::TEST, Path::new(EXECUTABLE));
    assert!(!row.is_green(), "{row}");
    assert!(row.skipped.as_ref().is_some_and(|why| why.contains("absent")), "{row}");

    // What the other file system found.
    let mut draft = Draft::new("power-loss", "bound");
    draft.case(Ok(()));
    draft.control("planted", true);
    let clean = draft.finish();
    let untried = ["mkfs.xfs: it is not there".to_owned()];
    assert!(crash_real::unless_untried(clean.clone(), &[]).is_green());
    let row = crash_real::unless_untried(clean.clone(), &untried);
    assert!(!row.is_green() && row.skipped.is_some_and(|why| why.contains("mkfs.xfs")));
    let mut broken = clean;
    broken.violations.push("on ext4 an answer is lost".into());
    let row = crash_real::unless_untried(broken, &untried);
    assert!(row.skipped.is_none() && !row.is_green(), "{row}");
}

fn at(call: &str, nth: usize) -> Point {
    Point { call: call.into(), nth }
}

#[test]
fn a_fault_is_met_only_on_the_line_of_its_own_call() {
    let trace = Trace::of(concat!(
        "execve(\"/bin/gaia-bus\", [\"gaia-bus\"], 0x7f /* 3 vars */) = 0\n",
        "write(6</d/events.jsonl>, \" = (INJECTED)\", 13) = 13\n",
        "fsync(6</d/events.jsonl>)     = -1 EIO (Input/output error) (INJECTED) (DELAYED)\n",
        "ftruncate(7</d/events.jsonl>, 412) = 0\n",
        "fsync(7</d/events.jsonl>)     = 0\n",
        "+++ exited with 3 +++\n",
    ));
    let fails = |nth| Injection::once(&at("fsync", nth), "error=EIO");
    assert!(trace.met(&fails(1)));
    assert!(trace.met(&Injection::once(&at("fsync", 1), "error=EIO:delay_exit=9")));
    for unmet in [
        // Of another call, of another of that name, of none, and in a text that was written.
        fails(2),
        fails(3),
        Injection { forever: true, ..fails(1) },
        Injection::once(&at("ftruncate", 1), "retval=0"),
        Injection::once(&at("write", 1), "error=EIO"),
        Injection::kill(&at("fsync", 2)),
    ] {
        assert!(!trace.met(&unmet), "{unmet:?}");
    }
}

#[test]
fn a_kill_is_met_only_at_the_last_call_of_a_killed_process() {
    let killed = Trace::of(concat!(
        "unlinkat(4</d/events.lock>, \"owner.json\", 0) = 0\n",
        "read(5</d/events.jsonl>,  <unfinished ...>)    = ?\n",
        "+++ killed by SIGKILL +++\n",
    ));
    assert!(killed.met(&Injection::kill(&at("read", 1))));
    assert!(!killed.met(&Injection::kill(&at("unlinkat", 1))));
    assert!(!killed.met(&Injection::kill(&at("read", 2))));
}

#[test]
fn a_call_that_was_interrupted_is_one_call() {
    let trace = Trace::of(concat!(
        "fsync(6</d/events.jsonl> <unfinished ...>\n",
        "<... fsync resumed>)                     = -1 EIO (Input/output error) (INJECTED)\n",
        "fsync(7</d/events.jsonl>)     = 0\n",
    ));
    assert_eq!(trace.points("/d/"), [at("fsync", 1), at("fsync", 2)]);
    assert!(trace.met(&Injection::once(&at("fsync", 1), "error=EIO")));
    assert!(!trace.met(&Injection::once(&at("fsync", 2), "error=EIO")));
}
