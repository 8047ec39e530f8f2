//! `events`: the committed lines, byte for byte.
//!
//! The log is validated under the lock, which gives its length and its digest; the bytes are
//! printed after the release, in chunks, and digested once more on the way. So a slow reader never
//! holds the lock, memory stays bounded however long the log is, and what was printed is what was
//! validated or the exit code says otherwise. On a damaged log stdout stays empty: half a log is
//! not a log.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use clap::Command;

use super::{Call, Console, OK, Usage, after_help};
use crate::bus::Bus;
use crate::failure::Failure;
use crate::projection::Projection;
use crate::replay::{Digest, Xxh3};

const CHUNK_BYTES: usize = 64 * 1024;

pub(super) fn define() -> Command {
    Command::new("events")
        .about("Print the committed log, byte for byte")
        .long_about(
            "Print the committed lines of the log, byte for byte: nothing is escaped, and --pretty \
             and --quiet change nothing. On a damaged log nothing is printed, the failure goes to \
             stderr, and the exit code is 3. Read-only.",
        )
        .after_help(after_help(&["gaia-bus events > evidence.jsonl", "gaia-bus events | tail -1"]))
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let mut bus = Bus::new(call.settings()?);
    let paths = bus.settings().paths.clone();
    let printed = bus.read(Projection::default()).and_then(|reading| {
        console.warn(reading.warning.as_deref());
        print(&paths.log, reading.log_bytes, reading.digest, console)
    });
    match printed {
        Ok(()) => Ok(OK),
        // Stdout is the log's alone, so the envelope goes where the sentences go.
        Err(failure) => Ok(console.fail_on_stderr(&failure, &paths)),
    }
}

/// Prints the first `length` bytes of the log, which must have this digest.
fn print(log: &Path, length: u64, digest: u128, console: &mut Console<'_>) -> Result<(), Failure> {
    if length == 0 {
        return Ok(());
    }
    let failed = |error: io::Error| Failure::Io { doing: "printing the log", error: error.into() };
    let mut bytes = open(log).map_err(failed)?.take(length);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut printed = Xxh3::default();
    let mut found_bytes = 0;
    loop {
        let count = match bytes.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        let read = chunk.get(..count).unwrap_or_default();
        printed.update(read);
        found_bytes += u64::try_from(count).unwrap_or_default();
        if !console.write(read) {
            // Nobody reads on: there is nothing left to vouch for.
            return Ok(());
        }
    }
    if found_bytes == length && printed.value() == digest {
        Ok(())
    } else {
        Err(Failure::HistoryRewritten { known_bytes: length, found_bytes })
    }
}

/// Opens the log without waiting, should something else stand there by now.
fn open(log: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::open(log, flags, Mode::empty())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(bytes: &[u8]) -> u128 {
        let mut digest = Xxh3::default();
        digest.update(bytes);
        digest.value()
    }

    /// Prints a log that held `validated` when it was read and holds `now` when it is printed.
    fn printed(validated: &[u8], now: &[u8]) -> (Result<(), Failure>, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("events.jsonl");
        std::fs::write(&log, now).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console::new(&mut out, &mut err, false);
        let length = u64::try_from(validated.len()).unwrap();
        let result = print(&log, length, digest(validated), &mut console);
        (result, out)
    }

    #[test]
    fn exactly_the_validated_bytes_are_printed_also_when_the_log_has_grown() {
        let long = vec![b'x'; 3 * CHUNK_BYTES + 1];
        for validated in [b"".as_slice(), b"one\n", &long] {
            let grown = [validated, b"more\n".as_slice()].concat();
            assert_eq!(printed(validated, validated), (Ok(()), validated.to_vec()));
            assert_eq!(printed(validated, &grown), (Ok(()), validated.to_vec()));
        }
    }

    #[test]
    fn bytes_that_changed_or_went_since_they_were_validated_are_said() {
        for now in [b"on".as_slice(), b"", b"onE\n"] {
            let (result, _) = printed(b"one\n", now);
            let found_bytes = u64::try_from(now.len()).unwrap();
            assert_eq!(result, Err(Failure::HistoryRewritten { known_bytes: 4, found_bytes }));
        }
    }
}
