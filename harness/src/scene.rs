//! The stage on which every simulated checker plays: one disk, some processes, some people, and
//! what has been promised so far.
//!
//! A [`Scene`] is a value. Whatever can happen to it is a [`Move`]; [`Scene::moves`] lists those
//! that the [`Setup`]'s budget leaves, and [`Scene::play`] makes one and looks at the invariants.
//! The explorer searches all sequences of moves, the crash matrix makes chosen ones, and a story is
//! a sequence of moves told in words.
//!
//! # Reductions, and why they are sound
//!
//! *Quiet calls* (reading, opening, measuring) change nothing that anyone else sees, and under the
//! lock what they read changes only by other moves that are budgeted: a foreign append, an
//! eviction, a careless person. Where none of these is left in the budget a quiet call is taken
//! together with the call behind it: killing the process before or after it leaves the same disk,
//! and no other process can tell. That it may fail is a move of its own. With any of them in the
//! budget every call is a move.
//!
//! *A process that keeps the lock* is over: whatever it was asked next would wait for its own lock
//! in vain, and other processes show what comes once a person has freed it.
//!
//! *Processes that have not started* and have the same plan start in order: before its first step a
//! process differs from another only by its name, and no invariant speaks of names.
//!
//! # Strangers
//!
//! A careless person removes a lock, another program appends, and neither asks anyone. Three
//! windows stay open to them, since no file-system call closes them: between the `mkdir` and the
//! open of the lock directory (then a process can take the next one's lock for its own), between
//! reading back and truncating (then the stranger's bytes are cut), and between comparing and
//! removing the lock directory (then the next one's lock goes, if it has no owner record yet; here
//! the two are one call, so that this window cannot be shown). Strangers stay out of the first two
//! unless a setup is `is_indecent`; `tests/explore.rs` shows both limits. The other program fsyncs
//! what it appends: behind bytes that nobody fsyncs, an fsync that fails dooms whatever follows,
//! and no protocol that does not know of them can help.
//!
//! # A person
//!
//! Does what doctor prints (`store/src/report/recovery.rs`), and only while no process lives. Each
//! step is a move, and processes may start in between. Doctor is asked when no process lives, too:
//! where it was asked before, the commands themselves see that the log or the lock has changed. A
//! person's fsync does not fail: doctor says to restart then.
//!
//! * *A lock.* Claims it. One of an earlier boot, or of a command that only reads, is then removed.
//!   Else every whole line is copied, the copy fsynced and renamed over the log, the data directory
//!   fsynced, and the lock removed. (Doctor offers a restart instead of the copy: that is a power
//!   cut, and a lock of an earlier boot.)
//! * *A lock of an earlier boot* has lost its owner record or has kept it, as the power cut liked;
//!   without the record nobody can tell that boot from this one. Both are moves.
//! * *No log beside a lock.* There is nothing to copy.
//! * *A torn tail and no lock.* Makes the lock and claims it, cuts the tail in place, fsyncs the
//!   log, and removes the lock.
//! * *Any other damage.* Leaves the log alone: doctor's way out is another data directory.
//!
//! A lock of this boot beside an *empty* log is different: perhaps the fsync of the directory above
//! has failed, and then no rewriting of the log makes the data directory's own name durable (an
//! explorer without this rule shows an answered record lost: one failed fsync, two processes).
//! There the person restarts the machine: what is there afterwards is on the disk.

use std::fmt;

use crate::disk::bend::Fault;
use crate::disk::{Lock, Maker, Name, Outcome, OwnerNote, World};
use crate::invariant::{Broken, History, Witness};
use crate::shared::Shared;
use crate::small::{LINE_BYTES, TAG_BYTES, Tag, foreign_line, old_line, show};
use crate::worker::{Facts, Plan, Stage, Touch, Worker};

/// How often each thing may go wrong. A run names its budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Processes killed.
    pub crashes: u8,
    /// Power cuts.
    pub power_cuts: u8,
    /// Failed fsyncs, of the log or of a directory.
    pub sync_failures: u8,
    /// Other calls that fail with EIO.
    pub io_errors: u8,
    /// Short writes.
    pub short_writes: u8,
    /// Evictions of pages that are clean and not on the disk.
    pub evictions: u8,
    /// Repairs by a person who follows doctor.
    pub repairs: u8,
    /// Removals of a lock by a person who asks nobody.
    pub careless: u8,
    /// Appends by another program that knows of no lock.
    pub foreign_appends: u8,
    /// Restores of the log as it was in the beginning.
    pub restores: u8,
}

impl Budget {
    /// Nothing goes wrong.
    pub const NONE: Budget = Budget {
        crashes: 0,
        power_cuts: 0,
        sync_failures: 0,
        io_errors: 0,
        short_writes: 0,
        evictions: 0,
        repairs: 0,
        careless: 0,
        foreign_appends: 0,
        restores: 0,
    };
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.crashes, "crash", "crashes"),
            (self.power_cuts, "power cut", "power cuts"),
            (self.sync_failures, "failed fsync", "failed fsyncs"),
            (self.io_errors, "I/O error", "I/O errors"),
            (self.short_writes, "short write", "short writes"),
            (self.evictions, "eviction", "evictions"),
            (self.repairs, "repair", "repairs"),
            (self.careless, "careless removal", "careless removals"),
            (self.foreign_appends, "foreign append", "foreign appends"),
            (self.restores, "restored log", "restored logs"),
        ];
        let mut words = counts.iter().filter(|(count, ..)| *count > 0).peekable();
        if words.peek().is_none() {
            return f.write_str("no faults");
        }
        for (at, (count, one, many)) in words.enumerate() {
            let (comma, word) =
                (if at > 0 { ", " } else { "" }, if *count == 1 { one } else { many });
            write!(f, "{comma}{count} {word}")?;
        }
        Ok(())
    }
}

/// What is on the stage in the beginning, and what may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The processes.
    pub plans: Vec<Plan>,
    /// How many people there are.
    pub people: u8,
    /// What may go wrong.
    pub budget: Budget,
    /// The log in the beginning; nothing for a directory just made.
    pub log: Option<Vec<u8>>,
    /// The mistake planted in every process, or person.
    pub fault: Option<Fault>,
    /// The invariants to look at.
    pub watched: Broken,
    /// Whether power cuts cut at every byte.
    pub is_fine: bool,
    /// Whether strangers act inside the windows that no call can close, too: see the header.
    pub is_indecent: bool,
}

impl Setup {
    /// These processes on a log with one old record; one person when there is something to repair.
    #[must_use]
    pub fn new(plans: Vec<Plan>, budget: Budget) -> Self {
        Setup {
            plans,
            people: 1,
            budget,
            log: Some(old_line()),
            fault: None,
            watched: Broken::ALL,
            is_fine: false,
            is_indecent: false,
        }
    }

    /// The same on a directory just made.
    #[must_use]
    pub fn fresh(self) -> Self {
        Setup { log: None, ..self }
    }

    /// The same with a planted fault.
    #[must_use]
    pub fn with(self, fault: Fault) -> Self {
        Setup { fault: Some(fault), ..self }
    }

    /// The same, looking only at these invariants.
    #[must_use]
    pub fn watching(self, watched: Broken) -> Self {
        Setup { watched, ..self }
    }

    fn fuses_quiet_calls(&self) -> bool {
        let Budget { evictions, careless, foreign_appends, .. } = self.budget;
        evictions == 0 && careless == 0 && foreign_appends == 0
    }

    /// The scene before the first move.
    #[must_use]
    pub fn scene(&self) -> Scene {
        let log = self.log.clone().unwrap_or_default();
        let ids = 0u8..;
        Scene {
            world: self.log.as_ref().map_or_else(World::fresh, |log| World::with_log(log)),
            workers: self
                .plans
                .iter()
                .zip(ids)
                .map(|(_, id)| Shared::new(Worker::new(id)))
                .collect(),
            people: vec![Person::Idle; usize::from(self.people)],
            history: History::new(&log),
            left: self.budget,
            broken: Broken::default(),
        }
    }
}

/// A person who repairs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    /// Has nothing to do.
    Idle,
    /// Has the lock in hand and will only remove it.
    Removing,
    /// Has the lock in hand and will rewrite the log.
    Rewriting,
    /// Has copied every whole line, and fsynced the copy.
    Copied(Vec<u8>),
    /// Has the lock in hand and will cut the torn tail that was seen.
    Cutting {
        /// Where the tail begins.
        from: usize,
        /// How long the log was.
        whole: usize,
    },
    /// Has cut it, and will fsync the log.
    Cut,
}

/// Everything there is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scene {
    /// The disk.
    pub world: World,
    /// The processes.
    pub workers: Vec<Shared<Worker>>,
    /// The people.
    pub people: Vec<Person>,
    /// What has been promised.
    pub history: History,
    /// What may still go wrong.
    pub left: Budget,
    /// What is broken: nothing, as long as the protocol holds.
    pub broken: Broken,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// A process starts its next command.
    Start(u8),
    /// A process takes its next call, after this many quiet ones that work.
    Step {
        /// Which process.
        process: u8,
        /// How many quiet calls it takes first.
        quiet: u8,
        /// What the call meets with.
        outcome: Outcome,
    },
    /// The time of a waiting process is up.
    TimeOut(u8),
    /// A process is killed.
    Kill(u8),
    /// The power fails and leaves this image.
    PowerCut(u16),
    /// The page cache drops what it may.
    Evict,
    /// A person takes the next step of a repair.
    Repair(u8),
    /// A person begins to repair, and finds no owner record in the lock of an earlier boot.
    RepairUnrecorded(u8),
    /// A person restarts the machine, which leaves this image.
    Reboot(u16),
    /// Someone removes the lock without asking anyone.
    RemoveCarelessly,
    /// Another program appends.
    AppendForeign,
    /// Someone puts the log back as it was in the beginning.
    Restore,
}

impl Scene {
    /// Everything that can happen next, in an order that depends on nothing but the scene.
    pub fn moves(&self, setup: &Setup, moves: &mut Vec<Move>) {
        if !self.broken.is_empty() {
            return;
        }
        for (at, worker) in self.workers.iter().enumerate() {
            self.moves_of(setup, at, worker, moves);
        }
        if self.left.power_cuts > 0 {
            let images = self.world.images(setup.is_fine).len();
            moves.extend((0..u16::try_from(images).unwrap_or(u16::MAX)).map(Move::PowerCut));
        }
        if self.left.evictions > 0 && self.world.can_evict() {
            moves.push(Move::Evict);
        }
        for (person, id) in self.people.iter().zip(0u8..) {
            if *person != Person::Idle {
                moves.push(Move::Repair(id));
            } else if self.can_begin_repair(setup) {
                self.beginnings(setup, id, moves);
            }
        }
        if self.left.careless > 0 && self.world.lock.is_some() && self.is_decent(setup) {
            moves.push(Move::RemoveCarelessly);
        }
        if self.left.foreign_appends > 0 && self.world.log.is_some() && self.is_decent(setup) {
            moves.push(Move::AppendForeign);
        }
        if self.left.restores > 0 && self.world.lock.is_none() && self.is_changed(setup) {
            moves.push(Move::Restore);
        }
    }

    /// Whether strangers would act outside the two windows that no file-system call can close.
    fn is_decent(&self, setup: &Setup) -> bool {
        setup.is_indecent || !self.workers.iter().any(|worker| worker.is_in_window())
    }

    fn is_changed(&self, setup: &Setup) -> bool {
        let holders = self.workers.iter().any(|worker| worker.holds);
        !holders && self.world.visible() != setup.log.as_deref().unwrap_or_default()
    }

    fn moves_of(&self, setup: &Setup, at: usize, worker: &Worker, moves: &mut Vec<Move>) {
        let process = worker.id;
        match &worker.stage {
            Stage::Over => return,
            Stage::Idle => {
                // Of processes that have not started and are alike, the first starts first.
                let earlier = self.workers.iter().zip(&setup.plans).take(at);
                let is_first = !worker.is_new()
                    || !earlier
                        .into_iter()
                        .any(|(other, plan)| other.is_new() && *plan == setup.plans[at]);
                if is_first {
                    moves.push(Move::Start(process));
                }
                return;
            }
            Stage::Waiting(_) => {
                if self.world.lock.is_some() {
                    moves.push(Move::TimeOut(process));
                }
            }
            Stage::Running(_) => {}
        }
        if self.left.crashes > 0 {
            moves.push(Move::Kill(process));
        }
        self.steps_of(setup, worker, moves);
    }

    /// The next call of a process with everything that it can meet with.
    fn steps_of(&self, setup: &Setup, worker: &Worker, moves: &mut Vec<Move>) {
        let process = worker.id;
        let mut step = |quiet, outcome| moves.push(Move::Step { process, quiet, outcome });
        let (mut ahead, mut quiet) = (None::<Worker>, 0);
        loop {
            let worker = ahead.as_ref().unwrap_or(worker);
            let Some(touch) = worker.touch(setup.fault) else {
                // It ended in a quiet call.
                step(quiet - 1, Outcome::Ok);
                return;
            };
            self.failures(touch, &mut |outcome| step(quiet, outcome));
            if touch != Touch::Quiet || !setup.fuses_quiet_calls() {
                step(quiet, Outcome::Ok);
                return;
            }
            let (mut next, mut world) = (worker.clone(), self.world.clone());
            next.step(&setup.plans[usize::from(process)], &mut world, setup.fault, Outcome::Ok);
            if !matches!(next.stage, Stage::Running(_)) {
                step(quiet, Outcome::Ok);
                return;
            }
            ahead = Some(next);
            quiet += 1;
        }
    }

    fn failures(&self, touch: Touch, step: &mut impl FnMut(Outcome)) {
        match touch {
            Touch::Quiet | Touch::Lock | Touch::Plain => {
                if self.left.io_errors > 0 {
                    step(Outcome::Fail);
                }
            }
            Touch::Append(bytes) => {
                if self.left.io_errors > 0 {
                    step(Outcome::Fail);
                }
                if self.left.short_writes > 0 {
                    for count in cuts(bytes).filter(|count| *count < bytes) {
                        step(Outcome::Short(u32::try_from(count).unwrap_or(0)));
                    }
                }
            }
            Touch::SyncLog => {
                if self.left.sync_failures > 0 {
                    for count in cuts(self.world.dirty_bytes()) {
                        step(Outcome::SyncFail(u32::try_from(count).unwrap_or(0)));
                    }
                }
            }
            Touch::SyncDir => {
                if self.left.sync_failures > 0 {
                    step(Outcome::SyncFail(0));
                }
            }
            Touch::Nothing => {}
        }
    }

    fn can_begin_repair(&self, setup: &Setup) -> bool {
        let has_trouble = match self.world.lock {
            Some(lock) => !lock.claimed || setup.fault == Some(Fault::PersonDoesNotClaim),
            None => self.world.reading().is_torn,
        };
        has_trouble && self.left.repairs > 0 && self.is_quiet(setup)
    }

    /// What a person begins with, in every way that the lock may look.
    fn beginnings(&self, setup: &Setup, id: u8, moves: &mut Vec<Move>) {
        let merely = setup.fault == Some(Fault::PersonMerelyRemoves);
        let Some(lock) = self.world.lock.filter(|_| !merely) else {
            moves.push(Move::Repair(id));
            return;
        };
        let is_of_earlier_boot = lock.maker == Maker::EarlierBoot;
        if is_of_earlier_boot || !self.needs_reboot(setup, lock) {
            moves.push(Move::Repair(id));
        }
        if is_of_earlier_boot && !self.needs_reboot(setup, lock) {
            moves.push(Move::RepairUnrecorded(id));
        }
        if self.needs_reboot(setup, lock) {
            let images = self.world.images(setup.is_fine).len();
            moves.extend((0..u16::try_from(images).unwrap_or(u16::MAX)).map(Move::Reboot));
        }
    }

    /// Whether the lock, as it looks without a record of an earlier boot, may guard a name that no
    /// rewriting of the log makes durable.
    fn needs_reboot(&self, setup: &Setup, lock: Lock) -> bool {
        lock.owner != OwnerNote::Read
            && self.world.log.is_some()
            && self.world.visible().is_empty()
            && setup.fault != Some(Fault::PersonRewritesEmptyLog)
    }

    /// Whether no process lives.
    fn is_quiet(&self, setup: &Setup) -> bool {
        !self.workers.iter().zip(&setup.plans).any(|(worker, plan)| worker.lives(plan))
    }

    /// Makes a move; nothing when it changes nothing.
    #[must_use]
    pub fn play(&self, setup: &Setup, made: Move) -> Option<Scene> {
        let mut next = self.clone();
        let mut facts = Facts::default();
        let mut actor = None;
        match made {
            Move::Start(process) => {
                let at = usize::from(process);
                let world = &next.world;
                next.workers[at]
                    .update(|worker| worker.start(&setup.plans[at], world, setup.fault));
            }
            Move::Step { process, quiet, outcome } => {
                actor = Some(self.workers[usize::from(process)].tag());
                next.spend(outcome);
                facts = next.step(setup, process, quiet, outcome);
            }
            Move::TimeOut(process) => {
                let at = usize::from(process);
                actor = Some(self.workers[at].tag());
                let world = &mut next.world;
                facts = next.workers[at]
                    .update(|worker| worker.time_out(&setup.plans[at], world, setup.fault));
            }
            Move::Kill(process) => {
                next.left.crashes -= 1;
                next.workers[usize::from(process)].update(Worker::kill);
                next.world.killed |= 1 << process;
            }
            Move::PowerCut(image) => {
                next.left.power_cuts -= 1;
                next.history.batches_may_be_cut = true;
                next.restart(setup, image)?;
            }
            Move::Reboot(image) => {
                next.history.batches_may_be_cut = true;
                next.restart(setup, image)?;
            }
            Move::Evict => {
                next.left.evictions -= 1;
                next.world.evict();
            }
            Move::Repair(id) => next.repair(setup, id, true),
            Move::RepairUnrecorded(id) => next.repair(setup, id, false),
            Move::RemoveCarelessly => {
                next.left.careless -= 1;
                next.world.lock = None;
            }
            Move::AppendForeign => {
                next.left.foreign_appends -= 1;
                next.world.append_foreign(&foreign_line());
            }
            Move::Restore => {
                next.left.restores -= 1;
                let log = setup.log.clone().unwrap_or_default();
                next.history.restored(&log);
                next.world.replace_log(log);
            }
        }
        if let Some(ending) = &facts.ended {
            next.history.take(ending);
        }
        next.look(setup, self, actor, &facts);
        (next != *self).then_some(next)
    }

    fn spend(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Ok => {}
            Outcome::Fail => self.left.io_errors -= 1,
            Outcome::Short(_) => {
                self.left.short_writes -= 1;
                self.history.batches_may_be_cut = true;
            }
            Outcome::SyncFail(_) => self.left.sync_failures -= 1,
        }
    }

    fn step(&mut self, setup: &Setup, process: u8, quiet: u8, outcome: Outcome) -> Facts {
        let at = usize::from(process);
        let (plan, world) = (&setup.plans[at], &mut self.world);
        self.workers[at].update(|worker| {
            for _ in 0..quiet {
                worker.step(plan, world, setup.fault, Outcome::Ok);
            }
            let made = worker.touch(setup.fault) == Some(Touch::Lock);
            let facts = worker.step(plan, world, setup.fault, outcome);
            // A try that met the lock looks at it at once: whatever it sees is contention.
            let met = made && matches!(worker.stage, Stage::Running(_)) && !worker.holds;
            if met && setup.fuses_quiet_calls() && outcome == Outcome::Ok {
                return worker.step(plan, world, setup.fault, Outcome::Ok);
            }
            facts
        })
    }

    fn restart(&mut self, setup: &Setup, image: u16) -> Option<()> {
        let images = self.world.images(setup.is_fine);
        self.world = images.into_iter().nth(usize::from(image))?;
        for (worker, plan) in self.workers.iter_mut().zip(&setup.plans) {
            if worker.lives(plan) {
                worker.update(Worker::kill);
            }
        }
        self.people.fill(Person::Idle);
        Some(())
    }

    fn repair(&mut self, setup: &Setup, id: u8, is_recorded: bool) {
        let at = usize::from(id);
        self.people[at] = match std::mem::replace(&mut self.people[at], Person::Idle) {
            Person::Idle => {
                self.left.repairs -= 1;
                self.begin_repair(setup, id, is_recorded)
            }
            Person::Rewriting if self.world.log.is_none() => Person::Removing,
            Person::Rewriting => {
                let log = self.world.visible();
                let whole_lines =
                    log.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                Person::Copied(log[..whole_lines].to_vec())
            }
            Person::Copied(copy) => {
                self.world.replace_log(copy);
                Person::Removing
            }
            // The log is not as it was seen: doctor, asked again, names the lock.
            Person::Cutting { whole, .. } if self.world.visible().len() != whole => {
                Person::Rewriting
            }
            Person::Cutting { from, .. } => {
                self.world.cut_log(from);
                Person::Cut
            }
            Person::Cut => {
                self.world.sync_log();
                Person::Removing
            }
            Person::Removing => {
                self.world.lock = None;
                Person::Idle
            }
        };
    }

    fn begin_repair(&mut self, setup: &Setup, id: u8, is_recorded: bool) -> Person {
        match &mut self.world.lock {
            None => {
                self.world.make_lock(Maker::Person(id));
                if let Some(lock) = &mut self.world.lock {
                    lock.claimed = true;
                }
                let from = self.world.reading().sound_bytes;
                Person::Cutting { from, whole: self.world.visible().len() }
            }
            Some(_) if setup.fault == Some(Fault::PersonMerelyRemoves) => {
                self.world.lock = None;
                Person::Idle
            }
            Some(lock) => {
                lock.claimed = true;
                let is_of_earlier_boot = lock.maker == Maker::EarlierBoot && is_recorded;
                if is_of_earlier_boot || lock.owner == OwnerNote::Read {
                    Person::Removing
                } else {
                    Person::Rewriting
                }
            }
        }
    }

    /// Looks at the invariants.
    fn look(&mut self, setup: &Setup, before: &Scene, actor: Option<Tag>, facts: &Facts) {
        let holders = self.workers.iter().filter(|worker| worker.holds).count();
        let same_disk = self.world == before.world;
        if same_disk && holders <= 1 && facts.ended.is_none() {
            return;
        }
        let reading = self.world.reading();
        let seen = Witness {
            world: &self.world,
            reading: &reading,
            before: before.world.visible(),
            history: &self.history,
            promised: &before.history,
            actor,
            facts,
            holders,
        };
        self.broken = self.broken.or(Broken::look(setup.watched, &seen));
    }

    /// The scene in one line: what a story shows beside each move.
    #[must_use]
    pub fn picture(&self) -> String {
        let lock = match self.world.lock {
            None => "free".to_owned(),
            Some(lock) => picture_of(lock),
        };
        let disk = match self.world.log_name {
            Name::Durable => String::new(),
            Name::Pending | Name::Doomed if self.world.log.is_none() => "absent ".to_owned(),
            Name::Pending => "name pending ".to_owned(),
            Name::Doomed => "name doomed ".to_owned(),
        };
        let (log, on_disk) = (show(self.world.visible()), show(self.world.on_disk()));
        format!("log <{log}> | disk {disk}<{on_disk}> | lock {lock}")
    }
}

fn picture_of(lock: Lock) -> String {
    let maker = match lock.maker {
        Maker::Process(tag) => process_name(tag.process),
        Maker::Person(id) => format!("person {}", id + 1),
        Maker::EarlierBoot => "of an earlier boot".to_owned(),
    };
    let note = match (lock.claimed, lock.owner) {
        (true, _) => ", claimed",
        (false, OwnerNote::None) => " (no owner record)",
        (false, OwnerNote::Write | OwnerNote::Read) => "",
        (false, OwnerNote::Unconfirmed) => ", unconfirmed",
    };
    format!("{maker}{note}")
}

/// How a story calls a process.
#[must_use]
pub fn process_name(process: u8) -> String {
    char::from(b'A' + process).to_string()
}

/// Where so many bytes may be cut: a line's start, where it can just be told from others, its end.
fn cuts(bytes: usize) -> impl Iterator<Item = usize> {
    (0..=bytes).filter(|at| matches!(at % LINE_BYTES, 0 | TAG_BYTES))
}
