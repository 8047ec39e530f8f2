//! The promises of this bus, as a table: what each says, who looks at it and how far, and what is
//! planted to show that it can be seen broken. The README holds it (`tests/promises.rs`).
//!
//! Names and sentences are those of the invariants, bounds those of the checks that the gate runs.
//! A promise's control is the name of one that a check plants: `tests/gate.rs` demands that it was
//! found.

use std::fmt::Write as _;

use crate::checks::{CHECKS, Check, Looks};
use crate::controls::breakers;
use crate::fuzzing;
use crate::invariant::INVARIANTS;
use crate::log_alone;
use crate::vectors;

/// A promise.
#[derive(Clone, Debug)]
pub struct Promise {
    /// Its name, as in reports.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// Which checks look at it.
    pub checks: Vec<&'static Check>,
    /// A control that a check plants, and that breaks it.
    pub control: String,
}

/// Promises that are no invariant of a log or a disk: what they say, and what is planted for them.
const BESIDE: [(&str, &str, &str); 3] = [
    (
        "decisions_as_recorded",
        "answers, refusals, records and reports are those of the bus that was observed",
        vectors::CHANGED,
    ),
    (
        "folds_agree",
        "the store's fast fold says the same of any log as the reference state",
        fuzzing::PLANTED[1].1,
    ),
    (
        "damage_named",
        "any bytes are a log, or damage with line, offset and kind, however they are cut",
        fuzzing::PLANTED[2].1,
    ),
];

/// All of them: of logs, of processes and disks, and beside those.
#[must_use]
pub fn promises() -> Vec<Promise> {
    let of_logs = log_alone::invariants().map(|invariant| Promise {
        name: invariant.name,
        about: invariant.about,
        checks: looking(invariant.name, |looks| looks.at_logs),
        control: log_alone::control_names(invariant.name).into_iter().next().unwrap_or_default(),
    });
    let of_disks = INVARIANTS.iter().zip(breakers()).map(|(invariant, (name, setup))| Promise {
        name: invariant.name,
        about: invariant.about,
        checks: looking(invariant.name, |looks| looks.at_disks),
        control: crate::controls::breaker_name(name, &setup),
    });
    let beside = BESIDE.iter().map(|(name, about, control)| Promise {
        name,
        about,
        checks: looking(name, |looks| looks.beside),
        control: (*control).to_owned(),
    });
    of_logs.chain(of_disks).chain(beside).collect()
}

fn looking(name: &str, at: fn(Looks) -> Vec<&'static str>) -> Vec<&'static Check> {
    CHECKS.iter().filter(|check| at((check.looks)()).contains(&name)).collect()
}

/// Both tables in Markdown: the promises, each with the bound of the check that comes first, and
/// all checks with theirs.
#[must_use]
pub fn tables() -> String {
    let mut out = String::from(
        "| promise | checked by | bound of the first | control: found when planted |\n\
         | --- | --- | --- | --- |\n",
    );
    for Promise { name, about, checks, control } in promises() {
        let names: Vec<&str> = checks.iter().map(|check| check.name).collect();
        let bound = checks.first().map(|check| (check.bound)()).unwrap_or_default();
        let _ = writeln!(out, "| `{name}`: {about} | {} | {bound} | {control} |", names.join(", "));
    }
    out.push_str("\n| check | what it shows | bound |\n| --- | --- | --- |\n");
    for Check { name, about, bound, .. } in &CHECKS {
        let _ = writeln!(out, "| {name} | {about} | {} |", bound());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_promise_is_looked_at_and_can_be_seen_broken() {
        for Promise { name, about, checks, control } in promises() {
            assert!(!about.is_empty() && !checks.is_empty() && !control.is_empty(), "{name}");
        }
    }

    #[test]
    fn no_check_looks_at_a_promise_that_there_is_not() {
        let looked: usize = promises().iter().map(|promise| promise.checks.len()).sum();
        let claimed = CHECKS.iter().map(|check| {
            let Looks { at_logs, at_disks, beside } = (check.looks)();
            at_logs.len() + at_disks.len() + beside.len()
        });
        assert_eq!(looked, claimed.sum::<usize>());
    }
}
