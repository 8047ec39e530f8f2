//! Promise: the reference state behaves as the bus that was observed, to the byte.
//!
//! Method: every case of the vectors folder is decided and folded here, and compared with what was
//! recorded: answers, refusals, appended lines, snapshots, counters, integrity and correlation; key
//! order included, numbers by value.
//!
//! What it cannot see: anything that the vectors do not record, such as what is ours alone (safe
//! repeats, limits, unknown arguments: `tests/decisions.rs`), the bytes of a damaged log and the
//! evidence checks (the store's tests).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use gaia_bus_model::state::State;

use support::checks;

#[test]
fn vectors_sequences_are_reproduced_step_by_step() {
    assert!(checks::sequences::<State>() > 0);
}

#[test]
fn vectors_logs_that_parse_fold_to_what_was_recorded() {
    assert!(checks::logs::<State>() > 0);
}

#[test]
fn vectors_checks_see_a_change_in_any_expectation() {
    assert!(checks::negative_control::<State>() > 0);
    assert!(checks::negative_control_of_tables::<State>() > 0);
}

#[test]
fn vectors_lesson_is_reproduced_byte_for_byte_by_its_eight_commands() {
    assert!(checks::lesson::<State>() > 0);
}

#[test]
fn vectors_tables_are_reproduced_row_by_row() {
    assert!(checks::tables::<State>() > 0);
}
