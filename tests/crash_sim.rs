//! Promise: whatever happens to a command at whichever of its calls, and whatever comes next, what
//! was answered is there, what failed closed is not, and damage is refused.
//!
//! Method: every call x {killed, power loss with every image cut at every byte, a short write, EIO
//! once and for ever, a lock removed and taken by another, an older log put back} x {nothing,
//! another writer, a reader, a person's repair and another writer}, on the simulated disk with the
//! commit machine that ships. Each cell looks at every invariant after every call, and ends in one
//! class.
//!
//! Cannot see: two injuries in one cell, and whether the simulated disk is like a real one.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;

use gaia_bus::commit::{OwnerRecord, Reply};
use gaia_bus::replay::Replay;
use gaia_bus_harness::crash::{Class, fill, matrices};
use gaia_bus_harness::small::{Errand, Kind, Ledger, Machine, Tag};

#[test]
fn every_cell_is_sound_and_as_many_as_there_were() {
    for (name, bounds, pinned) in matrices() {
        let matrix = fill(&bounds);
        assert!(matrix.broken.is_empty(), "{name}: {:#?}", matrix.broken);
        assert_eq!(matrix.cells, matrix.classes.values().sum::<usize>(), "{name}");
        assert_eq!((matrix.calls, matrix.cells), pinned, "{name}");
    }
}

#[test]
fn a_writer_ends_in_every_class_and_a_reader_never_writes() {
    let every =
        [Class::CommittedAnswered, Class::CommittedUnknown, Class::NotCommitted, Class::Refused];
    for (name, bounds, _) in matrices() {
        let classes: BTreeSet<Class> = fill(&bounds).classes.into_keys().collect();
        let expected: BTreeSet<Class> = match name {
            "a reader" => [Class::NotCommitted].into(),
            // Nobody dies and nothing fails there.
            "a commit whose lock is removed and taken by another" => {
                [Class::CommittedAnswered, Class::NotCommitted].into()
            }
            _ => every.into(),
        };
        assert_eq!(classes, expected, "{name}");
    }
}

/// What is known of a log whose reading ended in a panic must not be used again; what a panic met
/// before the lock was made has touched nothing.
#[test]
fn a_panic_under_the_lock_makes_what_was_read_suspect() {
    let machine = || {
        let errand = Errand { tag: Tag { process: 0, command: 0 }, kind: Kind::One };
        Machine::new(errand, Replay::new(Ledger::default()), OwnerRecord::default(), 0)
    };
    let mut early = machine();
    early.panicked();
    assert!(!early.replay_is_suspect() && early.end().is_some());
    let mut late = machine();
    late.resume(Reply::Done);
    assert!(!late.replay_is_suspect());
    late.panicked();
    assert!(late.replay_is_suspect());
}
