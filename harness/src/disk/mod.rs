//! The simulated disk: one data directory, as processes see it and as a power cut leaves it.
//!
//! # The fault model
//!
//! **Bytes.** A file has bytes that are *visible* (the page cache) and bytes that are *durable*
//! (the disk). A write makes its bytes visible and *dirty*. An fsync that succeeds makes the length
//! and every dirty byte durable, and nothing else: bytes that are visible, not dirty and not
//! durable stay so, and the disk holds NUL in their place (a hole). An fsync that fails writes any
//! part of the dirty bytes, from the front, and marks all of them clean: they stay visible, are not
//! durable, and no later fsync brings them there unless they are written again. Such bytes may be
//! *evicted*: then processes see what the disk has. A truncation changes what is visible; the disk
//! follows with the next fsync.
//!
//! **Names.** A log just created, and the data directory itself when it is new, have a name that is
//! *pending* until the directory that holds it is fsynced. A directory fsync that fails leaves the
//! name *doomed*: a later fsync of the directory does not make it durable. A rename makes a new
//! name, pending again. The lock's name is never fsynced on purpose.
//!
//! **A power cut** ends every process and leaves one of many *images*: of the dirty bytes, any part
//! from the front, or any part to the back with NUL before it (a file system may write the length
//! and later pages first); the length may have grown over data that was not written (NUL); a
//! truncation that was not fsynced may be undone; a name that is pending or doomed is there or is
//! not; the lock is there or is not, whether or not it was released, because neither its `mkdir`
//! nor its `rmdir` is durable.
//!
//! **Calls** fail with EIO and no effect, when the caller of [`World::perform`] says so; an append
//! may be short. A process may be killed between any two calls, never within one: what a kill
//! within a write leaves is what a short write followed by a kill leaves.
//!
//! # What it leaves out
//!
//! Bytes that rot, disks that lie about flush, network file systems, readahead of torn sectors (the
//! scanner refuses whatever such a sector holds), a lock path that is a file, permissions.
//! Comparing and removing the lock is one call here, two system calls in production. Reading,
//! opening and measuring change nothing. The operations of different processes are atomic, one
//! after another.
//!
//! [`bend`] holds the planted protocol faults: decorators of this disk and of the process's steps.

pub mod bend;

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use gaia_bus::commit::{Call, Reply};
use gaia_bus::failure::DiskError;

use crate::reading::Reading;
use crate::shared::Shared;
use crate::small::{LINE_BYTES, TAG_BYTES, Tag};

/// Who made a lock. Also its identity: a process that holds one makes no other, and once it is dead
/// or has answered it makes none again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Maker {
    /// A command of a process.
    Process(Tag),
    /// A person who repairs.
    Person(u8),
    /// Some process of an earlier boot.
    EarlierBoot,
}

/// What the owner record says, as far as a person's steps depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnerNote {
    /// There is none, or it cannot be read.
    None,
    /// A command that may append.
    Write,
    /// A command that never appends.
    Read,
    /// Kept on purpose.
    Unconfirmed,
}

/// The owner record that a simulated process writes: one letter.
#[must_use]
pub fn owner_bytes(note: OwnerNote) -> Vec<u8> {
    match note {
        OwnerNote::None => Vec::new(),
        OwnerNote::Write => b"w".to_vec(),
        OwnerNote::Read => b"r".to_vec(),
        OwnerNote::Unconfirmed => b"u".to_vec(),
    }
}

fn owner_note(bytes: &[u8]) -> OwnerNote {
    match bytes {
        b"w" => OwnerNote::Write,
        b"r" => OwnerNote::Read,
        b"u" => OwnerNote::Unconfirmed,
        _ => OwnerNote::None,
    }
}

/// The lock directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    /// Who made it.
    pub maker: Maker,
    /// Its owner record.
    pub owner: OwnerNote,
    /// Whether a person has claimed it, by renaming its owner record.
    pub claimed: bool,
}

/// How durable a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// It survives a power cut.
    Durable,
    /// The next fsync of its directory makes it durable.
    Pending,
    /// An fsync of its directory has failed: no later one makes it durable.
    Doomed,
}

/// A run of bytes, from (inclusive) and to (exclusive).
type Run = (usize, usize);

/// The log's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Inode {
    visible: Vec<u8>,
    durable: Vec<u8>,
    /// Runs of `visible` that the next fsync writes: sorted, apart.
    dirty: Vec<Run>,
    notes: Notes,
}

/// What has been worked out about a file; the same for every file with the same bytes, and
/// forgotten with every change.
#[derive(Debug, Default)]
struct Notes {
    reading: OnceLock<Reading>,
    coarse_images: OnceLock<Vec<Shared<Inode>>>,
}

impl Clone for Notes {
    fn clone(&self) -> Self {
        Notes::default()
    }
}

impl PartialEq for Notes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Notes {}

impl Hash for Notes {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// What a call is to meet with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It works.
    Ok,
    /// EIO, without effect.
    Fail,
    /// An append writes only so many bytes.
    Short(u32),
    /// An fsync fails after so many of the dirty bytes reached the disk.
    SyncFail(u32),
}

/// What a process has open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hands {
    /// The lock directory that it opened.
    pub lock: Option<Maker>,
    /// How far it has read the log.
    pub read: usize,
}

/// The data directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The log, when there is one.
    pub log: Option<Shared<Inode>>,
    /// How durable the log's name is.
    pub log_name: Name,
    /// How durable the data directory's own name is.
    pub dir_name: Name,
    /// The lock, when there is one.
    pub lock: Option<Lock>,
    /// Whether there ever was a lock: a power cut may bring one back.
    pub lock_was: bool,
    /// Which processes were killed, one bit each: everyone on the machine can see that.
    pub killed: u8,
}

impl Inode {
    /// A file whose bytes are all durable.
    #[must_use]
    pub fn durable(bytes: Vec<u8>) -> Self {
        Inode { durable: bytes.clone(), visible: bytes, ..Inode::default() }
    }

    /// What processes read.
    #[must_use]
    pub fn visible(&self) -> &[u8] {
        &self.visible
    }

    /// What has reached the disk.
    #[must_use]
    pub fn on_disk(&self) -> &[u8] {
        &self.durable
    }

    /// How many bytes the next fsync is to write.
    #[must_use]
    pub fn dirty_bytes(&self) -> usize {
        self.dirty.iter().map(|(from, to)| to - from).sum()
    }

    /// What stands in it.
    #[must_use]
    pub fn reading(&self) -> &Reading {
        self.notes.reading.get_or_init(|| Reading::of(&self.visible))
    }

    /// The files that a power cut can leave.
    fn images_as_files(&self, fine: bool) -> Vec<Shared<Inode>> {
        let files = |fine| -> Vec<Shared<Inode>> {
            let images = self.images(fine).into_iter();
            images.map(|bytes| Shared::new(Inode::durable(bytes))).collect()
        };
        if fine {
            return files(fine);
        }
        self.notes.coarse_images.get_or_init(|| files(false)).clone()
    }

    /// Writes at the end.
    pub fn append(&mut self, bytes: &[u8]) {
        let from = self.visible.len();
        self.visible.extend_from_slice(bytes);
        let to = self.visible.len();
        match self.dirty.last_mut() {
            _ if bytes.is_empty() => {}
            Some((_, end)) if *end == from => *end = to,
            Some(_) | None => self.dirty.push((from, to)),
        }
    }

    fn truncate(&mut self, length: usize) {
        self.visible.resize(length, 0);
        self.dirty.retain(|(from, _)| *from < length);
        if let Some((_, to)) = self.dirty.last_mut() {
            *to = (*to).min(length);
        }
    }

    fn sync(&mut self) {
        self.durable.resize(self.visible.len(), 0);
        for (from, to) in std::mem::take(&mut self.dirty) {
            self.durable[from..to].copy_from_slice(&self.visible[from..to]);
        }
    }

    fn sync_fails(&mut self, reached: usize) {
        self.durable = written(&self.durable, &self.visible, &self.dirty, 0, reached);
        self.dirty.clear();
    }

    /// Drops what is clean and not on the disk from the page cache. The length stays: a file that
    /// is in use knows it.
    fn evict(&mut self) {
        for at in 0..self.visible.len() {
            if !self.dirty.iter().any(|(from, to)| (*from..*to).contains(&at)) {
                self.visible[at] = self.durable.get(at).copied().unwrap_or(0);
            }
        }
    }

    /// Whether eviction would change anything.
    fn can_evict(&self) -> bool {
        let mut evicted = self.clone();
        evicted.evict();
        evicted.visible != self.visible
    }

    /// Every content that a power cut can leave. `fine` cuts at every byte; otherwise at the places
    /// where a line begins, can just be told from others, and ends.
    #[must_use]
    pub fn images(&self, fine: bool) -> Vec<Vec<u8>> {
        let mut images = vec![self.durable.clone()];
        let mut keep = |image: Vec<u8>| {
            if !images.contains(&image) {
                images.push(image);
            }
        };
        let dirty = self.dirty_bytes();
        for cut in cuts(dirty, fine) {
            keep(written(&self.durable, &self.visible, &self.dirty, 0, cut));
            keep(written(&self.durable, &self.visible, &self.dirty, cut, dirty));
        }
        for bytes in images.clone() {
            let mut longer = bytes;
            if longer.len() != self.visible.len() {
                longer.resize(self.visible.len(), 0);
                if !images.contains(&longer) {
                    images.push(longer);
                }
            }
        }
        images
    }
}

/// The disk after the dirty bytes from `skip` to `until` (counted over all runs) were written.
fn written(durable: &[u8], visible: &[u8], dirty: &[Run], skip: usize, until: usize) -> Vec<u8> {
    let mut image = durable.to_vec();
    let mut seen = 0;
    for (from, to) in dirty {
        for at in *from..*to {
            if (skip..until).contains(&seen) {
                if image.len() <= at {
                    image.resize(at + 1, 0);
                }
                image[at] = visible[at];
            }
            seen += 1;
        }
    }
    image
}

/// Where `bytes` dirty bytes may be cut.
fn cuts(bytes: usize, fine: bool) -> Vec<usize> {
    let interesting = |at: &usize| fine || matches!(at % LINE_BYTES, 0 | TAG_BYTES);
    (0..=bytes).filter(interesting).collect()
}

impl World {
    /// A directory that was in use before, with this log, all of it durable.
    #[must_use]
    pub fn with_log(bytes: &[u8]) -> Self {
        World {
            log: Some(Shared::new(Inode::durable(bytes.to_vec()))),
            log_name: Name::Durable,
            dir_name: Name::Durable,
            lock: None,
            lock_was: false,
            killed: 0,
        }
    }

    /// A directory just made, by the first write ever.
    #[must_use]
    pub fn fresh() -> Self {
        World {
            log: None,
            log_name: Name::Pending,
            dir_name: Name::Pending,
            lock: None,
            lock_was: false,
            killed: 0,
        }
    }

    /// What processes read in the log; nothing when there is none.
    #[must_use]
    pub fn visible(&self) -> &[u8] {
        self.log.as_ref().map_or(&[], |log| log.visible())
    }

    /// What the disk holds of the log.
    #[must_use]
    pub fn on_disk(&self) -> &[u8] {
        self.log.as_ref().map_or(&[], |log| log.on_disk())
    }

    /// What stands in the visible log.
    #[must_use]
    pub fn reading(&self) -> Reading {
        self.log.as_ref().map_or_else(Reading::default, |log| log.reading().clone())
    }

    /// Whether these bytes stand at the front of the log after every power cut.
    #[must_use]
    pub fn survives(&self, bytes: &[u8]) -> bool {
        bytes.is_empty()
            || (self.log_name == Name::Durable
                && self.dir_name == Name::Durable
                && self.on_disk().starts_with(bytes))
    }

    /// Whether an fsync of the log would have anything to write.
    #[must_use]
    pub fn dirty_bytes(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.dirty_bytes())
    }

    /// Carries out one call of a process, which meets with `outcome`.
    pub fn perform<'d>(
        &'d mut self,
        who: Tag,
        hands: &mut Hands,
        call: Call<'_>,
        outcome: Outcome,
    ) -> Reply<'d> {
        match outcome {
            Outcome::Ok => self.work(who, hands, call),
            Outcome::Short(count) => match call {
                Call::Append(lines) => {
                    let count = usize::try_from(count).unwrap_or(0).min(lines.len());
                    self.append(&lines[..count])
                }
                _ => eio(),
            },
            Outcome::Fail => {
                self.fail(call, 0);
                eio()
            }
            Outcome::SyncFail(reached) => {
                self.fail(call, usize::try_from(reached).unwrap_or(0));
                eio()
            }
        }
    }

    /// The traces that a failed call leaves: those of an fsync.
    fn fail(&mut self, call: Call<'_>, reached: usize) {
        match call {
            Call::SyncLog | Call::SyncTruncated => {
                if let Some(log) = &mut self.log {
                    log.update(|log| log.sync_fails(reached));
                }
            }
            Call::SyncDataDir => self.log_name = doomed(self.log_name),
            Call::SyncParentDir => self.dir_name = doomed(self.dir_name),
            _ => {}
        }
    }

    fn work<'d>(&'d mut self, who: Tag, hands: &mut Hands, call: Call<'_>) -> Reply<'d> {
        match call {
            Call::MakeLock => self.make_lock(Maker::Process(who)),
            Call::InspectLock => self.lock.map_or(Reply::Absent, |_| Reply::Directory),
            Call::OpenLock => {
                hands.lock = self.lock.map(|lock| lock.maker);
                hands.lock.map_or(Reply::Absent, |_| Reply::Done)
            }
            Call::WriteOwner(record) => self.write_owner(hands, record, false),
            Call::MarkUnconfirmed(record) => self.write_owner(hands, record, true),
            Call::OpenLog => {
                hands.read = 0;
                match &self.log {
                    None => Reply::Absent,
                    Some(log) => Reply::Opened { bytes: count(log.visible.len()) },
                }
            }
            Call::ReadLog => {
                let from = hands.read.min(self.visible().len());
                hands.read = self.visible().len();
                Reply::Bytes(&self.visible()[from..])
            }
            Call::ReadSpan(span) => {
                let from = index(span.offset);
                match self.visible().get(from..from + index(span.length)) {
                    Some(bytes) => Reply::Bytes(bytes),
                    None => eio(),
                }
            }
            Call::CreateLog => match self.log {
                Some(_) => Reply::Exists,
                None => {
                    self.log = Some(Shared::new(Inode::default()));
                    self.log_name = Name::Pending;
                    Reply::Done
                }
            },
            Call::SyncDataDir => done(|| self.log_name = synced(self.log_name)),
            Call::SyncParentDir => done(|| self.dir_name = synced(self.dir_name)),
            Call::OpenWriters => match &self.log {
                None => Reply::Absent,
                Some(log) => Reply::Opened { bytes: count(log.visible.len()) },
            },
            Call::Append(lines) => self.append(lines),
            Call::SyncLog | Call::SyncTruncated => self.with_log_do(Inode::sync),
            Call::ReadTail { from, bytes_max } => {
                let tail = self.visible().get(index(from)..).unwrap_or_default();
                Reply::Bytes(&tail[..tail.len().min(index(bytes_max))])
            }
            Call::Truncate { to } => self.with_log_do(|log| log.truncate(index(to))),
            Call::MeasureLog => Reply::Length(count(self.visible().len())),
            Call::RemoveOwner => self.remove_owner(hands),
            Call::RemoveLock => self.remove_lock(hands),
            Call::Pause => Reply::Done,
        }
    }

    /// `mkdir events.lock`.
    pub fn make_lock(&mut self, maker: Maker) -> Reply<'static> {
        if self.lock.is_some() {
            return Reply::Exists;
        }
        self.lock = Some(Lock { maker, owner: OwnerNote::None, claimed: false });
        self.lock_was = true;
        Reply::Done
    }

    fn write_owner(&mut self, hands: &Hands, record: &[u8], over: bool) -> Reply<'static> {
        match &mut self.lock {
            Some(lock) if Some(lock.maker) == hands.lock && !lock.claimed => {
                if lock.owner != OwnerNote::None && !over {
                    return Reply::Exists;
                }
                lock.owner = owner_note(record);
                Reply::Done
            }
            // The directory that is held open is no longer at the path: nothing can be created in
            // it, and there is no record in it to overwrite.
            Some(_) | None => eio(),
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Reply<'static> {
        match &mut self.log {
            None => eio(),
            Some(log) => {
                log.update(|log| log.append(bytes));
                Reply::Wrote(count(bytes.len()))
            }
        }
    }

    fn with_log_do(&mut self, act: impl FnOnce(&mut Inode)) -> Reply<'static> {
        match &mut self.log {
            None => eio(),
            Some(log) => {
                log.update(act);
                Reply::Done
            }
        }
    }

    fn remove_owner(&mut self, hands: &Hands) -> Reply<'static> {
        match &mut self.lock {
            Some(lock) if Some(lock.maker) == hands.lock && lock.owner != OwnerNote::None => {
                lock.owner = OwnerNote::None;
                Reply::Done
            }
            Some(_) | None => Reply::Absent,
        }
    }

    fn remove_lock(&mut self, hands: &Hands) -> Reply<'static> {
        match self.lock {
            None => Reply::Absent,
            Some(lock) if Some(lock.maker) != hands.lock => Reply::NotOurs,
            // A directory that holds a record is not removed: ENOTEMPTY.
            Some(lock) if lock.owner != OwnerNote::None => eio(),
            Some(_) => done(|| self.lock = None),
        }
    }

    /// Another program appends to the log without the lock, and fsyncs it.
    pub fn append_foreign(&mut self, bytes: &[u8]) {
        self.append(bytes);
        self.sync_log();
    }

    /// The log is replaced by these bytes, durably: a copy, an fsync, a rename, an fsync of the
    /// directory.
    pub fn replace_log(&mut self, bytes: Vec<u8>) {
        self.log = Some(Shared::new(Inode::durable(bytes)));
        self.log_name = Name::Durable;
    }

    /// A person cuts the log to this length: visible at once, durable with the next fsync.
    pub fn cut_log(&mut self, to: usize) {
        self.with_log_do(|log| log.truncate(to));
    }

    /// A person fsyncs the log.
    pub fn sync_log(&mut self) {
        self.with_log_do(Inode::sync);
    }

    /// Whether an eviction would show.
    #[must_use]
    pub fn can_evict(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.can_evict())
    }

    /// The page cache drops what is clean and not on the disk.
    pub fn evict(&mut self) {
        if let Some(log) = &mut self.log {
            log.update(Inode::evict);
        }
    }

    /// Every directory that a power cut can leave, each once. `fine` as in [`Inode::images`].
    #[must_use]
    pub fn images(&self, fine: bool) -> Vec<World> {
        let lock = Lock { maker: Maker::EarlierBoot, owner: OwnerNote::None, claimed: false };
        let mut logs: Vec<Option<Shared<Inode>>> = match &self.log {
            None => vec![None],
            Some(log) => log.images_as_files(fine).into_iter().map(Some).collect(),
        };
        if self.log_name != Name::Durable && !logs.contains(&None) {
            logs.push(None);
        }
        let mut images = Vec::new();
        for log in logs {
            for lock in [None, Some(lock)] {
                if lock.is_some() && !self.lock_was {
                    continue;
                }
                images.push(World {
                    log: log.clone(),
                    log_name: if log.is_some() { Name::Durable } else { Name::Pending },
                    dir_name: Name::Durable,
                    lock,
                    lock_was: self.lock_was,
                    killed: 0,
                });
            }
        }
        if self.dir_name != Name::Durable {
            // The whole directory is gone; the next write makes it again.
            let fresh = World::fresh();
            if !images.contains(&fresh) {
                images.push(fresh);
            }
        }
        images
    }
}

fn doomed(name: Name) -> Name {
    match name {
        Name::Durable => Name::Durable,
        Name::Pending | Name::Doomed => Name::Doomed,
    }
}

fn synced(name: Name) -> Name {
    match name {
        Name::Durable | Name::Pending => Name::Durable,
        Name::Doomed => Name::Doomed,
    }
}

/// EIO: what the simulated operating system answers instead of doing its work.
#[must_use]
pub fn eio() -> Reply<'static> {
    Reply::Failed(DiskError { code: Some(5), text: String::new() })
}

fn done(act: impl FnOnce()) -> Reply<'static> {
    act();
    Reply::Done
}

fn count(length: usize) -> u64 {
    length as u64
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inode(durable: &[u8], appended: &[u8]) -> Inode {
        let mut inode = Inode::durable(durable.to_vec());
        inode.append(appended);
        inode
    }

    #[test]
    fn an_fsync_makes_durable_what_was_written_and_a_failed_one_does_so_for_no_later_one() {
        let mut inode = inode(b"aa", b"bbbb");
        inode.sync_fails(1);
        assert_eq!((inode.visible(), inode.on_disk()), (&b"aabbbb"[..], &b"aab"[..]));
        inode.append(b"cc");
        inode.sync();
        assert_eq!((inode.visible(), inode.on_disk()), (&b"aabbbbcc"[..], &b"aab\0\0\0cc"[..]));
    }

    #[test]
    fn bytes_that_are_clean_and_not_on_the_disk_can_be_evicted() {
        let mut inode = inode(b"aa", b"bbbb");
        assert!(!inode.can_evict());
        inode.sync_fails(1);
        assert!(inode.can_evict());
        inode.evict();
        assert_eq!(inode.visible(), b"aab\0\0\0");
    }

    #[test]
    fn a_power_cut_leaves_any_front_any_back_or_a_hole() {
        let images = inode(b"a", b"bc").images(true);
        let expected: [&[u8]; 5] = [b"a", b"abc", b"ab", b"a\0c", b"a\0\0"];
        for image in expected {
            assert!(images.contains(&image.to_vec()), "{image:?}");
        }
        assert!(images.contains(&b"ab\0".to_vec()));
        assert_eq!(images.len(), 6);
    }

    #[test]
    fn a_truncation_is_undone_by_a_power_cut_until_it_is_synced() {
        let mut inode = Inode::durable(b"abcd".to_vec());
        inode.truncate(2);
        assert_eq!(inode.images(true), [b"abcd".to_vec(), b"ab".to_vec()]);
        inode.sync();
        assert_eq!(inode.images(true), [b"ab".to_vec()]);
    }

    #[test]
    fn a_name_that_is_not_durable_may_be_gone() {
        let mut world = World::fresh();
        let tag = Tag { process: 0, command: 0 };
        let mut hands = Hands::default();
        world.perform(tag, &mut hands, Call::CreateLog, Outcome::Ok);
        assert!(world.images(true).iter().any(|image| image.log.is_none()));
        world.perform(tag, &mut hands, Call::SyncDataDir, Outcome::Fail);
        world.perform(tag, &mut hands, Call::SyncDataDir, Outcome::Ok);
        world.perform(tag, &mut hands, Call::SyncParentDir, Outcome::Ok);
        world.perform(tag, &mut hands, Call::Append(b"x\n"), Outcome::Ok);
        world.perform(tag, &mut hands, Call::SyncLog, Outcome::Ok);
        assert!(!world.survives(b"x\n"));
        assert!(world.images(true).iter().any(|image| image.log.is_none()));
    }

    #[test]
    fn a_lock_outlives_its_removal_when_the_power_fails() {
        let tag = Tag { process: 0, command: 0 };
        let mut world = World::with_log(b"");
        assert!(world.images(true).iter().all(|image| image.lock.is_none()));
        let mut hands = Hands::default();
        for call in [Call::MakeLock, Call::OpenLock, Call::RemoveOwner, Call::RemoveLock] {
            world.perform(tag, &mut hands, call, Outcome::Ok);
        }
        assert_eq!(world.lock, None);
        assert!(world.images(true).iter().any(|image| image.lock.is_some()));
    }
}
