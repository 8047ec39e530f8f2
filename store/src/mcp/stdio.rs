//! The process around the server: standard input, standard output and the signals that end it.
//!
//! Contract.
//! - No handler is installed: SIGTERM, SIGINT and SIGHUP end the process the way they end any
//!   other, at once while it waits for a request or for the lock (`signals::sleep_interruptibly`),
//!   but not from the moment a call holds the lock until its answer is written. They stay pending
//!   for that time and take their effect right after.
//! - A client that has stopped reading cannot make the process immortal: when the pipe takes
//!   nothing for [`WRITE_PATIENCE`], signals are let through before the answer is.
//! - When nobody can read the output any more, waiting for requests ends too.
//! - Somebody who shares a stream may have made it non-blocking; both directions then wait all the
//!   same ([`output`](crate::output)).
//!
//! Absent: making descriptors non-blocking (whoever shares them would inherit the flag) and
//! threads. `tests/mcp.rs` guards it with real signals on a real process.

use std::cell::Cell;
use std::fs::File;
use std::io::{ErrorKind, Read, Result, Write};
use std::os::fd::AsFd;
use std::rc::Rc;

use gaia_bus_model::command::Verb;
use gaia_bus_model::json::Object;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::PIPE_BUF;

use super::{Door, serve};
use crate::bus::Answer;
use crate::output::{Waiting, has_room};
use crate::signals::HeldBack;

/// How long an answer may stand before a full pipe while signals are held back.
const WRITE_PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Serves a client on standard input and standard output until it goes.
///
/// # Errors
///
/// What reading standard input or writing standard output came to.
pub fn serve_stdio(door: &mut impl Door) -> Result<()> {
    let held = Rc::new(Cell::new(None));
    let stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let input = Input { stdin, stdout: stdout.try_clone()? };
    let output = Output { stdout: Waiting(stdout), held: Rc::clone(&held) };
    serve(input, output, &mut Holding { door, held })
}

/// A door that holds signals back from the call until the answer is flushed.
struct Holding<'a, D> {
    door: &'a mut D,
    held: Rc<Cell<Option<HeldBack>>>,
}

impl<D: Door> Door for Holding<'_, D> {
    fn call(&mut self, verb: Verb, arguments: Object) -> Answer {
        self.held.set(Some(HeldBack::now()));
        self.door.call(verb, arguments)
    }
}

struct Output {
    stdout: Waiting<File>,
    held: Rc<Cell<Option<HeldBack>>>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let held = self.held.take();
        if held.is_none() || !has_room(&self.stdout.0, Some(&WRITE_PATIENCE)).unwrap_or(true) {
            drop(held);
            return self.stdout.write(bytes);
        }
        self.held.set(held);
        // A pipe that polls as writable takes this much without blocking, by POSIX. Where somebody
        // else took that room first, `write_all` comes back and the patience begins anew.
        let part = bytes.get(..PIPE_BUF).unwrap_or(bytes);
        self.stdout.0.write(part).map_err(try_again)
    }

    fn flush(&mut self) -> Result<()> {
        self.held.set(None);
        self.stdout.flush()
    }
}

struct Input {
    stdin: File,
    stdout: File,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        // A kernel that cannot poll a stream says so; then reading it tells all there is.
        let mut fds = [
            PollFd::new(&self.stdin, PollFlags::IN),
            PollFd::new(&self.stdout, PollFlags::empty()),
        ];
        if poll(&mut fds, None).is_ok() {
            let [_, stdout] = &fds;
            if stdout.revents().intersects(PollFlags::ERR | PollFlags::HUP) {
                return Ok(0);
            }
        }
        self.stdin.read(buffer).map_err(try_again)
    }
}

/// "Not now" as the kind of error after which reading and writing are tried again.
fn try_again(error: std::io::Error) -> std::io::Error {
    match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::Interrupted.into(),
        _ => error,
    }
}
