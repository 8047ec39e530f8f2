//! Owner records: written into the lock for people, read for reports, never for decisions.
//!
//! The lock is the directory's existence. What stands in `owner.json` says who made it and how
//! surely that process is gone, so that a person can decide what to do; no code path here or
//! elsewhere removes a lock because of what its owner record says.

use std::fs;
use std::io::Read;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::commit::Mode;
use crate::settings::Paths;

/// An owner record is small; a larger file is not one.
const OWNER_BYTES_MAX: u64 = 64 * 1024;

/// Who a process is, beyond its pid: pids are used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The process id.
    pub pid: u32,
    /// When it started, in a form that only needs to compare equal: clock ticks since the boot.
    pub started_at: Option<String>,
    /// The host's name.
    pub host: Option<String>,
    /// The kernel's random id of this boot.
    pub boot_id: Option<String>,
}

impl Identity {
    /// The identity of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let pid = std::process::id();
        Identity { pid, started_at: started_at(pid), host: host(), boot_id: boot_id() }
    }
}

/// The content of `owner.json`. The older form is `{pid, at}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The process id.
    pub pid: u32,
    /// When the lock was taken.
    pub at: String,
    /// When the process started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// The host's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The kernel's random id of the boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// A random word that names this very lock, so that a person can claim it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// `write`, or `read` for a command that never appends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// `unconfirmed` when the lock is kept on purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// The state of a lock that is kept because a write is unconfirmed.
pub const UNCONFIRMED: &str = "unconfirmed";

impl Owner {
    /// The record of a lock that this process is about to make.
    #[must_use]
    pub fn new(identity: &Identity, at: String, token: String, mode: Mode) -> Self {
        let mode = match mode {
            Mode::Write => "write",
            Mode::Read => "read",
        };
        Owner {
            pid: identity.pid,
            at,
            started_at: identity.started_at.clone(),
            host: identity.host.clone(),
            boot_id: identity.boot_id.clone(),
            token: Some(token),
            mode: Some(mode.into()),
            state: None,
        }
    }

    /// The record as it is written.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// The same record of a lock that is kept on purpose.
    #[must_use]
    pub fn unconfirmed(&self) -> Self {
        Owner { state: Some(UNCONFIRMED.into()), ..self.clone() }
    }
}

/// Whether the process that made a lock still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Running {
    /// It does: same pid, same start time, same boot, same host.
    Yes,
    /// It does not: no such process on the same host, or an earlier boot of it.
    No,
    /// A pid alone proves nothing.
    Unknown,
}

/// A lock that is there, described and never touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LockReport {
    /// Where it stands.
    pub path: String,
    /// How long ago it was made or its record changed, in milliseconds; unknown without a clock.
    pub age_ms: Option<u64>,
    /// Older than the stale age: probably abandoned, and still never broken.
    pub probably_abandoned: bool,
    /// The owner record, when it can be read.
    pub owner: Option<Owner>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_unreadable: Option<String>,
    /// Whether the owner still runs.
    pub owner_running: Running,
    /// Whether the record was written in this boot of this host; unknown without a boot id.
    #[serde(skip)]
    pub this_boot: Option<bool>,
}

impl LockReport {
    /// Looks at the lock of a data directory. Nothing when there is none.
    #[must_use]
    pub fn look(paths: &Paths, now: SystemTime, stale: Duration) -> Option<Self> {
        let metadata = fs::symlink_metadata(&paths.lock).ok()?;
        let age = metadata.modified().ok().and_then(|made| now.duration_since(made).ok());
        let (owner, owner_unreadable) = match read_owner(paths) {
            Ok(owner) => (Some(owner), None),
            Err(reason) => (None, Some(reason)),
        };
        let here = Identity::of_this_process();
        Some(LockReport {
            path: paths.lock.to_string_lossy().into_owned(),
            age_ms: age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
            probably_abandoned: age.is_some_and(|age| age > stale),
            owner_running: owner.as_ref().map_or(Running::Unknown, |owner| {
                running(owner, &here, started_at_of_any(owner.pid))
            }),
            this_boot: owner.as_ref().and_then(|owner| this_boot(owner, &here)),
            owner,
            owner_unreadable,
        })
    }

    /// Who is known to hold it, and how surely, in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let who = match (&self.owner, &self.owner_unreadable) {
            (Some(owner), _) => {
                let running = match self.owner_running {
                    Running::Yes => "which is running",
                    Running::No => "which no longer runs",
                    Running::Unknown => "of which it is unknown whether it runs",
                };
                let (pid, at) = (owner.pid, crate::failure::visible(&owner.at));
                format!("it was taken by process {pid} at {at}, {running}")
            }
            (None, Some(reason)) => format!("its owner is unknown ({reason})"),
            (None, None) => "its owner is unknown".into(),
        };
        if self.probably_abandoned {
            format!("{who}; it is probably abandoned, and is never broken automatically")
        } else {
            who
        }
    }
}

/// Judges whether an owner still runs. `process` is the start time of the process that has the
/// owner's pid now: nothing when there is none, `Some(None)` when there is one of unknown start.
fn running(owner: &Owner, here: &Identity, process: Option<Option<String>>) -> Running {
    match this_boot(owner, here) {
        Some(false) => Running::No,
        Some(true) => match (process, &owner.started_at) {
            (Some(Some(now)), Some(then)) if now == *then => Running::Yes,
            (None, _) | (Some(Some(_)), Some(_)) => Running::No,
            (Some(_), _) => Running::Unknown,
        },
        // Another host's process cannot be seen from here; an older record does not name its host,
        // and such a build only ever wrote to a local directory.
        None if owner.host.is_some() && owner.host != here.host => Running::Unknown,
        None => match process {
            None => Running::No,
            Some(_) => Running::Unknown,
        },
    }
}

/// Whether the record is of this boot of this host; unknown for another host or an older record.
fn this_boot(owner: &Owner, here: &Identity) -> Option<bool> {
    match (&owner.host, &owner.boot_id, &here.boot_id) {
        (Some(host), Some(then), Some(now)) if Some(host) == here.host.as_ref() => {
            Some(then == now)
        }
        _ => None,
    }
}

fn read_owner(paths: &Paths) -> Result<Owner, String> {
    let path = paths.owner();
    let found = fs::symlink_metadata(&path).map_err(|error| format!("owner.json: {error}"))?;
    if !found.is_file() {
        return Err("owner.json is not a regular file".into());
    }
    let mut bytes = Vec::new();
    fs::File::open(&path)
        .and_then(|file| file.take(OWNER_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("owner.json: {error}"))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > OWNER_BYTES_MAX) {
        return Err("owner.json is too large to be an owner record".into());
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| format!("owner.json is no owner record: {error}"))
}

/// The start time of whatever process has a pid; nothing when none has.
fn started_at_of_any(pid: u32) -> Option<Option<String>> {
    #[cfg(target_os = "linux")]
    {
        fs::metadata(format!("/proc/{pid}")).ok().map(|_| started_at(pid))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)?;
        match rustix::process::test_kill_process(pid) {
            Err(rustix::io::Errno::SRCH) => None,
            Ok(()) | Err(_) => Some(None),
        }
    }
}

/// Field 22 of `/proc/PID/stat` (see proc_pid_stat(5)): clock ticks from the boot to the start.
fn started_at(pid: u32) -> Option<String> {
    // Bytes, since the name of the command need not be UTF-8.
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The second field is the command in parentheses, and may itself hold spaces and parentheses.
    let (_, after_command) = stat.rsplit_once(')')?;
    let ticks = after_command.split_ascii_whitespace().nth(19)?;
    Some(format!("{ticks} ticks after boot"))
}

fn host() -> Option<String> {
    let name = rustix::system::uname();
    name.nodename().to_str().ok().map(str::to_owned).filter(|name| !name.is_empty())
}

fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            pid: 7,
            started_at: Some("100 ticks after boot".into()),
            host: Some("here".into()),
            boot_id: Some("this".into()),
        }
    }

    fn owner() -> Owner {
        Owner::new(&identity(), "2026-09-15T23:41:09.954Z".into(), "t".into(), Mode::Write)
    }

    #[test]
    fn an_owner_runs_only_when_its_start_time_is_the_same() {
        let same = Some(Some("100 ticks after boot".to_owned()));
        let other = Some(Some("200 ticks after boot".to_owned()));
        let here = identity();
        assert_eq!(running(&owner(), &here, same.clone()), Running::Yes);
        assert_eq!(running(&owner(), &here, other), Running::No);
        assert_eq!(running(&owner(), &here, Some(None)), Running::Unknown);
        assert_eq!(running(&owner(), &here, None), Running::No);
        let rebooted = Owner { boot_id: Some("earlier".into()), ..owner() };
        assert_eq!(running(&rebooted, &here, same.clone()), Running::No);
        let elsewhere = Owner { host: Some("elsewhere".into()), ..owner() };
        assert_eq!(running(&elsewhere, &here, None), Running::Unknown);
        assert_eq!(running(&elsewhere, &here, same), Running::Unknown);
    }

    #[test]
    fn the_older_record_is_unknown_while_a_process_has_its_pid() {
        let older: Owner = serde_json::from_str(r#"{"pid":7,"at":"x"}"#).unwrap();
        let process = Some(Some("100 ticks after boot".to_owned()));
        assert_eq!(running(&older, &identity(), process), Running::Unknown);
        assert_eq!(running(&older, &identity(), None), Running::No);
    }

    #[test]
    fn a_record_reads_back_as_it_was_written_and_the_mark_is_its_last_field() {
        let bytes = owner().unconfirmed().to_bytes();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.ends_with("\"state\":\"unconfirmed\"}\n"), "{text}");
        assert_eq!(serde_json::from_slice::<Owner>(&bytes).unwrap(), owner().unconfirmed());
    }

    #[test]
    fn this_process_is_seen_as_running() {
        let here = Identity::of_this_process();
        let owner = Owner::new(&here, "now".into(), "t".into(), Mode::Write);
        let expected = if cfg!(target_os = "linux") { Running::Yes } else { Running::Unknown };
        assert_eq!(running(&owner, &here, started_at_of_any(here.pid)), expected);
    }
}
