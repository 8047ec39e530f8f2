//! The shipped entry point, as a process.
//!
//! What runs is `gaia_bus::cli::main`, all of it: the executable that is given (this crate's own,
//! which hands over to the bus when it is called `gaia-bus`; or the product's, when `GAIA_BUS_BIN`
//! names it) is called through a link of that name, so that the commands that doctor prints find it
//! too.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The name under which the executable is the bus.
pub const NAME: &str = "gaia-bus";

/// Whether this process was called under the name of the bus.
#[must_use]
pub fn is_called_as_bus() -> bool {
    let called = std::env::args_os().next().map(PathBuf::from);
    called.is_some_and(|path| path.file_name().is_some_and(|name| name == NAME))
}

/// A directory with the program in it.
#[derive(Debug)]
pub struct Program {
    directory: tempfile::TempDir,
}

impl Program {
    /// Links the bus to the executable of this crate, or to what `GAIA_BUS_BIN` names.
    ///
    /// # Panics
    ///
    /// When it cannot be linked.
    #[must_use]
    pub fn of(executable: &Path) -> Self {
        let executable =
            std::env::var_os("GAIA_BUS_BIN").map_or_else(|| executable.to_owned(), PathBuf::from);
        let executable = executable.canonicalize().expect("the executable exists");
        let directory = tempfile::tempdir().expect("a directory for the link");
        symlink(executable, directory.path().join(NAME)).expect("linking the bus");
        Program { directory }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(NAME)
    }

    /// The command line, in an environment that nothing leaks into.
    #[must_use]
    pub fn command(&self, data_dir: &Path, lock_timeout_ms: u32) -> Command {
        let mut command = Command::new(self.path());
        self.at_home(&mut command, data_dir, lock_timeout_ms);
        command
    }

    /// Gives another command, one that runs the bus in turn, the same environment.
    pub fn at_home(&self, command: &mut Command, data_dir: &Path, lock_timeout_ms: u32) {
        let mut path = OsString::from(self.directory.path());
        path.push(":/usr/sbin:/usr/bin:/sbin:/bin");
        command
            .env_clear()
            .env("PATH", path)
            .env("GAIA_INTERAGENT_DATA_DIR", data_dir)
            .env("GAIA_INTERAGENT_LOCK_TIMEOUT_MS", lock_timeout_ms.to_string())
            .env("GAIA_INTERAGENT_LOCK_RELEASE_RETRY_DELAY_MS", "1")
            .stdin(Stdio::null());
    }

    /// Runs one command to its end.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    #[must_use]
    pub fn run(&self, data_dir: &Path, arguments: &[&str]) -> Output {
        self.command(data_dir, 2_000).args(arguments).output().expect("starting the bus")
    }

    /// What a person does who finds trouble and no bus process left: asks the doctor, and carries
    /// out the commands it prints, one by one, in a shell. Looking for processes is left out, since
    /// other checks run theirs. Gives the commands; none when the doctor finds nothing.
    ///
    /// # Errors
    ///
    /// The command that failed, or that the doctor still finds trouble afterwards.
    ///
    /// # Panics
    ///
    /// When no shell can be started.
    pub fn follow_doctor(&self, data_dir: &Path) -> Result<Vec<String>, String> {
        let commands = self.doctor(data_dir)?;
        for command in &commands {
            let mut shell = Command::new("bash");
            self.at_home(&mut shell, data_dir, 0);
            let done = shell.arg("-c").arg(command).output().expect("starting a shell");
            if !done.status.success() {
                let said = String::from_utf8_lossy(&done.stderr).into_owned();
                return Err(format!("{command}: {:?}: {said}", done.status));
            }
        }
        if !commands.is_empty() && !self.doctor(data_dir)?.is_empty() {
            return Err(format!("the doctor still finds trouble after {commands:?}"));
        }
        Ok(commands)
    }

    fn doctor(&self, data_dir: &Path) -> Result<Vec<String>, String> {
        let done = self.command(data_dir, 0).arg("doctor").output().expect("starting the doctor");
        let report: Value = serde_json::from_slice(&done.stdout)
            .map_err(|error| format!("the doctor says no JSON ({error}): {done:?}"))?;
        let steps = report["recovery"].as_array().ok_or("the doctor knows no recovery")?;
        let commands = steps.iter().filter_map(|step| {
            let (_, command) = step.as_str()?.split_once('`')?;
            command.strip_suffix('`')
        });
        Ok(commands
            .filter(|command| !command.starts_with("pgrep") && !command.starts_with("lsof"))
            .map(str::to_owned)
            .collect())
    }
}

/// The records of a log; nothing when there is no log.
///
/// # Errors
///
/// Its first damage.
///
/// # Panics
///
/// When it is there and cannot be read.
pub fn records(data_dir: &Path) -> Result<Vec<gaia_bus_model::json::Object>, String> {
    use gaia_bus::log::Scanner;
    let path = data_dir.join(gaia_bus::settings::LOG_NAME);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let bytes = std::fs::read(path).expect("the log can be read");
    let mut records = Vec::new();
    let mut scanner = Scanner::new();
    scanner
        .feed(&bytes, &mut |record| {
            records.push(record.to_object());
            Ok::<_, std::convert::Infallible>(())
        })
        .map_err(|fault| fault.to_string())?;
    scanner.finish().map_err(|damage| damage.to_string())?;
    Ok(records)
}

/// Judges records by every invariant that always holds.
///
/// # Errors
///
/// The first that is broken.
pub fn holds(records: &[gaia_bus_model::json::Object]) -> Result<(), String> {
    for invariant in gaia_bus_model::invariant::ALWAYS {
        (invariant.holds)(records).map_err(|violation| {
            format!("{}: record {}: {}", invariant.name, violation.index + 1, violation.sentence)
        })?;
    }
    Ok(())
}
