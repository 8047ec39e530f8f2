//! Interleavings: every order in which threads can get at one disk (loom).
//!
//! Each process is a thread that owns its commit machine; the disk is behind a mutex, and each call
//! is one lock of it, as each system call is one entry into the kernel. loom runs the threads in
//! every order (with a preemption bound where it is given), so unlike in the
//! [explorer](crate::explore) the order is not ours and the machines are not in one value. What may
//! go wrong is fixed before a run, in a [`Script`]: a sweep over "killed after call k" makes the
//! crashes exhaustive.
//!
//! A failing assertion inside loom can abort the whole test binary, so what is broken is recorded
//! and the caller asserts. Guarded by `tests/interleave.rs`.

use std::sync::Arc as RecordOf;
use std::sync::Mutex as Record;

use loom::sync::{Arc, Mutex};

use crate::controls;
use crate::disk::{Outcome, World};
use crate::invariant::{Broken, History, Witness};
use crate::reading::Reading;
use crate::report::{Draft, Report};
use crate::scene::{Budget, Setup};
use crate::small::{Kind, Tag};
use crate::worker::{Facts, Plan, Stage, Touch, Verdict, Worker};

/// How far [`check`] looks.
pub const BOUND: &str = "2 processes in every order, with a kill at each call; with a failed or \
                         short call, 3 preemptions; 3 processes, 2 preemptions";

/// A commit of one record has fewer calls.
const CALLS_MAX: u32 = 16;

/// How often a process tries to make the lock before its time is up.
const TRIES_MAX: u32 = 2;

/// What goes wrong in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// This process is killed after so many calls.
    pub kill: Option<(u8, u32)>,
    /// The n-th call (from 0) of this process meets with this.
    pub fail: Option<(u8, u32, Outcome)>,
    /// How many preemptions there are at most; any number when nothing is given.
    pub preemptions_max: Option<usize>,
}

/// What all orders of a script showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interleaved {
    /// How many orders there were.
    pub orders: u64,
    /// What was broken in any of them.
    pub broken: Broken,
    /// The verdicts of all commands, each kind once.
    pub verdicts: Vec<Verdict>,
}

/// One thing that is run.
#[derive(Clone, Debug)]
pub struct Case {
    /// The processes.
    pub plans: Vec<Plan>,
    /// What goes wrong.
    pub script: Script,
    /// How many orders there are, where the number is pinned.
    pub orders: Option<u64>,
}

/// Everything that is run.
#[must_use]
pub fn cases() -> Vec<Case> {
    let case = |kinds: &[Kind], script| Case {
        plans: kinds.iter().map(|kind| Plan::cold(&[*kind])).collect(),
        script,
        orders: None,
    };
    let two = [Kind::One; 2];
    let three = Script { preemptions_max: Some(2), ..Script::default() };
    let mut cases = vec![
        Case { orders: Some(364), ..case(&two, Script::default()) },
        Case { orders: Some(330), ..case(&[Kind::One; 3], three) },
    ];
    for call in 0..CALLS_MAX {
        let kill = Script { kill: Some((0, call)), ..Script::default() };
        cases.push(case(&two, kill));
        // A batch may not be cut, and what a reader shows must last.
        cases.push(case(&[Kind::Two, Kind::Look], kill));
        for outcome in [Outcome::SyncFail(0), Outcome::Short(1), Outcome::Short(16)] {
            let fail = Some((0, call, outcome));
            cases.push(case(&two, Script { fail, preemptions_max: Some(3), ..Script::default() }));
        }
    }
    cases
}

impl Case {
    /// Runs it: what is wrong, and what was found.
    #[must_use]
    pub fn judge(&self) -> (Interleaved, Vec<String>) {
        let setup = Setup::new(self.plans.clone(), Budget::NONE);
        let found = interleave(&setup, self.script);
        let mut wrong = Vec::new();
        if !found.broken.is_empty() {
            wrong.push(format!("{self:?}: {:?}", found.broken.names()));
        }
        if found.orders == 0 || self.orders.is_some_and(|pinned| pinned != found.orders) {
            wrong.push(format!("{self:?}: {} orders", found.orders));
        }
        (found, wrong)
    }
}

/// What these scripts can break, and nothing else: none loses power or damages a log, and nobody
/// removes the lock that a writer of half a batch leaves behind when it is killed.
#[must_use]
pub fn promises() -> Vec<&'static str> {
    let mut names = Broken::ALL.names();
    names.retain(|name| !["records_whole", "batch_whole", "damage_refused"].contains(name));
    names
}

/// Runs all cases, and the faults that this checker claims.
#[must_use]
pub fn check() -> Report {
    let mut draft = Draft::new("interleavings", BOUND);
    let mut verdicts = Vec::new();
    for case in cases() {
        let (found, wrong) = case.judge();
        draft.cases(found.orders);
        verdicts.extend(found.verdicts);
        for sentence in wrong {
            draft.violation(sentence);
        }
    }
    let every = [Verdict::Answered, Verdict::Shown, Verdict::TimedOut, Verdict::Io];
    for verdict in every.into_iter().filter(|verdict| !verdicts.contains(verdict)) {
        draft.violation(format!("never met: {verdict:?}"));
    }
    controls::plant(&mut draft, "interleavings");
    draft.finish()
}

/// What the threads share.
struct Kernel {
    world: World,
    history: History,
    holds: Vec<bool>,
    /// A broken promise ends its order: what could follow proves nothing more.
    is_broken: bool,
}

/// Runs the processes of a setup in every order. The setup's budget is not used: the script is.
#[must_use]
pub fn interleave(setup: &Setup, script: Script) -> Interleaved {
    let found = RecordOf::new(Record::new(Interleaved::default()));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = script.preemptions_max;
    builder.max_branches = 100_000;
    let (setup, record) = (setup.clone(), RecordOf::clone(&found));
    builder.check(move || run(&setup, script, &record));
    found.lock().expect("no order panicked").clone()
}

/// One order.
fn run(setup: &Setup, script: Script, record: &RecordOf<Record<Interleaved>>) {
    let scene = setup.scene();
    let kernel = Arc::new(Mutex::new(Kernel {
        world: scene.world,
        history: scene.history,
        holds: vec![false; setup.plans.len()],
        is_broken: false,
    }));
    note(record, |found| found.orders += 1);
    // The first process is the thread that there is; loom counts every thread.
    let threads: Vec<_> = (1u8..)
        .zip(setup.plans.iter().skip(1))
        .map(|(process, _)| {
            let (setup, kernel) = (setup.clone(), Arc::clone(&kernel));
            let record = RecordOf::clone(record);
            loom::thread::spawn(move || live(&setup, script, process, &kernel, &record))
        })
        .collect();
    live(setup, script, 0, &kernel, record);
    for thread in threads {
        thread.join().expect("no process panicked");
    }
}

/// The life of one process.
fn live(
    setup: &Setup,
    script: Script,
    process: u8,
    kernel: &Arc<Mutex<Kernel>>,
    record: &RecordOf<Record<Interleaved>>,
) {
    let plan = &setup.plans[usize::from(process)];
    let mut life = Life { worker: Worker::new(process), calls: 0, tries: 0 };
    loop {
        let Ok(mut kernel) = kernel.lock() else { return };
        loop {
            if kernel.is_broken || !life.go_on(setup, plan, script, &mut kernel, record) {
                return;
            }
            if life.worker.touch(setup.fault) != Some(Touch::Quiet) {
                break;
            }
        }
    }
}

/// A process and what it has used up.
struct Life {
    worker: Worker,
    calls: u32,
    tries: u32,
}

impl Life {
    /// Takes one call; whether there may be another.
    fn go_on(
        &mut self,
        setup: &Setup,
        plan: &Plan,
        script: Script,
        kernel: &mut Kernel,
        record: &RecordOf<Record<Interleaved>>,
    ) -> bool {
        let worker = &mut self.worker;
        if worker.stage == Stage::Idle {
            self.tries = 0;
            worker.start(plan, &kernel.world, setup.fault);
        }
        if worker.stage == Stage::Over {
            return false;
        }
        let process = worker.id;
        if script.kill == Some((process, self.calls)) {
            worker.kill();
            kernel.world.killed |= 1 << process;
            kernel.holds[usize::from(process)] = false;
            return false;
        }
        let (before, tag) = (kernel.world.clone(), worker.tag());
        let is_try = worker.touch(setup.fault) == Some(Touch::Lock);
        let facts = if is_try && self.tries == TRIES_MAX {
            worker.time_out(plan, &mut kernel.world, setup.fault)
        } else {
            self.tries += u32::from(is_try);
            let outcome = match script.fail {
                Some((whose, call, outcome)) if (whose, call) == (process, self.calls) => outcome,
                Some(_) | None => Outcome::Ok,
            };
            self.calls += 1;
            worker.step(plan, &mut kernel.world, setup.fault, outcome)
        };
        kernel.holds[usize::from(process)] = worker.holds;
        kernel.judge(setup, &before, tag, &facts, record);
        worker.stage != Stage::Over
    }
}

impl Kernel {
    fn judge(
        &mut self,
        setup: &Setup,
        before: &World,
        actor: Tag,
        facts: &Facts,
        record: &RecordOf<Record<Interleaved>>,
    ) {
        let promised = self.history.clone();
        if let Some(ending) = &facts.ended {
            self.history.take(ending);
            note(record, |found| {
                if !found.verdicts.contains(&ending.verdict) {
                    found.verdicts.push(ending.verdict);
                }
            });
        }
        let reading = Reading::of(self.world.visible());
        let seen = Witness {
            world: &self.world,
            reading: &reading,
            before: before.visible(),
            history: &self.history,
            promised: &promised,
            actor: Some(actor),
            facts,
            holders: self.holds.iter().filter(|holds| **holds).count(),
        };
        let broken = Broken::look(setup.watched, &seen);
        if !broken.is_empty() {
            self.is_broken = true;
            note(record, |found| found.broken.0 |= broken.0);
        }
    }
}

fn note(record: &RecordOf<Record<Interleaved>>, change: impl FnOnce(&mut Interleaved)) {
    if let Ok(mut found) = record.lock() {
        change(&mut found);
    }
}
