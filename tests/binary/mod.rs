//! What the end-to-end tests share: a data directory of one's own, and the shipped binary run on it
//! with an environment that nothing leaks into.
#![allow(dead_code, clippy::unwrap_used)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The lesson exchange as it was recorded.
pub(crate) const LESSON: &[u8] = include_bytes!("../vectors/lesson.events.jsonl");

/// A data directory, not created yet, and the binary.
pub(crate) struct Bench {
    dir: TempDir,
    /// The data directory.
    pub(crate) data: PathBuf,
    /// For how long commands wait for the lock.
    pub(crate) lock_timeout_ms: &'static str,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Bench {
    /// A data directory named `data`.
    pub(crate) fn new() -> Self {
        Bench::named("data")
    }

    /// A data directory of that name.
    pub(crate) fn named(name: impl AsRef<OsStr>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join(name.as_ref());
        Bench { dir, data, lock_timeout_ms: "10000" }
    }

    /// A data directory that holds this log.
    pub(crate) fn with_log(bytes: &[u8]) -> Self {
        let bench = Bench::new();
        bench.write_log(bytes);
        bench
    }

    /// Puts a log into the data directory.
    pub(crate) fn write_log(&self, bytes: &[u8]) {
        std::fs::create_dir_all(&self.data).unwrap();
        std::fs::write(self.log(), bytes).unwrap();
    }

    /// The directory around the data directory.
    pub(crate) fn outside(&self) -> &Path {
        self.dir.path()
    }

    /// The path of the log.
    pub(crate) fn log(&self) -> PathBuf {
        self.data.join("events.jsonl")
    }

    /// The path of the lock.
    pub(crate) fn lock(&self) -> PathBuf {
        self.data.join("events.lock")
    }

    /// The bytes of the log; none when there is no log.
    pub(crate) fn log_bytes(&self) -> Vec<u8> {
        std::fs::read(self.log()).unwrap_or_default()
    }

    /// The names in the data directory, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(&self.data)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The binary with these arguments on the data directory, not started yet.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gaia-bus"));
        command
            .env_clear()
            .env("GAIA_INTERAGENT_DATA_DIR", &self.data)
            .env("GAIA_INTERAGENT_LOCK_TIMEOUT_MS", self.lock_timeout_ms)
            .current_dir(self.outside())
            .stdin(Stdio::null())
            .args(arguments);
        command
    }

    /// Runs the binary with these arguments.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Done {
        Done::of(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed, and gives its document.
    pub(crate) fn ok<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Value {
        let done = self.run(arguments);
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(done.stderr, "", "success is silent");
        done.json()
    }

    /// Runs a shell command as a person would, with `gaia-bus` on the path.
    pub(crate) fn shell(&self, command: &str) -> Done {
        let binary = Path::new(env!("CARGO_BIN_EXE_gaia-bus"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = vec![binary.parent().unwrap().to_owned()];
        folders.extend(std::env::split_paths(&path));
        let output = Command::new("bash")
            .args(["-c", command])
            .env("PATH", std::env::join_paths(folders).unwrap())
            .current_dir("/")
            .stdin(Stdio::null())
            .output();
        Done::of(output.unwrap())
    }
}

impl Done {
    /// From what a process left.
    pub(crate) fn of(output: Output) -> Self {
        Done {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Stdout as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}
