//! The crash matrix on real processes, real system calls and real file systems.
//!
//! Promise. Wherever the shipped entry point is killed, whichever system call fails, and whenever
//! the power goes: what was answered is there, what failed closed left nothing, the next writer and
//! the person who follows the doctor go on soundly.
//!
//! Method. A baseline under strace lists the system calls of a command from the first that names
//! its data directory, as pairs (name, how often before). Then each is met again, once with SIGKILL
//! at its entry (it is not executed), and with the errnos that it can have, once and from then on.
//! Every cell comes to one [`Fate`], every scene to the fates that it must come to, and the whole
//! story (what was there, the victim, the next writer) is judged by the model's invariants and
//! `history::judge`. For power loss the directory is on an ext4 or xfs in a loop-mounted image, and
//! the image is copied while it is mounted: what the copy holds is what had reached the device.
//! Mounting the copy is the reboot.
//!
//! Cannot see. What a disk loses that it said it had; system calls of kernels that work otherwise;
//! a write that ends inside of a line (the simulated matrix cuts it anywhere). No victim
//! acknowledges, polls or repeats: what the model says of those is for `processes`.
//!
//! Needs strace; power loss needs root and loop mounts too. A row that lacks any of it is skipped,
//! and says so.
//!
//! Rooms: `trace` (what strace did), `stage` (the scenes), `verdict` (fates, and ways to be wrong),
//! `power` (file systems that lose their power).

mod power;
mod stage;
mod trace;
mod verdict;

use std::path::Path;

use gaia_bus_model::invariant::{BATCH_WHOLE, named};
use gaia_bus_model::json::Object;

pub use power::{FILE_SYSTEMS, FileSystem, power_loss, power_loss_on, unless_untried};
pub use trace::{Injection, Point, Trace};
pub use verdict::Fate;

use crate::conform::place;
use crate::program::{Program, strace_is_missing};
use crate::report::{Draft, Report};
use stage::{Baseline, Scene, Seen, Stage};
use verdict::{Wrong, aftermath, fate, leaves_lock_silently, told};

/// How far [`system_calls`] looks at the gate's size.
pub const SYSTEM_CALLS_BOUND: &str =
    "SIGKILL and errnos, once and for ever, at each system call of 4 scenes";

/// How far [`power_loss`] looks at the gate's size.
pub const POWER_LOSS_BOUND: &str = "the power goes before each system call of 2 commits and each \
                                    change by 2 take-backs, on ext4 and xfs";

/// The invariants of a log alone that these checks have something to judge by: records of the types
/// that they are about. A run that met no such record is red.
pub const JUDGED: [&str; 7] = [
    named("records_whole").name,
    named("replay_legal").name,
    named("ids_dense").name,
    named("authority_frozen").name,
    named("effects_none").name,
    named("handoffs_matched").name,
    named("denials_matched").name,
];

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Every so manieth errno cell is run. Kills are always run at every call.
    pub errnos_one_in: usize,
    /// Every so manieth call is the last before the power goes.
    pub power_one_in: usize,
}

impl Size {
    /// What the gate runs: all of it.
    pub const GATE: Size = Size { errnos_one_in: 1, power_one_in: 1 };
    /// What a plain `cargo test` runs.
    pub const TEST: Size = Size { errnos_one_in: 9, power_one_in: 6 };
}

/// What each scene must come to.
const FATES: [(Scene, &[Fate]); 4] = [
    (Scene::FirstCommit, &ALL_FATES),
    (Scene::LaterCommit, &ALL_FATES),
    // Nobody is answered whose write or fsync failed.
    (Scene::TakeBack, &[Fate::CommittedAndUnknown, Fate::NotCommitted, Fate::Refused]),
    (Scene::CutWrite, &[Fate::CommittedAndUnknown, Fate::NotCommitted, Fate::Refused]),
];

const ALL_FATES: [Fate; 4] =
    [Fate::CommittedAndAnswered, Fate::CommittedAndUnknown, Fate::NotCommitted, Fate::Refused];

/// Kills and errnos at every system call.
///
/// # Panics
///
/// When a process cannot be started.
#[must_use]
pub fn system_calls(size: Size, executable: &Path) -> Report {
    let mut draft = Draft::new("system-calls", SYSTEM_CALLS_BOUND);
    if let Some(reason) = strace_is_missing() {
        return draft.skip(reason);
    }
    let program = Program::of(executable);
    let (under, file_system) = place();
    let root = tempfile::tempdir_in(&under).expect("a directory for the matrix");
    draft.note(format!("on {} ({file_system})", under.display()));
    let mut seen = Seen::default();
    let stage = Stage { program: &program, root: root.path().join("cell") };
    for scene in Scene::ALL {
        match stage.baseline(scene) {
            Ok(base) => every_call(&mut draft, &mut seen, &stage, &base, size),
            Err(wrong) => draft.violation(format!("{scene:?}: {wrong}")),
        }
        stage.clear();
    }
    seen.demand_fates(&mut draft, &FATES);
    seen.demand_judged(&mut draft, &JUDGED);
    let calls: Vec<_> = seen.calls.into_iter().collect();
    draft.note(format!("calls: {}", calls.join(", ")));
    lies(&mut draft, &stage);
    draft.finish()
}

/// One scene: by itself, and with each injection beside its own fault.
fn every_call(draft: &mut Draft, seen: &mut Seen, stage: &Stage<'_>, base: &Baseline, size: Size) {
    seen.calls.extend(base.points.iter().map(|point| point.call.clone()));
    // strace takes one rule a system call: another would hide the scene's own. In its place the
    // scene's own call fails from then on, so that the take-back cannot be synced either. A kill at
    // the fsync of a take-back is met in the scene that takes no rule.
    let others = injections(&base.points, size).into_iter().filter(|other| !base.hides(other));
    let again = base.own.iter().map(|own| Injection { forever: true, ..own.clone() });
    for other in others.chain(again).map(Some).chain([None]) {
        let verdict = cell(stage, base, other.as_ref());
        stage.clear();
        let at = other.map_or_else(|| "by itself".into(), |it| it.flag());
        draft.case(match verdict {
            Ok((fate, log)) => {
                seen.take(base.scene, fate, &log);
                Ok(())
            }
            Err(wrong) => Err(format!("{:?}, {at}: {wrong}", base.scene)),
        });
    }
}

/// Runs one cell and judges it: the fate and the log in the end, or what is wrong.
fn cell(
    stage: &Stage<'_>,
    base: &Baseline,
    other: Option<&Injection>,
) -> Result<(Fate, Vec<Object>), Wrong> {
    let run = stage.run(base, &base.with(other))?;
    let was_killed = other.is_some_and(Injection::is_kill);
    let told = told(&run.done, was_killed, &run.errand, &run.history)?;
    let mut history = run.history;
    history.push(run.errand.done(&history, told.clone()));
    let data_dir = stage.data_dir();
    let fate = fate(&data_dir, &run.before, &history, &told)?;
    if leaves_lock_silently(&data_dir, &run.done) {
        return Err(Wrong::LockLeft);
    }
    let log = aftermath(stage.program, &data_dir, history)?;
    if base.scene != Scene::CutWrite {
        // A kill at the entry of a call cuts no batch; only the kernel's short write may have.
        (BATCH_WHOLE.holds)(&log).map_err(|broken| {
            Wrong::Unsound(format!("{}: {}", BATCH_WHOLE.name, broken.sentence))
        })?;
    }
    Ok((fate, log))
}

/// The errnos that a call can have and that a program may meet.
fn errnos(call: &str) -> &'static [&'static str] {
    match call {
        "openat" => &["EIO", "EACCES", "ENOSPC", "EROFS", "EMFILE"],
        "mkdir" | "mkdirat" => &["EIO", "EACCES", "ENOSPC", "EROFS"],
        "write" => &["EIO", "ENOSPC", "EDQUOT", "EFBIG"],
        "fsync" => &["EIO", "ENOSPC"],
        "unlinkat" => &["EIO", "EACCES", "EROFS", "EBUSY"],
        "ftruncate" => &["EIO", "EPERM", "EROFS"],
        "read" | "fstat" | "newfstatat" | "statx" | "lseek" => &["EIO"],
        "fcntl" => &["EMFILE"],
        _ => &[],
    }
}

/// The cells of a scene: what is injected beside the scene's own fault.
fn injections(points: &[Point], size: Size) -> Vec<Injection> {
    let kills = points.iter().map(Injection::kill);
    let fails = points
        .iter()
        .flat_map(|point| errnos(&point.call).iter().map(move |errno| (point, errno)))
        .flat_map(|(point, errno)| {
            [false, true].map(|forever| Injection {
                forever,
                ..Injection::once(point, format!("error={errno}"))
            })
        })
        .step_by(size.errnos_one_in);
    kills.chain(fails).collect()
}

/// An operating system that says it did what it did not: a bus that believes it is a bus that does
/// not do it, and must be found. And a fault that is met nowhere, which must not pass as met beside
/// the scene's own.
fn lies(draft: &mut Draft, stage: &Stage<'_>) {
    let tried = |scene: Scene, lie: fn(&Baseline) -> Option<Injection>| {
        let base = stage.baseline(scene)?;
        let lie = lie(&base).ok_or_else(|| Wrong::NotMet("there is no such call".into()))?;
        let verdict = cell(stage, &base, Some(&lie));
        stage.clear();
        verdict
    };
    // An append of the length that it would have had is claimed.
    let unwritten = tried(Scene::LaterCommit, |base| {
        Some(Injection::once(&base.append, format!("retval={}", base.append_bytes)))
    });
    draft.expect("answers without having written", &unwritten, &Wrong::AnsweredAndLost);
    let unreleased = tried(Scene::LaterCommit, |base| {
        let release = base.points.iter().rfind(|point| point.call == "unlinkat")?;
        Some(Injection::once(release, "retval=0"))
    });
    draft.expect("leaves the lock and says nothing", &unreleased, &Wrong::LockLeft);
    for what in ["error=EIO", "signal=KILL"] {
        let nowhere = Injection::once(&Point { call: "unlinkat".into(), nth: 99 }, what);
        let verdict =
            stage.baseline(Scene::TakeBack).and_then(|base| cell(stage, &base, Some(&nowhere)));
        stage.clear();
        let expected = Wrong::NotMet(nowhere.flag());
        draft.expect(format!("{what} that no call meets"), &verdict, &expected);
    }
}

/// A control that is found by what it was planted for, and by nothing else.
trait Expect {
    fn expect<T>(&mut self, name: impl Into<String>, verdict: &Result<T, Wrong>, expected: &Wrong);
}

impl Expect for Draft {
    fn expect<T>(&mut self, name: impl Into<String>, verdict: &Result<T, Wrong>, expected: &Wrong) {
        let name = name.into();
        let is_found = verdict.as_ref().err() == Some(expected);
        if !is_found {
            let came_to = verdict.as_ref().err().map_or("nothing".into(), ToString::to_string);
            self.note(format!("{name}: found {came_to} instead"));
        }
        self.control(name, is_found);
    }
}
