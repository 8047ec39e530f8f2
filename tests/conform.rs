//! Promise: the store answers as the reference does, and leaves exactly the bytes that it should,
//! whatever handles are asked and whatever happens to their directory.
//!
//! Method: see `gaia_bus_harness::conform`; here at a size for a plain `cargo test`, with the
//! gate's seed. Every refusal code, damage kind, failure code and verb must have been met, and
//! every planted fault in model and store must be found.
//!
//! Cannot see: a decision that is wrong in the model, since both sides decide with it.

#![allow(missing_docs)]

use gaia_bus_harness::conform::{self, Coverage, Size, not_met};

#[test]
fn the_store_conforms_to_the_reference_and_every_outcome_was_met() {
    conform::check(Size::TEST).demand();
}

#[test]
fn a_run_that_met_nothing_is_no_success() {
    let missing = not_met(&Coverage::default());
    for wanted in ["verb inbox", "refusal key-reused", "damage torn-tail", "failure io"] {
        assert!(missing.iter().any(|name| name == wanted), "{wanted}: {missing:?}");
    }
}
