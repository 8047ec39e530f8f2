//! The recorded vectors as a row of the gate.
//!
//! Promise. Both folds decide, append, refuse and report as the bus that was observed, to the byte,
//! and the reader names the damage that was recorded. Only this comes from outside: a decision that
//! is wrong in the model is wrong in both folds, and no other checker can see it.
//!
//! Method. The checks are those of `tests/support`, which the tests of model and store run too;
//! they are compiled here a second time, since neither crate may know this one.

#[path = "../../tests/support/stored.rs"]
mod stored;
#[path = "../../tests/support/mod.rs"]
mod support;

use gaia_bus_model::state::State;
use stored::Store;
use support::checks;

use crate::report::{Draft, Report, panics_as_errors};

/// How far [`check`] looks.
pub const BOUND: &str = "every recorded sequence, log and table row, on both folds";

/// Runs a part and says how many cases it judged.
type Part = (&'static str, fn() -> usize);

const PARTS: [Part; 9] = [
    ("sequences on the reference state", checks::sequences::<State>),
    ("sequences on the projection", checks::sequences::<Store>),
    ("logs on the reference state", checks::logs::<State>),
    ("logs on the projection", checks::logs::<Store>),
    ("tables on the reference state", checks::tables::<State>),
    ("tables on the projection", checks::tables::<Store>),
    ("the lesson on the reference state", checks::lesson::<State>),
    ("the lesson on the projection", checks::lesson::<Store>),
    ("raw logs", stored::raw_logs),
];

/// A change of any expectation of a sequence or of a log that parses.
pub const CHANGED: &str = "a changed expectation of a sequence or a log, on the reference state";

/// What must hold of the checks themselves: no case passes with an expectation changed.
const CONTROLS: [Part; 5] = [
    (CHANGED, checks::negative_control::<State>),
    (
        "a changed expectation of a sequence or a log, on the projection",
        checks::negative_control::<Store>,
    ),
    ("a changed table row, on the reference state", checks::negative_control_of_tables::<State>),
    ("a changed table row, on the projection", checks::negative_control_of_tables::<Store>),
    ("a raw log with another kind, line, offset or count", stored::negative_control_of_raw_logs),
];

/// Runs every vector. A part that judged nothing is wrong, as is a control that planted nothing.
#[must_use]
pub fn check() -> Report {
    let mut draft = Draft::new("vectors", BOUND);
    for (name, part) in PARTS {
        match panics_as_errors(part) {
            Ok(0) => draft.violation(format!("{name}: there is none")),
            Ok(count) => draft.cases(count as u64),
            Err(what) => draft.violation(format!("{name}: {what}")),
        }
    }
    for (name, control) in CONTROLS {
        draft.control(name, panics_as_errors(control).is_ok_and(|planted| planted > 0));
    }
    draft.finish()
}
