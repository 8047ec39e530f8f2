//! One simulated process: the commit machine that ships, driven one call at a time.
//!
//! A worker has a plan of commands. It starts one, takes its calls, and has its answer when the
//! machine has ended; "the lock exists" ends a try, and it tries again until its time is up. A warm
//! worker keeps its replay between commands, as the server does; a cold one is a new process for
//! each command.
//!
//! What it did is told in [`Facts`], taken from the disk before and after: what the machine says of
//! itself proves nothing here.

use gaia_bus::commit::{Call, End, LockAfter, Mode, OwnerRecord, Reply, Task};
use gaia_bus::failure::{DiskError, Failure};
use gaia_bus::replay::Replay;

use crate::disk::bend::{self, Bent, Fault, Memory, Owed};
use crate::disk::{Hands, Maker, Outcome, OwnerNote, World, owner_bytes};
use crate::small::{Errand, Fnv, Kind, Ledger, Machine, Receipt, Tag};

/// How often a release is tried again: production's default is 12, one shows as much.
const RELEASE_RETRIES: u32 = 1;

/// What a process is sent to do, and what kind of process it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// Its commands, in order.
    pub errands: Vec<Kind>,
    /// Whether it keeps what it has validated between two commands.
    pub is_warm: bool,
}

impl Plan {
    /// A cold process with these commands.
    #[must_use]
    pub fn cold(errands: &[Kind]) -> Self {
        Plan { errands: errands.to_vec(), is_warm: false }
    }

    /// A warm process with these commands.
    #[must_use]
    pub fn warm(errands: &[Kind]) -> Self {
        Plan { errands: errands.to_vec(), is_warm: true }
    }
}

/// How a command ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It has its answer, and its records are durable.
    Answered,
    /// A command that only reads has shown the log.
    Shown,
    /// The lock was held until the deadline.
    TimedOut,
    /// The log is damaged.
    Damaged,
    /// The log is not the one that this process had validated.
    Rewritten,
    /// A call failed, and nothing is written.
    Io,
    /// Nobody knows.
    Unconfirmed,
}

impl Verdict {
    /// Whether it promises that nothing was written.
    #[must_use]
    pub const fn is_fail_closed(self) -> bool {
        match self {
            Verdict::Answered | Verdict::Shown | Verdict::Unconfirmed => false,
            Verdict::TimedOut | Verdict::Damaged | Verdict::Rewritten | Verdict::Io => true,
        }
    }

    /// As a sentence goes on after "it answers".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Verdict::Answered => "success",
            Verdict::Shown => "what the log shows",
            Verdict::TimedOut => "lock-timeout",
            Verdict::Damaged => "log-corrupt",
            Verdict::Rewritten => "history-rewritten",
            Verdict::Io => "io (nothing was written)",
            Verdict::Unconfirmed => "write-unconfirmed, and keeps the lock",
        }
    }
}

/// Where a process stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Between two commands, or before the first.
    Idle,
    /// About to try to make the lock.
    Waiting(Box<Waiting>),
    /// In a command.
    Running(Box<Machine>),
    /// It will do nothing any more.
    Over,
}

/// A command between two tries, and what its process knows of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiting {
    errand: Errand,
    replay: Replay<Ledger, Fnv>,
}

/// What a step did, as an observer of the disk and of the answers sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// A lock was removed, or its owner record, and this is who had made it.
    pub removed_lock_of: Option<Maker>,
    /// The log lost bytes that this call had not written.
    pub cut_foreign_bytes: bool,
    /// Where the log stood when bytes behind it were added or removed.
    pub changed_log_behind: Option<usize>,
    /// A command ended.
    pub ended: Option<Ending>,
}

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Whose.
    pub tag: Tag,
    /// How.
    pub verdict: Verdict,
    /// The number it was told, when it has an answer.
    pub number: Option<u32>,
    /// The log that it was answered from, its own lines included.
    pub basis: Vec<u8>,
    /// How many bytes at the end of it are its own.
    pub own_bytes: usize,
    /// Where it began to write, when it did.
    pub wrote_from: Option<usize>,
}

/// One simulated process. See the module header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Worker {
    /// Which process, from 0.
    pub id: u8,
    /// Its current or next command.
    pub command: u8,
    /// Where it stands.
    pub stage: Stage,
    /// How its commands ended so far.
    pub verdicts: Vec<Verdict>,
    /// Whether it is between acquire and release.
    pub holds: bool,
    hands: Hands,
    memory: Memory,
    warm: Option<Replay<Ledger, Fnv>>,
    /// What this command appended: from, to.
    wrote: Option<(usize, usize)>,
    /// The log it goes by: as read, or as it stood behind its append.
    basis: Vec<u8>,
    told: bool,
}

/// What a worker's next step touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Nothing that anyone else sees: it reads, opens or measures.
    Quiet,
    /// The path of the lock, to make one.
    Lock,
    /// An append of so many bytes.
    Append(usize),
    /// An fsync of the log.
    SyncLog,
    /// An fsync of a directory.
    SyncDir,
    /// Anything else on the disk.
    Plain,
    /// Not the disk at all: a planted fault.
    Nothing,
}

impl Worker {
    /// A process that has not started.
    #[must_use]
    pub fn new(id: u8) -> Self {
        Worker {
            id,
            command: 0,
            stage: Stage::Idle,
            verdicts: Vec::new(),
            holds: false,
            hands: Hands::default(),
            memory: Memory::default(),
            warm: None,
            wrote: None,
            basis: Vec::new(),
            told: false,
        }
    }

    /// The command it is at.
    #[must_use]
    pub fn tag(&self) -> Tag {
        Tag { process: self.id, command: self.command }
    }

    /// Whether a process of this name is there for a person to stop.
    #[must_use]
    pub fn lives(&self, plan: &Plan) -> bool {
        match self.stage {
            Stage::Idle => plan.is_warm && self.command > 0,
            Stage::Waiting(_) | Stage::Running(_) => true,
            Stage::Over => false,
        }
    }

    /// Whether it has never run.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.stage == Stage::Idle && self.command == 0
    }

    /// Whether it is between two calls that a stranger must not come between.
    #[must_use]
    pub fn is_in_window(&self) -> bool {
        let Stage::Running(machine) = &self.stage else { return false };
        matches!(machine.call(), Some(Call::OpenLock | Call::Truncate { .. }))
    }

    /// Starts the next command.
    pub fn start(&mut self, plan: &Plan, world: &World, fault: Option<Fault>) {
        let Some(kind) = plan.errands.get(usize::from(self.command)) else {
            self.stage = Stage::Over;
            return;
        };
        let errand = Errand { tag: self.tag(), kind: *kind };
        let replay = self.warm.take().unwrap_or_else(|| Replay::new(Ledger::default()));
        if fault == Some(Fault::ReadOutsideLock) {
            self.memory.seen = world.visible().to_vec();
        }
        self.stage = Stage::Waiting(Box::new(Waiting { errand, replay }));
    }

    /// What the next step touches; nothing when there is none.
    #[must_use]
    pub fn touch(&self, fault: Option<Fault>) -> Option<Touch> {
        let machine = match &self.stage {
            Stage::Idle | Stage::Over => return None,
            Stage::Waiting(_) => {
                let breaks = self.memory.owed == Some(Owed::BreakLock);
                return Some(if breaks { Touch::Plain } else { Touch::Lock });
            }
            Stage::Running(machine) => machine,
        };
        if self.memory.owed == Some(Owed::Sync) && machine.end().is_some() {
            return Some(Touch::SyncLog);
        }
        let call = machine.call()?;
        if bend::is_skipped(fault, &self.memory, call) {
            return Some(Touch::Nothing);
        }
        Some(match call {
            Call::MakeLock => Touch::Lock,
            Call::Append(lines) => Touch::Append(lines.len()),
            Call::SyncLog | Call::SyncTruncated => Touch::SyncLog,
            Call::SyncDataDir | Call::SyncParentDir => Touch::SyncDir,
            Call::OpenLog if fault == Some(Fault::TruncateTornTail) => Touch::Plain,
            Call::InspectLock
            | Call::OpenLock
            | Call::OpenLog
            | Call::ReadLog
            | Call::ReadSpan(_)
            | Call::OpenWriters
            | Call::ReadTail { .. }
            | Call::MeasureLog
            | Call::Pause => Touch::Quiet,
            Call::WriteOwner(_)
            | Call::CreateLog
            | Call::Truncate { .. }
            | Call::MarkUnconfirmed(_)
            | Call::RemoveOwner
            | Call::RemoveLock => Touch::Plain,
        })
    }

    /// Takes the next step, which meets with `outcome`.
    pub fn step(
        &mut self,
        plan: &Plan,
        world: &mut World,
        fault: Option<Fault>,
        outcome: Outcome,
    ) -> Facts {
        let before = world.clone();
        let early = self.carry_out(world, fault, outcome);
        let mut facts = self.observe(&before, world);
        facts.ended = early.or_else(|| self.conclude(plan));
        facts
    }

    /// The time of a waiting command is up.
    pub fn time_out(&mut self, plan: &Plan, world: &mut World, fault: Option<Fault>) -> Facts {
        let before = world.clone();
        if fault == Some(Fault::UnlockOnTimeOut) {
            world.lock = None;
        }
        let mut facts = self.observe(&before, world);
        if let Stage::Waiting(waiting) = std::mem::replace(&mut self.stage, Stage::Idle) {
            self.warm = plan.is_warm.then_some(waiting.replay);
        }
        facts.ended = Some(self.end_command(plan, Verdict::TimedOut, None));
        facts
    }

    /// SIGKILL, an out-of-memory kill, or the power.
    pub fn kill(&mut self) {
        self.stage = Stage::Over;
        self.holds = false;
        self.hands = Hands::default();
        self.memory = Memory::default();
        self.warm = None;
        self.wrote = None;
        self.basis = Vec::new();
    }

    /// A fresh machine for the next try, as production makes one.
    fn try_again(&mut self) {
        if let Stage::Waiting(waiting) = std::mem::replace(&mut self.stage, Stage::Idle) {
            self.stage = Stage::Running(Box::new(machine(*waiting)));
        }
    }

    fn carry_out(
        &mut self,
        world: &mut World,
        fault: Option<Fault>,
        outcome: Outcome,
    ) -> Option<Ending> {
        let tag = self.tag();
        if let Stage::Waiting(_) = self.stage {
            if self.memory.owed.take() == Some(Owed::BreakLock) {
                world.lock = None;
                return None;
            }
            self.try_again();
        }
        let Stage::Running(machine) = &mut self.stage else { return None };
        if self.memory.owed == Some(Owed::Sync) && machine.end().is_some() {
            self.memory.owed = None;
            let reply = world.perform(tag, &mut self.hands, Call::SyncLog, outcome);
            self.memory.late_sync_failed = matches!(reply, Reply::Failed(_));
            return None;
        }
        let call = machine.call()?;
        let (from, is_append) = (world.visible().len(), matches!(call, Call::Append(_)));
        let (is_read, is_make) = (call == Call::ReadLog, call == Call::MakeLock);
        let is_release = call == Call::RemoveLock;
        let bent =
            bend::perform(fault, &mut self.memory, world, tag, &mut self.hands, call, outcome);
        let told_early = match bent {
            Bent::Reply(reply) => {
                machine.resume(reply);
                false
            }
            Bent::Again => false,
            Bent::AnsweredEarly => true,
        };
        if is_make && world.lock.is_some_and(|lock| lock.maker == Maker::Process(tag)) {
            self.holds = true;
        }
        if is_append {
            let from = self.wrote.map_or(from, |(from, _)| from);
            self.wrote = Some((from, world.visible().len()));
        }
        if is_append || is_read {
            self.basis = world.visible().to_vec();
        }
        if is_release && machine.end().is_some() {
            self.holds = false;
        }
        told_early.then(|| {
            self.told = true;
            self.ending(Verdict::Answered, None)
        })
    }

    /// Compares the disk before and after a step of this process.
    fn observe(&self, before: &World, after: &World) -> Facts {
        let mut facts = Facts::default();
        if let Some(lock) = before.lock {
            let gone = after.lock.is_none_or(|now| now.maker != lock.maker);
            let unnamed = lock.owner != OwnerNote::None
                && after.lock.is_some_and(|now| now.owner == OwnerNote::None);
            if gone || unnamed {
                facts.removed_lock_of = Some(lock.maker);
            }
        }
        let same = match (&before.log, &after.log) {
            (Some(before), Some(after)) => before.same(after),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !same && before.visible() != after.visible() {
            let (was, is) = (before.visible().len(), after.visible().len());
            let own_from = self.wrote.map_or(was, |(from, _)| from);
            facts.changed_log_behind = Some(own_from.min(was).min(is));
            if is < was {
                let own = self.wrote.is_some_and(|(from, to)| from <= is && was <= to);
                facts.cut_foreign_bytes = !own;
            }
        }
        facts
    }

    /// Hands over the answer when the machine has ended and nothing is owed.
    fn conclude(&mut self, plan: &Plan) -> Option<Ending> {
        let Stage::Running(machine) = &self.stage else { return None };
        machine.end()?;
        if self.memory.owed == Some(Owed::Sync) {
            return None;
        }
        let Stage::Running(machine) = std::mem::replace(&mut self.stage, Stage::Idle) else {
            return None;
        };
        let ended = machine.into_end().ok()?;
        self.hands = Hands::default();
        match ended.end {
            End::Contended => {
                let waiting = Waiting { errand: ended.task, replay: ended.replay };
                self.stage = Stage::Waiting(Box::new(waiting));
                None
            }
            End::Finished { result, lock } => {
                self.holds = false;
                let result = if self.memory.late_sync_failed { Err(late()) } else { result };
                let verdict = verdict(&result, ended.task);
                let kept = match lock {
                    LockAfter::Kept | LockAfter::NotReleased(_) => true,
                    LockAfter::NeverTaken | LockAfter::Released | LockAfter::TakenAway => false,
                };
                if plan.is_warm {
                    self.memory.seen = self.basis.clone();
                    self.warm = Some(ended.replay);
                }
                let number = result.ok().map(|receipt| receipt.number);
                let ending = self.end_command(plan, verdict, number);
                if kept {
                    // It holds the lock for good: every later command of anyone would wait for it.
                    self.kill();
                }
                Some(ending)
            }
        }
    }

    fn end_command(&mut self, plan: &Plan, verdict: Verdict, number: Option<u32>) -> Ending {
        let ending = self.ending(verdict, number);
        self.verdicts.push(verdict);
        self.told = false;
        self.wrote = None;
        self.basis = Vec::new();
        self.memory.halfway = false;
        self.memory.late_sync_failed = false;
        self.memory.believed = None;
        if !plan.is_warm {
            self.memory.seen = Vec::new();
        }
        self.command += 1;
        let more = usize::from(self.command) < plan.errands.len();
        self.stage = if more { Stage::Idle } else { Stage::Over };
        if !more {
            self.warm = None;
            self.memory = Memory::default();
        }
        ending
    }

    fn ending(&self, verdict: Verdict, number: Option<u32>) -> Ending {
        let own_bytes = self.wrote.map_or(0, |(from, to)| to - from);
        let (tag, basis) = (self.tag(), self.basis.clone());
        let wrote_from = self.wrote.map(|(from, _)| from);
        Ending { tag, verdict, number, basis, own_bytes, wrote_from }
    }

    /// The call that the machine waits for, in the words of the protocol.
    #[must_use]
    pub fn call_words(&self) -> &'static str {
        let machine = match &self.stage {
            Stage::Idle | Stage::Over => return "nothing",
            Stage::Waiting(_) if self.memory.owed == Some(Owed::BreakLock) => {
                return "removes the lock that it took for abandoned";
            }
            Stage::Waiting(_) => return words(Call::MakeLock),
            Stage::Running(machine) => machine,
        };
        if self.memory.owed == Some(Owed::Sync) && machine.end().is_some() {
            return "fsyncs the log, late";
        }
        machine.call().map_or("nothing", words)
    }
}

fn machine(waiting: Waiting) -> Machine {
    let Waiting { errand, replay } = waiting;
    let held = match errand.mode() {
        Mode::Write => OwnerNote::Write,
        Mode::Read => OwnerNote::Read,
    };
    let owner =
        OwnerRecord { held: owner_bytes(held), unconfirmed: owner_bytes(OwnerNote::Unconfirmed) };
    Machine::new(errand, replay, owner, RELEASE_RETRIES)
}

/// What a process answers that fsyncs after the release, when that fails.
fn late() -> Failure {
    Failure::Io { doing: "fsyncing late", error: DiskError { code: Some(5), text: String::new() } }
}

fn verdict(result: &Result<Receipt, Failure>, errand: Errand) -> Verdict {
    match result {
        Ok(_) => match errand.kind {
            Kind::One | Kind::Two | Kind::Recall => Verdict::Answered,
            Kind::Look => Verdict::Shown,
        },
        Err(failure) => match failure.cause() {
            Failure::LockTimeout { .. } => Verdict::TimedOut,
            Failure::LogCorrupt(_) | Failure::NotAFile { .. } | Failure::LogUnreplayable { .. } => {
                Verdict::Damaged
            }
            Failure::HistoryRewritten { .. } => Verdict::Rewritten,
            Failure::LockUnavailable { .. } | Failure::Io { .. } | Failure::LockLeft { .. } => {
                Verdict::Io
            }
            Failure::WriteUnconfirmed { .. } => Verdict::Unconfirmed,
        },
    }
}

/// A call in words: what a system call trace would show.
#[must_use]
pub const fn words(call: Call<'_>) -> &'static str {
    match call {
        Call::MakeLock => "mkdir events.lock",
        Call::InspectLock => "looks at events.lock",
        Call::OpenLock => "opens the lock directory",
        Call::WriteOwner(_) => "writes owner.json",
        Call::OpenLog => "opens the log",
        Call::ReadLog => "reads the log",
        Call::ReadSpan(_) => "reads a line again",
        Call::CreateLog => "creates the log",
        Call::SyncDataDir => "fsyncs the data directory",
        Call::SyncParentDir => "fsyncs the directory above",
        Call::OpenWriters => "opens the log to append",
        Call::Append(_) => "appends, one write",
        Call::SyncLog => "fsyncs the log",
        Call::ReadTail { .. } => "reads back what it wrote",
        Call::Truncate { .. } => "truncates the log to its old end",
        Call::SyncTruncated => "fsyncs the truncation",
        Call::MeasureLog => "measures the log",
        Call::MarkUnconfirmed(_) => "marks the lock unconfirmed",
        Call::RemoveOwner => "removes owner.json",
        Call::RemoveLock => "rmdir events.lock",
        Call::Pause => "waits a little",
    }
}
