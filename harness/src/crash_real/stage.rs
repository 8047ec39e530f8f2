//! The scenes: what a victim finds, what it is asked, and what goes wrong by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use gaia_bus::settings::LOG_NAME;
use gaia_bus_model::command::Verb;
use gaia_bus_model::event::RecordType;
use gaia_bus_model::json::Object;

use super::trace::{Injection, Point, Trace};
use super::verdict::{Errand, Fate, Wrong, answered, log_bytes};
use crate::history::Operation;
use crate::program::{Program, judged, types};
use crate::report::Draft;

/// What a victim finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scene {
    /// An empty parent: the first registration of all.
    FirstCommit,
    /// A log with two actors, one of which hands over work and asks for what is denied: a batch of
    /// three records.
    LaterCommit,
    /// The same, and the fsync of the log fails; what is met is the take-back.
    TakeBack,
    /// The same, and a file size limit lets the kernel write only the first record of the batch.
    /// Here no rule of strace is taken, so that the fsync of the take-back can be met too.
    CutWrite,
}

impl Scene {
    pub(super) const ALL: [Scene; 4] =
        [Scene::FirstCommit, Scene::LaterCommit, Scene::TakeBack, Scene::CutWrite];

    fn errand(self) -> Errand {
        match self {
            Scene::FirstCommit => Errand::register("victim"),
            Scene::LaterCommit | Scene::TakeBack | Scene::CutWrite => {
                let arguments = Object::new()
                    .with("from", "act-0001")
                    .with("to", "act-0002")
                    .with("summary", "the branch is ready")
                    .with("requestedAuthority", vec!["report", "merge"]);
                Errand { verb: Verb::Handoff, arguments }
            }
        }
    }

    /// Whether the victim takes back what it wrote and fails closed.
    pub(super) const fn fails(self) -> bool {
        match self {
            Scene::FirstCommit | Scene::LaterCommit => false,
            Scene::TakeBack | Scene::CutWrite => true,
        }
    }

    /// The exit code of the victim when nothing is injected beside the scene's own fault.
    const fn exit_code(self) -> i32 {
        if self.fails() { 3 } else { 0 }
    }

    /// The calls that must be among those that are met, in this order; `mkdirat` is a `mkdir`.
    const fn calls(self) -> &'static [&'static str] {
        match self {
            Scene::FirstCommit => &[
                "mkdir", "mkdir", "write", "open", "fsync", "fsync", "write", "fsync", "unlink",
                "unlink", "write",
            ],
            Scene::LaterCommit => {
                &["mkdir", "write", "read", "write", "fsync", "unlink", "unlink", "write"]
            }
            Scene::TakeBack => {
                &["fsync", "read", "ftruncate", "fsync", "unlink", "unlink", "write"]
            }
            Scene::CutWrite => {
                &["write", "read", "ftruncate", "fsync", "unlink", "unlink", "write"]
            }
        }
    }
}

/// The fault that makes a scene, and the calls of a run with only that.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    pub(super) scene: Scene,
    pub(super) own: Vec<Injection>,
    pub(super) file_bytes_max: Option<usize>,
    pub(super) points: Vec<Point>,
    /// The append, and how many bytes it means to write.
    pub(super) append: Point,
    pub(super) append_bytes: usize,
}

impl Baseline {
    /// Whether strace could not meet this beside the scene's own fault: it takes one rule a call.
    pub(super) fn hides(&self, other: &Injection) -> bool {
        self.own.iter().any(|own| own.point.call == other.point.call)
    }

    /// The scene's own injections, and this.
    pub(super) fn with(&self, other: Option<&Injection>) -> Vec<Injection> {
        let is_other = |own: &&Injection| other.is_none_or(|other| own.point != other.point);
        self.own.iter().filter(is_other).chain(other).cloned().collect()
    }
}

/// A directory for one run of a victim.
pub(super) struct Stage<'a> {
    pub(super) program: &'a Program,
    pub(super) root: PathBuf,
}

/// What a victim left.
pub(super) struct Run {
    /// What was there before it.
    pub(super) before: Vec<u8>,
    /// Who was answered before it.
    pub(super) history: Vec<Operation>,
    pub(super) errand: Errand,
    pub(super) done: Output,
}

impl Stage<'_> {
    pub(super) fn data_dir(&self) -> PathBuf {
        self.root.join("data")
    }

    fn trace(&self) -> Trace {
        let file = self.root.with_extension("trace");
        let bytes = fs::read(file).expect("strace writes its trace");
        Trace::of(&String::from_utf8_lossy(&bytes))
    }

    pub(super) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.root);
        let _ = fs::remove_file(self.root.with_extension("trace"));
    }

    /// Sets the scene: what was there before, and how it came there.
    fn set(&self, scene: Scene) -> Result<Vec<Operation>, Wrong> {
        fs::create_dir_all(&self.root).expect("a directory for the cell");
        let names: &[&str] = match scene {
            Scene::FirstCommit => &[],
            Scene::LaterCommit | Scene::TakeBack | Scene::CutWrite => &["giver", "taker"],
        };
        let mut history = Vec::new();
        for name in names {
            let errand = Errand::register(name);
            history.push(answered(self.program, &self.data_dir(), errand, &history)?);
        }
        Ok(history)
    }

    /// The victim under strace, and, where it is limited, under `prlimit`.
    fn command(
        &self,
        errand: &Errand,
        file_bytes_max: Option<usize>,
        injections: &[Injection],
    ) -> Command {
        let mut command = Command::new("strace");
        self.program.at_home(&mut command, &self.data_dir(), 0);
        command.args(["-qq", "-y", "-o"]).arg(self.root.with_extension("trace"));
        for injection in injections {
            command.args(["-e", &injection.flag()]);
        }
        if let Some(bytes) = file_bytes_max {
            command.arg("prlimit").arg(format!("--fsize={bytes}"));
        }
        command.arg(self.program.path()).args(errand.argv());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Sets the scene and runs the victim. Everything that is injected must have been met.
    pub(super) fn run(&self, base: &Baseline, injections: &[Injection]) -> Result<Run, Wrong> {
        let run = self.run_as_told(base.scene, base.file_bytes_max, injections)?;
        self.demand_met(injections)?;
        Ok(run)
    }

    fn run_as_told(
        &self,
        scene: Scene,
        file_bytes_max: Option<usize>,
        injections: &[Injection],
    ) -> Result<Run, Wrong> {
        let history = self.set(scene)?;
        let before = log_bytes(&self.data_dir());
        let errand = scene.errand();
        let mut command = self.command(&errand, file_bytes_max, injections);
        let done = command.output().expect("starting strace");
        Ok(Run { before, history, errand, done })
    }

    fn demand_met(&self, injections: &[Injection]) -> Result<(), Wrong> {
        let trace = self.trace();
        match injections.iter().find(|injection| !trace.met(injection)) {
            Some(other) => Err(Wrong::NotMet(other.flag())),
            None => Ok(()),
        }
    }

    /// The same for a victim that one of the injections holds for a while behind its write: in that
    /// time its bytes reach the device, as a disk may have it that reports a failure. Nothing when
    /// it went on too early.
    pub(super) fn run_held(
        &self,
        base: &Baseline,
        injections: &[Injection],
    ) -> Result<Option<Run>, Wrong> {
        let history = self.set(base.scene)?;
        let before = log_bytes(&self.data_dir());
        let errand = base.scene.errand();
        let mut command = self.command(&errand, base.file_bytes_max, injections);
        let mut victim = command.spawn().expect("starting strace");
        let log = self.data_dir().join(LOG_NAME);
        let is_longer = || log_bytes(&self.data_dir()).len() > before.len();
        while !is_longer() && victim.try_wait().expect("asking for strace").is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        let is_synced = fs::File::open(log).and_then(|log| log.sync_all()).is_ok();
        let was_held = is_synced && is_longer();
        let done = victim.wait_with_output().expect("strace ends");
        self.demand_met(injections)?;
        Ok(was_held.then_some(Run { before, history, errand, done }))
    }

    /// What makes a scene, learnt from a run of it. It must be the run that was meant.
    pub(super) fn baseline(&self, scene: Scene) -> Result<Baseline, Wrong> {
        let mut base = self.plain(scene)?;
        let is_first = |point: &Point| *point == base.append;
        let from = match scene {
            Scene::FirstCommit | Scene::LaterCommit => None,
            Scene::TakeBack => base.own.first().map(|own| own.point.clone()),
            Scene::CutWrite => Some(base.append.clone()),
        };
        // What comes before the scene's own fault is met without it.
        if let Some(from) = from {
            let begun = base.points.iter().position(|point| *point == from);
            base.points.drain(..begun.unwrap_or(base.points.len()));
        } else if !base.points.iter().any(is_first) {
            return Err(Wrong::NotMet("the append is not among the calls".into()));
        }
        in_order(scene, &base.points)?;
        Ok(base)
    }

    /// A run with nothing but the scene's own fault, and all its calls.
    fn plain(&self, scene: Scene) -> Result<Baseline, Wrong> {
        let missing = |what: &str| Wrong::NotMet(format!("{what} is not in the trace"));
        let whole = match scene {
            Scene::FirstCommit => Scene::FirstCommit,
            Scene::LaterCommit | Scene::TakeBack | Scene::CutWrite => Scene::LaterCommit,
        };
        let run = self.traced(whole, None, &[])?;
        let trace = self.trace();
        let added = log_bytes(&self.data_dir()).split_off(run.before.len());
        self.clear();
        let first_line = added.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (mut own, mut file_bytes_max) = (Vec::new(), None);
        match scene {
            Scene::FirstCommit | Scene::LaterCommit => {}
            Scene::TakeBack => {
                let sync = trace.on_file("fsync", LOG_NAME).ok_or_else(|| missing("an fsync"))?;
                own.push(Injection::once(&sync, "error=EIO"));
            }
            Scene::CutWrite => file_bytes_max = Some(run.before.len() + first_line),
        }
        self.traced(scene, file_bytes_max, &own)?;
        let trace = self.trace();
        self.clear();
        let append = trace.on_file("write", LOG_NAME).ok_or_else(|| missing("the append"))?;
        let directory = self.root.to_str().expect("an ASCII path");
        let points = trace.points(directory);
        Ok(Baseline { scene, own, file_bytes_max, points, append, append_bytes: added.len() })
    }

    /// Runs a scene that must end as scenes of its kind do.
    fn traced(
        &self,
        scene: Scene,
        file_bytes_max: Option<usize>,
        own: &[Injection],
    ) -> Result<Run, Wrong> {
        let run = self.run_as_told(scene, file_bytes_max, own)?;
        self.demand_met(own)?;
        if run.done.status.code() != Some(scene.exit_code()) {
            return Err(Wrong::Ended(format!("{scene:?} by itself: {:?}", run.done)));
        }
        if !log_bytes(&self.data_dir()).starts_with(&run.before) {
            return Err(Wrong::HistoryLost);
        }
        Ok(run)
    }
}

/// Whether the calls that a scene is about are among those that are met.
fn in_order(scene: Scene, points: &[Point]) -> Result<(), Wrong> {
    let mut points = points.iter();
    let is = |call: &str, wanted: &str| call == wanted || call.strip_suffix("at") == Some(wanted);
    match scene.calls().iter().find(|wanted| !points.any(|point| is(&point.call, wanted))) {
        Some(wanted) => Err(Wrong::NotMet(format!("{wanted} is missing among the calls"))),
        None => Ok(()),
    }
}

/// What the cells of a check have come to.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) fates: BTreeMap<Scene, BTreeMap<Fate, u64>>,
    pub(super) calls: BTreeSet<String>,
    pub(super) types: BTreeSet<RecordType>,
}

impl Seen {
    pub(super) fn take(&mut self, scene: Scene, fate: Fate, log: &[Object]) {
        *self.fates.entry(scene).or_default().entry(fate).or_default() += 1;
        self.types.extend(types(log));
    }

    /// Every scene must have come to these fates, and to no other.
    pub(super) fn demand_fates(&self, draft: &mut Draft, wanted: &[(Scene, &[Fate])]) {
        for (scene, wanted) in wanted {
            let fates = self.fates.get(scene).cloned().unwrap_or_default();
            if !fates.keys().eq(*wanted) {
                draft.violation(format!("{scene:?} came to {fates:?} instead of {wanted:?}"));
            }
            draft.note(format!("{scene:?}: {fates:?}"));
        }
    }

    /// The logs must have held what these invariants are about.
    pub(super) fn demand_judged(&self, draft: &mut Draft, wanted: &[&str]) {
        let judged = judged(&self.types);
        for name in wanted.iter().filter(|name| !judged.contains(name)) {
            draft.violation(format!("no log held what {name} is about"));
        }
        draft.note(format!("the logs held what these are about: {}", judged.join(", ")));
    }
}
