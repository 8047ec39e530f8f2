//! The reference: one data directory and its handles, as the contract has them.
//!
//! What is in the directory is a list of lines whose kind is known by construction, so nothing here
//! parses a log. Decisions are the model's over its reference [`State`]; what a call comes to
//! beside them (who sees which failure, what stands in the log after a fault, what becomes of the
//! lock) is written down here from the contract's words and not from the machine's phases.

use std::fmt;

use gaia_bus::failure::{DiskError, Failure};
use gaia_bus::log::DamageKind;
use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::{Decision, bodies_needed, decide};
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::state::State;
use gaia_bus_model::text::Text;
use gaia_bus_model::view::View;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::sample::select;
use proptest_state_machine::ReferenceStateMachine;

use crate::damage;
use crate::strategy::{self, Foreign, Known, TEXT_BYTES_MAX, instant};

/// How many handles there are: buses that stay up, as servers do.
pub const HANDLES: usize = 3;
/// How often a release is tried again in these runs.
pub const RELEASE_RETRIES: u32 = 2;

/// A call of the protocol that can be made to fail. `Append` and the like are those of
/// `gaia_bus::commit::Call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the call of that name")]
pub enum Point {
    MakeLock,
    InspectLock,
    OpenLock,
    WriteOwner,
    OpenLog,
    ReadLog,
    ReadSpan,
    CreateLog,
    SyncDataDir,
    SyncParentDir,
    OpenWriters,
    Append,
    SyncLog,
    ReadTail,
    Truncate,
    SyncTruncated,
    MeasureLog,
    MarkUnconfirmed,
    RemoveOwner,
    RemoveLock,
}

/// All of them; the later ones only matter behind an earlier one.
pub const POINTS: [Point; 20] = [
    Point::MakeLock,
    Point::InspectLock,
    Point::OpenLock,
    Point::WriteOwner,
    Point::OpenLog,
    Point::ReadLog,
    Point::ReadSpan,
    Point::CreateLog,
    Point::SyncDataDir,
    Point::SyncParentDir,
    Point::OpenWriters,
    Point::Append,
    Point::SyncLog,
    Point::ReadTail,
    Point::Truncate,
    Point::SyncTruncated,
    Point::MeasureLog,
    Point::MarkUnconfirmed,
    Point::RemoveOwner,
    Point::RemoveLock,
];

/// What a faulty disk does at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Fails so many times with this errno, without doing anything.
    Fails(u32, i32),
    /// Writes only so many 256ths of the bytes.
    Short(usize),
}

impl Fault {
    /// How many of so many bytes a short write writes.
    #[must_use]
    pub fn written(self, of: usize) -> usize {
        match self {
            Fault::Short(part) => of * part / 256,
            Fault::Fails(..) => 0,
        }
    }
}

/// The faults of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<(Point, Fault)>);

impl Faults {
    /// What is planted at a point.
    #[must_use]
    pub fn at(&self, point: Point) -> Option<Fault> {
        self.0.iter().find(|(planted, _)| *planted == point).map(|(_, fault)| *fault)
    }

    fn error(&self, point: Point) -> Option<DiskError> {
        match self.at(point)? {
            Fault::Fails(_, errno) => Some(disk_error(errno)),
            Fault::Short(_) => None,
        }
    }
}

fn disk_error(errno: i32) -> DiskError {
    std::io::Error::from_raw_os_error(errno).into()
}

/// What stands at the path of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Nothing.
    Free,
    /// A directory that others made.
    Planted(Holder),
    /// No directory.
    WrongKind(WrongKind),
    /// A lock of ours that was left: whether its owner record is there, and marked as unconfirmed.
    Left {
        /// Whether `owner.json` is in it.
        owner: bool,
        /// Whether that says `unconfirmed`.
        marked: bool,
    },
}

/// Whose a planted lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is what it is called")]
pub enum Holder {
    NoRecord,
    OtherHost,
    OlderBuild,
    LongDead,
    Garbage,
}

/// What is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is what it is called")]
pub enum WrongKind {
    File,
    Symlink,
    Fifo,
    Directory,
}

impl WrongKind {
    /// How failures call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WrongKind::File => "regular file",
            WrongKind::Symlink => "symbolic link",
            WrongKind::Fifo => "FIFO",
            WrongKind::Directory => "directory",
        }
    }
}

/// What stands at the path of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPath {
    /// Nothing.
    Absent,
    /// The log.
    Regular,
    /// Something else; the log was moved aside.
    Wrong(WrongKind),
}

/// One line and what is known of it.
#[derive(Clone, Debug)]
pub struct Line {
    bytes: Vec<u8>,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Record(Object),
    Damaged(DamageKind),
}

/// How somebody rewrites history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is what it is called")]
pub enum Rewrite {
    OlderCopy,
    OtherBytesSameLength,
    OtherRecordsMoreOfThem,
    Emptied,
    Removed,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Transition {
    /// A handle is asked for a verb.
    Call {
        /// Which.
        handle: usize,
        /// What.
        verb: Verb,
        /// With which arguments.
        arguments: Object,
        /// What fails meanwhile.
        faults: Faults,
    },
    /// A command that only reads shows the log.
    Show {
        /// What fails meanwhile.
        faults: Faults,
    },
    /// A handle's process ends, and a fresh one takes its place.
    Restart {
        /// Which.
        handle: usize,
    },
    /// Time passes, perhaps backwards.
    Pass {
        /// How much, in milliseconds.
        ms: i64,
    },
    /// A line is damaged, or a damaged one stands before it.
    Damage {
        /// How.
        kind: DamageKind,
        /// In which of the ways.
        variant: usize,
        /// Which line, of 256 parts.
        at: usize,
    },
    /// Some other program appends a record that folds.
    Foreign(Foreign),
    /// Some other program appends a record that does not.
    Unreplayable(Object),
    /// Some other program rewrites the log.
    Rewrite(Rewrite),
    /// A lock appears.
    PlantLock(Holder),
    /// Something that is no lock appears in its place.
    PlantNoLock(WrongKind),
    /// Something that is no log appears in its place.
    PlantNoLog(WrongKind),
    /// A person puts everything right that is wrong: the lock, the path, the damage.
    Person,
}

impl Transition {
    /// What is counted as having happened.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Transition::Call { .. } => "call".into(),
            Transition::Show { .. } => "show".into(),
            Transition::Restart { .. } => "restart".into(),
            Transition::Pass { ms } if *ms < 0 => "clock goes back".into(),
            Transition::Pass { .. } => "time passes".into(),
            Transition::Damage { .. } => "damage".into(),
            Transition::Foreign(foreign) => format!("foreign append, {:?}", foreign.spelling),
            Transition::Unreplayable(_) => "foreign append that does not fold".into(),
            Transition::Rewrite(how) => format!("rewritten history, {how:?}"),
            Transition::PlantLock(holder) => format!("planted lock, {holder:?}"),
            Transition::PlantNoLock(kind) => format!("planted in the lock's place, {kind:?}"),
            Transition::PlantNoLog(kind) => format!("planted in the log's place, {kind:?}"),
            Transition::Person => "person".into(),
        }
    }
}

/// What the last transition must have come to.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Nothing is asked.
    Nothing,
    /// A verb's answer, and why its lock could not be released.
    Answer(Result<Decision, Failure>, Option<DiskError>),
    /// A snapshot, the number of lines, and why the lock could not be released.
    Shown(Result<(Box<Object>, u64), Failure>, Option<DiskError>),
}

/// What a handle knows.
#[derive(Clone, Debug, Default)]
struct Handle {
    /// The bytes that it has validated.
    known: Vec<u8>,
    lasting: Option<Failure>,
}

/// The directory and its handles.
#[derive(Clone)]
pub struct World {
    /// Whether the data directory exists.
    pub exists: bool,
    /// What stands at the path of the log.
    pub log: LogPath,
    /// What stands at the path of the lock.
    pub lock: Lock,
    /// The clock, in milliseconds of a day.
    pub clock_ms: i64,
    /// What the last transition must have come to.
    pub expected: Expected,
    lines: Vec<Line>,
    /// The fold of the sound lines at the beginning.
    fold: State,
    handles: [Handle; HANDLES],
    known: Known,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("log", &self.log)
            .field("lines", &self.lines.len())
            .field("lock", &self.lock)
            .field("clock_ms", &self.clock_ms)
            .finish_non_exhaustive()
    }
}

impl World {
    /// Nothing is there, not even the directory.
    #[must_use]
    pub fn new() -> Self {
        World {
            exists: false,
            log: LogPath::Absent,
            lock: Lock::Free,
            clock_ms: 43_200_000,
            expected: Expected::Nothing,
            lines: Vec::new(),
            fold: State::default(),
            handles: Default::default(),
            known: Known::default(),
        }
    }

    /// The bytes of the log, wherever it is.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| line.bytes.iter().copied()).collect()
    }

    /// Whether a call would be carried out.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.lock == Lock::Free
            && !matches!(self.log, LogPath::Wrong(_))
            && self.sound_lines() == self.lines.len()
    }

    fn limits() -> Limits {
        Limits { text_bytes_max: u64::try_from(TEXT_BYTES_MAX).expect("small") }
    }

    /// How many lines at the beginning read and fold.
    fn sound_lines(&self) -> usize {
        let folded = self.fold.counters().event;
        usize::try_from(folded).expect("small")
    }

    /// Folds the log anew, after somebody changed it.
    fn refold(&mut self) {
        self.fold = State::default();
        self.known = Known::default();
        for at in 0..self.lines.len() {
            if !self.fold_line(at) {
                break;
            }
        }
    }

    fn fold_line(&mut self, at: usize) -> bool {
        let What::Record(record) = &self.lines[at].what else { return false };
        if self.fold.apply(record).is_err() {
            return false;
        }
        if let Some(message) = record.get("message").and_then(Json::as_object)
            && let Some(id) = message.get_text("messageId")
        {
            self.known.messages.push(id.clone());
            let sender = message.get_text("from").cloned().unwrap_or_default();
            let key = message.get_text("idempotencyKey").cloned();
            self.known.keys.extend(key.map(|key| (sender, key)));
        }
        true
    }

    fn push(&mut self, bytes: Vec<u8>, record: Object) {
        let was_sound = self.sound_lines() == self.lines.len();
        self.lines.push(Line { bytes, what: What::Record(record) });
        if was_sound {
            self.fold_line(self.lines.len() - 1);
        }
        self.log = LogPath::Regular;
    }

    /// What callers can know.
    fn known(&self) -> Known {
        let actors = self.fold.actors();
        let pending = actors.iter().flat_map(|actor| {
            let pending = self.fold.pending(&actor.actor_ref);
            pending.into_iter().map(|message| (actor.actor_ref.clone(), message.message_id))
        });
        Known {
            refs: actors.iter().map(|actor| actor.actor_ref.clone()).collect(),
            names: actors.iter().map(|actor| actor.name.clone()).collect(),
            pending: pending.collect(),
            issuer_at: self.fold.correlation_issuer(),
            ..self.known.clone()
        }
    }

    fn call(&mut self, handle: usize, verb: Verb, arguments: &Object, faults: &Faults) {
        let mut caller = std::mem::take(&mut self.handles[handle]);
        let mut not_released = None;
        let result = match caller.lasting.clone() {
            Some(failure) => Err(failure),
            None => {
                self.exists = true;
                let at = instant(self.clock_ms);
                let command = Command { verb, at, arguments: arguments.clone() };
                let known = &mut caller.known;
                self.transact(known, Some(&command), faults, &mut not_released)
            }
        };
        if let Err(failure) = &result {
            caller.lasting = lasting(failure).or(caller.lasting);
        }
        self.handles[handle] = caller;
        let result = result.map(|decision| decision.expect("a verb is decided"));
        self.expected = Expected::Answer(result, not_released);
    }

    /// Expects what a command that only reads would show now.
    pub fn show_now(&mut self) {
        self.show(&Faults::default());
    }

    fn show(&mut self, faults: &Faults) {
        let mut not_released = None;
        let result = if self.exists {
            self.transact(&mut Vec::new(), None, faults, &mut not_released)
        } else {
            Ok(None)
        };
        let shown = result.map(|_| {
            let lines = u64::try_from(self.lines.len()).expect("few");
            (Box::new(self.fold.snapshot()), lines)
        });
        self.expected = Expected::Shown(shown, not_released);
    }

    /// One transaction: acquire, the five steps under the lock, release.
    fn transact(
        &mut self,
        known: &mut Vec<u8>,
        command: Option<&Command>,
        faults: &Faults,
        not_released: &mut Option<DiskError>,
    ) -> Result<Option<Decision>, Failure> {
        self.acquire(faults)?;
        let owned = faults.error(Point::WriteOwner);
        let has_owner = owned.is_none();
        let result = match owned {
            Some(error) => Err(io("writing the owner record", error)),
            None => self.under_lock(known, command, faults),
        };
        if matches!(result, Err(Failure::WriteUnconfirmed { .. })) {
            let marked = faults.at(Point::MarkUnconfirmed).is_none();
            self.lock = Lock::Left { owner: true, marked };
            return result;
        }
        let mut retries = RELEASE_RETRIES;
        for (point, owner) in [(Point::RemoveOwner, has_owner), (Point::RemoveLock, false)] {
            let Some(Fault::Fails(times, errno)) = faults.at(point) else { continue };
            if times > retries {
                self.lock = Lock::Left { owner, marked: false };
                let error = disk_error(errno);
                *not_released = Some(error.clone());
                return result.map_err(|cause| lock_left(cause, error));
            }
            retries -= times;
        }
        result
    }

    fn acquire(&mut self, faults: &Faults) -> Result<(), Failure> {
        if let Some(error) = faults.error(Point::MakeLock) {
            return Err(Failure::LockUnavailable { error });
        }
        let busy = Failure::LockTimeout { waited_ms: 0, owner: String::new() };
        let failure = match (self.lock, faults.error(Point::InspectLock)) {
            (Lock::Free, _) => match faults.error(Point::OpenLock) {
                None => return Ok(()),
                Some(error) => {
                    self.lock = Lock::Left { owner: false, marked: false };
                    lock_left(io("opening the new lock", error.clone()), error)
                }
            },
            (_, Some(error)) => Failure::LockUnavailable { error },
            (Lock::Planted(_) | Lock::Left { .. }, None) => busy,
            (Lock::WrongKind(kind), None) => {
                let found = kind.name();
                let text = format!("the path of the lock bears a {found}, not a directory");
                Failure::LockUnavailable { error: DiskError { code: None, text } }
            }
        };
        Err(failure)
    }

    fn under_lock(
        &mut self,
        known: &mut Vec<u8>,
        command: Option<&Command>,
        faults: &Faults,
    ) -> Result<Option<Decision>, Failure> {
        if let Some(error) = faults.error(Point::OpenLog) {
            return Err(io("opening the log", error));
        }
        match self.log {
            LogPath::Wrong(kind) => return Err(Failure::NotAFile { found: kind.name() }),
            LogPath::Absent => {}
            LogPath::Regular => {
                if let Some(error) = faults.error(Point::ReadLog) {
                    return Err(io("reading the log", error));
                }
            }
        }
        self.read(known)?;
        let Some(command) = command else { return Ok(None) };
        let limits = World::limits();
        if !bodies_needed(&self.fold, command, &limits).is_empty()
            && let Some(error) = faults.error(Point::ReadSpan)
        {
            return Err(io("reading a message again", error));
        }
        let decision = decide(&self.fold, command, &limits);
        self.commit(&decision.events, faults)?;
        *known = self.bytes();
        Ok(Some(decision))
    }

    /// The whole log is read, behind a proof of what was known of it.
    fn read(&self, known: &mut Vec<u8>) -> Result<(), Failure> {
        let bytes = self.bytes();
        if !bytes.starts_with(known) {
            let bytes_of = |bytes: &[u8]| u64::try_from(bytes.len()).expect("small");
            let known_bytes = bytes_of(known);
            let found_bytes = known_bytes.min(bytes_of(&bytes));
            return Err(Failure::HistoryRewritten { known_bytes, found_bytes });
        }
        let sound = self.sound_lines();
        let offset = self.lines[..sound].iter().map(|line| line.bytes.len()).sum();
        *known = bytes[..offset].to_vec();
        let Some(Line { bytes, what }) = self.lines.get(sound) else { return Ok(()) };
        Err(match what {
            What::Damaged(kind) => {
                Failure::LogCorrupt(damage::report(*kind, bytes, sound + 1, offset))
            }
            What::Record(record) => {
                let unreplayable = self.fold.clone().apply(record).expect_err("it does not fold");
                let line = u64::try_from(sound + 1).expect("few");
                let offset = u64::try_from(offset).expect("small");
                Failure::LogUnreplayable { line, offset, reason: unreplayable.to_string() }
            }
        })
    }

    fn commit(&mut self, events: &[Object], faults: &Faults) -> Result<(), Failure> {
        if self.log == LogPath::Absent {
            if let Some(error) = faults.error(Point::CreateLog) {
                return Err(io("creating the log", error));
            }
            self.log = LogPath::Regular;
        }
        if self.lines.is_empty() {
            let sync =
                faults.error(Point::SyncDataDir).or_else(|| faults.error(Point::SyncParentDir));
            if let Some(error) = sync {
                return Err(Failure::WriteUnconfirmed {
                    doing: "making the new log durable",
                    error,
                });
            }
        }
        if let Some(error) = faults.error(Point::OpenWriters) {
            return Err(io("opening the log to append", error));
        }
        let wanted: usize = events.iter().map(|event| event.to_line().len() + 1).sum();
        let short = faults.at(Point::Append).map(|fault| (fault.written(wanted), fault));
        match short {
            Some((written, Fault::Short(_))) if written < wanted => {
                let text = format!("only {written} of {wanted} bytes could be written");
                let cause = DiskError { code: None, text };
                self.take_back(events, written, "appending to the log", cause, faults)
            }
            Some((_, Fault::Fails(_, errno))) => {
                self.take_back(events, 0, "appending to the log", disk_error(errno), faults)
            }
            Some((_, Fault::Short(_))) | None => match faults.error(Point::SyncLog) {
                Some(cause) => {
                    self.take_back(events, wanted, "making the log durable", cause, faults)
                }
                None => {
                    self.push_bytes(events, wanted);
                    Ok(())
                }
            },
        }
    }

    /// So many bytes stand in the log; whether they can be taken back.
    fn take_back(
        &mut self,
        events: &[Object],
        written: usize,
        doing: &'static str,
        cause: DiskError,
        faults: &Faults,
    ) -> Result<(), Failure> {
        let steps = [
            (Point::ReadTail, "reading back what was written", written),
            (Point::Truncate, "taking back what was written", written),
            (Point::SyncTruncated, "taking back what was written", 0),
            (Point::MeasureLog, "taking back what was written", 0),
        ];
        for (point, meanwhile, left) in steps {
            if let Some(error) = faults.error(point) {
                self.push_bytes(events, left);
                let text = format!("{cause}; then, {meanwhile}: {error}");
                let error = DiskError { code: cause.code, text };
                return Err(Failure::WriteUnconfirmed { doing, error });
            }
        }
        Err(io(doing, cause))
    }

    /// The first bytes of these records are appended: whole lines, and perhaps a torn one.
    fn push_bytes(&mut self, events: &[Object], mut count: usize) {
        for event in events {
            let mut bytes = event.to_line();
            bytes.push(b'\n');
            if count >= bytes.len() {
                count -= bytes.len();
                self.push(bytes, event.clone());
            } else {
                bytes.truncate(count);
                if !bytes.is_empty() {
                    self.lines.push(Line { bytes, what: What::Damaged(DamageKind::TornTail) });
                }
                return;
            }
        }
    }

    fn damage(&mut self, kind: DamageKind, variant: usize, at: usize) {
        self.exists = true;
        self.log = LogPath::Regular;
        let at = if kind == DamageKind::TornTail {
            self.lines.len()
        } else {
            self.lines.len() * at / 256
        };
        let template = Object::new().with("type", "weather.seen").with("at", "now").to_line();
        let bytes = damage::line(kind, &template, variant);
        self.lines.insert(at, Line { bytes, what: What::Damaged(kind) });
        self.refold();
    }

    fn rewrite(&mut self, how: Rewrite) {
        let half = self.lines.len() / 2;
        match how {
            Rewrite::OlderCopy => self.lines.truncate(half),
            Rewrite::OtherBytesSameLength => {
                if let Some(line) = self.lines.get_mut(half) {
                    let kind = "x".repeat(line.bytes.len().max(20) - 12);
                    let record = Object::new().with("type", kind);
                    let mut bytes = record.to_line();
                    bytes.push(b'\n');
                    *line = Line { bytes, what: What::Record(record) };
                }
            }
            Rewrite::OtherRecordsMoreOfThem => {
                let more = self.lines.len() + 2;
                self.lines.truncate(half);
                while self.lines.len() < more {
                    let record = Object::new().with("type", "history.invented");
                    let mut bytes = record.to_line();
                    bytes.push(b'\n');
                    self.lines.push(Line { bytes, what: What::Record(record) });
                }
            }
            Rewrite::Emptied | Rewrite::Removed => self.lines.clear(),
        }
        self.exists = true;
        self.log = if how == Rewrite::Removed { LogPath::Absent } else { LogPath::Regular };
        self.refold();
    }

    fn person(&mut self) {
        self.lock = Lock::Free;
        if let LogPath::Wrong(_) = self.log {
            self.log = LogPath::Regular;
        }
        let sound = self.sound_lines();
        self.lines.truncate(sound);
    }
}

impl Default for World {
    fn default() -> Self {
        World::new()
    }
}

fn io(doing: &'static str, error: DiskError) -> Failure {
    Failure::Io { doing, error }
}

/// The command failed, and its lock is left too.
fn lock_left(cause: Failure, error: DiskError) -> Failure {
    Failure::LockLeft { cause: Box::new(cause), error }
}

/// What a process that stays up answers ever after.
fn lasting(failure: &Failure) -> Option<Failure> {
    match failure.cause() {
        rewritten @ Failure::HistoryRewritten { .. } => Some(rewritten.clone()),
        Failure::WriteUnconfirmed { .. } => Some(Failure::LockTimeout {
            waited_ms: 0,
            owner: "this process keeps it on purpose, since an earlier write of its own is \
                    unconfirmed"
                .into(),
        }),
        _ => None,
    }
}

/// What goes wrong in one call, with a bias to what it is the rare call to make.
fn faults(rare: &[Point]) -> BoxedStrategy<Faults> {
    let errno = select(vec![5, 28, 30, 13]);
    let points: Vec<Point> = POINTS.into_iter().chain(rare.repeat(8)).collect();
    let one = (select(points), errno.clone())
        .prop_map(|(point, errno)| vec![(point, Fault::Fails(u32::MAX, errno))]);
    let release = (select(vec![Point::RemoveOwner, Point::RemoveLock]), 1..=3_u32, errno.clone())
        .prop_map(|(point, times, errno)| vec![(point, Fault::Fails(times, errno))]);
    let written = select(vec![0, 1, 100, 128, 200, 250, 255, 256]);
    let short = written.prop_map(|part| (Point::Append, Fault::Short(part)));
    let failed = (select(vec![Point::Append, Point::SyncLog]), errno.clone())
        .prop_map(|(point, errno)| (point, Fault::Fails(u32::MAX, errno)));
    let begun = proptest::prop_oneof![short.clone(), failed];
    let then = select(vec![
        Point::ReadTail,
        Point::Truncate,
        Point::SyncTruncated,
        Point::MeasureLog,
        Point::MarkUnconfirmed,
    ]);
    let not_taken_back = (begun.clone(), proptest::collection::vec((then, errno), 1..3)).prop_map(
        |(begun, then)| {
            let then = then.into_iter().map(|(at, errno)| (at, Fault::Fails(u32::MAX, errno)));
            std::iter::once(begun).chain(then).collect()
        },
    );
    proptest::prop_oneof![
        44 => Just(Vec::new()),
        3 => one,
        1 => release,
        2 => begun.prop_map(|begun| vec![begun]),
        1 => not_taken_back,
    ]
    .prop_map(Faults)
    .boxed()
}

impl ReferenceStateMachine for World {
    type State = World;
    type Transition = Transition;

    fn init_state() -> BoxedStrategy<World> {
        Just(World::new()).boxed()
    }

    fn transitions(world: &World) -> BoxedStrategy<Transition> {
        let known = world.known();
        let begins = world.lines.is_empty();
        let call = (0..HANDLES, strategy::command(&known)).prop_flat_map(
            move |(handle, (verb, arguments))| {
                let rare: &[Point] = match verb {
                    Verb::Inbox => &[Point::ReadSpan],
                    _ if begins => &[Point::CreateLog, Point::SyncDataDir, Point::SyncParentDir],
                    _ => &[],
                };
                faults(rare).prop_map(move |faults| {
                    let arguments = arguments.clone();
                    Transition::Call { handle, verb, arguments, faults }
                })
            },
        );
        let wrong = || select(vec![WrongKind::Symlink, WrongKind::Fifo]);
        let mut mishaps = vec![
            (4, strategy::foreign(&known, own_record(world)).prop_map(Transition::Foreign).boxed()),
            (3, mishap_damage()),
            (1, strategy::unreplayable().prop_map(Transition::Unreplayable).boxed()),
            (2, select(REWRITES.to_vec()).prop_map(Transition::Rewrite).boxed()),
        ];
        if world.lock == Lock::Free {
            let no_lock = proptest::prop_oneof![Just(WrongKind::File), wrong()];
            mishaps.push((2, select(HOLDERS.to_vec()).prop_map(Transition::PlantLock).boxed()));
            mishaps.push((1, no_lock.prop_map(Transition::PlantNoLock).boxed()));
        }
        if world.log == LogPath::Regular {
            let no_log = proptest::prop_oneof![Just(WrongKind::Directory), wrong()];
            mishaps.push((1, no_log.prop_map(Transition::PlantNoLog).boxed()));
        }
        // A handle that fails for good says nothing new.
        let failing: Vec<usize> =
            (0..HANDLES).filter(|at| world.handles[*at].lasting.is_some()).collect();
        let (restarts, restarted) = match failing.as_slice() {
            [] => (2, (0..HANDLES).collect()),
            failing => (20, failing.to_vec()),
        };
        let restart = select(restarted).prop_map(|handle| Transition::Restart { handle });
        let passing = select(vec![1, 29_999, 30_000, 30_001, 1, 7_200_000, -60_000, 0]);
        proptest::strategy::Union::new_weighted(vec![
            (40, call.boxed()),
            (2, faults(&[]).prop_map(|faults| Transition::Show { faults }).boxed()),
            (restarts, restart.boxed()),
            (6, passing.prop_map(|ms| Transition::Pass { ms }).boxed()),
            (5, proptest::strategy::Union::new_weighted(mishaps).boxed()),
            (if world.is_sound() { 1 } else { 20 }, Just(Transition::Person).boxed()),
        ])
        .boxed()
    }

    fn preconditions(world: &World, transition: &Transition) -> bool {
        match transition {
            Transition::PlantLock(_) | Transition::PlantNoLock(_) => world.lock == Lock::Free,
            Transition::PlantNoLog(_) => world.log == LogPath::Regular,
            Transition::Damage { .. }
            | Transition::Foreign(_)
            | Transition::Unreplayable(_)
            | Transition::Rewrite(_) => {
                // A torn tail stays the last line, so that what is behind it is known.
                !matches!(world.log, LogPath::Wrong(_)) && !world.is_torn()
            }
            Transition::Call { .. }
            | Transition::Show { .. }
            | Transition::Restart { .. }
            | Transition::Pass { .. }
            | Transition::Person => true,
        }
    }

    fn apply(mut world: World, transition: &Transition) -> World {
        world.expected = Expected::Nothing;
        match transition {
            Transition::Call { handle, verb, arguments, faults } => {
                world.call(*handle, *verb, arguments, faults);
            }
            Transition::Show { faults } => world.show(faults),
            Transition::Restart { handle } => world.handles[*handle] = Handle::default(),
            Transition::Pass { ms } => world.clock_ms += ms,
            Transition::Damage { kind, variant, at } => world.damage(*kind, *variant, *at),
            Transition::Foreign(foreign) => {
                world.exists = true;
                world.push(foreign.line(), foreign.record.clone());
            }
            Transition::Unreplayable(record) => {
                world.exists = true;
                let mut bytes = record.to_line();
                bytes.push(b'\n');
                world.push(bytes, record.clone());
            }
            Transition::Rewrite(how) => world.rewrite(*how),
            Transition::PlantLock(holder) => {
                world.exists = true;
                world.lock = Lock::Planted(*holder);
            }
            Transition::PlantNoLock(kind) => {
                world.exists = true;
                world.lock = Lock::WrongKind(*kind);
            }
            Transition::PlantNoLog(kind) => world.log = LogPath::Wrong(*kind),
            Transition::Person => world.person(),
        }
        world
    }
}

impl World {
    fn is_torn(&self) -> bool {
        self.lines.last().is_some_and(|line| !line.bytes.ends_with(b"\n"))
    }
}

const HOLDERS: [Holder; 5] =
    [Holder::NoRecord, Holder::OtherHost, Holder::OlderBuild, Holder::LongDead, Holder::Garbage];

const REWRITES: [Rewrite; 5] = [
    Rewrite::OlderCopy,
    Rewrite::OtherBytesSameLength,
    Rewrite::OtherRecordsMoreOfThem,
    Rewrite::Emptied,
    Rewrite::Removed,
];

fn mishap_damage() -> BoxedStrategy<Transition> {
    (select(damage::KINDS.to_vec()), any::<u8>(), 0..256_usize)
        .prop_map(|(kind, variant, at)| Transition::Damage { kind, variant: variant.into(), at })
        .boxed()
}

/// What the bus itself would have appended now.
fn own_record(world: &World) -> Object {
    let arguments = Object::new().with("actorId", Text::from("gaia"));
    let command = Command { verb: Verb::Register, at: instant(world.clock_ms), arguments };
    let decision = decide(&world.fold, &command, &World::limits());
    decision.events.into_iter().next().expect("every decision appends")
}
