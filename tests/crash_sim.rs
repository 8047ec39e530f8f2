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

use gaia_bus_harness::crash::{Bounds, Class, Matrix, fill};
use gaia_bus_harness::small::Kind;
use gaia_bus_harness::worker::Plan;

/// Fills the matrix, expecting nothing broken.
fn sound(bounds: &Bounds) -> Matrix {
    let matrix = fill(bounds);
    assert!(matrix.broken.is_empty(), "{:#?}", matrix.broken);
    assert_eq!(matrix.cells, matrix.classes.values().sum::<usize>());
    matrix
}

fn has_every_class(matrix: &Matrix) {
    let every =
        [Class::CommittedAnswered, Class::CommittedUnknown, Class::NotCommitted, Class::Refused];
    for class in every {
        assert!(matrix.classes.contains_key(&class), "no cell is {class:?}: {:?}", matrix.classes);
    }
}

#[test]
fn a_commit_is_sound_in_every_cell() {
    let matrix = sound(&Bounds::all(Plan::cold(&[Kind::One])));
    has_every_class(&matrix);
    assert_eq!((matrix.calls, matrix.cells), (12, 760));
}

#[test]
fn the_first_commit_of_all_is_sound_in_every_cell() {
    let matrix = sound(&Bounds::all(Plan::cold(&[Kind::One])).fresh());
    has_every_class(&matrix);
    assert_eq!((matrix.calls, matrix.cells), (13, 864));
}

#[test]
fn a_batch_is_sound_in_every_cell() {
    let matrix = sound(&Bounds::all(Plan::cold(&[Kind::Two])));
    has_every_class(&matrix);
    assert_eq!((matrix.calls, matrix.cells), (12, 1208));
}

#[test]
fn a_server_is_sound_in_every_cell_of_two_commits() {
    let matrix = sound(&Bounds::all(Plan::warm(&[Kind::One, Kind::Two])).fresh());
    has_every_class(&matrix);
    assert_eq!((matrix.calls, matrix.cells), (25, 2072));
}

#[test]
fn a_reader_is_sound_in_every_cell_and_never_writes() {
    let matrix = sound(&Bounds::all(Plan::cold(&[Kind::Look])));
    assert_eq!(matrix.classes.keys().collect::<Vec<_>>(), [&Class::NotCommitted]);
    assert_eq!((matrix.calls, matrix.cells), (9, 208));
}
