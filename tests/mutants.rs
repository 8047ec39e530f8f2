//! Promise: the checkers can fail. Every planted protocol fault is found by every checker that
//! claims it, at the smallest bound, and by none of them one step lower.
//!
//! Method: the table of `harness/src/controls.rs`, run. Faults are decorators between the commit
//! machine that ships and the simulated disk; none is in shipped code.
//!
//! Cannot see: faults that nobody thought of. Expression-level mistakes are cargo-mutants'
//! business.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;

use gaia_bus_harness::controls::{Claim, Control, controls, plant};
use gaia_bus_harness::report::Draft;

#[test]
fn every_fault_is_claimed_by_two_kinds_of_checkers() {
    let controls = controls();
    assert!(controls.len() >= 14);
    let faults: BTreeSet<_> = controls.iter().map(|control| control.fault).collect();
    assert_eq!(faults.len(), controls.len(), "a fault stands twice");
    for Control { fault, claims } in &controls {
        let kinds: BTreeSet<_> = claims.iter().map(Claim::checker).collect();
        assert!(kinds.len() >= 2, "{fault:?} is claimed by {kinds:?} only");
    }
}

#[test]
fn every_claim_finds_its_fault_by_the_promise_it_names_and_nothing_one_step_lower() {
    let checkers: BTreeSet<_> = controls()
        .iter()
        .flat_map(|control| control.claims.iter().map(Claim::checker).collect::<Vec<_>>())
        .collect();
    assert_eq!(checkers.len(), 3);
    for checker in checkers {
        let mut draft = Draft::new("planted faults", checker);
        plant(&mut draft, checker);
        let report = draft.finish();
        assert!(report.violations.is_empty() && report.controls_missed() == 0, "{report}");
    }
}
