//! What a log alone can show: the model's invariants on genuine logs, and on logs with one change.
//!
//! Promise. Each invariant of `gaia_bus_model::invariant` holds on what the bus writes, after any
//! number of records, and is broken by each change that is planted for it. The changes are those
//! that `verify` puts its own checks to on every run, and some for what `verify` judges elsewhere.
//!
//! Cannot see. Changes that leave a log which a bus could have written: `tests/verify_mutations.rs`
//! lists those one change at a time.

use gaia_bus::verify::controls::{Fault, genuine};
use gaia_bus::verify::history::CHECKS;
use gaia_bus_model::invariant::{ALWAYS, BATCH_WHOLE, Invariant};

use crate::report::{Draft, Report};

/// How far [`check`] looks.
pub const BOUND: &str = "every prefix of one genuine log with all types, and one change at a time";

/// All that a log alone can show.
pub fn invariants() -> impl Iterator<Item = Invariant> {
    ALWAYS.into_iter().chain([BATCH_WHOLE])
}

/// What is planted for the invariant of a name.
#[must_use]
pub fn controls(name: &str) -> Vec<Fault> {
    let of_verify = CHECKS.iter().filter(|check| check.promise == name);
    let mut faults: Vec<Fault> =
        of_verify.flat_map(|check| check.controls.iter().copied()).collect();
    match name {
        "replay_legal" => {
            faults.push(Fault::DropKey { record_type: "message.sent", key: "message" });
        }
        "authority_frozen" => {
            let (path, value) = (&[][..], "approve");
            let set = |record_type, key| Fault::Set { record_type, path, key, value };
            faults.push(set("actor.registered", "busAuthority"));
            faults.push(set("work.handed-off", "authorityTransferred"));
        }
        _ => {}
    }
    faults
}

/// What the controls of an invariant are called.
#[must_use]
pub fn control_names(name: &str) -> Vec<String> {
    controls(name).iter().map(|fault| format!("{name} is broken by: {fault:?}")).collect()
}

/// Holds every invariant against genuine logs and planted changes.
#[must_use]
pub fn check() -> Report {
    let mut draft = Draft::new("log-alone", BOUND);
    let genuine = genuine();
    for invariant in invariants() {
        // A batch that is cut at its end is what a prefix may have.
        let shortest = if invariant.name == BATCH_WHOLE.name { genuine.len() } else { 0 };
        for length in shortest..=genuine.len() {
            draft.case((invariant.holds)(&genuine[..length]).map_err(|violation| {
                format!("{} on {length} genuine records: {}", invariant.name, violation.sentence)
            }));
        }
        let faults = controls(invariant.name);
        if faults.is_empty() {
            draft.violation(format!("nothing is planted for {}", invariant.name));
        }
        for (name, fault) in control_names(invariant.name).into_iter().zip(faults) {
            draft.control(name, (invariant.holds)(&fault.plant(genuine.clone())).is_err());
        }
    }
    draft.finish()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_invariant_of_a_log_finds_what_is_planted_for_it() {
        super::check().demand();
    }
}
