//! The one door, and the one transaction beneath it.
//!
//! Every surface (the MCP server, the command line) ends in [`Bus::call`], so nothing can be done
//! on one that cannot be done on the other. Beneath it is one private transaction: take the lock,
//! read, decide, append, release; [`Bus::initialize`] and [`Bus::read`] use the same.
//!
//! A [`Bus`] that stays up keeps what it has validated of the log, and proves it again on every
//! call. Two failures last as long as the process: a history that was rewritten, and a write that
//! is unconfirmed (this process keeps that lock, and would only wait for itself).

use std::collections::HashMap;
use std::path::Component;
use std::time::{Duration, Instant, SystemTime};

use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::{Decision, bodies_needed, decide};
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::text::Text;
use gaia_bus_model::view::View;
use serde::Serialize;

use crate::commit::{Commit, Decided, End, Ended, LockAfter, Mode, OwnerRecord, Task, Wanted};
use crate::disk::{Disk, LocalDisk, drive};
use crate::failure::{Corruption, DiskError, Failure};
use crate::lock::{Identity, LockReport, Owner};
use crate::projection::{Projection, WithBodies};
use crate::replay::{Fold, Replay};
use crate::settings::{Paths, Settings};
use crate::signals::{self, HeldBack};

/// What a verb came to: the envelope that both surfaces show.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Whether the bus did what was asked.
    pub ok: bool,
    /// What went wrong, in a sentence to act on.
    pub error: Option<String>,
    /// The bus's answer; null on a refusal and on a failure.
    pub result: Option<Object>,
    /// The types of the records that this call appended, in order.
    pub events_appended: Vec<String>,
    /// The opposite of `ok`, as MCP names it.
    pub is_error: bool,
    /// The refusal's or the failure's stable code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// Present and true when the bus failed closed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fail_closed: bool,
    /// Where the log is damaged, when that is why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Corruption>,
    /// Present and false when the lock could not be released after all was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_released: Option<bool>,
    /// The exit code of the command line: 0 ok, 1 refused, 3 and 4 failed closed.
    #[serde(skip)]
    pub exit_code: u8,
    /// What to say on stderr beside an answer that is a success.
    #[serde(skip)]
    pub warning: Option<String>,
}

impl Answer {
    /// The answer of a command that failed closed.
    #[must_use]
    pub fn of_failure(failure: &Failure, paths: &Paths) -> Self {
        Answer {
            ok: false,
            error: Some(failure.sentence(paths)),
            result: None,
            events_appended: Vec::new(),
            is_error: true,
            code: Some(failure.code()),
            fail_closed: true,
            corrupt: failure.corruption(),
            lock_released: matches!(failure, Failure::LockLeft { .. }).then_some(false),
            exit_code: failure.exit_code(),
            warning: None,
        }
    }

    fn of_verdict(verdict: Verdict) -> Self {
        let (result, error, code) = match verdict.answer {
            Ok(result) => (Some(result), None, None),
            Err((code, reason)) => (None, Some(reason), Some(code)),
        };
        Answer {
            ok: result.is_some(),
            is_error: result.is_none(),
            exit_code: u8::from(result.is_none()),
            error,
            result,
            events_appended: verdict.events_appended,
            code,
            fail_closed: false,
            corrupt: None,
            lock_released: None,
            warning: None,
        }
    }
}

/// Where time and chance come in.
pub trait Edge {
    /// The instant to record, as in `2026-09-15T23:41:09.954Z`.
    fn now(&mut self) -> Text;
    /// A random word, new each time.
    fn token(&mut self) -> String;
}

/// The clock and the randomness of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEdge;

impl Edge for SystemEdge {
    fn now(&mut self) -> Text {
        format!("{:.3}", jiff::Timestamp::now()).into()
    }

    fn token(&mut self) -> String {
        use std::hash::{BuildHasher, Hasher, RandomState};
        // `RandomState` is keyed from the operating system's randomness.
        let word = || RandomState::new().build_hasher().finish();
        format!("{:016x}{:016x}", word(), word())
    }
}

/// One data directory, addressed by one process.
pub struct Bus<D: Disk = LocalDisk, E: Edge = SystemEdge> {
    settings: Settings,
    identity: Identity,
    disk: D,
    edge: E,
    warm: Replay<Projection>,
    lasting: Option<Failure>,
}

/// What a read-only command saw.
#[derive(Clone, Debug)]
pub struct Reading<F> {
    /// The fold of the whole log.
    pub fold: F,
    /// How long the log was, in bytes.
    pub log_bytes: u64,
    /// How many lines it had.
    pub log_lines: u64,
    /// The 128-bit digest of these bytes.
    pub digest: u128,
    /// Something to say on stderr: the lock could not be released.
    pub warning: Option<String>,
}

/// What came of [`Bus::initialize`].
#[derive(Clone, Debug, PartialEq)]
pub enum Initialized {
    /// The coordinator was registered: the answer of the registration.
    Registered(Object),
    /// There is one already, under this ref; nothing was appended.
    AlreadyRegistered(Text),
    /// Several actors bear the name; nothing was appended.
    Ambiguous(Vec<Text>),
    /// The bus refused the name: its code and sentence. The refusal was recorded.
    Refused(&'static str, String),
}

impl Bus {
    /// The bus of a data directory. Nothing is read, locked or created before the first call.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let disk = LocalDisk::new(&settings.paths, settings.release_retry_delay);
        Bus::on(settings, disk, SystemEdge)
    }
}

impl<D: Disk, E: Edge> Bus<D, E> {
    /// A bus on a disk and an edge of one's own: for tests and checkers.
    #[must_use]
    pub fn on(settings: Settings, disk: D, edge: E) -> Self {
        Bus {
            settings,
            identity: Identity::of_this_process(),
            disk,
            edge,
            warm: Replay::new(Projection::default()),
            lasting: None,
        }
    }

    /// The settings it was made with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Carries a command through. Arguments of any shape are judged by the bus, and a refusal is
    /// recorded.
    pub fn call(&mut self, verb: Verb, arguments: Object) -> Answer {
        let limits = Limits { text_bytes_max: self.settings.text_bytes_max };
        let command = Command { verb, at: Text::new(), arguments };
        match self.write(VerbTask { command, limits }) {
            Ok((verdict, warning)) => {
                let lock_released = warning.as_ref().map(|_| false);
                Answer { lock_released, warning, ..Answer::of_verdict(verdict) }
            }
            Err(failure) => Answer::of_failure(&failure, &self.settings.paths),
        }
    }

    /// Registers a coordinator unless there is one: the check and the registration are one
    /// transaction.
    ///
    /// # Errors
    ///
    /// When the bus fails closed.
    pub fn initialize(&mut self, name: &str) -> Result<(Initialized, Option<String>), Failure> {
        let task = self.initialize_task(name);
        self.write(task)
    }

    /// What [`Self::initialize`] would come to if it ran now: the same decision, and nothing
    /// appended.
    ///
    /// # Errors
    ///
    /// When the bus fails closed.
    pub fn would_initialize(
        &mut self,
        name: &str,
    ) -> Result<(Initialized, Option<String>), Failure> {
        let Reading { fold, warning, .. } = self.read(Projection::default())?;
        let mut task = self.initialize_task(name);
        task.stamp(self.edge.now());
        Ok((task.decide(&fold, &[]).answer, warning))
    }

    fn initialize_task(&self, name: &str) -> InitializeTask {
        let arguments = Object::new()
            .with("actorId", name)
            .with("kind", "coordinator")
            .with("capabilities", vec!["observe", "report"]);
        let limits = Limits { text_bytes_max: self.settings.text_bytes_max };
        InitializeTask(VerbTask {
            command: Command { verb: Verb::Register, at: Text::new(), arguments },
            limits,
        })
    }

    /// Folds the whole log under the lock, and appends nothing. A data directory that does not
    /// exist is empty: no lock is taken and nothing is created.
    ///
    /// # Errors
    ///
    /// When the bus fails closed.
    pub fn read<F: Fold>(&mut self, fold: F) -> Result<Reading<F>, Failure> {
        let mut replay = Replay::new(fold);
        let mut warning = None;
        if data_dir_exists(&self.settings.paths)? {
            let (result, after, lock) = self.transact(ReadTask, replay)?;
            result?;
            replay = after;
            warning = self.release_warning(&lock);
        }
        Ok(Reading {
            log_bytes: replay.length(),
            log_lines: replay.lines(),
            digest: replay.digest(),
            fold: replay.into_fold(),
            warning,
        })
    }

    /// Describes the lock, if there is one, and never touches it.
    #[must_use]
    pub fn look_at_lock(&self) -> Option<LockReport> {
        LockReport::look(&self.settings.paths, SystemTime::now(), self.settings.lock_stale)
    }

    /// A task that may append, over the warm projection.
    fn write<T>(&mut self, task: T) -> Result<(T::Answer, Option<String>), Failure>
    where
        T: Task<Projection> + Stamped,
    {
        if let Some(failure) = &self.lasting {
            return Err(failure.clone());
        }
        if !data_dir_exists(&self.settings.paths)? {
            if self.warm.is_warm() {
                // Moved away or removed: making it anew would be in the way of whoever mends that.
                let gone =
                    Failure::HistoryRewritten { known_bytes: self.warm.length(), found_bytes: 0 };
                self.lasting = lasting(&gone);
                return Err(gone);
            }
            create_data_dir(&self.settings.paths)?;
        }
        let warm = std::mem::replace(&mut self.warm, Replay::new(Projection::default()));
        let (result, warm, lock) = self.transact(task, warm)?;
        self.warm = warm;
        match result {
            Ok(answer) => Ok((answer, self.release_warning(&lock))),
            Err(failure) => {
                self.lasting = lasting(&failure);
                Err(failure)
            }
        }
    }

    /// The one transaction: tries the lock until the deadline, then carries the task through. What
    /// is known of the log comes back with the result; only behind a panic it is lost, and with it
    /// the memory of a history that was rewritten before.
    #[allow(clippy::type_complexity, reason = "the three things that outlive a transaction")]
    fn transact<F: Fold, T: Task<F> + Stamped>(
        &mut self,
        mut task: T,
        mut replay: Replay<F>,
    ) -> Result<(Result<T::Answer, Failure>, Replay<F>, LockAfter), Failure> {
        signals::survive_file_size_limit();
        let begun = Instant::now();
        let mut jitter = Jitter::new(&self.edge.token());
        loop {
            let now = self.edge.now();
            let owner = Owner::new(
                &self.identity,
                now.to_str_lossy().into_owned(),
                self.edge.token(),
                task.mode(),
            );
            let record =
                OwnerRecord { held: owner.to_bytes(), unconfirmed: owner.unconfirmed().to_bytes() };
            task.stamp(now);
            let mut machine = Commit::new(task, replay, record, self.settings.release_retries);
            {
                let _held_back = HeldBack::now();
                drive(&mut machine, &mut self.disk);
            }
            if machine.replay_is_suspect() {
                // The next call reads the log afresh.
                return Err(match machine.into_end() {
                    Ok(Ended { end: End::Finished { result: Err(failure), .. }, .. }) => failure,
                    Ok(_) | Err(_) => unfinished(),
                });
            }
            let ended = machine.into_end().map_err(|_| unfinished())?;
            match ended.end {
                End::Finished { result: Err(cause), lock: LockAfter::NotReleased(error) } => {
                    let failure = Failure::LockLeft { cause: Box::new(cause), error };
                    return Ok((Err(failure), ended.replay, LockAfter::NeverTaken));
                }
                End::Finished { result, lock } => return Ok((result, ended.replay, lock)),
                End::Contended => (replay, task) = (ended.replay, ended.task),
            }
            let waited = begun.elapsed();
            let Some(left) = self.settings.lock_timeout.checked_sub(waited) else {
                let failure = Failure::LockTimeout {
                    waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
                    owner: self.look_at_lock().map_or_else(
                        || "it was released just now".into(),
                        |report| report.sentence(),
                    ),
                };
                return Ok((Err(failure), replay, LockAfter::NeverTaken));
            };
            signals::sleep_interruptibly(jitter.next().min(left));
        }
    }

    fn release_warning(&self, lock: &LockAfter) -> Option<String> {
        let path = self.settings.paths.lock.display();
        match lock {
            LockAfter::NotReleased(error) => Some(format!(
                "the command is done, but its lock {path} could not be removed: {error}. Run \
                 `gaia-bus doctor` on this data directory for what to do"
            )),
            LockAfter::TakenAway => Some(format!(
                "the command is done, but someone removed its lock {path} while it was held: \
                 stop whatever removes locks"
            )),
            LockAfter::NeverTaken | LockAfter::Released | LockAfter::Kept => None,
        }
    }
}

impl<D: Disk, E: Edge> std::fmt::Debug for Bus<D, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bus").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Whether the data directory is there. Only "not found" says that it is not: a directory that
/// cannot be reached is no empty one.
///
/// # Errors
///
/// When the operating system will not say.
pub fn data_dir_exists(paths: &Paths) -> Result<bool, Failure> {
    match paths.data_dir.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::LockUnavailable { error: error.into() }),
    }
}

/// A failure that every later call of this process answers at once.
fn lasting(failure: &Failure) -> Option<Failure> {
    match failure.cause() {
        rewritten @ Failure::HistoryRewritten { .. } => Some(rewritten.clone()),
        Failure::WriteUnconfirmed { .. } => Some(Failure::LockTimeout {
            waited_ms: 0,
            owner: "this process keeps it on purpose, since an earlier write of its own is \
                    unconfirmed"
                .into(),
        }),
        Failure::LockTimeout { .. }
        | Failure::LockUnavailable { .. }
        | Failure::LogCorrupt(_)
        | Failure::NotAFile { .. }
        | Failure::LogUnreplayable { .. }
        | Failure::LockLeft { .. }
        | Failure::Io { .. } => None,
    }
}

fn unfinished() -> Failure {
    let text = "internal error: the commit did not end".into();
    Failure::Io { doing: "carrying out the command", error: DiskError { code: None, text } }
}

/// Creates the data directory and what is missing above it (mode 0700). No name is made durable
/// here: the first commit does that under the lock, where an fsync that fails is not forgotten.
fn create_data_dir(paths: &Paths) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let path = &paths.data_dir;
    let failed = |code, text: &dyn std::fmt::Display| {
        let text = format!("creating the data directory {}: {text}", path.display());
        Err(Failure::LockUnavailable { error: DiskError { code, text } })
    };
    // The first commit makes the names above the data directory durable, and no others.
    let missing = path.ancestors().take_while(|above| above.symlink_metadata().is_err());
    if missing.flat_map(|above| above.components().next_back()).any(|it| it == Component::ParentDir)
    {
        return failed(None, &"there is a .. behind a directory that does not exist");
    }
    match std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => Ok(()),
        Err(error) => failed(error.raw_os_error(), &error),
    }
}

/// Short sleeps that do not grow: growing ones punish whoever has waited longest, and fixed ones
/// let the releaser take the lock again.
struct Jitter(u64);

impl Jitter {
    const SLEEP_US_MIN: u64 = 500;
    const SLEEP_US_SPREAD: u64 = 4_000;

    fn new(token: &str) -> Self {
        let seed = token
            .bytes()
            .fold(0_u64, |seed, byte| seed.wrapping_mul(0x0100_0000_01B3) ^ u64::from(byte));
        Jitter(seed | 1)
    }

    /// Marsaglia's xorshift: all that is needed of chance here.
    fn next(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_micros(Self::SLEEP_US_MIN + self.0 % Self::SLEEP_US_SPREAD)
    }
}

/// A task learns the time of its latest try: what is recorded is close to when it was committed.
trait Stamped {
    fn stamp(&mut self, at: Text);
}

/// What a verb's decision came to.
struct Verdict {
    answer: Result<Object, (&'static str, String)>,
    events_appended: Vec<String>,
}

/// One of the six verbs.
struct VerbTask {
    command: Command,
    limits: Limits,
}

impl VerbTask {
    fn decide_on(&self, view: &impl View) -> Decided<Verdict> {
        let Decision { events, answer } = decide(view, &self.command, &self.limits);
        let mut lines = Vec::new();
        let mut events_appended = Vec::new();
        for event in &events {
            lines.extend(event.to_line());
            lines.push(b'\n');
            let kind = event.get_text("type").map(|kind| kind.to_str_lossy().into_owned());
            events_appended.extend(kind);
        }
        let answer = answer.map_err(|refusal| (refusal.code.as_str(), refusal.reason.clone()));
        Decided { lines, answer: Verdict { answer, events_appended } }
    }
}

impl Stamped for VerbTask {
    fn stamp(&mut self, at: Text) {
        self.command.at = at;
    }
}

impl Task<Projection> for VerbTask {
    type Answer = Verdict;

    fn mode(&self) -> Mode {
        Mode::Write
    }

    fn wanted(&self, fold: &Projection) -> Vec<Wanted> {
        self.ids(fold).iter().filter_map(|id| fold.line_of(id)).collect()
    }

    fn decide(&self, fold: &Projection, bodies: &[Vec<u8>]) -> Decided<Verdict> {
        let found = self.ids(fold).into_iter().zip(bodies).filter_map(|(id, line)| {
            let body = fold.body(&id, line)?;
            Some((id, body))
        });
        self.decide_on(&WithBodies { projection: fold, bodies: found.collect() })
    }
}

impl VerbTask {
    /// The messages whose text this decision shows or compares, in a fixed order.
    fn ids(&self, fold: &Projection) -> Vec<Text> {
        let blind = WithBodies { projection: fold, bodies: HashMap::new() };
        let ids = bodies_needed(&blind, &self.command, &self.limits);
        ids.into_iter().filter(|id| fold.line_of(id).is_some()).collect()
    }
}

/// `initialize --apply`: register, unless someone bears the name.
struct InitializeTask(VerbTask);

impl Stamped for InitializeTask {
    fn stamp(&mut self, at: Text) {
        self.0.stamp(at);
    }
}

impl Task<Projection> for InitializeTask {
    type Answer = Initialized;

    fn mode(&self) -> Mode {
        Mode::Write
    }

    fn decide(&self, fold: &Projection, _: &[Vec<u8>]) -> Decided<Initialized> {
        let view = WithBodies { projection: fold, bodies: HashMap::new() };
        let name = self.0.command.arguments.get("actorId").and_then(Json::as_text);
        let mut bearers = name.map(|name| view.bearers(&name.trim())).unwrap_or_default();
        let answer = match (bearers.len(), bearers.pop()) {
            (1, Some(bearer)) => Initialized::AlreadyRegistered(bearer),
            (_, Some(last)) => {
                bearers.push(last);
                Initialized::Ambiguous(bearers)
            }
            (_, None) => {
                let Decided { lines, answer } = self.0.decide_on(&view);
                let answer = match answer.answer {
                    Ok(result) => Initialized::Registered(result),
                    Err((code, reason)) => Initialized::Refused(code, reason),
                };
                return Decided { lines, answer };
            }
        };
        Decided { lines: Vec::new(), answer }
    }
}

/// Reads, and appends nothing.
struct ReadTask;

impl Stamped for ReadTask {
    fn stamp(&mut self, _: Text) {}
}

impl<F> Task<F> for ReadTask {
    type Answer = ();

    fn mode(&self) -> Mode {
        Mode::Read
    }

    fn decide(&self, _: &F, _: &[Vec<u8>]) -> Decided<()> {
        Decided { lines: Vec::new(), answer: () }
    }
}
