//! The shipped entry point, as a process.
//!
//! What runs is `gaia_bus::cli::main`, all of it: the executable that is given (this crate's own,
//! which hands over to the bus when it is called `gaia-bus`; or the product's, when `GAIA_BUS_BIN`
//! names it) is called through a link of that name, so that the commands that doctor prints find it
//! too.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gaia_bus::log::{Scanner, read_value};
use gaia_bus::settings::LOG_NAME;
use gaia_bus_model::command::Verb;
use gaia_bus_model::event::RecordType;
use gaia_bus_model::invariant::{ALWAYS, named};
use gaia_bus_model::json::{Json, Object};
use serde_json::Value;

use crate::history::Outcome;

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
    /// other checks run theirs, and a restart is no command: what comes of one is the explorer's
    /// and the power cuts' business. Gives the commands; none when the doctor finds nothing.
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

/// Why system calls cannot be injected here, when they cannot.
#[must_use]
pub fn strace_is_missing() -> Option<String> {
    let tried = Command::new("strace").args(["-qq", "-e", "trace=none", "true"]).output();
    match tried {
        Ok(done) if done.status.success() => None,
        Ok(done) => {
            Some(format!("strace does not work: {}", String::from_utf8_lossy(&done.stderr)))
        }
        Err(error) => Some(format!("strace is not there: {error}")),
    }
}

/// A command with its arguments, as typed. Values that are no text and no list of texts are left
/// out: no checker asks for them.
#[must_use]
pub fn argv(verb: Verb, arguments: &Object) -> Vec<String> {
    let flags = arguments.iter().filter_map(|(key, value)| {
        let value = match value {
            Json::Array(list) => {
                let texts = list.iter().filter_map(Json::as_text).map(ToString::to_string);
                texts.collect::<Vec<_>>().join(",")
            }
            other => other.as_text()?.to_string(),
        };
        Some(format!("--{key}={value}"))
    });
    std::iter::once(verb.name().to_owned()).chain(flags).collect()
}

/// An answer, read as the JSON object that it must be.
///
/// # Errors
///
/// That it is none.
pub fn object(answer: &[u8]) -> Result<Object, String> {
    let line = answer.strip_suffix(b"\n").unwrap_or(answer);
    let value = read_value(line).ok();
    let object = value.as_ref().and_then(Json::as_object).cloned();
    object.ok_or_else(|| format!("an answer is no JSON object: {}", String::from_utf8_lossy(line)))
}

/// What the envelope of a command tells its caller.
///
/// # Errors
///
/// That it is no envelope.
pub fn told_by(envelope: &[u8]) -> Result<Outcome, String> {
    let envelope = object(envelope)?;
    if let Some(result) = envelope.get("result").and_then(Json::as_object) {
        return Ok(Outcome::Answered(Ok(result.clone())));
    }
    let code = envelope.get_text("code").map(ToString::to_string);
    match (envelope.get("failClosed"), code) {
        (Some(Json::Bool(true)), Some(code)) if code == "write-unconfirmed" => Ok(Outcome::Unknown),
        (Some(Json::Bool(true)), _) => Ok(Outcome::FailedClosed),
        (_, Some(code)) => Ok(Outcome::Answered(Err(code))),
        (_, None) => {
            let line = String::from_utf8_lossy(&envelope.to_line()).into_owned();
            Err(format!("an answer has neither a result nor a code: {line}"))
        }
    }
}

/// The records of a log; nothing when there is no log.
///
/// # Errors
///
/// Its first damage, or why it cannot be read.
pub fn records(data_dir: &Path) -> Result<Vec<Object>, String> {
    let bytes = match std::fs::read(data_dir.join(LOG_NAME)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("the log cannot be read: {error}")),
    };
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
pub fn holds(records: &[Object]) -> Result<(), String> {
    for invariant in ALWAYS {
        (invariant.holds)(records).map_err(|violation| {
            format!("{}: record {}: {}", invariant.name, violation.index + 1, violation.sentence)
        })?;
    }
    Ok(())
}

/// The types of record that an invariant of the model is about. Of a log that has none of them it
/// holds, and says nothing.
const ABOUT: [(&str, &[RecordType]); 10] = [
    (named("records_whole").name, &[]),
    (named("replay_legal").name, &[]),
    (named("ids_dense").name, &[RecordType::ActorRegistered, RecordType::MessageSent]),
    (
        named("authority_frozen").name,
        &[RecordType::ActorRegistered, RecordType::MessageSent, RecordType::WorkHandedOff],
    ),
    (named("effects_none").name, &[RecordType::MessageSent]),
    (named("acks_addressed").name, &[RecordType::MessageAcked]),
    (named("handoffs_matched").name, &[RecordType::WorkHandedOff]),
    (named("denials_matched").name, &[RecordType::AuthorityDenied]),
    (named("polls_pending").name, &[RecordType::InboxPolled]),
    (named("repeats_matched").name, &[RecordType::MessageRepeated]),
];

/// The types of these records. A poll that lists nothing does not count: there is nothing in it
/// that could be wrong.
#[must_use]
pub fn types(records: &[Object]) -> BTreeSet<RecordType> {
    let lists = |record: &Object| {
        record.get("messageIds").and_then(Json::as_array).is_some_and(|ids| !ids.is_empty())
    };
    let counts =
        |record: &&Object| RecordType::of(record) != Some(RecordType::InboxPolled) || lists(record);
    records.iter().filter(counts).filter_map(RecordType::of).collect()
}

/// The invariants that are said something about by logs in which all these types were met: records
/// of every type that the invariant is about.
#[must_use]
pub fn judged(met: &BTreeSet<RecordType>) -> Vec<&'static str> {
    let is_judged =
        |about: &&[RecordType]| !met.is_empty() && about.iter().all(|it| met.contains(it));
    ABOUT.iter().filter(|(_, about)| is_judged(about)).map(|(name, _)| *name).collect()
}
