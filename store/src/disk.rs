//! The storage seam: one trait with one method, the real disk, and the only loop that drives a
//! commit.
//!
//! [`Disk::perform`] carries out one [`Call`]. The real disk does it with system calls on one open
//! data directory; simulated disks, fault injectors and recorders are other implementations of the
//! same method. [`drive`] is the only loop that resumes a [`Commit`] on a disk in production, and
//! the harness's checkers call the same machine.
//!
//! What is not portable lives here and nowhere else: on Windows "access denied" while a directory
//! is being removed is contention (see [`is_contention`]), and directories cannot be fsynced. Only
//! Linux is tested.
//!
//! One step is two system calls: [`Call::RemoveLock`] compares the open directory with what stands
//! at the path and then removes it. No call of the operating system does both at once, so a person
//! who removes a live lock can still race with it; the owner record makes the `rmdir` of a foreign
//! lock fail from the moment its owner has written it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, Mode as Permissions, OFlags, Stat};
use rustix::io::Errno;

use crate::commit::{Call, Commit, Reply, Task};
use crate::failure::DiskError;
use crate::log::Span;
use crate::replay::{Digest, Fold};
use crate::settings::{LOCK_NAME, LOG_NAME, OWNER_NAME, Paths};

/// How much of the log is read at a time, in bytes. It fits the second-level cache, and bounds what
/// a read holds in memory besides the longest line.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// A place where a commit can be carried out, one call at a time.
pub trait Disk {
    /// Carries out one call. It may block, and never asks anyone.
    fn perform<'d>(&'d mut self, call: Call<'_>) -> Reply<'d>;
    /// The commit is over: no handle outlives it.
    fn close(&mut self);
}

/// Drives a commit to its end, or to the news that the lock exists. A panic, in a call or in the
/// pure part, does not leave the lock behind.
pub fn drive<F, D, T>(machine: &mut Commit<F, D, T, T::Answer>, disk: &mut impl Disk)
where
    F: Fold,
    D: Digest,
    T: Task<F>,
{
    loop {
        let step = catch_unwind(AssertUnwindSafe(|| match machine.call() {
            Some(call) => {
                let reply = disk.perform(call);
                machine.resume(reply);
                true
            }
            None => false,
        }));
        match step {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => machine.panicked(),
        }
    }
    disk.close();
}

/// The real disk: one local directory.
#[derive(Debug)]
pub struct LocalDisk {
    data_dir: PathBuf,
    release_retry_delay: Duration,
    buffer: Vec<u8>,
    handles: Handles,
}

/// What is open during one commit.
#[derive(Debug, Default)]
struct Handles {
    directory: Option<OwnedFd>,
    /// Holds a descriptor free for the lock directory: a lock that was made and cannot be opened
    /// would have to be left for a person.
    reserve: Option<OwnedFd>,
    lock: Option<OwnedFd>,
    log: Option<File>,
    append: Option<File>,
    take_back: Option<File>,
}

impl LocalDisk {
    /// The data directory of these paths. Nothing is touched before the first call.
    #[must_use]
    pub fn new(paths: &Paths, release_retry_delay: Duration) -> Self {
        LocalDisk {
            data_dir: paths.data_dir.clone(),
            release_retry_delay,
            buffer: Vec::new(),
            handles: Handles::default(),
        }
    }

    fn make_lock(&mut self) -> Result<Reply<'static>, Errno> {
        let directory = match self.handles.directory.take() {
            Some(directory) => directory,
            None => rustix::fs::openat(CWD, &self.data_dir, DIRECTORY, Permissions::empty())?,
        };
        self.handles.reserve = Some(rustix::io::fcntl_dupfd_cloexec(&directory, 0)?);
        let made = rustix::fs::mkdirat(&directory, LOCK_NAME, Permissions::RWXU);
        self.handles.directory = Some(directory);
        match made {
            Ok(()) => Ok(Reply::Done),
            Err(error) if is_contention(error.raw_os_error(), cfg!(windows)) => Ok(Reply::Exists),
            Err(error) => Err(error),
        }
    }

    fn inspect_lock(&self) -> Result<Reply<'static>, Errno> {
        match rustix::fs::statat(self.directory()?, LOCK_NAME, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => match file_type(&found) {
                FileType::Directory => Ok(Reply::Directory),
                other => Ok(Reply::WrongKind(kind_name(other))),
            },
            Err(Errno::NOENT) => Ok(Reply::Absent),
            Err(error) => Err(error),
        }
    }

    fn open_lock(&mut self) -> Result<Reply<'static>, Errno> {
        self.handles.reserve = None;
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        let lock = rustix::fs::openat(self.directory()?, LOCK_NAME, flags, Permissions::empty())?;
        self.handles.lock = Some(lock);
        Ok(Reply::Done)
    }

    fn write_owner(&self, record: &[u8], create: OFlags) -> std::io::Result<Reply<'static>> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | create;
        match rustix::fs::openat(self.lock()?, OWNER_NAME, flags, PRIVATE_FILE) {
            Ok(file) => File::from(file).write_all(record).map(|()| Reply::Done),
            Err(Errno::EXIST) => Ok(Reply::Exists),
            Err(error) => Err(error.into()),
        }
    }

    fn open_log(&mut self) -> Result<Reply<'static>, Errno> {
        // Not blocking: opening a FIFO must not wait for a writer. Not following: a link could lead
        // out of the directory whose fsync makes the name durable.
        let flags = OFlags::RDONLY | OPEN_LOG;
        match rustix::fs::openat(self.directory()?, LOG_NAME, flags, Permissions::empty()) {
            Ok(log) => {
                let found = rustix::fs::fstat(&log)?;
                match file_type(&found) {
                    FileType::RegularFile => {
                        self.handles.log = Some(File::from(log));
                        Ok(Reply::Opened { bytes: length(&found) })
                    }
                    other => Ok(Reply::WrongKind(kind_name(other))),
                }
            }
            Err(Errno::NOENT) => Ok(Reply::Absent),
            Err(Errno::LOOP) => Ok(Reply::WrongKind(kind_name(FileType::Symlink))),
            Err(Errno::NXIO) => Ok(Reply::WrongKind(kind_name(FileType::Socket))),
            Err(error) => Err(error),
        }
    }

    fn read_log(&mut self) -> std::io::Result<Reply<'_>> {
        if self.buffer.len() < CHUNK_BYTES {
            self.buffer.resize(CHUNK_BYTES, 0);
        }
        let log = self.handles.log.as_mut().ok_or(Errno::BADF)?;
        let count = loop {
            match log.read(&mut self.buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        Ok(Reply::Bytes(self.buffer.get(..count).unwrap_or_default()))
    }

    fn read_span(&mut self, span: Span) -> std::io::Result<Reply<'_>> {
        let log = self.handles.log.as_mut().ok_or(Errno::BADF)?;
        read_range(log, &mut self.buffer, span.offset, span.length)?;
        if u64::try_from(self.buffer.len()).ok() == Some(span.length) {
            Ok(Reply::Bytes(&self.buffer))
        } else {
            Err(std::io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn create_log(&mut self) -> Result<Reply<'static>, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OPEN_LOG;
        match rustix::fs::openat(self.directory()?, LOG_NAME, flags, PRIVATE_FILE) {
            Ok(log) => {
                self.handles.log = Some(File::from(log));
                Ok(Reply::Done)
            }
            Err(Errno::EXIST) => Ok(Reply::Exists),
            Err(error) => Err(error),
        }
    }

    /// Goes up from the data directory, by way of open directories and so without following links,
    /// to the root. A directory that cannot be opened and cannot be written either holds no name
    /// that a process like this one has made.
    fn sync_parent_dir(&self) -> Result<Reply<'static>, Errno> {
        let mut here: Option<OwnedFd> = None;
        loop {
            let from = here.as_ref().map_or_else(|| self.directory(), Ok)?;
            match open_above(from) {
                Ok(Some(above)) => match rustix::fs::fsync(&above) {
                    // Some file systems, and read-only ones among them, cannot sync directories.
                    Ok(()) | Err(Errno::INVAL | Errno::ROFS) => here = Some(above),
                    Err(error) => return Err(error),
                },
                Ok(None) => return Ok(Reply::Done),
                Err(error) => return Ok(Reply::Unopened(std::io::Error::from(error).into())),
            }
        }
    }

    fn open_writers(&mut self) -> Result<Reply<'static>, Errno> {
        let directory = self.directory()?;
        let open =
            |flags| rustix::fs::openat(directory, LOG_NAME, flags | OPEN_LOG, Permissions::empty());
        let append = open(OFlags::WRONLY | OFlags::APPEND)?;
        // Truncation goes through a handle of its own: an append handle cannot do it everywhere.
        let take_back = open(OFlags::RDWR)?;
        let read = self.handles.log.as_ref().ok_or(Errno::BADF)?;
        let found = rustix::fs::fstat(&append)?;
        for same in [rustix::fs::fstat(&take_back)?, rustix::fs::fstat(read)?] {
            if identity(&same) != identity(&found) {
                return Err(Errno::STALE);
            }
        }
        self.handles.append = Some(File::from(append));
        self.handles.take_back = Some(File::from(take_back));
        Ok(Reply::Opened { bytes: length(&found) })
    }

    /// One write call, and its count as it is: never a loop.
    fn append(&mut self, lines: &[u8]) -> std::io::Result<Reply<'static>> {
        let log = self.handles.append.as_mut().ok_or(Errno::BADF)?;
        let count = log.write(lines)?;
        Ok(Reply::Wrote(u64::try_from(count).unwrap_or(u64::MAX)))
    }

    fn read_tail(&mut self, from: u64, bytes_max: u64) -> std::io::Result<Reply<'_>> {
        let log = self.handles.take_back.as_mut().ok_or(Errno::BADF)?;
        read_range(log, &mut self.buffer, from, bytes_max)?;
        Ok(Reply::Bytes(&self.buffer))
    }

    fn remove_owner(&self) -> Result<Reply<'static>, Errno> {
        match rustix::fs::unlinkat(self.lock()?, OWNER_NAME, AtFlags::empty()) {
            Ok(()) => Ok(Reply::Done),
            Err(Errno::NOENT) => Ok(Reply::Absent),
            Err(error) => Err(error),
        }
    }

    fn remove_lock(&self) -> Result<Reply<'static>, Errno> {
        let directory = self.directory()?;
        let ours = rustix::fs::fstat(self.lock()?)?;
        match rustix::fs::statat(directory, LOCK_NAME, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if identity(&found) == identity(&ours) => {}
            Ok(_) => return Ok(Reply::NotOurs),
            Err(Errno::NOENT) => return Ok(Reply::Absent),
            Err(error) => return Err(error),
        }
        rustix::fs::unlinkat(directory, LOCK_NAME, AtFlags::REMOVEDIR)?;
        Ok(Reply::Done)
    }

    fn directory(&self) -> Result<&OwnedFd, Errno> {
        self.handles.directory.as_ref().ok_or(Errno::BADF)
    }

    fn lock(&self) -> Result<&OwnedFd, Errno> {
        self.handles.lock.as_ref().ok_or(Errno::BADF)
    }
}

impl Disk for LocalDisk {
    fn perform<'d>(&'d mut self, call: Call<'_>) -> Reply<'d> {
        reply(match call {
            Call::MakeLock => self.make_lock().map_err(Into::into),
            Call::InspectLock => self.inspect_lock().map_err(Into::into),
            Call::OpenLock => self.open_lock().map_err(Into::into),
            Call::WriteOwner(record) => self.write_owner(record, OFlags::CREATE | OFlags::EXCL),
            Call::OpenLog => self.open_log().map_err(Into::into),
            Call::ReadLog => self.read_log(),
            Call::ReadSpan(span) => self.read_span(span),
            Call::CreateLog => self.create_log().map_err(Into::into),
            Call::SyncDataDir => {
                self.directory().and_then(rustix::fs::fsync).map_err(Into::into).map(done)
            }
            Call::SyncParentDir => self.sync_parent_dir().map_err(Into::into),
            Call::OpenWriters => self.open_writers().map_err(Into::into),
            Call::Append(lines) => self.append(lines),
            Call::SyncLog => open(&self.handles.append).and_then(File::sync_all).map(done),
            Call::ReadTail { from, bytes_max } => self.read_tail(from, bytes_max),
            Call::Truncate { to } => {
                open(&self.handles.take_back).and_then(|log| log.set_len(to)).map(done)
            }
            Call::SyncTruncated => open(&self.handles.take_back).and_then(File::sync_all).map(done),
            Call::MeasureLog => open(&self.handles.take_back)
                .and_then(File::metadata)
                .map(|found| Reply::Length(found.len())),
            Call::MarkUnconfirmed(record) => self.write_owner(record, OFlags::TRUNC),
            Call::RemoveOwner => self.remove_owner().map_err(Into::into),
            Call::RemoveLock => self.remove_lock().map_err(Into::into),
            Call::Pause => {
                std::thread::sleep(self.release_retry_delay);
                Ok(Reply::Done)
            }
        })
    }

    fn close(&mut self) {
        self.handles = Handles::default();
        // A message of many megabytes must not stay in memory for ever.
        self.buffer.truncate(CHUNK_BYTES);
        self.buffer.shrink_to(CHUNK_BYTES);
    }
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
const OPEN_LOG: OFlags =
    OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const PRIVATE_FILE: Permissions = Permissions::RUSR.union(Permissions::WUSR);

/// Whether a failed `mkdir` means that the lock exists. On Windows a directory that is being
/// removed answers "access denied" (5) or "sharing violation" (32) for a moment; everywhere else
/// only "exists" is contention.
#[must_use]
pub fn is_contention(code: i32, windows: bool) -> bool {
    if windows { matches!(code, 5 | 32 | 80 | 183) } else { code == Errno::EXIST.raw_os_error() }
}

/// The directory above an open one; nothing at the root, and nothing above a directory that can be
/// neither opened nor written.
fn open_above(here: &OwnedFd) -> Result<Option<OwnedFd>, Errno> {
    match rustix::fs::openat(here, "..", DIRECTORY, Permissions::empty()) {
        Ok(above) => {
            let is_root =
                identity(&rustix::fs::fstat(&above)?) == identity(&rustix::fs::fstat(here)?);
            Ok((!is_root).then_some(above))
        }
        Err(Errno::ACCESS) => {
            let access = rustix::fs::Access::WRITE_OK;
            match rustix::fs::accessat(here, "..", access, AtFlags::EACCESS) {
                Ok(()) => Err(Errno::ACCESS),
                Err(_) => Ok(None),
            }
        }
        Err(error) => Err(error),
    }
}

/// Lets the owner of what this process creates get at it, whatever umask it was started with: a
/// lock that its own maker cannot open would have to be left behind.
pub fn let_owner_in() {
    let given = rustix::process::umask(Permissions::empty());
    rustix::process::umask(given - Permissions::RWXU);
}

fn reply(result: std::io::Result<Reply<'_>>) -> Reply<'_> {
    result.unwrap_or_else(|error| Reply::Failed(DiskError::from(error)))
}

fn done(_: ()) -> Reply<'static> {
    Reply::Done
}

fn open(handle: &Option<File>) -> std::io::Result<&File> {
    handle.as_ref().ok_or_else(|| Errno::BADF.into())
}

/// Reads up to `bytes_max` bytes from an offset into the buffer; fewer at the end of the file.
fn read_range(
    file: &mut File,
    buffer: &mut Vec<u8>,
    offset: u64,
    bytes_max: u64,
) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    buffer.clear();
    file.take(bytes_max).read_to_end(buffer)?;
    Ok(())
}

fn file_type(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Device and inode: enough while one of the two is held open, since an open inode is not reused.
fn identity(found: &Stat) -> (u64, u64) {
    #[allow(clippy::unnecessary_cast, reason = "the widths differ between platforms")]
    (found.st_dev as u64, found.st_ino as u64)
}

fn length(found: &Stat) -> u64 {
    u64::try_from(found.st_size).unwrap_or(0)
}

fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "regular file",
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character device",
        FileType::BlockDevice => "block device",
        FileType::Unknown => "file of unknown kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exists_is_contention_but_for_a_directory_that_windows_is_removing() {
        let (exists, denied) = (Errno::EXIST.raw_os_error(), Errno::ACCESS.raw_os_error());
        assert!(is_contention(exists, false));
        assert!(!is_contention(denied, false));
        for code in [5, 32, 80, 183] {
            assert!(is_contention(code, true));
        }
        assert!(!is_contention(2, true));
        assert!(!is_contention(5, false));
    }
}
