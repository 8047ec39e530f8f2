//! The crash matrix on real processes, real system calls and real file systems.
//!
//! Promise. Wherever the shipped entry point is killed, whichever system call fails, and whenever
//! the power goes: what was answered is there, what failed closed left nothing, the next writer and
//! the person who follows the doctor go on soundly.
//!
//! Method. A baseline under strace lists the system calls of a command from the first that names
//! its data directory, as pairs (name, how often before). Then each is met again, once with SIGKILL
//! at its entry (it is not executed), and with the errnos that it can have, once and from then on.
//! Every cell comes to one [`Fate`], and the whole story (what was there, the victim, the next
//! writer) is judged by `history::judge` and the model's invariants. For power loss the directory
//! is on an ext4 or xfs in a loop-mounted image, and the image is copied while it is mounted: what
//! the copy holds is what had reached the device. Mounting the copy is the reboot.
//!
//! Cannot see. What a disk loses that it said it had; system calls of kernels that work otherwise;
//! a write that a kill cuts in half (the simulated matrix does that).
//!
//! Needs strace; power loss needs root and loop mounts too. A report says so where they are
//! missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gaia_bus::log::read_value;
use gaia_bus::settings::{LOCK_NAME, LOG_NAME, Paths};
use gaia_bus_model::command::Verb;
use gaia_bus_model::json::{Json, Object};

use crate::conform::place;
use crate::history::{Operation, Outcome, judge};
use crate::program::{Program, holds, records};
use crate::report::{Draft, Report};

/// How far [`system_calls`] looks at the gate's size.
pub const SYSTEM_CALLS_BOUND: &str =
    "SIGKILL and errnos, once and for ever, at each system call of 3 scenes";

/// How far [`power_loss`] looks at the gate's size.
pub const POWER_LOSS_BOUND: &str = "the power goes before each system call, on ext4 and xfs";

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Every so manieth errno cell is run. Kills are always run at every call.
    pub errnos_one_in: usize,
    /// Every so manieth call is the last before the power goes.
    pub power_one_in: usize,
}

impl Size {
    /// What the gate runs: all of it.
    pub const GATE: Size = Size { errnos_one_in: 1, power_one_in: 1 };
    /// What a plain `cargo test` runs.
    pub const TEST: Size = Size { errnos_one_in: 9, power_one_in: 6 };
}

/// What a cell came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Its records are in the log, and its caller was told.
    CommittedAndAnswered,
    /// Its records are in the log, and its caller knows nothing or that nobody knows.
    CommittedAndUnknown,
    /// They are not, and its caller knows nothing.
    NotCommitted,
    /// They are not, and its caller was told so.
    Refused,
}

/// What the victim finds: an empty parent, or a log with a registered actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    FirstCommit,
    LaterCommit,
    /// The fsync of the log fails; what is met is the take-back.
    TakeBack,
}

const SCENES: [Scene; 3] = [Scene::FirstCommit, Scene::LaterCommit, Scene::TakeBack];

/// One system call of the baseline: its name and the how-manieth of that name it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Point {
    call: String,
    nth: usize,
}

/// What strace is told to do.
#[derive(Clone, Debug)]
struct Injection {
    point: Point,
    /// As strace spells it: `signal=KILL`, `error=EIO`, `retval=0`.
    what: String,
    /// Whether it happens from then on.
    forever: bool,
}

impl Injection {
    fn flag(&self) -> String {
        let Injection { point: Point { call, nth }, what, forever } = self;
        let ever = if *forever { "+" } else { "" };
        format!("inject={call}:{what}:when={nth}{ever}")
    }

    fn kill(point: &Point) -> Self {
        Injection { point: point.clone(), what: "signal=KILL".into(), forever: false }
    }
}

/// Everything about one run of a victim.
struct Stage<'a> {
    program: &'a Program,
    root: PathBuf,
}

impl Stage<'_> {
    fn data_dir(&self) -> PathBuf {
        self.root.join("data")
    }

    fn trace(&self) -> PathBuf {
        self.root.with_extension("trace")
    }

    /// Sets the scene: what was there before, and how it came there.
    fn set(&self, scene: Scene) -> Vec<Operation> {
        fs::create_dir_all(&self.root).expect("a directory for the cell");
        match scene {
            Scene::FirstCommit => Vec::new(),
            Scene::LaterCommit | Scene::TakeBack => {
                let done = self.program.run(&self.data_dir(), &["register", "--actorId=before"]);
                vec![operation(0, "before", outcome(&done, true))]
            }
        }
    }

    /// Runs the victim under strace.
    fn victim(&self, injections: &[Injection]) -> Output {
        let mut command = Command::new("strace");
        self.program.at_home(&mut command, &self.data_dir(), 0);
        command.args(["-qq", "-y", "-o"]).arg(self.trace());
        for injection in injections {
            command.args(["-e", &injection.flag()]);
        }
        command.arg(self.program.path()).args(["register", "--actorId=victim"]);
        command.stderr(Stdio::piped()).output().expect("starting strace")
    }

    /// The system calls of the victim from the first that names its data directory.
    fn points(&self) -> Vec<Point> {
        let trace = fs::read_to_string(self.trace()).expect("strace writes its trace");
        let name = self.root.to_str().expect("an ASCII path").to_owned();
        let mut counts = BTreeMap::<&str, usize>::new();
        let mut points = Vec::new();
        let mut begun = false;
        for line in trace.lines() {
            let Some((call, _)) = line.split_once('(') else { continue };
            let nth = counts.entry(call).or_default();
            *nth += 1;
            begun |= line.contains(&name) && call != "execve";
            if begun && call != "exit_group" {
                points.push(Point { call: call.to_owned(), nth: *nth });
            }
        }
        points
    }

    fn was_injected(&self, injection: &Injection) -> bool {
        let trace = fs::read_to_string(self.trace()).expect("strace writes its trace");
        trace.contains("(INJECTED)")
            || (injection.what == "signal=KILL" && trace.contains("+++ killed by SIGKILL +++"))
    }

    fn clear(&self) {
        let _ = fs::remove_dir_all(&self.root);
        let _ = fs::remove_file(self.trace());
    }
}

fn operation(turn: u64, name: &str, outcome: Outcome) -> Operation {
    Operation {
        process: usize::try_from(turn).expect("few"),
        invoked: turn * 2,
        returned: turn * 2 + 1,
        verb: Verb::Register,
        arguments: Object::new().with("actorId", name),
        outcome,
    }
}

/// What the caller knows; `exited` says that the process was not killed.
fn outcome(done: &Output, exited: bool) -> Outcome {
    let answer = done.stdout.strip_suffix(b"\n").and_then(|line| read_value(line).ok());
    let result = answer.as_ref().and_then(Json::as_object).and_then(|answer| answer.get("result"));
    match (done.status.code(), result.and_then(Json::as_object)) {
        // Whoever reads an answer acts on it, whatever becomes of the process afterwards.
        (_, Some(result)) => Outcome::Answered(Ok(result.clone())),
        (Some(2 | 3), None) if exited => Outcome::FailedClosed,
        _ => Outcome::Unknown,
    }
}

/// Runs one cell and judges it: the fate, or what is wrong.
fn cell(stage: &Stage<'_>, scene: Scene, injections: &[Injection]) -> Result<Fate, String> {
    let mut history = stage.set(scene);
    let before = log_bytes(&stage.data_dir());
    let done = stage.victim(injections);
    let killed = injections.iter().any(|injection| injection.what == "signal=KILL");
    if !injections.iter().all(|injection| stage.was_injected(injection)) {
        return Err("nothing was injected: the run is not the baseline's".into());
    }
    if let Some(code @ 5..) = done.status.code() {
        return Err(format!("exit code {code}: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let told = outcome(&done, !killed);
    if done.status.code() == Some(0) && told == Outcome::Unknown && !killed {
        // Committed, and nobody could be told: the exit code says so.
        history.push(operation(1, "victim", expected_answer(&history)));
    } else {
        history.push(operation(1, "victim", told.clone()));
    }
    let fate = fate(&stage.data_dir(), &before, &history, &told)?;
    if let (Some(0), false) = (done.status.code(), warns(&done)) {
        let lock = Paths::of(&stage.data_dir()).lock;
        if lock.exists() {
            return Err("the lock is left behind a success that says nothing of it".into());
        }
    }
    aftermath(stage.program, &stage.data_dir(), history)?;
    Ok(fate)
}

fn warns(done: &Output) -> bool {
    String::from_utf8_lossy(&done.stdout).contains("\"lockReleased\":false")
        || done.stdout.is_empty()
}

/// The answer that the registration must have had, behind this history.
fn expected_answer(history: &[Operation]) -> Outcome {
    use gaia_bus_model::command::{Command as Asked, Limits};
    let mut state = gaia_bus_model::state::State::default();
    let names: Vec<_> = history.iter().map(|it| it.arguments.clone()).collect();
    let mut answer = None;
    for arguments in names.into_iter().chain([Object::new().with("actorId", "victim")]) {
        let at = crate::strategy::instant(0);
        let asked = Asked { verb: Verb::Register, at, arguments };
        let decision = gaia_bus_model::decide::decide(&state, &asked, &Limits::default());
        for event in &decision.events {
            state.apply(event).expect("own records fold");
        }
        answer = decision.answer.ok();
    }
    Outcome::Answered(Ok(answer.expect("a registration is answered")))
}

fn log_bytes(data_dir: &Path) -> Vec<u8> {
    fs::read(data_dir.join(LOG_NAME)).unwrap_or_default()
}

/// What is there now, and whether it may be.
fn fate(
    data_dir: &Path,
    before: &[u8],
    history: &[Operation],
    told: &Outcome,
) -> Result<Fate, String> {
    let after = log_bytes(data_dir);
    if !after.starts_with(before) {
        return Err("what was answered before is gone".into());
    }
    for entry in fs::read_dir(data_dir).into_iter().flatten() {
        let name = entry.expect("an entry").file_name();
        if name != LOG_NAME && name != LOCK_NAME {
            return Err(format!("{name:?} is in the data directory"));
        }
    }
    let log = records(data_dir)?;
    judge(&log, history)?;
    holds(&log)?;
    let committed = after.len() > before.len();
    Ok(match (committed, told) {
        (true, Outcome::Answered(_)) => Fate::CommittedAndAnswered,
        (true, Outcome::Unknown) => Fate::CommittedAndUnknown,
        (false, Outcome::Unknown) => Fate::NotCommitted,
        (false, Outcome::FailedClosed) => Fate::Refused,
        (true, Outcome::FailedClosed) => return Err("it failed closed, and wrote".into()),
        (false, Outcome::Answered(_)) => return Err("it was answered, and wrote nothing".into()),
    })
}

/// What comes next: a writer, who must fail closed on a lock that is left; then a person; then a
/// writer, who must succeed.
fn aftermath(
    program: &Program,
    data_dir: &Path,
    mut history: Vec<Operation>,
) -> Result<(), String> {
    let lock = Paths::of(data_dir).lock;
    if lock.exists() {
        let before = log_bytes(data_dir);
        let mut command = program.command(data_dir, 0);
        let done =
            command.args(["register", "--actorId=early"]).output().expect("starting the bus");
        let locked = done.status.code() == Some(3) && lock.exists();
        if !locked || log_bytes(data_dir) != before {
            return Err(format!("the next writer did not fail closed on the lock: {done:?}"));
        }
        let followed = program.follow_doctor(data_dir)?;
        if followed.is_empty() || lock.exists() {
            return Err("a lock is left, and the doctor knows nothing to do".into());
        }
    }
    let done = program.run(data_dir, &["register", "--actorId=next"]);
    let told = outcome(&done, true);
    if !matches!(told, Outcome::Answered(_)) {
        return Err(format!("the next writer is not answered: {done:?}"));
    }
    history.push(operation(9, "next", told));
    let log = records(data_dir)?;
    judge(&log, &history)?;
    holds(&log)
}

/// Why system calls cannot be injected here.
fn strace_is_missing() -> Option<String> {
    let tried = Command::new("strace").args(["-qq", "-e", "trace=none", "true"]).output();
    match tried {
        Ok(done) if done.status.success() => None,
        Ok(done) => {
            Some(format!("strace does not work: {}", String::from_utf8_lossy(&done.stderr)))
        }
        Err(error) => Some(format!("strace is not there: {error}")),
    }
}

/// The errnos that a call can have and that a program may meet.
fn errnos(call: &str) -> &'static [&'static str] {
    match call {
        "openat" => &["EIO", "EACCES", "ENOSPC", "EROFS", "EMFILE"],
        "mkdir" | "mkdirat" => &["EIO", "EACCES", "ENOSPC", "EROFS"],
        "write" => &["EIO", "ENOSPC", "EDQUOT", "EFBIG"],
        "fsync" => &["EIO", "ENOSPC"],
        "unlinkat" => &["EIO", "EACCES", "EROFS", "EBUSY"],
        "ftruncate" => &["EIO", "EPERM", "EROFS"],
        "read" | "fstat" | "newfstatat" | "statx" | "lseek" => &["EIO"],
        "fcntl" => &["EMFILE"],
        _ => &[],
    }
}

/// The cells of a scene: what is injected beside the scene's own fault.
fn injections(points: &[Point], size: Size) -> Vec<Injection> {
    let kills = points.iter().map(Injection::kill);
    let fails = points
        .iter()
        .flat_map(|point| errnos(&point.call).iter().map(move |errno| (point, errno)))
        .flat_map(|(point, errno)| {
            [false, true].map(|forever| Injection {
                point: point.clone(),
                what: format!("error={errno}"),
                forever,
            })
        })
        .step_by(size.errnos_one_in);
    kills.chain(fails).collect()
}

/// The log's own fsync: the last one of the baseline's commit.
fn log_fsync(points: &[Point]) -> Injection {
    let point = points.iter().rfind(|point| point.call == "fsync").expect("a commit syncs").clone();
    Injection { point, what: "error=EIO".into(), forever: false }
}

/// Kills and errnos at every system call.
///
/// # Panics
///
/// When a process cannot be started.
#[must_use]
pub fn system_calls(size: Size, executable: &Path) -> Report {
    let mut draft = Draft::new("system-calls", SYSTEM_CALLS_BOUND);
    if let Some(reason) = strace_is_missing() {
        return draft.skip(reason);
    }
    let program = Program::of(executable);
    let (under, file_system) = place();
    let root = tempfile::tempdir_in(&under).expect("a directory for the matrix");
    draft.note(format!("on {} ({file_system})", under.display()));
    let mut fates = BTreeMap::<Fate, u64>::new();
    let mut calls = BTreeSet::new();
    let stage = Stage { program: &program, root: root.path().join("cell") };
    for scene in SCENES {
        let (own, points) = baseline(&stage, scene);
        calls.extend(points.iter().map(|point| point.call.clone()));
        // strace takes one rule a system call: another would hide the scene's own. In its place the
        // scene's own call fails from then on, so that the take-back cannot be synced either.
        let hides = |other: &Injection| own.iter().any(|own| own.point.call == other.point.call);
        let others = injections(&points, size).into_iter().filter(|other| !hides(other));
        let again = own.iter().map(|own| Injection { forever: true, ..own.clone() });
        for injection in others.chain(again) {
            let beside = own.iter().filter(|own| own.point != injection.point).cloned();
            let all: Vec<_> = beside.chain([injection.clone()]).collect();
            let verdict = cell(&stage, scene, &all);
            stage.clear();
            draft.case(match verdict {
                Ok(fate) => {
                    *fates.entry(fate).or_default() += 1;
                    Ok(())
                }
                Err(what) => Err(format!("{scene:?}, {}: {what}", injection.flag())),
            });
        }
    }
    draft.note(format!("fates: {fates:?}"));
    draft.note(format!("calls: {}", calls.into_iter().collect::<Vec<_>>().join(", ")));
    for fate in
        [Fate::CommittedAndAnswered, Fate::CommittedAndUnknown, Fate::NotCommitted, Fate::Refused]
    {
        if !fates.contains_key(&fate) {
            draft.violation(format!("never met: {fate:?}"));
        }
    }
    for (name, found) in lies(&stage) {
        draft.control(name, found);
    }
    draft.finish()
}

/// The fault that makes the scene, and the calls of a run with only that.
fn baseline(stage: &Stage<'_>, scene: Scene) -> (Vec<Injection>, Vec<Point>) {
    stage.set(scene);
    stage.victim(&[]);
    let points = stage.points();
    stage.clear();
    if scene != Scene::TakeBack {
        return (Vec::new(), points);
    }
    let own = vec![log_fsync(&points)];
    stage.set(scene);
    stage.victim(&own);
    let points = stage.points();
    stage.clear();
    // What comes before the failed fsync is met without it.
    let failed = points.iter().position(|point| *point == own[0].point).expect("it was met");
    (own, points[failed..].to_vec())
}

/// An operating system that says it did what it did not: a bus that believes it is a bus that does
/// not do it, and must be found.
fn lies(stage: &Stage<'_>) -> Vec<(String, bool)> {
    stage.set(Scene::LaterCommit);
    stage.victim(&[]);
    let points = stage.points();
    stage.clear();
    let trace = |call: &str, from_end: usize| {
        let mut of: Vec<_> = points.iter().filter(|point| point.call == call).collect();
        of.reverse();
        of[from_end].clone()
    };
    // The last write is the answer, the one before it the append; an append of its length is
    // claimed.
    let length = {
        stage.set(Scene::LaterCommit);
        let before = log_bytes(&stage.data_dir()).len();
        stage.victim(&[]);
        let after = log_bytes(&stage.data_dir()).len();
        stage.clear();
        after - before
    };
    let lie = |point: Point, what: String| Injection { point, what, forever: false };
    [
        ("answers without having written", lie(trace("write", 1), format!("retval={length}"))),
        ("leaves the lock and says nothing", lie(trace("unlinkat", 0), "retval=0".into())),
    ]
    .into_iter()
    .map(|(name, injection)| {
        let verdict = cell(stage, Scene::LaterCommit, std::slice::from_ref(&injection));
        stage.clear();
        (name.to_owned(), verdict.is_err())
    })
    .collect()
}

/// A file system in an image file, mounted.
struct Mounted {
    image: PathBuf,
    at: PathBuf,
    options: &'static str,
}

impl Mounted {
    fn new(image: PathBuf, at: PathBuf, options: &'static str) -> Result<Self, String> {
        fs::create_dir_all(&at).map_err(|error| error.to_string())?;
        tool("mount", &["-o", options, path(&image), path(&at)])?;
        Ok(Mounted { image, at, options })
    }

    /// The power goes: a copy of what has reached the device, and the reboot that mounts it.
    fn power_loss(&self, copy: PathBuf, at: PathBuf) -> Mounted {
        tool("cp", &["--sparse=always", path(&self.image), path(&copy)])
            .and_then(|()| Mounted::new(copy, at, self.options))
            .expect("an image that was mounted can be mounted again")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = tool("umount", &[path(&self.at)]);
        let _ = fs::remove_file(&self.image);
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("an ASCII path")
}

fn tool(name: &str, arguments: &[&str]) -> Result<(), String> {
    let done = Command::new(name)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{name} is not there: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("{name} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr)))
}

/// The file systems that are tried: how they are made, the size of their image, and how it is
/// mounted. An xfs refuses to be mounted beside its own copy unless it is told to.
const FILE_SYSTEMS: [(&str, &[&str], u64, &str); 2] = [
    ("mkfs.ext4", &["-q", "-F"], 48 << 20, "loop"),
    ("mkfs.xfs", &["-q", "-f"], 320 << 20, "loop,nouuid"),
];

/// Power loss at every system call, on every file system that can be made here.
///
/// # Panics
///
/// When a process cannot be started.
#[must_use]
pub fn power_loss(size: Size, executable: &Path) -> Report {
    let mut draft = Draft::new("power-loss", POWER_LOSS_BOUND);
    if let Some(reason) = strace_is_missing() {
        return draft.skip(reason);
    }
    let program = Program::of(executable);
    let root = tempfile::tempdir().expect("a directory for the images");
    let mut tried = 0;
    let mut missing = Vec::new();
    for (mkfs, flags, bytes, options) in FILE_SYSTEMS {
        let image = root.path().join("image");
        let made = fs::File::create(&image)
            .and_then(|file| file.set_len(bytes))
            .map_err(|error| error.to_string())
            .and_then(|()| tool(mkfs, &[flags, &[path(&image)]].concat()))
            .and_then(|()| Mounted::new(image, root.path().join("mounted"), options));
        match made {
            Ok(mounted) => {
                tried += 1;
                draft.note(format!("on a file system of {mkfs} in a loop-mounted image"));
                on_one(&mut draft, size, &program, &mounted, root.path(), mkfs);
            }
            Err(reason) => missing.push(format!("{mkfs}: {}", reason.trim())),
        }
    }
    if tried == 0 {
        return draft.skip(missing.join("; "));
    }
    for reason in missing {
        draft.note(format!("not tried: {reason}"));
    }
    draft.finish()
}

fn on_one(
    draft: &mut Draft,
    size: Size,
    program: &Program,
    mounted: &Mounted,
    root: &Path,
    mkfs: &str,
) {
    let mut fates = BTreeMap::<Fate, u64>::new();
    let mut cells = 0;
    let stage = |cells: &mut u32| {
        *cells += 1;
        Stage { program, root: mounted.at.join(format!("cell{cells}")) }
    };
    for scene in [Scene::FirstCommit, Scene::LaterCommit] {
        let (_, points) = baseline(&stage(&mut cells), scene);
        let kills = points.iter().map(Injection::kill).step_by(size.power_one_in);
        for injection in kills.map(Some).chain([None]) {
            let stage = stage(&mut cells);
            let verdict = cut(&stage, scene, injection.as_slice(), mounted, root);
            stage.clear();
            let at = injection.map_or_else(|| "at the end".into(), |it| it.flag());
            draft.case(match verdict {
                Ok(fate) => {
                    *fates.entry(fate).or_default() += 1;
                    Ok(())
                }
                Err(what) => Err(format!("{mkfs}, {scene:?}, {at}: {what}")),
            });
        }
    }
    draft.note(format!("fates after power loss: {fates:?}"));
    if fates.len() < 2 || !fates.contains_key(&Fate::CommittedAndAnswered) {
        draft.violation(format!("the power cuts on {mkfs} were all alike: {fates:?}"));
    }
    // A bus that does not sync, or not the directory, must lose what it answered.
    for (name, scene) in [
        ("answers without fsync of the log", Scene::LaterCommit),
        ("answers without any fsync", Scene::FirstCommit),
    ] {
        let (_, points) = baseline(&stage(&mut cells), scene);
        let all =
            points.iter().find(|point| point.call == "fsync").expect("a commit syncs").clone();
        let lie = Injection { point: all, what: "retval=0".into(), forever: true };
        let stage = stage(&mut cells);
        let found = cut(&stage, scene, &[lie], mounted, root).is_err();
        stage.clear();
        draft.control(format!("{name} ({mkfs})"), found);
    }
}

/// Runs the victim, loses the power, and judges what the next boot finds.
fn cut(
    stage: &Stage<'_>,
    scene: Scene,
    injections: &[Injection],
    mounted: &Mounted,
    root: &Path,
) -> Result<Fate, String> {
    // The directory that the data directory is made in was there for long.
    fs::create_dir_all(&stage.root).expect("a directory for the cell");
    tool("sync", &["-f", path(&stage.root)])?;
    let mut history = stage.set(scene);
    let before = log_bytes(&stage.data_dir());
    let done = stage.victim(injections);
    let killed = injections.iter().any(|injection| injection.what == "signal=KILL");
    let told = outcome(&done, !killed);
    history.push(operation(1, "victim", told.clone()));
    // From here on the running file system is of no interest: the power is gone.
    let copy = mounted.power_loss(root.join("copy"), root.join("rebooted"));
    let name = stage.root.file_name().expect("a name");
    let data_dir = copy.at.join(name).join("data");
    let fate = fate(&data_dir, &before, &history, &told)?;
    aftermath(stage.program, &data_dir, history)?;
    Ok(fate)
}
