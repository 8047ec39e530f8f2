//! `doctor`: is this log sound, and if the bus cannot be used, what exactly is a person to do?
//!
//! It writes nothing and repairs nothing, and its exit code is its verdict: 0 sound (also where
//! there is nothing yet), 1 the log replays but is unsound, 3 the lock or the log cannot be used.
//! Guarded by `tests/doctor.rs`.

use std::path::Path;
use std::time::{Duration, Instant};

use gaia_bus_model::integrity::Finding;
use gaia_bus_model::json::Json;
use gaia_bus_model::text::Text;
use serde::Serialize;

use super::filesystem::{self, FileSystem};
use super::lanes::{LANE_EVIDENCE, LaneEvidence, SUPPORTED_MAX_LIVE_LANES};
use super::recovery::{self, Trouble};
use crate::archive::Archive;
use crate::bus::{Bus, Reading};
use crate::failure::{Corruption, Failure};
use crate::lock::LockReport;
use crate::settings::Settings;

/// Everything that the doctor has to say, in the order in which it is shown. What could not be
/// found out is null.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Doctor {
    /// Whether the log is sound and the bus can be used.
    pub ok: bool,
    /// `doctor`
    pub command: &'static str,
    /// What is wrong.
    pub error: Option<String>,
    /// The failure's stable code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// Present and true when the bus failed closed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fail_closed: bool,
    /// Present and false when the lock could not be released after all was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_released: Option<bool>,
    /// Of this program.
    pub version: &'static str,
    /// Operating system and architecture.
    pub platform: String,
    /// Kept for scripts: this binary is the server.
    pub bundled_server_present: bool,
    /// Kept for scripts: this binary carries the plugin manifest.
    pub manifest_present: bool,
    /// Kept for scripts: this binary carries the MCP manifest.
    pub mcp_manifest_present: bool,
    /// Where the log lives.
    pub data_dir: String,
    /// Whether nobody chose that place.
    pub data_dir_is_default: bool,
    /// Whether it exists. Looking does not create it.
    pub data_dir_exists: bool,
    /// Whether there is a log, or something in its place.
    pub log_exists: bool,
    /// Its size.
    pub log_bytes: u64,
    /// The type of the file system; null where the operating system does not say.
    pub filesystem: Option<String>,
    /// Whether someone held the lock when the doctor came.
    pub lock_busy_on_entry: bool,
    /// How long a command waits for the lock.
    pub lock_timeout_ms: u64,
    /// How many live lanes are supported.
    pub supported_max_live_lanes: u32,
    /// And on what evidence.
    pub lane_evidence: LaneEvidence,
    /// What the fold of the log says.
    #[serde(flatten)]
    pub log: LogReport,
    /// Where the log is damaged.
    pub corrupt: Option<Corruption>,
    /// The lock that is in the way.
    pub lock: Option<LockReport>,
    /// What a person is to do, in order.
    pub recovery: Vec<String>,
    /// What is not wrong, and yet worth knowing.
    pub warnings: Vec<String>,
    /// What to do next, where there is nothing yet.
    pub note: Option<String>,
    /// The exit code.
    #[serde(skip)]
    pub exit_code: u8,
}

/// What the fold of the log says; null throughout when there is none.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogReport {
    /// How many records there are.
    pub events: Option<u64>,
    /// Whether the log folds.
    pub replayable: bool,
    /// How many actors there are.
    pub actors: Option<u64>,
    /// Whether every address was minted by this bus.
    pub integrity_ok: Option<bool>,
    /// The addresses that were not.
    pub integrity_findings: Vec<IntegrityFinding>,
    /// The highest correlation ordinal so far.
    pub correlation_issuer_at: Option<u64>,
    /// How many are left.
    pub correlation_headroom: Option<u64>,
    /// Whether none is left.
    pub correlation_exhausted: Option<bool>,
    /// The stored messages that brought the issuer near its end.
    pub correlation_findings: Vec<CorrelationFinding>,
    /// How long it took to read and fold the log, waiting for the lock included.
    pub replay_ms: Option<u64>,
}

/// An address that this bus never minted.
#[derive(Debug, Serialize)]
pub struct IntegrityFinding {
    /// Which kind.
    pub finding: &'static str,
    /// The address as found; null where it is missing.
    pub subject: Option<Json>,
    /// What that means.
    pub sentence: &'static str,
}

/// A message that brought the correlation issuer near its end.
#[derive(Debug, Serialize)]
pub struct CorrelationFinding {
    /// The message.
    pub subject: Text,
    /// What that means.
    pub sentence: &'static str,
}

const NEAR_THE_END: &str = "its correlation id is less than one claim window below the ceiling";

impl Doctor {
    /// Looks at a data directory.
    #[must_use]
    pub fn examine(settings: Settings) -> Self {
        let mut bus = Bus::new(settings);
        let mut doctor = Doctor::on_entry(bus.settings(), bus.look_at_lock().is_some());
        let begun = Instant::now();
        match bus.read(Archive::new()) {
            Ok(reading) => {
                let warning = reading.warning.clone();
                doctor.judge(reading, begun.elapsed(), bus.settings());
                if let Some(sentence) = warning {
                    doctor.not_released(sentence, &bus);
                }
            }
            Err(failure) => doctor.failed(&failure, &bus),
        }
        doctor
    }

    /// What can be said without the lock.
    fn on_entry(settings: &Settings, lock_busy_on_entry: bool) -> Self {
        let paths = &settings.paths;
        let (filesystem, warning) = match filesystem::of_path(&paths.data_dir) {
            Some(FileSystem { name, warning }) => (Some(name), warning),
            None => (None, None),
        };
        let mut doctor = Doctor {
            ok: true,
            command: "doctor",
            error: None,
            code: None,
            fail_closed: false,
            lock_released: None,
            version: env!("CARGO_PKG_VERSION"),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            bundled_server_present: true,
            manifest_present: true,
            mcp_manifest_present: true,
            data_dir: shown(&paths.data_dir),
            data_dir_is_default: settings.data_dir_is_default,
            data_dir_exists: false,
            log_exists: false,
            log_bytes: 0,
            filesystem,
            lock_busy_on_entry,
            lock_timeout_ms: whole_ms(settings.lock_timeout),
            supported_max_live_lanes: SUPPORTED_MAX_LIVE_LANES,
            lane_evidence: LANE_EVIDENCE,
            log: LogReport::default(),
            corrupt: None,
            lock: None,
            recovery: Vec::new(),
            warnings: warning.map(str::to_owned).into_iter().collect(),
            note: None,
            exit_code: 0,
        };
        doctor.look_at_log(paths);
        doctor
    }

    /// The log folds: is it sound?
    fn judge(&mut self, reading: Reading<Archive>, took: Duration, settings: &Settings) {
        let Reading { fold, log_bytes, .. } = reading;
        self.log_bytes = log_bytes;
        self.log_exists |= log_bytes > 0;
        self.note = (log_bytes == 0).then(|| {
            let data_dir = &absolute(settings).data_dir;
            let begin = recovery::in_data_dir("initialize --apply", data_dir);
            format!("nothing is here yet; run `{begin}`")
        });
        self.log = LogReport::of(&fold, took);
        let unminted = self.log.integrity_findings.len();
        let mut wrong = Vec::new();
        if unminted > 0 {
            wrong.push(format!("the log holds {unminted} address(es) that this bus never minted"));
        }
        if fold.correlation().is_near_exhausted() {
            wrong.push(format!(
                "the correlation issuer is at {} and has less than one claim window of room left",
                fold.correlation().issuer_at
            ));
        }
        if !wrong.is_empty() {
            self.ok = false;
            self.exit_code = 1;
            self.error = Some(format!(
                "{}. Keep the log as evidence, find what else wrote to it, and start a new data \
                 directory",
                wrong.join("; ")
            ));
        }
    }

    /// The log could be read, but the lock taken for that is left, or was taken away meanwhile.
    /// Where one stands, no command goes on: that is told like any other lock in the way.
    fn not_released(&mut self, sentence: String, bus: &Bus) {
        self.ok = false;
        self.lock_released = Some(false);
        self.warnings.extend(self.error.replace(sentence));
        self.lock = bus.look_at_lock();
        self.exit_code = if self.lock.is_some() { 3 } else { 1 };
        if let Some(lock) = &self.lock {
            self.recovery = advice(Trouble::LockHeld(lock), bus.settings(), self.known_log_bytes());
        }
    }

    /// The length of the log, where there is one.
    fn known_log_bytes(&self) -> Option<u64> {
        self.log_exists.then_some(self.log_bytes)
    }

    fn look_at_log(&mut self, paths: &crate::settings::Paths) {
        let log = paths.log.symlink_metadata().ok();
        self.data_dir_exists = paths.data_dir.symlink_metadata().is_ok();
        self.log_exists = log.is_some();
        self.log_bytes = log.filter(std::fs::Metadata::is_file).map_or(0, |log| log.len());
    }

    /// The lock or the log cannot be used: why, and what is a person to do?
    fn failed(&mut self, failure: &Failure, bus: &Bus) {
        let paths = &bus.settings().paths;
        self.ok = false;
        self.fail_closed = true;
        self.code = Some(failure.code());
        self.exit_code = failure.exit_code();
        self.error = Some(failure.sentence(paths));
        self.corrupt = failure.corruption();
        // Again, since the wait for the lock may have been long: what its owner has written since
        // must be rewritten before the lock goes.
        self.look_at_log(paths);
        let failure = failure.cause();
        let lock_is_foreign = paths.lock.symlink_metadata().is_ok_and(|found| !found.is_dir());
        if matches!(failure, Failure::LockTimeout { .. }) {
            self.lock = bus.look_at_lock();
        }
        let trouble = match (failure, &self.lock) {
            (Failure::LockTimeout { .. }, Some(lock)) => Trouble::LockHeld(lock),
            (Failure::LockTimeout { .. }, None) => {
                self.note = Some("the lock was released just now; run doctor again".into());
                return;
            }
            (Failure::LockUnavailable { .. }, _) if lock_is_foreign => Trouble::LockForeign,
            (Failure::LockUnavailable { .. }, _) => Trouble::LockUnavailable,
            (Failure::LogCorrupt(damage), _) => Trouble::of_damage(damage),
            (
                Failure::NotAFile { .. }
                | Failure::LogUnreplayable { .. }
                | Failure::HistoryRewritten { .. },
                _,
            ) => Trouble::LogUnusable,
            (
                Failure::Io { .. } | Failure::WriteUnconfirmed { .. } | Failure::LockLeft { .. },
                _,
            ) => Trouble::Io,
        };
        self.recovery = advice(trouble, bus.settings(), self.known_log_bytes());
    }
}

impl LogReport {
    fn of(fold: &Archive, took: Duration) -> Self {
        let integrity_findings: Vec<_> =
            fold.integrity().into_iter().map(IntegrityFinding::from).collect();
        let correlation = fold.correlation();
        LogReport {
            events: Some(fold.counters().event),
            replayable: true,
            actors: Some(fold.counters().actor),
            integrity_ok: Some(integrity_findings.is_empty()),
            integrity_findings,
            correlation_issuer_at: Some(correlation.issuer_at),
            correlation_headroom: Some(correlation.headroom()),
            correlation_exhausted: Some(correlation.is_exhausted()),
            correlation_findings: correlation
                .findings
                .into_iter()
                .map(|subject| CorrelationFinding { subject, sentence: NEAR_THE_END })
                .collect(),
            replay_ms: Some(whole_ms(took)),
        }
    }
}

impl From<Finding> for IntegrityFinding {
    fn from(finding: Finding) -> Self {
        IntegrityFinding {
            finding: finding.kind.as_str(),
            sentence: finding.kind.sentence(),
            subject: finding.subject,
        }
    }
}

fn advice(trouble: Trouble<'_>, settings: &Settings, log_bytes: Option<u64>) -> Vec<String> {
    recovery::steps(trouble, &absolute(settings), log_bytes)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// The paths as they are in commands that a person may run from anywhere.
fn absolute(settings: &Settings) -> crate::settings::Paths {
    let data_dir = &settings.paths.data_dir;
    let absolute = std::path::absolute(data_dir);
    crate::settings::Paths::of(absolute.as_deref().unwrap_or(data_dir))
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
