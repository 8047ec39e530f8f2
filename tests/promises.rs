//! Promise: the README's tables of promises and checks are those of the code.
//!
//! Method: `gaia_bus_harness::promises` writes them, and this compares. `GAIA_BUS_BLESS=1` writes
//! the README's part anew.
//!
//! Cannot see: whether a check really looks at all that its row claims; `tests/gate.rs` demands one
//! found control of each promise.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

use gaia_bus_harness::promises::tables;

const BEGIN: &str = "<!-- promises -->\n";
const END: &str = "<!-- end of promises -->";

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")
}

#[test]
fn the_tables_of_the_readme_are_those_of_the_code() {
    let readme = std::fs::read_to_string(file()).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let expected = format!("\n{}\n", tables());
    if std::env::var_os("GAIA_BUS_BLESS").is_some() {
        std::fs::write(file(), [before, BEGIN, &expected, END, after].concat()).unwrap();
        return;
    }
    assert!(shown == expected, "GAIA_BUS_BLESS=1 cargo test --test promises writes them anew");
}
