//! The crash matrix, simulated: every call of a command x what goes wrong there x what comes next.
//!
//! A first process carries out its commands; at one call it is injured (killed, out of power with
//! every image that a power cut can leave, a short write at every interesting count, EIO once or
//! for ever, ...); then comes a sequel: another writer, a reader, or a person who repairs and then
//! another writer. All of it is moves of a [`Scene`], so every promise is looked at after every
//! call; each cell also has to end in one of four [`Class`]es, each with what it requires.
//!
//! Unlike the [explorer](crate::explore) it takes no two processes at once but for
//! [`Injury::Stolen`], and cuts files at every byte. Guarded by `tests/crash_sim.rs`.

use std::collections::{BTreeMap, BTreeSet};

use crate::controls;
use crate::disk::Outcome;
use crate::disk::bend::Fault;
use crate::invariant::Broken;
use crate::report::{Draft, Report};
use crate::scene::{Budget, Move, Person, Scene, Setup};
use crate::small::{Kind, Tag, old_line};
use crate::worker::{Plan, Stage, Touch, Verdict};

/// How far [`check`] looks.
pub const BOUND: &str = "every call x {kill, power cut with every surviving image, short write, \
                         errors} x what comes next";

/// The process that is injured, and the one that comes after it.
const VICTIM: u8 = 0;
const NEXT: u8 = 1;

/// No run has more moves than this: a longer one goes round in circles.
const MOVES_MAX: usize = 200;

/// A budget that no cell uses up.
const MANY: u8 = 200;

/// What goes wrong at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Injury {
    /// Nothing.
    Nothing,
    /// The process is killed before the call.
    Kill,
    /// The power fails before the call, and leaves any image.
    PowerCut,
    /// The append writes 0, 1, n/2, n-1 or n bytes, and says so.
    ShortWrite,
    /// The call fails once; an fsync after any part of the dirty bytes.
    FailOnce,
    /// The call fails, and every later one.
    FailForEver,
    /// The append is short, and another program appends behind it.
    ShortThenForeign,
    /// Someone removes the lock, and the next process takes it.
    Stolen,
    /// Between two commands the log is put back as it was.
    Restored,
}

impl Injury {
    /// All under which every promise must hold: all but [`Injury::Stolen`], which makes two writers
    /// by itself.
    pub const ALL: [Injury; 8] = [
        Injury::Nothing,
        Injury::Kill,
        Injury::PowerCut,
        Injury::ShortWrite,
        Injury::FailOnce,
        Injury::FailForEver,
        Injury::ShortThenForeign,
        Injury::Restored,
    ];
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sequel {
    /// Nothing: the machine stays as it is.
    Nothing,
    /// Another process appends.
    Writer,
    /// Another process reads, as doctor does.
    Reader,
    /// A person does what doctor prints, then another process appends.
    Repair,
}

impl Sequel {
    /// All of them.
    pub const ALL: [Sequel; 4] = [Sequel::Nothing, Sequel::Writer, Sequel::Reader, Sequel::Repair];
}

/// How a cell ended for the injured command's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Its caller has the answer, and the records are there.
    CommittedAnswered,
    /// Nobody was told, and the records are there.
    CommittedUnknown,
    /// They are not there, and nobody was told that they are.
    NotCommitted,
    /// The log is damaged behind the last answered record, and every command is refused.
    Refused,
}

/// Which cells to fill.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The injured process.
    pub victim: Plan,
    /// Whether the directory is new.
    pub is_fresh: bool,
    /// What goes wrong.
    pub injuries: Vec<Injury>,
    /// What comes next.
    pub sequels: Vec<Sequel>,
    /// The planted fault.
    pub fault: Option<Fault>,
    /// The invariants to look at.
    pub watched: Broken,
}

/// The matrices that are filled: which cells, and their pinned numbers of calls and cells.
#[must_use]
pub fn matrices() -> Vec<(&'static str, Bounds, (usize, usize))> {
    let one = || Bounds::all(Plan::cold(&[Kind::One]));
    vec![
        ("a commit", one(), (12, 818)),
        ("the first commit of all", one().fresh(), (13, 919)),
        ("a batch", Bounds::all(Plan::cold(&[Kind::Two])), (12, 1314)),
        (
            "a server and two commits",
            Bounds::all(Plan::warm(&[Kind::One, Kind::Two])).fresh(),
            (25, 2234),
        ),
        ("a commit that reads a line again", Bounds::all(Plan::cold(&[Kind::Recall])), (13, 843)),
        ("a reader", Bounds::all(Plan::cold(&[Kind::Look])), (9, 216)),
        ("a commit whose lock is removed and taken by another", one().stolen(), (12, 36)),
    ]
}

/// Fills all of [`matrices`], and plants the faults that this checker claims.
#[must_use]
pub fn check() -> Report {
    let mut draft = Draft::new("crash-matrix", BOUND);
    let mut injuries = BTreeSet::new();
    for (name, bounds, (calls, cells)) in matrices() {
        let matrix = fill(&bounds);
        draft.cases(matrix.cells as u64);
        draft.note(format!(
            "{name}: {} calls, {} cells: {:?}",
            matrix.calls, matrix.cells, matrix.classes
        ));
        if (matrix.calls, matrix.cells) != (calls, cells) {
            draft.violation(format!("{name}: there were {calls} calls and {cells} cells"));
        }
        for broke in matrix.broken {
            draft.violation(format!("{name}: {broke:?}"));
        }
        injuries.extend(matrix.injuries.into_keys());
    }
    for injury in Injury::ALL.into_iter().chain([Injury::Stolen]) {
        if !injuries.contains(&injury) {
            draft.violation(format!("no cell has {injury:?}"));
        }
    }
    controls::plant(&mut draft, "crash matrix");
    draft.finish()
}

impl Bounds {
    /// Every injury and sequel for this process.
    #[must_use]
    pub fn all(victim: Plan) -> Self {
        Bounds {
            victim,
            is_fresh: false,
            injuries: Injury::ALL.to_vec(),
            sequels: Sequel::ALL.to_vec(),
            fault: None,
            watched: Broken::ALL,
        }
    }

    /// The same on a directory just made.
    #[must_use]
    pub fn fresh(self) -> Self {
        Bounds { is_fresh: true, ..self }
    }

    /// The lock is removed under the process by someone who asks nobody: then only other people's
    /// locks are safe.
    #[must_use]
    pub fn stolen(self) -> Self {
        let watched = Broken::named(&["foreign_lock_kept"]);
        Bounds { injuries: vec![Injury::Stolen], watched, ..self }
    }

    fn setup(&self, sequel: Sequel) -> Setup {
        let many = MANY;
        let budget = Budget {
            crashes: many,
            power_cuts: many,
            sync_failures: many,
            io_errors: many,
            short_writes: many,
            evictions: 0,
            repairs: many,
            careless: many,
            foreign_appends: many,
            restores: many,
        };
        let next = match sequel {
            Sequel::Nothing | Sequel::Writer | Sequel::Repair => Kind::One,
            Sequel::Reader => Kind::Look,
        };
        Setup {
            log: (!self.is_fresh).then(old_line),
            fault: self.fault,
            watched: self.watched,
            is_fine: true,
            ..Setup::new(vec![self.victim.clone(), Plan::cold(&[next])], budget)
        }
    }
}

/// A promise that was broken.
#[derive(Clone, Debug)]
pub struct Broke {
    /// Before which call of the injured process, from 0.
    pub call: usize,
    /// What went wrong.
    pub injury: Injury,
    /// What came next.
    pub sequel: Sequel,
    /// The invariants, or the class that does not fit what was answered.
    pub names: Vec<&'static str>,
}

/// The matrix, filled.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// How many calls the command has without injury.
    pub calls: usize,
    /// How many cells there are.
    pub cells: usize,
    /// How many of each class.
    pub classes: BTreeMap<Class, usize>,
    /// How many of each injury.
    pub injuries: BTreeMap<Injury, usize>,
    /// What was broken.
    pub broken: Vec<Broke>,
}

/// Fills the matrix.
#[must_use]
pub fn fill(bounds: &Bounds) -> Matrix {
    let mut matrix = Matrix::default();
    for sequel in &bounds.sequels {
        let setup = bounds.setup(*sequel);
        let mut before = setup.scene();
        let mut call = 0;
        loop {
            for injury in &bounds.injuries {
                for scene in injured(&setup, &before, *injury) {
                    for end in follow(&setup, scene, *sequel) {
                        matrix.take(call, bounds, *injury, *sequel, &end);
                    }
                }
            }
            let Some(next) = go_on(&setup, &before, VICTIM, Outcome::Ok) else { break };
            before = next;
            call += 1;
        }
        matrix.calls = call;
    }
    matrix
}

impl Matrix {
    fn take(&mut self, call: usize, bounds: &Bounds, injury: Injury, sequel: Sequel, end: &Scene) {
        let commands = bounds.victim.errands.len();
        self.cells += 1;
        *self.injuries.entry(injury).or_default() += 1;
        let mut names = end.broken.names();
        match class(end, commands, sequel) {
            Ok(class) => *self.classes.entry(class).or_default() += 1,
            // A scene that broke a promise stopped there and has no class.
            Err(name) if names.is_empty() => names.push(name),
            Err(_) => {}
        }
        if !names.is_empty() {
            self.broken.push(Broke { call, injury, sequel, names });
        }
    }
}

/// The class of a cell, or what contradicts every class.
fn class(end: &Scene, commands: usize, sequel: Sequel) -> Result<Class, &'static str> {
    let victim = &end.workers[usize::from(VICTIM)];
    let reading = end.world.reading();
    let is_there = |command: usize| {
        let tag = Tag { process: VICTIM, command: u8::try_from(command).unwrap_or(u8::MAX) };
        reading.entries.iter().any(|entry| entry.is_of(tag))
    };
    let was_restored = end.left.restores < MANY;
    for (command, verdict) in victim.verdicts.iter().enumerate() {
        match (verdict, is_there(command)) {
            (Verdict::Answered, false) if !was_restored => return Err("answered and not there"),
            (verdict, true) if verdict.is_fail_closed() => return Err("fail-closed and there"),
            _ => {}
        }
    }
    let next = end.workers[usize::from(NEXT)].verdicts.first();
    let refused = matches!(next, None | Some(Verdict::Damaged | Verdict::TimedOut));
    if reading.is_damaged && sequel != Sequel::Nothing && !refused {
        return Err("damage was not refused");
    }
    // The command that was injured, or the last one.
    let command = victim.verdicts.len().min(commands - 1);
    match (victim.verdicts.get(command), is_there(command)) {
        (Some(Verdict::Answered), true) => Ok(Class::CommittedAnswered),
        (None | Some(Verdict::Unconfirmed), true) => Ok(Class::CommittedUnknown),
        (Some(_), true) => Err("there, and its caller was told something else"),
        (_, false) if reading.is_damaged => Ok(Class::Refused),
        (_, false) => Ok(Class::NotCommitted),
    }
}

/// The scenes that an injury leads to; none where it cannot happen.
fn injured(setup: &Setup, scene: &Scene, injury: Injury) -> Vec<Scene> {
    let touch = scene.workers[usize::from(VICTIM)].touch(setup.fault);
    let is_running = touch.is_some();
    let with = |outcomes: Vec<Outcome>| -> Vec<Scene> {
        let begun = outcomes.into_iter().filter_map(|outcome| step(setup, scene, outcome));
        begun.map(|scene| finish(setup, scene, VICTIM)).collect()
    };
    match injury {
        Injury::Nothing => vec![finish(setup, scene.clone(), VICTIM)],
        Injury::Kill if is_running => scene.play(setup, Move::Kill(VICTIM)).into_iter().collect(),
        Injury::PowerCut => {
            let images = u16::try_from(scene.world.images(true).len()).unwrap_or(u16::MAX);
            (0..images).filter_map(|image| scene.play(setup, Move::PowerCut(image))).collect()
        }
        Injury::ShortWrite => with(shorts(touch)),
        Injury::FailOnce => with(failures(scene, touch)),
        Injury::FailForEver if is_running => vec![fail_for_ever(setup, scene.clone())],
        Injury::ShortThenForeign => shorts(touch)
            .into_iter()
            .filter_map(|outcome| step(setup, scene, outcome)?.play(setup, Move::AppendForeign))
            .map(|scene| finish(setup, scene, VICTIM))
            .collect(),
        Injury::Stolen => stolen(setup, scene).into_iter().collect(),
        Injury::Restored => {
            let mut moves = Vec::new();
            scene.moves(setup, &mut moves);
            let is_idle = scene.workers[usize::from(VICTIM)].stage == Stage::Idle;
            moves.retain(|made| *made == Move::Restore && is_idle);
            let restored = moves.into_iter().filter_map(|made| scene.play(setup, made));
            restored.map(|scene| finish(setup, scene, VICTIM)).collect()
        }
        Injury::Kill | Injury::FailForEver => Vec::new(),
    }
}

fn step(setup: &Setup, scene: &Scene, outcome: Outcome) -> Option<Scene> {
    scene.play(setup, Move::Step { process: VICTIM, quiet: 0, outcome })
}

fn shorts(touch: Option<Touch>) -> Vec<Outcome> {
    let Some(Touch::Append(bytes)) = touch else { return Vec::new() };
    let mut counts = vec![0, 1, bytes / 2, bytes - 1, bytes];
    counts.dedup();
    counts.into_iter().map(|count| Outcome::Short(u32::try_from(count).unwrap_or(0))).collect()
}

fn failures(scene: &Scene, touch: Option<Touch>) -> Vec<Outcome> {
    match touch {
        None | Some(Touch::Nothing) => Vec::new(),
        Some(Touch::SyncLog) => {
            let dirty = u32::try_from(scene.world.dirty_bytes()).unwrap_or(0);
            (0..=dirty).map(Outcome::SyncFail).collect()
        }
        Some(Touch::SyncDir) => vec![Outcome::SyncFail(0)],
        Some(Touch::Quiet | Touch::Lock | Touch::Append(_) | Touch::Plain) => vec![Outcome::Fail],
    }
}

fn fail_for_ever(setup: &Setup, mut scene: Scene) -> Scene {
    for _ in 0..MOVES_MAX {
        let touch = scene.workers[usize::from(VICTIM)].touch(setup.fault);
        let outcome = failures(&scene, touch).first().copied().unwrap_or(Outcome::Ok);
        if touch.is_none() || !scene.broken.is_empty() {
            break;
        }
        let Some(next) = step(setup, &scene, outcome) else { break };
        scene = next;
    }
    scene
}

/// Someone removes the lock of the first process, and the next takes one, before the first goes on.
fn stolen(setup: &Setup, scene: &Scene) -> Option<Scene> {
    let victim = &scene.workers[usize::from(VICTIM)];
    if !victim.holds || victim.is_in_window() || scene.world.lock.is_none() {
        return None;
    }
    let mut scene = scene.play(setup, Move::RemoveCarelessly)?;
    // Start, make the lock, open it, write the owner record: then it is surely the other's.
    for _ in 0..4 {
        match go_on(setup, &scene, NEXT, Outcome::Ok) {
            Some(next) => scene = next,
            None => return Some(scene),
        }
    }
    Some(finish(setup, scene, VICTIM))
}

/// A process takes its next move: starts, calls, or gives up waiting. Nothing when it is over.
fn go_on(setup: &Setup, scene: &Scene, process: u8, outcome: Outcome) -> Option<Scene> {
    if !scene.broken.is_empty() {
        return None;
    }
    let worker = &scene.workers[usize::from(process)];
    match worker.stage {
        Stage::Over => None,
        Stage::Idle => scene.play(setup, Move::Start(process)),
        Stage::Waiting(_) => {
            let call = Move::Step { process, quiet: 0, outcome };
            // A try that meets the lock and changes nothing would only be made again.
            let tried = scene.play(setup, call)?;
            let waits =
                scene.world.lock.is_some() && worker.touch(setup.fault) == Some(Touch::Lock);
            let breaks = matches!(setup.fault, Some(Fault::BreakByAge | Fault::BreakDeadOwner));
            if waits && !breaks { scene.play(setup, Move::TimeOut(process)) } else { Some(tried) }
        }
        Stage::Running(_) => scene.play(setup, Move::Step { process, quiet: 0, outcome }),
    }
}

fn finish(setup: &Setup, mut scene: Scene, process: u8) -> Scene {
    for _ in 0..MOVES_MAX {
        match go_on(setup, &scene, process, Outcome::Ok) {
            Some(next) => scene = next,
            None => break,
        }
    }
    scene
}

/// What comes next, in every way that it can come.
fn follow(setup: &Setup, scene: Scene, sequel: Sequel) -> Vec<Scene> {
    match sequel {
        Sequel::Nothing => vec![scene],
        Sequel::Writer | Sequel::Reader => vec![finish(setup, scene, NEXT)],
        Sequel::Repair => {
            let mut repaired = Vec::new();
            repair(setup, scene, MOVES_MAX, &mut repaired);
            repaired.into_iter().map(|scene| finish(setup, scene, NEXT)).collect()
        }
    }
}

/// A person repairs until there is nothing to repair, whatever a restart leaves.
fn repair(setup: &Setup, scene: Scene, depth_max: usize, repaired: &mut Vec<Scene>) {
    let mut moves = Vec::new();
    scene.moves(setup, &mut moves);
    moves.retain(|made| match made {
        Move::Repair(_) | Move::RepairUnrecorded(_) | Move::Reboot(_) => true,
        Move::Start(_)
        | Move::Step { .. }
        | Move::TimeOut(_)
        | Move::Kill(_)
        | Move::PowerCut(_)
        | Move::Evict
        | Move::RemoveCarelessly
        | Move::AppendForeign
        | Move::Restore => false,
    });
    if moves.is_empty() || depth_max == 0 {
        debug_assert!(scene.people.iter().all(|person| *person == Person::Idle));
        repaired.push(scene);
        return;
    }
    for made in moves {
        if let Some(next) = scene.play(setup, made) {
            repair(setup, next, depth_max - 1, repaired);
        }
    }
}
