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

type Part = (&'static str, fn());

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

/// What must hold of the checks themselves: no case passes with an expectation changed.
const CONTROLS: [Part; 4] = [
    ("a changed sequence or log, on the reference state", checks::negative_control::<State>),
    ("a changed sequence or log, on the projection", checks::negative_control::<Store>),
    ("a changed table row, on the reference state", checks::negative_control_of_tables::<State>),
    ("a changed table row, on the projection", checks::negative_control_of_tables::<Store>),
];

/// Runs every vector.
#[must_use]
pub fn check() -> Report {
    let mut draft = Draft::new("vectors", BOUND);
    for (name, part) in PARTS {
        if let Err(what) = panics_as_errors(part) {
            draft.violation(format!("{name}: {what}"));
        }
    }
    let counted = panics_as_errors(|| support::FILES.map(|name| support::cases(name).len() as u64));
    let counts = counted.unwrap_or_default();
    draft.cases(counts.iter().sum::<u64>() * 2);
    for (name, control) in CONTROLS {
        draft.control(name, panics_as_errors(control).is_ok());
    }
    draft.finish()
}
