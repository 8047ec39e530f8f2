//! The promises of this bus, as a table: what each says, who looks at it and how far, and what is
//! planted to show that it can be seen broken. The README holds it (`tests/promises.rs`).
//!
//! Nothing here is written for the table alone: names and sentences are those of the invariants,
//! bounds those of the checks that the gate runs, controls those that it plants.

use std::fmt::Write as _;

use crate::checks::{CHECKS, Check};
use crate::controls::breakers;
use crate::disk::bend::Fault;
use crate::invariant::INVARIANTS;
use crate::log_alone;

/// A promise.
#[derive(Clone, Debug)]
pub struct Promise {
    /// Its name, as in reports.
    pub name: &'static str,
    /// What it says.
    pub about: String,
    /// Which checks look at it.
    pub checks: Vec<&'static Check>,
    /// Something planted that breaks it and must be found.
    pub control: String,
}

/// Promises that are no invariant of a log or a disk: what they say, and what is planted for them.
const BESIDE: [(&str, &str, &str); 3] = [
    (
        "decisions_as_recorded",
        "answers, refusals, records and reports are those of the bus that was observed, to the byte",
        "any expectation of a vector changed",
    ),
    (
        "folds_agree",
        "the store's fast fold says the same of any log as the reference state",
        "a model that reverses an inbox",
    ),
    (
        "damage_named",
        "any bytes are a log, or damage with line, offset and kind, however they are cut",
        "a reader that skips a torn tail",
    ),
];

/// All of them: of logs, of processes and disks, and beside those.
#[must_use]
pub fn promises() -> Vec<Promise> {
    let mut all: Vec<Promise> = Vec::new();
    for invariant in log_alone::invariants() {
        let control = log_alone::controls(invariant.name).first().map(|fault| format!("{fault:?}"));
        all.push(promise(invariant.name, invariant.about, control.unwrap_or_default()));
    }
    for (invariant, (_, setup)) in INVARIANTS.iter().zip(breakers()) {
        let control = setup.fault.map_or("", Fault::words);
        match all.iter_mut().find(|promise| promise.name == invariant.name) {
            Some(known) => {
                if known.about != invariant.about {
                    let _ = write!(known.about, "; {}", invariant.about);
                }
                let _ = write!(known.control, "; {control}");
            }
            None => all.push(promise(invariant.name, invariant.about, control.to_owned())),
        }
    }
    all.extend(BESIDE.map(|(name, about, control)| promise(name, about, control.to_owned())));
    all
}

fn promise(name: &'static str, about: &str, control: String) -> Promise {
    let checks = CHECKS.iter().filter(|check| (check.promises)().contains(&name)).collect();
    Promise { name, about: about.to_owned(), checks, control }
}

/// Both tables in Markdown: the promises, with the bound of the check that looks furthest, and all
/// checks with theirs.
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
        let known: Vec<&str> = promises().iter().map(|promise| promise.name).collect();
        for check in &CHECKS {
            for name in (check.promises)() {
                assert!(known.contains(&name), "{}: {name}", check.name);
            }
        }
    }
}
