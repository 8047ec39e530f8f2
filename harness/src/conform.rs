//! Conformance: the store against the reference, one random transition after another.
//!
//! Promise. Whatever several handles are asked, and whatever happens to their directory meanwhile,
//! each answer is the reference's answer, and the directory holds exactly the bytes that it should.
//!
//! Method. proptest-state-machine draws up to [`Size::steps_max`] transitions, each from what the
//! world knows then: verbs with biased arguments on several handles that stay warm, restarts, time
//! in both directions, damage of every kind, foreign appends, rewritten history, locks that others
//! planted, and faults at every call of the protocol. [`rig`] does them for real, on a tmpfs where
//! there is one; [`world`] says what must come of it. The seed is fixed, so a run is the same
//! everywhere, and [`not_met`] fails it when an outcome of the contract was never reached.
//!
//! Cannot see. A wrong *decision*, since model and store decide with one source (the recorded
//! vectors see it); more than one process (`processes`); a disk that loses what it was given
//! (`crash_real`).

pub mod rig;
pub mod world;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner,
};
use proptest_state_machine::ReferenceStateMachine;

use rig::Rig;
pub use rig::{Bend, Coverage, not_met};
use world::{HANDLES, World};

use crate::report::{Draft, Report};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// How many sequences.
    pub cases: u32,
    /// How long each is at most.
    pub steps_max: usize,
}

impl Size {
    /// What the gate runs.
    pub const GATE: Size = Size { cases: 2_000, steps_max: 60 };
    /// What a plain `cargo test` runs.
    pub const TEST: Size = Size { cases: 250, steps_max: 60 };

    /// In words.
    #[must_use]
    pub fn bound(self) -> String {
        let Size { cases, steps_max } = self;
        format!("{cases} sequences of up to {steps_max} transitions on {HANDLES} handles")
    }
}

/// A control that is not found within so many cases counts as missed.
const CONTROL_CASES_MAX: u32 = 300;

/// Runs the check and its controls.
#[must_use]
pub fn check(size: Size) -> Report {
    let (under, file_system) = place();
    let mut draft = Draft::new("conformance", size.bound());
    draft.note(format!("on {} ({file_system})", under.display()));
    let coverage = RefCell::default();
    match run(size, None, &under, &coverage) {
        Ok(()) => draft.cases(size.cases.into()),
        Err(sentence) => draft.violation(sentence),
    }
    let coverage = coverage.into_inner();
    for missing in not_met(&coverage) {
        draft.violation(format!("never met: {missing}"));
    }
    draft.note("too-long is not planted: such a line has more than 256 MiB");
    for line in distribution(&coverage) {
        draft.note(line);
    }
    for bend in Bend::ALL {
        let size = Size { cases: CONTROL_CASES_MAX, ..size };
        let found = run(size, Some(bend), &under, &RefCell::default()).is_err();
        draft.control(format!("{bend:?}"), found);
    }
    draft.finish()
}

/// Where cases are run, and which file system that is.
#[must_use]
pub fn place() -> (PathBuf, String) {
    let memory = Path::new("/dev/shm");
    let under = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let file_system = gaia_bus::report::filesystem::of_path(&under);
    (under, file_system.map_or_else(|| "unknown file system".into(), |found| found.name))
}

/// Runs the sequences of one seed; the shortest one that was found to differ, told.
fn run(
    size: Size,
    bend: Option<Bend>,
    under: &Path,
    coverage: &RefCell<Coverage>,
) -> Result<(), String> {
    let config = Config {
        cases: size.cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        // A control only needs to be found.
        max_shrink_iters: if bend.is_some() { 0 } else { 2_000 },
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let sequences = World::sequential_strategy(1..=size.steps_max);
    let result = runner.run(&sequences, |(mut world, transitions, seen)| {
        let mut rig = Rig::new(under, bend, coverage);
        for (at, transition) in transitions.iter().enumerate() {
            if let (Some(seen), None) = (&seen, bend) {
                seen.fetch_add(1, Ordering::SeqCst);
            }
            world = World::apply(world, transition);
            rig.step(transition, &world).map_err(|what| {
                TestCaseError::fail(format!("step {}, {transition:?}: {what}", at + 1))
            })?;
        }
        Ok(())
    });
    result.map_err(|error| match error {
        TestError::Abort(reason) => format!("no verdict: {reason}"),
        TestError::Fail(reason, (_, transitions, _)) => {
            let steps: Vec<_> = transitions
                .iter()
                .enumerate()
                .map(|(at, step)| format!("    {}: {step:?}", at + 1))
                .collect();
            format!("{reason}\n  after\n{}", steps.join("\n"))
        }
    })
}

fn distribution(coverage: &Coverage) -> Vec<String> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for ((kind, name), count) in coverage {
        let entry = format!("{name} {count}");
        match lines.last_mut() {
            Some((last, line)) if last == kind => *line = format!("{line}, {entry}"),
            _ => lines.push((kind, entry)),
        }
    }
    lines.into_iter().map(|(kind, line)| format!("{kind}: {line}")).collect()
}
