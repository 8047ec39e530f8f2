//! Writing to a stream that somebody has made non-blocking.
//!
//! `O_NONBLOCK` belongs to the open file and not to the descriptor: whoever shares a pipe or a
//! terminal with this process (a client in Node, a shell's neighbour) can set it for all. A full
//! pipe then answers `WouldBlock`, which is no failure: the bytes go out once there is room.
//!
//! Absent: clearing the flag, which the other side has set for reasons of its own. Guarded by
//! `tests/cli.rs` and `tests/mcp.rs` with non-blocking pipes and a reader that is slow.

use std::io::{ErrorKind, Result, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A stream whose writes wait for room, whatever its descriptor's mode.
#[derive(Debug)]
pub(crate) struct Waiting<W>(pub(crate) W);

impl<W: Write + AsFd> Waiting<W> {
    /// Does it again until it no longer would block. What would block has taken nothing.
    fn retry<T>(&mut self, mut what: impl FnMut(&mut W) -> Result<T>) -> Result<T> {
        loop {
            match what(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    has_room(&self.0, None)?;
                }
                done => return done,
            }
        }
    }
}

impl<W: Write + AsFd> Write for Waiting<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.retry(|stream| stream.write(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        self.retry(Write::flush)
    }
}

/// Waits until a stream takes bytes, or says at once why not; false once the patience is over.
///
/// # Errors
/// The kernel cannot say.
pub(crate) fn has_room(stream: &impl AsFd, patience: Option<&Timespec>) -> Result<bool> {
    match poll(&mut [PollFd::new(stream, PollFlags::OUT)], patience) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
