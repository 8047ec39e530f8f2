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

use gaia_bus_harness::controls::{Claim, Control, controls};

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
fn every_claim_finds_its_fault_by_the_promise_it_names_in_the_pinned_number_of_steps() {
    for Control { fault, claims } in controls() {
        for claim in claims {
            let found = claim.find();
            let found = found.unwrap_or_else(|| panic!("{fault:?} is missed: {claim}"));
            assert!(claim.is_kept_by(&found), "{fault:?}: {claim}: {found:?}");
        }
    }
}

#[test]
fn no_claim_finds_its_fault_one_step_lower() {
    for Control { fault, claims } in controls() {
        for lower in claims.iter().flat_map(Claim::lowered) {
            assert_eq!(lower.find(), None, "{fault:?} is found at {} {lower}", lower.checker());
        }
    }
}
