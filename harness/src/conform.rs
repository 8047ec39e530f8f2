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
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use gaia_bus::bus::Bus;
use gaia_bus::log::{DamageKind, LINE_BYTES_MAX};
use gaia_bus::settings::Settings;
use gaia_bus_model::command::Verb;
use gaia_bus_model::json::Object;
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
    /// What the gate runs with `--full`.
    pub const FULL: Size = Size { cases: 10_000, steps_max: 60 };
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
    draft.case(too_long(&under, &coverage));
    let coverage = coverage.into_inner();
    for missing in not_met(&coverage) {
        draft.violation(format!("never met: {missing}"));
    }
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

/// A line that is too long has more than 256 MiB. So it is planted once and not drawn: in a hole of
/// the file, before a handle that has validated what stands before it and one that has not.
fn too_long(under: &Path, coverage: &RefCell<Coverage>) -> Result<(), String> {
    let root = tempfile::tempdir_in(under).expect("a directory for the line");
    let settings = Settings::of_data_dir(&root.path().join("data"));
    let log = settings.paths.log.clone();
    let register = |bus: &mut Bus| bus.call(Verb::Register, Object::new().with("actorId", "one"));
    let mut warm = Bus::new(settings.clone());
    let first = register(&mut warm);
    let sound = fs::read(&log).map_err(|error| format!("{first:?}: {error}"))?;
    let file = fs::OpenOptions::new().append(true).open(&log).expect("the log opens");
    let length = LINE_BYTES_MAX as u64 + 1;
    file.set_len(sound.len() as u64 + length).expect("a hole");
    (&file).write_all(b"\n").expect("the end of the line");
    for bus in [&mut warm, &mut Bus::new(settings)] {
        let answer = register(bus);
        let corrupt = answer.corrupt.as_ref();
        let found = corrupt.map(|corrupt| (corrupt.kind, corrupt.line, corrupt.offset));
        let kind = DamageKind::TooLong;
        let expected = Some((kind.as_str(), Some(2), Some(sound.len() as u64)));
        if found != expected || answer.exit_code != 3 {
            return Err(format!("a line of {length} bytes: {answer:?}"));
        }
        let bytes = file.metadata().expect("the log is there").len();
        if bytes != sound.len() as u64 + length + 1 {
            return Err(format!("a log with a line of {length} bytes has changed"));
        }
        *coverage.borrow_mut().entry(("damage", kind.as_str().to_owned())).or_default() += 1;
    }
    Ok(())
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
