//! Promise: every file of the fuzz corpora passes its target, the named seeds are what the code
//! makes, and the check itself can fail.
//!
//! Method: each file in `fuzz/corpus` and `fuzz/regressions` is given to its target, as a fuzzer
//! does. After a change of the seeds: `cargo run -p gaia-bus-harness -- corpus fuzz/corpus`.
//!
//! Cannot see: inputs that nobody has found yet; CI fuzzes for those.

#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use gaia_bus_harness::corpus::{BYTES_MAX, seeds};
use gaia_bus_harness::fuzzing::{TARGETS, canary};

fn fuzz(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz").join(name)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
}

#[test]
fn every_file_of_the_corpora_passes_its_target() {
    for (name, target) in TARGETS {
        let corpus = files(&fuzz("corpus").join(name));
        assert!(corpus.len() > 3, "{name} has no corpus");
        for file in corpus.into_iter().chain(files(&fuzz("regressions").join(name))) {
            let bytes = fs::read(&file).unwrap();
            let passed = catch_unwind(|| target(&bytes));
            assert!(passed.is_ok(), "{} fails {name}", file.display());
        }
    }
}

#[test]
fn the_named_seeds_are_small_and_those_that_the_code_makes() {
    let made = seeds();
    let names: BTreeSet<_> = made.iter().map(|(target, name, _)| (*target, name)).collect();
    assert_eq!(names.len(), made.len(), "a name is given twice");
    for (target, name, bytes) in &made {
        assert!(bytes.len() <= BYTES_MAX, "{target}/{name} has {} bytes", bytes.len());
        let kept = fs::read(fuzz("corpus").join(target).join(name));
        assert_eq!(kept.ok().as_ref(), Some(bytes), "{target}/{name}: write the corpus anew");
    }
    let kept: usize = TARGETS.iter().map(|(name, _)| files(&fuzz("corpus").join(name)).len()).sum();
    assert_eq!(kept, made.len(), "a file of the corpus is made by no code");
}

#[test]
fn the_canary_is_found_on_a_torn_log_and_not_on_a_sound_one() {
    let found = |seed: &str| {
        let all = seeds();
        let seed =
            all.iter().find(|(target, name, _)| (*target, name.as_str()) == ("damaged_log", seed));
        catch_unwind(|| canary(&seed.unwrap().2)).is_err()
    };
    assert!(found("letters-behind-it"));
    assert!(!found("nothing"));
}

#[test]
fn every_target_has_a_seed_and_a_one_line_program() {
    for (name, _) in TARGETS.into_iter().chain([("canary", canary as fn(&[u8]))]) {
        let source = fs::read_to_string(fuzz("fuzz_targets").join(format!("{name}.rs"))).unwrap();
        assert!(source.contains(&format!("fuzzing::{name}(bytes)")), "{source}");
    }
}
