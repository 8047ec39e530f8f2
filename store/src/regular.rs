//! Opening a file that somebody named, and nothing that is not a file: opening a FIFO waits for
//! whoever writes to it, and a device need not end. Guarded by `tests/verify_run.rs` and
//! `tests/smoke.rs`.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Why a file was not opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// There is something else: a directory, or a special file.
    NotAFile(&'static str),
    /// The operating system refused.
    Io(io::Error),
}

/// Opens a regular file, or what a link to one leads to.
pub(crate) fn open(path: &Path) -> Result<File, NotOpened> {
    let found = fs::metadata(path).map_err(NotOpened::Io)?;
    if found.is_dir() {
        Err(NotOpened::NotAFile("directory"))
    } else if found.is_file() {
        File::open(path).map_err(NotOpened::Io)
    } else {
        Err(NotOpened::NotAFile("special file"))
    }
}
