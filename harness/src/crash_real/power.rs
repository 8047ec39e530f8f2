//! Power loss on real file systems: images that are mounted, copied and mounted again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::stage::{Baseline, Run, Scene, Seen, Stage};
use super::trace::{Injection, Point};
use super::verdict::{Fate, Wrong, aftermath, fate, told};
use super::{Expect as _, JUDGED, POWER_LOSS_BOUND, Size};
use crate::program::{Program, strace_is_missing};
use crate::report::{Draft, Report};
use gaia_bus_model::json::Object;

/// A kind of file system that is tried.
#[derive(Clone, Copy, Debug)]
pub struct FileSystem {
    /// What makes it.
    pub mkfs: &'static str,
    /// How it is made without a word.
    pub flags: &'static [&'static str],
    /// How long its image is; an xfs needs 300 MiB.
    pub image_bytes: u64,
    /// How it is mounted.
    pub options: &'static str,
}

/// Those that the gate tries. An xfs refuses to be mounted beside its own copy unless it is told
/// to.
pub const FILE_SYSTEMS: [FileSystem; 2] = [
    FileSystem { mkfs: "mkfs.ext4", flags: &["-q", "-F"], image_bytes: 48 << 20, options: "loop" },
    FileSystem {
        mkfs: "mkfs.xfs",
        flags: &["-q", "-f"],
        image_bytes: 320 << 20,
        options: "loop,nouuid",
    },
];

impl FileSystem {
    /// Makes one in an image file and mounts it.
    fn make(&self, root: &Path) -> Result<Mounted, String> {
        let image = root.join("image");
        fs::File::create(&image)
            .and_then(|file| file.set_len(self.image_bytes))
            .map_err(|error| error.to_string())?;
        tool(self.mkfs, &[self.flags, &[path(&image)]].concat())?;
        Mounted::new(image, root.join("mounted"), self.options)
    }
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

/// Power loss at every system call, on every file system of [`FILE_SYSTEMS`].
///
/// # Panics
///
/// When a process cannot be started.
#[must_use]
pub fn power_loss(size: Size, executable: &Path) -> Report {
    power_loss_on(&FILE_SYSTEMS, size, executable)
}

/// The same on these.
///
/// # Panics
///
/// When a process cannot be started.
#[must_use]
pub fn power_loss_on(file_systems: &[FileSystem], size: Size, executable: &Path) -> Report {
    let mut draft = Draft::new("power-loss", POWER_LOSS_BOUND);
    if let Some(reason) = strace_is_missing() {
        return draft.skip(reason);
    }
    let program = Program::of(executable);
    let root = tempfile::tempdir().expect("a directory for the images");
    let mut untried = Vec::new();
    for file_system in file_systems {
        match file_system.make(root.path()) {
            Ok(mounted) => {
                let device = Device { program: &program, mounted: &mounted, root: root.path() };
                device.lose_power(&mut draft, size, file_system.mkfs);
            }
            Err(reason) => untried.push(format!("{}: {}", file_system.mkfs, reason.trim())),
        }
    }
    unless_untried(draft.finish(), &untried)
}

/// A row that lacks a file system is skipped, never green. What was found on the others stays red:
/// a skip must not hide it.
#[must_use]
pub fn unless_untried(mut report: Report, untried: &[String]) -> Report {
    if !untried.is_empty() {
        let reason = format!("not tried: {}", untried.join("; "));
        if report.violations.is_empty() && report.controls_missed() == 0 {
            report.skipped = Some(reason);
        } else {
            report.notes.push(reason);
        }
    }
    report
}

/// How long a victim is held behind its write, in microseconds: a busy machine may need longer.
const HOLDS_US: [u32; 3] = [20_000, 400_000, 4_000_000];

/// What each scene must come to when the power goes.
const FATES: [(Scene, &[Fate]); 4] = [
    (
        Scene::FirstCommit,
        &[Fate::CommittedAndAnswered, Fate::CommittedAndUnknown, Fate::NotCommitted],
    ),
    (
        Scene::LaterCommit,
        &[Fate::CommittedAndAnswered, Fate::CommittedAndUnknown, Fate::NotCommitted],
    ),
    // What had reached the device before it was taken back is there until the fsync of the
    // truncation, and never once it was refused.
    (Scene::TakeBack, &[Fate::CommittedAndUnknown, Fate::NotCommitted, Fate::Refused]),
    (Scene::CutWrite, &[Fate::CommittedAndUnknown, Fate::NotCommitted, Fate::Refused]),
];

/// A file system whose power goes again and again.
struct Device<'a> {
    program: &'a Program,
    mounted: &'a Mounted,
    root: &'a Path,
}

impl Device<'_> {
    /// Every cut has a directory of its own: nothing of it is left in the caches by another.
    fn stage(&self, name: &str) -> Stage<'_> {
        Stage { program: self.program, root: self.mounted.at.join(name) }
    }

    fn lose_power(&self, draft: &mut Draft, size: Size, mkfs: &str) {
        draft.note(format!("on a file system of {mkfs} in a loop-mounted image:"));
        let mut seen = Seen::default();
        for scene in Scene::ALL {
            let base = match self.stage("baseline").baseline(scene) {
                Ok(base) => base,
                Err(wrong) => {
                    draft.violation(format!("{mkfs}, {scene:?}: {wrong}"));
                    continue;
                }
            };
            let kills = kills(&base, size);
            for (cell, kill) in kills.into_iter().map(Some).chain([None]).enumerate() {
                let stage = self.stage(&format!("{scene:?}{cell}"));
                let verdict = self.cut(&stage, &base, kill.as_ref());
                stage.clear();
                let at = kill.map_or_else(|| "at the end".into(), |it| it.flag());
                draft.case(match verdict {
                    Ok((fate, log)) => {
                        seen.take(scene, fate, &log);
                        Ok(())
                    }
                    Err(wrong) => Err(format!("{mkfs}, {scene:?}, {at}: {wrong}")),
                });
            }
        }
        seen.demand_fates(draft, &FATES);
        seen.demand_judged(draft, &JUDGED);
        self.lies(draft, mkfs);
    }

    /// A bus that does not sync what it appends, or a directory, must lose what it answered; one
    /// that does not sync its take-back must keep what it refused.
    fn lies(&self, draft: &mut Draft, mkfs: &str) {
        let planted = [
            ("answers without fsync of the log", Scene::LaterCommit, Wrong::AnsweredAndLost),
            ("answers without any fsync", Scene::FirstCommit, Wrong::AnsweredAndLost),
            ("fails closed without fsync of the take-back", Scene::CutWrite, Wrong::ClosedAndWrote),
        ];
        for (at, (name, scene, expected)) in planted.into_iter().enumerate() {
            let verdict = self.stage("baseline").baseline(scene).and_then(|base| {
                let missing = || Wrong::NotMet("there is no fsync".into());
                let all = base.points.iter().find(|point| point.call == "fsync");
                let lie = Injection {
                    forever: true,
                    ..Injection::once(all.ok_or_else(missing)?, "retval=0")
                };
                let stage = self.stage(&format!("lie{at}"));
                let verdict = self.cut(&stage, &base, Some(&lie));
                stage.clear();
                verdict
            });
            draft.expect(format!("{name} ({mkfs})"), &verdict, &expected);
        }
    }

    /// Runs the victim, loses the power, and judges what the next boot finds.
    fn cut(
        &self,
        stage: &Stage<'_>,
        base: &Baseline,
        other: Option<&Injection>,
    ) -> Result<(Fate, Vec<Object>), Wrong> {
        let run = self.victim(stage, base, other)?;
        let was_killed = other.is_some_and(Injection::is_kill);
        let told = told(&run.done, was_killed, &run.errand, &run.history)?;
        let mut history = run.history;
        history.push(run.errand.done(&history, told.clone()));
        // From here on the running file system is of no interest: the power is gone.
        let copy = self.mounted.power_loss(self.root.join("copy"), self.root.join("rebooted"));
        let name = stage.root.file_name().expect("a name");
        let data_dir = copy.at.join(name).join("data");
        let fate = fate(&data_dir, &run.before, &history, &told)?;
        Ok((fate, aftermath(self.program, &data_dir, history)?))
    }

    fn victim(
        &self,
        stage: &Stage<'_>,
        base: &Baseline,
        other: Option<&Injection>,
    ) -> Result<Run, Wrong> {
        for hold_us in HOLDS_US {
            // The directory that the data directory is made in was there for long.
            fs::create_dir_all(&stage.root).expect("a directory for the cell");
            tool("sync", &["-f", path(&stage.root)]).expect("a file system can be synced");
            let base = held(base, hold_us);
            if base.own.is_empty() {
                return stage.run(&base, &base.with(other));
            }
            if let Some(run) = stage.run_held(&base, &base.with(other))? {
                return Ok(run);
            }
            stage.clear();
        }
        Err(Wrong::NotMet("what was written did not reach the device in time".into()))
    }
}

/// Where the power goes. A call that the scene's own fault hides is met in another scene.
fn kills(base: &Baseline, size: Size) -> Vec<Injection> {
    let changes = |point: &Point| {
        ["mkdirat", "openat", "write", "ftruncate", "fsync", "unlinkat"].contains(&&*point.call)
    };
    // Of a take-back only what it does to the disk, but all of that.
    let step = if base.scene.fails() { 1 } else { size.power_one_in };
    let held = held(base, 0);
    let points = base.points.iter().filter(|point| !base.scene.fails() || changes(point));
    points.map(Injection::kill).filter(|kill| !held.hides(kill)).step_by(step).collect()
}

/// A scene whose victim writes and fails is held for so long behind its write.
fn held(base: &Baseline, hold_us: u32) -> Baseline {
    let mut base = base.clone();
    let hold = format!("delay_exit={hold_us}");
    match base.scene {
        Scene::FirstCommit | Scene::LaterCommit => {}
        Scene::TakeBack => {
            for own in &mut base.own {
                own.what = format!("{}:{hold}", own.what);
            }
        }
        Scene::CutWrite => base.own.push(Injection::once(&base.append, hold)),
    }
    base
}
