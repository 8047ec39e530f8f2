//! The store under test: several real buses on one real directory, on a disk that can be made to
//! fail.
//!
//! A [`Rig`] does for real what a [`Transition`] says, and compares everything that can be seen
//! with what the reference expects: the answer field by field, every byte of the log, what stands
//! at every path of the directory, the content of locks that others made, and the snapshot of a
//! cold read.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use gaia_bus::archive::Archive;
use gaia_bus::bus::{Answer, Bus, Edge, Reading};
use gaia_bus::commit::{Call, Reply};
use gaia_bus::disk::{Disk, LocalDisk};
use gaia_bus::failure::{DiskError, Failure};
use gaia_bus::log::DamageKind;
use gaia_bus::settings::{Paths, Settings};
use gaia_bus_model::decide::{Decision, RefusalCode};
use gaia_bus_model::json::Json;
use gaia_bus_model::text::Text;
use rustix::fs::{CWD, Mode};

use super::world::{
    Expected, Fault, Faults, HANDLES, Holder, Lock, LogPath, POINTS, Point, RELEASE_RETRIES,
    Transition, World, WrongKind,
};
use crate::strategy::{TEXT_BYTES_MAX, instant};

/// A fault in the model or in the store, planted to show that it would be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bend {
    /// The model shows the newest message of an inbox first.
    ModelReversesInbox,
    /// The model forgets the record of a denial.
    ModelDropsDenial,
    /// The model takes a failure for another one.
    ModelMistakesFailure,
    /// The store appends every line twice.
    AppendsTwice,
    /// The store breaks a lock that exists.
    BreaksLock,
    /// The store reads a torn tail as if it were not there.
    SkipsTornTail,
    /// The store does not take back what a failed write left, and says that it did.
    KeepsFailedWrite,
    /// The store decides from what it read at its first call.
    ReadsOnce,
}

impl Bend {
    /// All of them.
    pub const ALL: [Bend; 8] = [
        Bend::ModelReversesInbox,
        Bend::ModelDropsDenial,
        Bend::ModelMistakesFailure,
        Bend::AppendsTwice,
        Bend::BreaksLock,
        Bend::SkipsTornTail,
        Bend::KeepsFailedWrite,
        Bend::ReadsOnce,
    ];
}

/// What was met, by kind and name.
pub type Coverage = BTreeMap<(&'static str, String), u64>;

/// What the handles and the rig share.
#[derive(Debug, Default)]
struct Controls {
    clock_ms: Cell<i64>,
    tokens: Cell<u64>,
    faults: RefCell<Faults>,
    /// Where faults came to pass.
    met: RefCell<Vec<Point>>,
}

/// Where the handles get their time and tokens from.
struct Clock(Rc<Controls>);

impl Edge for Clock {
    fn now(&mut self) -> Text {
        instant(self.0.clock_ms.get())
    }

    fn token(&mut self) -> String {
        self.0.tokens.set(self.0.tokens.get() + 1);
        format!("{:032x}", self.0.tokens.get())
    }
}

/// The real disk, with the faults of one call in front of it.
struct FaultyDisk {
    disk: LocalDisk,
    controls: Rc<Controls>,
    bend: Option<Bend>,
    lock: PathBuf,
    /// For [`Bend::ReadsOnce`]: what the first call read, and whether this one has been given it.
    first_read: Vec<u8>,
    reads: u32,
    /// For [`Bend::KeepsFailedWrite`]: how long the log was.
    bytes_before: u64,
}

impl FaultyDisk {
    /// The fault for this call, if one is due.
    fn due(&self, point: Point) -> Option<Fault> {
        let mut faults = self.controls.faults.borrow_mut();
        let (_, fault) = faults.0.iter_mut().find(|(planted, _)| *planted == point)?;
        let due = match fault {
            Fault::Fails(0, _) => return None,
            Fault::Fails(times, errno) => {
                *times -= 1;
                Fault::Fails(1, *errno)
            }
            Fault::Short(_) => *fault,
        };
        self.controls.met.borrow_mut().push(point);
        Some(due)
    }
}

fn point(call: &Call<'_>) -> Option<Point> {
    Some(match call {
        Call::MakeLock => Point::MakeLock,
        Call::InspectLock => Point::InspectLock,
        Call::OpenLock => Point::OpenLock,
        Call::WriteOwner(_) => Point::WriteOwner,
        Call::OpenLog => Point::OpenLog,
        Call::ReadLog => Point::ReadLog,
        Call::ReadSpan(_) => Point::ReadSpan,
        Call::CreateLog => Point::CreateLog,
        Call::SyncDataDir => Point::SyncDataDir,
        Call::SyncParentDir => Point::SyncParentDir,
        Call::OpenWriters => Point::OpenWriters,
        Call::Append(_) => Point::Append,
        Call::SyncLog => Point::SyncLog,
        Call::ReadTail { .. } => Point::ReadTail,
        Call::Truncate { .. } => Point::Truncate,
        Call::SyncTruncated => Point::SyncTruncated,
        Call::MeasureLog => Point::MeasureLog,
        Call::MarkUnconfirmed(_) => Point::MarkUnconfirmed,
        Call::RemoveOwner => Point::RemoveOwner,
        Call::RemoveLock => Point::RemoveLock,
        Call::Pause => return None,
    })
}

impl Disk for FaultyDisk {
    fn perform<'d>(&'d mut self, call: Call<'_>) -> Reply<'d> {
        match point(&call).and_then(|point| self.due(point)) {
            Some(Fault::Fails(_, errno)) => {
                let error = std::io::Error::from_raw_os_error(errno);
                return Reply::Failed(DiskError::from(error));
            }
            Some(short @ Fault::Short(_)) => {
                if let Call::Append(lines) = call {
                    let part = &lines[..short.written(lines.len())];
                    return self.disk.perform(Call::Append(part));
                }
            }
            None => {}
        }
        match (self.bend, call) {
            (Some(Bend::AppendsTwice), Call::Append(lines)) => {
                self.disk.perform(Call::Append(lines));
                self.disk.perform(Call::Append(lines))
            }
            (Some(Bend::BreaksLock), Call::MakeLock) => {
                if self.disk.perform(Call::MakeLock) == Reply::Exists {
                    let _ = fs::remove_dir_all(&self.lock);
                    return self.disk.perform(Call::MakeLock);
                }
                Reply::Done
            }
            (Some(Bend::SkipsTornTail), Call::ReadLog) => match self.disk.perform(Call::ReadLog) {
                Reply::Bytes(bytes) => {
                    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                    Reply::Bytes(&bytes[..end])
                }
                other => other,
            },
            (Some(Bend::KeepsFailedWrite), Call::Truncate { .. } | Call::SyncTruncated) => {
                Reply::Done
            }
            (Some(Bend::KeepsFailedWrite), Call::MeasureLog) => Reply::Length(self.bytes_before),
            (Some(Bend::KeepsFailedWrite), Call::OpenWriters) => {
                let reply = self.disk.perform(Call::OpenWriters);
                if let Reply::Opened { bytes } = reply {
                    self.bytes_before = bytes;
                }
                reply
            }
            (Some(Bend::ReadsOnce), Call::ReadLog) => self.read_once(),
            (_, call) => self.disk.perform(call),
        }
    }

    fn close(&mut self) {
        self.reads = 0;
        self.disk.close();
    }
}

impl FaultyDisk {
    fn read_once(&mut self) -> Reply<'_> {
        self.reads += 1;
        if self.reads > 1 {
            return Reply::Bytes(&[]);
        }
        if self.first_read.is_empty()
            && let Reply::Bytes(bytes) = self.disk.perform(Call::ReadLog)
        {
            self.first_read = bytes.to_vec();
        }
        Reply::Bytes(&self.first_read)
    }
}

type Handle = Bus<FaultyDisk, Clock>;

/// Real buses on one real directory.
pub struct Rig<'a> {
    root: tempfile::TempDir,
    paths: Paths,
    handles: Vec<Handle>,
    controls: Rc<Controls>,
    bend: Option<Bend>,
    planted: Option<Tree>,
    coverage: &'a RefCell<Coverage>,
}

/// What stands at a path, without following links.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tree {
    Absent,
    File(Vec<u8>),
    Directory(Vec<(String, Tree)>),
    Other(WrongKind),
}

impl Tree {
    fn of(path: &Path) -> Tree {
        let Ok(found) = fs::symlink_metadata(path) else { return Tree::Absent };
        if found.is_file() {
            return Tree::File(fs::read(path).expect("a file can be read"));
        }
        if found.is_symlink() {
            return Tree::Other(WrongKind::Symlink);
        }
        if !found.is_dir() {
            return Tree::Other(WrongKind::Fifo);
        }
        let entries = fs::read_dir(path).expect("a directory can be read");
        let mut named: Vec<_> = entries
            .map(|entry| {
                let entry = entry.expect("an entry can be read");
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, Tree::of(&entry.path()))
            })
            .collect();
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        Tree::Directory(named)
    }
}

impl<'a> Rig<'a> {
    /// Nothing is there yet.
    ///
    /// # Panics
    ///
    /// When no temporary directory can be made.
    #[must_use]
    pub fn new(under: &Path, bend: Option<Bend>, coverage: &'a RefCell<Coverage>) -> Self {
        let root = tempfile::tempdir_in(under).expect("a directory for the case");
        let paths = Paths::of(&root.path().join("data"));
        let controls = Rc::new(Controls::default());
        let mut rig =
            Rig { root, paths, handles: Vec::new(), controls, bend, planted: None, coverage };
        rig.handles = (0..HANDLES).map(|_| rig.fresh()).collect();
        rig
    }

    fn fresh(&self) -> Handle {
        let settings = Settings {
            lock_timeout: Duration::ZERO,
            release_retries: RELEASE_RETRIES,
            release_retry_delay: Duration::ZERO,
            text_bytes_max: u64::try_from(TEXT_BYTES_MAX).expect("small"),
            ..Settings::of_data_dir(&self.paths.data_dir)
        };
        let disk = FaultyDisk {
            disk: LocalDisk::new(&self.paths, Duration::ZERO),
            controls: Rc::clone(&self.controls),
            bend: self.bend,
            lock: self.paths.lock.clone(),
            first_read: Vec::new(),
            reads: 0,
            bytes_before: 0,
        };
        Bus::on(settings, disk, Clock(Rc::clone(&self.controls)))
    }

    /// No call fails any more; those that did are counted.
    fn disarm(&self) {
        self.arm(&Faults::default());
        for point in self.controls.met.take() {
            self.count("fault", format!("{point:?}"));
        }
    }

    fn count(&self, kind: &'static str, name: impl Into<String>) {
        *self.coverage.borrow_mut().entry((kind, name.into())).or_default() += 1;
    }

    /// Does for real what the transition says. `world` is the reference *after* it.
    ///
    /// # Errors
    ///
    /// What differs from the reference.
    pub fn step(&mut self, transition: &Transition, world: &World) -> Result<(), String> {
        self.count("transition", transition.name());
        self.controls.clock_ms.set(world.clock_ms);
        match transition {
            Transition::Call { handle, verb, arguments, faults } => {
                self.arm(faults);
                let busy = self.handles[*handle].look_at_lock().map(|lock| lock.sentence());
                let answer = self.handles[*handle].call(*verb, arguments.clone());
                self.disarm();
                self.count("verb", verb.name());
                self.check_answer(&answer, world, busy)?;
            }
            Transition::Show { faults } => {
                self.arm(faults);
                let shown = self.handles[0].read(Archive::new());
                self.disarm();
                check_shown(shown, world)?;
            }
            Transition::Restart { handle } => self.handles[*handle] = self.fresh(),
            Transition::Pass { .. } => {}
            Transition::Damage { .. }
            | Transition::Foreign(_)
            | Transition::Unreplayable(_)
            | Transition::Rewrite(_) => self.write_log(world),
            Transition::PlantLock(holder) => self.plant_lock(*holder),
            Transition::PlantNoLock(kind) => {
                self.make_data_dir();
                plant(&self.paths.lock, *kind);
                self.planted = Some(Tree::of(&self.paths.lock));
            }
            Transition::PlantNoLog(kind) => {
                fs::rename(&self.paths.log, self.aside()).expect("moving the log aside");
                plant(&self.paths.log, *kind);
            }
            Transition::Person => self.person(world),
        }
        self.check_tree(world)?;
        if let Transition::Call { .. } = transition
            && world.is_sound()
        {
            self.check_snapshot(world)?;
        }
        Ok(())
    }

    fn arm(&self, faults: &Faults) {
        self.controls.faults.replace(faults.clone());
    }

    fn aside(&self) -> PathBuf {
        self.root.path().join("aside")
    }

    fn make_data_dir(&self) {
        fs::create_dir_all(&self.paths.data_dir).expect("making the data directory");
    }

    fn write_log(&self, world: &World) {
        self.make_data_dir();
        match world.log {
            LogPath::Regular => fs::write(&self.paths.log, world.bytes()).expect("writing the log"),
            LogPath::Absent => {
                if self.paths.log.exists() {
                    fs::remove_file(&self.paths.log).expect("removing the log");
                }
            }
            LogPath::Wrong(_) => unreachable!("not on a log that is moved aside"),
        }
    }

    fn plant_lock(&mut self, holder: Holder) {
        self.make_data_dir();
        let lock = &self.paths.lock;
        fs::create_dir(lock).expect("planting a lock");
        let record = match holder {
            Holder::NoRecord => None,
            Holder::OtherHost => Some(
                "{\"pid\":1,\"at\":\"then\",\"startedAt\":\"1 ticks after boot\",\
                 \"host\":\"elsewhere\",\"bootId\":\"other\",\"token\":\"t\",\"mode\":\"write\"}\n",
            ),
            Holder::OlderBuild | Holder::LongDead => Some("{\"pid\":4194304,\"at\":\"then\"}"),
            Holder::Garbage => Some("\u{1b}[2J{"),
        };
        if let Some(record) = record {
            fs::write(self.paths.owner(), record).expect("planting an owner record");
        }
        if holder == Holder::LongDead {
            let old = SystemTime::now() - Duration::from_secs(86_400);
            let times = fs::FileTimes::new().set_modified(old);
            let lock = fs::File::open(lock).expect("opening the planted lock");
            lock.set_times(times).expect("making the planted lock old");
        }
        self.planted = Some(Tree::of(&self.paths.lock));
    }

    fn person(&mut self, world: &World) {
        self.planted = None;
        match Tree::of(&self.paths.lock) {
            Tree::Absent => {}
            Tree::Directory(_) => fs::remove_dir_all(&self.paths.lock).expect("removing the lock"),
            Tree::File(_) | Tree::Other(_) => {
                fs::remove_file(&self.paths.lock).expect("removing what is no lock");
            }
        }
        if self.aside().exists() {
            match Tree::of(&self.paths.log) {
                Tree::Directory(_) => fs::remove_dir(&self.paths.log),
                _ => fs::remove_file(&self.paths.log),
            }
            .expect("removing what is no log");
            fs::rename(self.aside(), &self.paths.log).expect("moving the log back");
        }
        if world.log == LogPath::Regular {
            fs::write(&self.paths.log, world.bytes()).expect("mending the log");
        }
    }

    /// The one comparison of bytes: whatever a call came to, this is what may stand there.
    fn check_tree(&self, world: &World) -> Result<(), String> {
        let lock = Tree::of(&self.paths.lock);
        let as_expected = match (world.lock, &lock) {
            (Lock::Free, lock) => *lock == Tree::Absent,
            (Lock::Planted(_) | Lock::WrongKind(_), lock) => Some(lock) == self.planted.as_ref(),
            (Lock::Left { owner, marked }, Tree::Directory(entries)) => match entries.as_slice() {
                [] => !owner,
                [(name, Tree::File(record))] => {
                    let says = String::from_utf8_lossy(record).contains("\"unconfirmed\"");
                    owner && name == "owner.json" && says == marked
                }
                _ => false,
            },
            (Lock::Left { .. }, _) => false,
        };
        if !as_expected {
            return Err(format!("the lock should be {:?}, and is {lock:?}", world.lock));
        }
        if world.exists != self.paths.data_dir.exists() {
            return Err(format!("whether the data directory exists should be {}", world.exists));
        }
        if !world.exists {
            return Ok(());
        }
        let mut names = vec![];
        let log = match world.log {
            LogPath::Absent => Tree::Absent,
            LogPath::Regular => Tree::File(world.bytes()),
            LogPath::Wrong(WrongKind::Directory) => Tree::Directory(Vec::new()),
            LogPath::Wrong(kind) => Tree::Other(kind),
        };
        names.extend((log != Tree::Absent).then_some("events.jsonl"));
        names.extend((lock != Tree::Absent).then_some("events.lock"));
        let found = Tree::of(&self.paths.log);
        if found != log {
            return Err(format!("the log should be {}, and is {}", brief(&log), brief(&found)));
        }
        let entries = fs::read_dir(&self.paths.data_dir).expect("reading the data directory");
        let mut present: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name()).collect();
        present.sort();
        if present != names {
            return Err(format!("the directory should hold {names:?}, and holds {present:?}"));
        }
        Ok(())
    }

    fn check_snapshot(&mut self, world: &World) -> Result<(), String> {
        let reading = self.handles[0].read(Archive::new());
        let reading = reading.map_err(|failure| format!("a sound log fails with {failure:?}"))?;
        let mut shown = world.clone();
        shown.show_now();
        check_shown(Ok(reading), &shown)
    }

    fn check_answer(
        &self,
        answer: &Answer,
        world: &World,
        busy: Option<String>,
    ) -> Result<(), String> {
        let Expected::Answer(result, not_released) = &world.expected else {
            unreachable!("a call has an answer");
        };
        let mut expected = match result {
            Ok(decision) => {
                match &decision.answer {
                    Ok(_) => self.count("outcome", "answered"),
                    Err(refusal) => self.count("refusal", refusal.code.as_str()),
                }
                let warning = not_released.as_ref().map(|error| self.warning(error));
                let lock_released = warning.as_ref().map(|_| false);
                self.count("outcome", if warning.is_some() { "lock not released" } else { "ok" });
                Answer { warning, lock_released, ..envelope(decision) }
            }
            Err(failure) => {
                self.count("failure", failure.code());
                if let Failure::LockLeft { .. } = failure {
                    self.count("outcome", "failed, and the lock left too");
                }
                if let Some(corrupt) = failure.corruption() {
                    self.count("damage", corrupt.kind);
                }
                Answer::of_failure(&with_owner(failure, busy), &self.paths)
            }
        };
        if let Some(bend) = self.bend {
            bend_model(bend, &mut expected);
        }
        let seen = Answer { error: answer.error.as_deref().map(without_waiting), ..answer.clone() };
        if seen == expected {
            return Ok(());
        }
        Err(format!("the answer should be\n    {expected:?}\n  and is\n    {seen:?}"))
    }

    fn warning(&self, error: &DiskError) -> String {
        format!(
            "the command is done, but its lock {} could not be removed: {error}. Run \
             `gaia-bus doctor` on this data directory for what to do",
            self.paths.lock.display()
        )
    }
}

/// The envelope that a decision is shown in, from the contract.
pub(crate) fn envelope(decision: &Decision) -> Answer {
    let (result, error, code) = match &decision.answer {
        Ok(result) => (Some(result.clone()), None, None),
        Err(refusal) => (None, Some(refusal.reason.clone()), Some(refusal.code.as_str())),
    };
    let types = decision.events.iter().filter_map(|event| event.get_text("type"));
    Answer {
        ok: result.is_some(),
        is_error: result.is_none(),
        exit_code: u8::from(result.is_none()),
        error,
        result,
        events_appended: types.map(ToString::to_string).collect(),
        code,
        fail_closed: false,
        corrupt: None,
        lock_released: None,
        warning: None,
    }
}

/// A time-out names the owner, which is a matter of the machine and not of the reference.
fn with_owner(failure: &Failure, busy: Option<String>) -> Failure {
    match (failure, busy) {
        (Failure::LockTimeout { waited_ms, owner }, Some(busy)) if owner.is_empty() => {
            Failure::LockTimeout { waited_ms: *waited_ms, owner: busy }
        }
        _ => failure.clone(),
    }
}

/// The sentence as if no time had passed: a busy machine may take a millisecond or two.
fn without_waiting(sentence: &str) -> String {
    let Some((before, after)) = sentence.split_once(" was still held after ") else {
        return sentence.to_owned();
    };
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before} was still held after 0{after}")
}

fn bend_model(bend: Bend, expected: &mut Answer) {
    match bend {
        Bend::ModelReversesInbox => {
            if let Some(result) = &mut expected.result
                && let Some(messages) = result.get("pending").and_then(Json::as_array)
            {
                let reversed: Vec<Json> = messages.iter().rev().cloned().collect();
                result.set("pending", Json::Array(reversed));
            }
        }
        Bend::ModelDropsDenial => {
            expected.events_appended.retain(|kind| kind != "authority.denied");
        }
        Bend::ModelMistakesFailure => {
            if expected.code == Some("log-corrupt") {
                expected.code = Some("log-unreplayable");
            }
        }
        Bend::AppendsTwice
        | Bend::BreaksLock
        | Bend::SkipsTornTail
        | Bend::KeepsFailedWrite
        | Bend::ReadsOnce => {}
    }
}

fn check_shown(shown: Result<Reading<Archive>, Failure>, world: &World) -> Result<(), String> {
    let Expected::Shown(expected, not_released) = &world.expected else {
        unreachable!("a show is expected to show something");
    };
    match (shown, expected) {
        (Ok(reading), Ok((snapshot, lines))) => {
            let found = reading.fold.snapshot();
            if found != **snapshot {
                return Err(format!("the snapshot should be {snapshot:?}, and is {found:?}"));
            }
            if reading.log_lines != *lines || reading.warning.is_some() != not_released.is_some() {
                return Err(format!("{lines} lines should be shown: {reading:?}"));
            }
            Ok(())
        }
        (Err(failure), Err(expected)) if failure.code() == expected.code() => {
            let same = matches!(failure, Failure::LockTimeout { .. }) || failure == *expected;
            if same { Ok(()) } else { Err(format!("shown {failure:?} instead of {expected:?}")) }
        }
        (shown, expected) => {
            Err(format!("shown {:?} instead of {expected:?}", shown.map(|it| it.log_lines)))
        }
    }
}

fn plant(path: &Path, kind: WrongKind) {
    match kind {
        WrongKind::File => fs::write(path, "not a lock").expect("planting a file"),
        WrongKind::Directory => fs::create_dir(path).expect("planting a directory"),
        WrongKind::Symlink => {
            std::os::unix::fs::symlink("elsewhere", path).expect("planting a link");
        }
        WrongKind::Fifo => {
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(CWD, path, kind, Mode::RUSR, 0).expect("planting a FIFO");
        }
    }
}

fn brief(tree: &Tree) -> String {
    match tree {
        Tree::File(bytes) => format!("{} bytes {:?}", bytes.len(), String::from_utf8_lossy(bytes)),
        other => format!("{other:?}"),
    }
}

/// What has to have happened between the calls.
const TRANSITIONS: [&str; 28] = [
    "call",
    "show",
    "restart",
    "time passes",
    "clock goes back",
    "damage",
    "person",
    "foreign append, Plain",
    "foreign append, Spaced",
    "foreign append, Escaped",
    "foreign append, CarriageReturn",
    "foreign append that does not fold",
    "rewritten history, Emptied",
    "rewritten history, OlderCopy",
    "rewritten history, OtherBytesSameLength",
    "rewritten history, OtherRecordsMoreOfThem",
    "rewritten history, Removed",
    "planted lock, Garbage",
    "planted lock, LongDead",
    "planted lock, NoRecord",
    "planted lock, OlderBuild",
    "planted lock, OtherHost",
    "planted in the lock's place, Fifo",
    "planted in the lock's place, File",
    "planted in the lock's place, Symlink",
    "planted in the log's place, Directory",
    "planted in the log's place, Fifo",
    "planted in the log's place, Symlink",
];

/// What a run must have met for its silence to mean something.
#[must_use]
pub fn not_met(coverage: &Coverage) -> Vec<String> {
    let verbs = gaia_bus_model::command::Verb::ALL.map(|verb| ("verb", verb.name().to_owned()));
    let refusals = RefusalCode::ALL.map(|code| ("refusal", code.as_str().to_owned()));
    let damage = DamageKind::ALL.map(|kind| ("damage", kind.as_str().to_owned()));
    let others = ["not-a-file", "unreplayable"].map(|kind| ("damage", kind.to_owned()));
    let failures = Failure::CODES.map(|code| ("failure", code.to_owned()));
    let outcomes = ["answered", "lock not released", "failed, and the lock left too"]
        .map(|name| ("outcome", name.to_owned()));
    verbs
        .into_iter()
        .chain(refusals)
        .chain(damage)
        .chain(others)
        .chain(failures)
        .chain(outcomes)
        .chain(TRANSITIONS.map(|name| ("transition", name.to_owned())))
        .chain(POINTS.map(|point| ("fault", format!("{point:?}"))))
        .filter(|wanted| !coverage.contains_key(wanted))
        .map(|(kind, name)| format!("{kind} {name}"))
        .collect()
}
