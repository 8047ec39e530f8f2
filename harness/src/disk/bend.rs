//! Planted protocol faults: decorators between the commit machine and the simulated disk.
//!
//! None of this is in shipped code. A fault bends what a process does with its calls and replies:
//! it answers a call without carrying it out, carries it out later, or lets the machine see
//! something else than what is there. The machine itself stays the one that ships. Each fault is a
//! mistake that someone could make in good faith; [`controls`](crate::controls) says which checker
//! must find which ([`Fault::PersonDoesNotClaim`] has a test of its own in `tests/explore.rs`).

use gaia_bus::commit::{Call, Reply};

use super::{Hands, Maker, Outcome, OwnerNote, World};
use crate::small::{LINE_BYTES, Tag};

/// A mistake in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// A waiter removes a lock that looks old.
    BreakByAge,
    /// A waiter removes a lock whose owner is dead.
    BreakDeadOwner,
    /// A waiter whose time is up removes the lock.
    UnlockOnTimeOut,
    /// The log is read before the lock is taken, so ids come from a cache.
    ReadOutsideLock,
    /// A torn tail is skipped.
    IgnoreTornTail,
    /// A torn tail is cut off.
    TruncateTornTail,
    /// No fsync of what was appended.
    SkipFsync,
    /// The caller has the answer before the fsync.
    AnswerBeforeFsync,
    /// The lock is released before the fsync; the answer waits for it.
    ReleaseBeforeFsync,
    /// An fsync that failed is tried again.
    RetryFsync,
    /// After a failed write or fsync the lock is released with the bytes left in place.
    ReleaseWithoutTakeBack,
    /// The truncation of the take-back is not fsynced.
    TakeBackWithoutFsync,
    /// A take-back that fails is taken for one that worked.
    IgnoreFailedTakeBack,
    /// The directory and its parent are not fsynced before the first byte.
    SkipDirFsync,
    /// The lock is removed without looking whether it is still the own one.
    RemoveForeignLock,
    /// The take-back truncates without reading back what it removes.
    RollBackBlindly,
    /// A batch is appended with one write call a line.
    TwoWrites,
    /// A warm process trusts what it has validated before.
    CacheWithoutDigest,
    /// A person removes a dead writer's lock of this boot and does not rewrite the log.
    PersonMerelyRemoves,
    /// A person rewrites an empty log, where only a restart of the machine tells what is durable.
    PersonRewritesEmptyLog,
    /// A person rewrites the log and does not claim the lock first.
    PersonDoesNotClaim,
}

impl Fault {
    /// In words, as a table shows it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Fault::BreakByAge => "break the lock by age",
            Fault::BreakDeadOwner => "break the lock if its owner is dead",
            Fault::UnlockOnTimeOut => "unlock on time-out",
            Fault::ReadOutsideLock => "read outside the lock; ids from a cache",
            Fault::IgnoreTornTail => "ignore a torn tail",
            Fault::TruncateTornTail => "truncate a torn tail",
            Fault::SkipFsync => "skip fsync",
            Fault::AnswerBeforeFsync => "answer before fsync",
            Fault::ReleaseBeforeFsync => "release before fsync",
            Fault::RetryFsync => "retry a failed fsync",
            Fault::ReleaseWithoutTakeBack => "release without take-back",
            Fault::TakeBackWithoutFsync => "take-back without fsync",
            Fault::IgnoreFailedTakeBack => "ignore a failed take-back",
            Fault::SkipDirFsync => "no directory fsync before the first byte",
            Fault::RemoveForeignLock => "remove a foreign lock",
            Fault::RollBackBlindly => "roll back without reading back",
            Fault::TwoWrites => "two writes per append",
            Fault::CacheWithoutDigest => "a cache without a digest",
            Fault::PersonMerelyRemoves => {
                "a person merely removes a dead writer's lock of this boot"
            }
            Fault::PersonRewritesEmptyLog => "a person rewrites an empty log instead of rebooting",
            Fault::PersonDoesNotClaim => "two people repair and neither claims the lock",
        }
    }
}

/// What a bent process remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// What it will do before its next call.
    pub owed: Option<Owed>,
    /// Bytes of the log that it goes by.
    pub seen: Vec<u8>,
    /// How long it takes the log to be.
    pub believed: Option<u64>,
    /// Whether it has done the first half of what it does in two.
    pub halfway: bool,
    /// Whether the fsync that it made too late has failed.
    pub late_sync_failed: bool,
}

/// What a bent process does on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owed {
    /// Remove whatever lock stands at the path.
    BreakLock,
    /// The fsync that it should have made before the release.
    Sync,
}

/// What becomes of a call that went through a decorator.
#[derive(Debug)]
pub enum Bent<'d> {
    /// The machine is resumed with this.
    Reply(Reply<'d>),
    /// The machine is not resumed: the same call comes again.
    Again,
    /// The same, and the caller already has the answer.
    AnsweredEarly,
}

/// Whether the fault answers this call without touching the disk.
#[must_use]
pub fn is_skipped(fault: Option<Fault>, memory: &Memory, call: Call<'_>) -> bool {
    match (fault, call) {
        (Some(Fault::SkipFsync | Fault::ReleaseBeforeFsync), Call::SyncLog)
        | (Some(Fault::SkipDirFsync), Call::SyncDataDir | Call::SyncParentDir)
        | (Some(Fault::TakeBackWithoutFsync), Call::SyncTruncated)
        | (Some(Fault::RollBackBlindly), Call::ReadTail { .. })
        | (
            Some(Fault::ReleaseWithoutTakeBack),
            Call::ReadTail { .. } | Call::Truncate { .. } | Call::SyncTruncated | Call::MeasureLog,
        ) => true,
        (Some(Fault::AnswerBeforeFsync), Call::SyncLog) => !memory.halfway,
        _ => false,
    }
}

/// Carries out a call as a process with this fault does.
pub fn perform<'d>(
    fault: Option<Fault>,
    memory: &'d mut Memory,
    world: &'d mut World,
    who: Tag,
    hands: &mut Hands,
    call: Call<'_>,
    outcome: Outcome,
) -> Bent<'d> {
    let Some(fault) = fault else {
        return Bent::Reply(world.perform(who, hands, call, outcome));
    };
    if is_skipped(Some(fault), memory, call) {
        return skip(fault, memory, call);
    }
    match (fault, call) {
        (Fault::BreakByAge, Call::InspectLock) => {
            memory.owed = world.lock.map(|_| Owed::BreakLock);
        }
        (Fault::BreakDeadOwner, Call::InspectLock) => {
            let dead = world.lock.is_some_and(|lock| world.is_dead(lock.maker));
            memory.owed = dead.then_some(Owed::BreakLock);
        }
        (Fault::ReadOutsideLock | Fault::CacheWithoutDigest, Call::ReadLog) => {
            return read_from_memory(fault, memory, world, hands);
        }
        (Fault::IgnoreTornTail, Call::ReadLog) => {
            let from = hands.read;
            hands.read = world.visible().len();
            let whole = whole_lines(world.visible());
            memory.believed = Some(whole as u64);
            return Bent::Reply(Reply::Bytes(&world.visible()[from.min(whole)..whole]));
        }
        (
            Fault::ReadOutsideLock | Fault::CacheWithoutDigest | Fault::IgnoreTornTail,
            Call::OpenWriters,
        ) => {
            return Bent::Reply(Reply::Opened { bytes: memory.believed.unwrap_or(0) });
        }
        (Fault::TruncateTornTail, Call::OpenLog) => {
            let whole = whole_lines(world.visible());
            if whole < world.visible().len() {
                world.perform(who, hands, Call::Truncate { to: whole as u64 }, Outcome::Ok);
            }
        }
        (Fault::RetryFsync, Call::SyncLog) if outcome != Outcome::Ok && !memory.halfway => {
            memory.halfway = true;
            world.perform(who, hands, call, outcome);
            return Bent::Again;
        }
        (Fault::IgnoreFailedTakeBack, _) if outcome != Outcome::Ok => {
            note_end(memory, call);
            let taken_back = pretend(memory, call);
            let failed = world.perform(who, hands, call, outcome);
            return Bent::Reply(taken_back.unwrap_or(failed));
        }
        (Fault::IgnoreFailedTakeBack, Call::ReadTail { .. }) => note_end(memory, call),
        (Fault::IgnoreFailedTakeBack, Call::MeasureLog) => return skip(fault, memory, call),
        (Fault::RemoveForeignLock, Call::RemoveOwner) => {
            if let Some(lock) = &mut world.lock {
                lock.owner = OwnerNote::None;
            }
            return Bent::Reply(Reply::Done);
        }
        (Fault::RemoveForeignLock, Call::RemoveLock) => {
            world.lock = None;
            return Bent::Reply(Reply::Done);
        }
        (Fault::TwoWrites, Call::Append(lines)) if lines.len() > LINE_BYTES => {
            let (first, second) = lines.split_at(LINE_BYTES);
            if !memory.halfway {
                memory.halfway = true;
                world.perform(who, hands, Call::Append(first), outcome);
                return Bent::Again;
            }
            world.perform(who, hands, Call::Append(second), outcome);
            return Bent::Reply(Reply::Wrote(lines.len() as u64));
        }
        _ => {}
    }
    Bent::Reply(world.perform(who, hands, call, outcome))
}

fn skip(fault: Fault, memory: &mut Memory, call: Call<'_>) -> Bent<'static> {
    match fault {
        Fault::AnswerBeforeFsync => {
            memory.halfway = true;
            return Bent::AnsweredEarly;
        }
        Fault::ReleaseBeforeFsync => memory.owed = Some(Owed::Sync),
        _ => {}
    }
    note_end(memory, call);
    Bent::Reply(pretend(memory, call).unwrap_or(Reply::Done))
}

/// Where the take-back goes to.
fn note_end(memory: &mut Memory, call: Call<'_>) {
    if let Call::ReadTail { from, .. } = call {
        memory.believed = Some(from);
    }
}

/// The reply that a take-back hopes for.
fn pretend(memory: &Memory, call: Call<'_>) -> Option<Reply<'static>> {
    match call {
        Call::ReadTail { .. } => Some(Reply::Bytes(&[])),
        Call::Truncate { .. } | Call::SyncTruncated => Some(Reply::Done),
        Call::MeasureLog => Some(Reply::Length(memory.believed.unwrap_or(0))),
        _ => None,
    }
}

/// The log as it was seen earlier; a process with a cache adds what stands behind it now.
fn read_from_memory<'d>(
    fault: Fault,
    memory: &'d mut Memory,
    world: &World,
    hands: &mut Hands,
) -> Bent<'d> {
    if hands.read > 0 {
        return Bent::Reply(Reply::Bytes(&[]));
    }
    hands.read = usize::MAX;
    if fault == Fault::CacheWithoutDigest {
        let tail = world.visible().get(memory.seen.len()..).unwrap_or_default();
        memory.seen.extend_from_slice(tail);
    }
    memory.believed = Some(memory.seen.len() as u64);
    Bent::Reply(Reply::Bytes(&memory.seen))
}

/// How many bytes the whole lines at the front take.
#[must_use]
pub fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

impl World {
    /// Whether the maker of a lock can be seen to be dead.
    #[must_use]
    pub fn is_dead(&self, maker: Maker) -> bool {
        match maker {
            Maker::Process(tag) => self.killed & (1 << tag.process) != 0,
            Maker::Person(_) => false,
            Maker::EarlierBoot => true,
        }
    }
}
