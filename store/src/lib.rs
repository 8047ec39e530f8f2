//! How the bus is done: one log, one lock, one commit protocol, one door.
//!
//! # Rooms
//!
//! | room | what belongs in it |
//! | --- | --- |
//! | [`bus`] | the one door, [`Bus::call`](bus::Bus::call), and the one transaction beneath it |
//! | [`commit`] | the six steps of a commit, sans-IO: a value that asks for one call at a time |
//! | [`disk`] | the trait `Disk`, the real disk, and the only loop that drives a commit |
//! | [`lock`] | owner records: written for people, read for reports, never for decisions |
//! | [`log`], [`replay`] | bytes to records or damage; the re-read, cold and warm |
//! | [`projection`], [`archive`] | the fast fold that decisions ask; the cold fold that reports show |
//! | [`failure`] | every way to fail closed, what it says about bytes written, its exit code |
//! | [`settings`] | what the environment and the flags decide |
//! | [`cli`] | the command line: arguments in, one JSON document out, exit codes |
//! | [`report`] | what an operator is told: doctor, status, initialize, and the manual steps |
//! | [`verify`] | is this bus built as it claims, and is this log worth citing as evidence? |
//! | [`config`] | what a client needs to start the server, and where that may be written |
//! | `output` | streams that wait for room although somebody has made them non-blocking |
//! | `regular` | opening what somebody named, if it is a file |
//! | [`smoke`], [`probe`] | the main job in one command; the client that it is played with |
//!
//! # What never happens here
//!
//! Nothing opens a socket, runs a shell, removes a lock that it did not make, or truncates a byte
//! that it did not write in this very call. No panic, `unwrap`, slice index or unbounded recursion
//! is reachable from bytes that came from outside. Time, process ids and the environment enter at
//! the edge and travel as values. `tests/tidy.rs` reads the sources for what a test can see of
//! this.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

pub mod archive;
pub mod bus;
pub mod cli;
pub mod commit;
pub mod config;
pub mod disk;
pub mod failure;
pub mod lock;
pub mod log;
pub mod mcp;
mod output;
pub mod probe;
pub mod projection;
mod regular;
pub mod replay;
pub mod report;
pub mod settings;
pub mod signals;
pub mod smoke;
pub mod verify;
