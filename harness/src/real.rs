//! The checks that run on real directories, as a table for whoever runs them by name.

use std::panic::catch_unwind;
use std::path::Path;

use crate::report::{Draft, Report};
use crate::{conform, corpus, crash_real, fuzzing, history, processes};

/// A check: its name on the command line, and how it is run at CI size with this executable as the
/// bus.
pub type Check = (&'static str, fn(&Path) -> Report);

/// All of them.
pub const CHECKS: [Check; 6] = [
    ("conformance", |_| conform::check(conform::Size::GATE)),
    ("witness", |_| history::cross_check(20_000)),
    ("processes", |executable| processes::check(processes::Size::GATE, executable)),
    ("system-calls", |executable| crash_real::system_calls(crash_real::Size::GATE, executable)),
    ("power-loss", |executable| crash_real::power_loss(crash_real::Size::GATE, executable)),
    ("seeds", |_| seeds()),
];

/// Runs a check.
#[must_use]
pub fn run(name: &str, executable: &Path) -> Option<Report> {
    let (_, check) = CHECKS.iter().find(|(known, _)| *known == name)?;
    Some(check(executable))
}

/// Every named seed through its fuzz target; the canary must be found.
fn seeds() -> Report {
    let seeds = corpus::seeds();
    let bound = format!("{} named seeds, {} targets", seeds.len(), fuzzing::TARGETS.len());
    let mut draft = Draft::new("seeds of the fuzz targets", bound);
    for (target, name, bytes) in &seeds {
        let run = fuzzing::TARGETS.iter().find(|(known, _)| known == target);
        let (_, run) = run.expect("every seed has a target");
        let passed = catch_unwind(|| run(bytes)).is_ok();
        draft.case(if passed { Ok(()) } else { Err(format!("{target}/{name}")) });
    }
    let found = |(target, _, bytes): &corpus::Seed| {
        *target == "damaged_log" && catch_unwind(|| fuzzing::canary(bytes)).is_err()
    };
    draft.control("the canary", seeds.iter().any(found));
    draft.finish()
}
