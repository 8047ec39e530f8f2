//! Promise: every row of the failure table fails closed. A call that reports a failure with nothing
//! written left every byte as it was and no lock of its own behind; a write that could be neither
//! made durable nor taken back says so, exits with 4 and keeps its lock.
//!
//! Method: each row is provoked through the shipped binary on a real directory where the machine
//! can be made to fail, else through a faulty [`Disk`] around the real one. Each is followed by its
//! control: the same directory without the fault works.
//!
//! Cannot see: what a disk does after it has said yes (see the power-loss checks of the harness),
//! and faults between two system calls of one [`Call`].

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use gaia_bus::bus::{Answer, Bus, SystemEdge};
use gaia_bus::commit::{Call, Reply};
use gaia_bus::disk::{Disk, LocalDisk};
use gaia_bus::failure::{DiskError, Failure};
use gaia_bus::log::DamageKind;
use gaia_bus::settings::{Paths, Settings};
use gaia_bus_model::command::Verb;
use gaia_bus_model::json::Object;
use serde_json::Value;

const EIO: i32 = 5;

/// A data directory with one registered actor.
struct Home {
    root: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Home { root: tempfile::tempdir().unwrap() };
        assert_eq!(home.register("gaia").code, 0);
        home
    }

    fn empty() -> Self {
        Home { root: tempfile::tempdir().unwrap() }
    }

    fn data_dir(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn paths(&self) -> Paths {
        Paths::of(&self.data_dir())
    }

    fn log(&self) -> Vec<u8> {
        fs::read(self.paths().log).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gaia-bus"));
        command
            .args(arguments)
            .env_clear()
            .env("GAIA_INTERAGENT_DATA_DIR", self.data_dir())
            .env("GAIA_INTERAGENT_LOCK_TIMEOUT_MS", "150");
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    fn register(&self, name: &str) -> Ran {
        self.run(&["register", "--actorId", name])
    }

    /// The names in the data directory, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.data_dir())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn faulty(&self, fault: impl FnMut(&Call<'_>) -> Fault + 'static) -> Bus<FaultyDisk> {
        let settings = Settings {
            lock_timeout: Duration::from_millis(150),
            ..Settings::of_data_dir(&self.data_dir())
        };
        let inner = LocalDisk::new(&settings.paths, Duration::ZERO);
        Bus::on(settings, FaultyDisk { inner, fault: Box::new(fault) }, SystemEdge)
    }

    /// The control: without the fault, the same directory works, and its log has only grown.
    fn works_again(&self, before: &[u8]) {
        assert_eq!(self.log(), before, "bytes changed");
        let ran = self.register("after");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(self.log().starts_with(before));
        assert_eq!(self.names(), ["events.jsonl"]);
    }
}

#[derive(Debug)]
struct Ran {
    code: i32,
    answer: Value,
    stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        Ran {
            code: output.status.code().expect("not killed"),
            answer: serde_json::from_slice(&output.stdout).unwrap_or(Value::Null),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn failed_closed(&self, code: &str, exit: i32) {
        assert_eq!(self.code, exit, "{self:?}");
        assert_eq!(self.answer["ok"], false, "{self:?}");
        assert_eq!(self.answer["code"], code, "{self:?}");
        assert_eq!(self.answer["failClosed"], true);
        assert_eq!(self.answer["isError"], true);
        assert_eq!(self.answer["result"], Value::Null);
        assert_eq!(self.answer["eventsAppended"], serde_json::json!([]));
        assert!(!self.stderr.is_empty(), "a person is told too");
    }

    fn error(&self) -> &str {
        self.answer["error"].as_str().unwrap()
    }
}

enum Fault {
    /// The call goes through.
    None,
    /// The call is not made; it answers this error.
    Errno(i32),
    /// Only so many bytes of an append are written.
    Short(usize),
    /// The call panics before it is made.
    Panic,
    /// The call panics after it was made.
    PanicAfter,
}

struct FaultyDisk {
    inner: LocalDisk,
    fault: Box<dyn FnMut(&Call<'_>) -> Fault>,
}

impl Disk for FaultyDisk {
    fn perform<'d>(&'d mut self, call: Call<'_>) -> Reply<'d> {
        match ((self.fault)(&call), call) {
            (Fault::None, call) => self.inner.perform(call),
            (Fault::Errno(code), _) => {
                Reply::Failed(DiskError::from(std::io::Error::from_raw_os_error(code)))
            }
            (Fault::Short(count), Call::Append(lines)) => {
                self.inner.perform(Call::Append(&lines[..count]))
            }
            (Fault::Short(_), call) => panic!("{call:?} cannot be short"),
            (Fault::Panic, _) => std::panic::resume_unwind(Box::new("planted")),
            (Fault::PanicAfter, call) => {
                let _ = self.inner.perform(call);
                std::panic::resume_unwind(Box::new("planted"))
            }
        }
    }

    fn close(&mut self) {
        self.inner.close();
    }
}

fn register(bus: &mut Bus<impl Disk>, name: &str) -> Answer {
    bus.call(Verb::Register, Object::new().with("actorId", name))
}

fn assert_failed(answer: &Answer, code: &str, exit: u8) {
    assert!(!answer.ok && answer.is_error && answer.fail_closed, "{answer:?}");
    assert_eq!((answer.code, answer.exit_code), (Some(code), exit), "{answer:?}");
    assert!(answer.events_appended.is_empty() && answer.result.is_none());
}

/// Where the second line begins.
fn second_line(log: &[u8]) -> usize {
    log.iter().position(|b| *b == b'\n').unwrap() + 1
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a check that this machine cannot make may be skipped; says so when it is.
fn skip(what: &str) {
    assert!(
        std::env::var_os("GAIA_BUS_REQUIRE_FAULTS").is_none(),
        "required here, and not possible: {what}"
    );
    eprintln!("skipped: {what}");
}

// The lock.

#[test]
fn a_held_lock_is_waited_for_and_then_reported_with_its_owner() {
    let home = Home::new();
    let before = home.log();
    fs::create_dir(home.paths().lock).unwrap();
    fs::write(home.paths().owner(), br#"{"pid":4294967295,"at":"2026-09-15T23:41:09.954Z"}"#)
        .unwrap();
    let begun = Instant::now();
    let ran = home.register("late");
    assert!(begun.elapsed() >= Duration::from_millis(150), "it waited for the deadline");
    ran.failed_closed("lock-timeout", 3);
    for part in ["4294967295", "no longer runs", "doctor", "Nothing was written"] {
        assert!(ran.error().contains(part), "{part}: {}", ran.error());
    }
    assert!(!ran.error().contains("abandoned"), "it is young");
    assert!(home.paths().owner().exists(), "a foreign lock is left alone");
    fs::remove_dir_all(home.paths().lock).unwrap();
    home.works_again(&before);
}

#[test]
fn an_old_lock_is_called_probably_abandoned_and_never_broken() {
    let home = Home::new();
    let before = home.log();
    fs::create_dir(home.paths().lock).unwrap();
    let ran = Ran::of(
        home.command(&["heartbeat", "--actorId", "gaia"])
            .env("GAIA_INTERAGENT_LOCK_STALE_MS", "1")
            .output()
            .unwrap(),
    );
    ran.failed_closed("lock-timeout", 3);
    assert!(ran.error().contains("probably abandoned"), "{}", ran.error());
    assert!(home.paths().lock.is_dir(), "never broken");
    fs::remove_dir(home.paths().lock).unwrap();
    home.works_again(&before);
}

#[test]
fn a_lock_path_that_is_no_directory_is_refused_at_once() {
    for plant in [
        (|path: &Path| fs::write(path, b"").unwrap()) as fn(&Path),
        |path| symlink("/nowhere/at/all", path).unwrap(),
        |path| symlink(std::env::temp_dir(), path).unwrap(),
    ] {
        let home = Home::new();
        let before = home.log();
        plant(&home.paths().lock);
        let mut settings = Settings::of_data_dir(&home.data_dir());
        settings.lock_timeout = Duration::from_secs(3600);
        // It returns at all: with this deadline, waiting would outlast the test run.
        let answer = register(&mut Bus::new(settings), "x");
        assert_failed(&answer, "lock-unavailable", 3);
        assert!(answer.error.unwrap().contains("not a directory"));
        assert!(home.paths().lock.symlink_metadata().is_ok(), "left alone");
        fs::remove_file(home.paths().lock).unwrap();
        home.works_again(&before);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_no_timeout() {
    let home = Home::new();
    let before = home.log();
    let unwritable = |mode| {
        fs::set_permissions(home.data_dir(), fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(home.root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    };
    unwritable(0o555);
    let mut command = home.command(&["register", "--actorId", "x"]);
    if is_root() {
        command.uid(65_534).gid(65_534);
    }
    let Ok(output) = command.output() else {
        return skip("running the binary as another user");
    };
    let ran = Ran::of(output);
    ran.failed_closed("lock-unavailable", 3);
    assert!(ran.error().contains("ermission denied"), "{}", ran.error());
    assert!(ran.error().contains("events.lock"), "the path is named: {}", ran.error());
    unwritable(0o700);
    home.works_again(&before);
}

#[test]
fn a_data_directory_that_is_a_file_is_refused() {
    let home = Home::empty();
    fs::write(home.data_dir(), b"precious").unwrap();
    home.register("x").failed_closed("lock-unavailable", 3);
    assert_eq!(fs::read(home.data_dir()).unwrap(), b"precious");
}

#[test]
fn a_directory_that_cannot_be_reached_is_no_empty_bus() {
    let home = Home::empty();
    fs::write(home.data_dir(), b"precious").unwrap();
    let inside = home.data_dir().join("data");
    for arguments in [
        &["state"][..],
        &["status"],
        &["events"],
        &["doctor"],
        &["verify"],
        &["initialize"],
        &["initialize", "--apply"],
        &["register", "--actorId", "x"],
    ] {
        let output =
            home.command(arguments).env("GAIA_INTERAGENT_DATA_DIR", &inside).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
    }
    // The control: a directory that is simply not there yet is an empty bus.
    let absent = home.root.path().join("x");
    let output = home.command(&["state"]).env("GAIA_INTERAGENT_DATA_DIR", absent).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_lock_that_a_failed_call_could_not_remove_is_reported_with_the_failure() {
    let home = Home::new();
    let mut bus = home.faulty(|call| match call {
        Call::OpenLog | Call::RemoveLock => Fault::Errno(EIO),
        _ => Fault::None,
    });
    let answer = register(&mut bus, "x");
    assert_failed(&answer, "io", 3);
    assert_eq!(answer.lock_released, Some(false));
    assert!(answer.error.unwrap().contains("could not be removed"));
    assert!(home.paths().lock.exists());
    // The control: the same failure with a lock that goes.
    fs::remove_dir(home.paths().lock).unwrap();
    let mut bus = home.faulty(|call| match call {
        Call::OpenLog => Fault::Errno(EIO),
        _ => Fault::None,
    });
    assert_eq!(register(&mut bus, "x").lock_released, None);
}

#[test]
fn no_umask_makes_a_lock_that_its_maker_cannot_remove() {
    for umask in ["0777", "0700", "0400", "0300", "0200", "0100", "0022"] {
        let home = Home::empty();
        fs::set_permissions(home.root.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let mut command = Command::new("bash");
        command
            .args(["-c", r#"umask "$1"; exec "$0" register --actorId x"#])
            .arg(env!("CARGO_BIN_EXE_gaia-bus"))
            .arg(umask)
            .env("GAIA_INTERAGENT_DATA_DIR", home.data_dir());
        if is_root() {
            command.uid(65_534).gid(65_534);
        }
        let Ok(output) = command.output() else {
            return skip("running the binary as another user");
        };
        assert_eq!(output.status.code(), Some(0), "umask {umask}: {output:?}");
        assert_eq!(home.names(), ["events.jsonl"], "umask {umask}");
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(home.data_dir()), mode(home.paths().log)), (0o700, 0o600), "{umask}");
    }
}

#[test]
fn too_few_descriptors_fail_closed_without_a_lock_left() {
    let mut worked = false;
    for descriptors in 4..20 {
        let home = Home::empty();
        let output = Command::new("bash")
            .args(["-c", r#"ulimit -n "$1"; exec "$0" register --actorId x"#])
            .arg(env!("CARGO_BIN_EXE_gaia-bus"))
            .arg(descriptors.to_string())
            .env("GAIA_INTERAGENT_DATA_DIR", home.data_dir())
            .output()
            .unwrap();
        let code = output.status.code();
        worked |= code == Some(0);
        // With hardly any the program cannot even start.
        assert!(matches!(code, Some(0 | 3 | 127)), "{descriptors}: {output:?}");
        assert!(!home.paths().lock.exists(), "{descriptors}: {output:?}");
    }
    assert!(worked, "the control: with enough of them it works");
}

#[test]
fn a_directory_moved_away_under_a_warm_handle_is_not_made_anew() {
    let home = Home::new();
    let mut bus = Bus::new(Settings::of_data_dir(&home.data_dir()));
    assert!(register(&mut bus, "warm").ok);
    let before = home.log();
    let moved = home.root.path().join("moved");
    fs::rename(home.data_dir(), &moved).unwrap();
    assert_failed(&register(&mut bus, "x"), "history-rewritten", 3);
    assert!(!home.data_dir().exists());
    fs::rename(&moved, home.data_dir()).unwrap();
    home.works_again(&before);
}

// The log.

#[test]
fn a_message_that_changes_between_the_read_and_its_answer_is_history_rewritten() {
    let home = Home::new();
    assert_eq!(home.run(&["send", "--from=gaia", "--to=gaia", "--text=AAAA"]).code, 0);
    let before = home.log();
    let log = home.paths().log;
    let mut bus = home.faulty(move |call| {
        if matches!(call, Call::ReadSpan(_)) {
            let bytes = fs::read_to_string(&log).unwrap().replace("AAAA", "BBBB");
            fs::write(&log, bytes).unwrap();
        }
        Fault::None
    });
    let answer = bus.call(Verb::Inbox, Object::new().with("actorId", "gaia"));
    assert_failed(&answer, "history-rewritten", 3);
    assert_eq!(home.log().len(), before.len(), "nothing was appended");
    // The control: undisturbed, it is shown.
    let shown = home.run(&["inbox", "--actorId=gaia"]);
    assert_eq!(shown.answer["result"]["pending"][0]["text"], "BBBB");
}

#[test]
fn directories_that_a_dead_call_has_made_are_made_durable_by_the_first_commit() {
    use std::cell::RefCell;
    use std::rc::Rc;
    let home = Home::empty();
    // As if a call had been killed behind its mkdir: nobody has synced these names.
    fs::create_dir_all(home.data_dir()).unwrap();
    let calls = Rc::new(RefCell::new(Vec::new()));
    let seen = calls.clone();
    let mut bus = home.faulty(move |call| {
        if matches!(call, Call::SyncDataDir | Call::SyncParentDir | Call::Append(_)) {
            seen.borrow_mut().push(format!("{call:?}").split('(').next().unwrap().to_owned());
        }
        Fault::None
    });
    assert!(register(&mut bus, "x").ok);
    assert!(register(&mut bus, "y").ok);
    let expected = ["SyncDataDir", "SyncParentDir", "Append", "Append"];
    assert_eq!(*calls.borrow(), expected, "once, and before the first byte");
}

#[test]
fn a_log_that_is_no_regular_file_is_refused_without_hanging() {
    for (kind, plant) in [
        ("directory", (|path| fs::create_dir(path).unwrap()) as fn(&Path)),
        ("FIFO", |path| {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RWXU,
                0,
            )
            .unwrap();
        }),
        ("symbolic link", |path| symlink("/nowhere/at/all", path).unwrap()),
    ] {
        let home = Home::empty();
        fs::create_dir(home.data_dir()).unwrap();
        plant(&home.paths().log);
        for arguments in [&["register", "--actorId", "x"][..], &["state"]] {
            let ran = home.run(arguments);
            assert_eq!(ran.code, 3, "{kind}: {ran:?}");
            assert!(ran.stderr.contains(kind), "{kind}: {ran:?}");
        }
        let ran = home.register("x");
        ran.failed_closed("log-corrupt", 3);
        assert_eq!(ran.answer["corrupt"]["kind"], "not-a-file");
        assert_eq!(home.names(), ["events.jsonl"], "no lock is left");
    }
}

#[test]
fn every_kind_of_damage_is_refused_with_line_offset_and_kind_and_left_untouched() {
    let good = br#"{"type":"actor.registered","at":"2026-09-15T23:41:09.954Z","ref":"act-0001","name":"gaia"}"#;
    let deep = format!("{{\"type\":\"x\",\"v\":{}{}}}", "[".repeat(128), "]".repeat(128));
    let mut cases: Vec<(&str, Vec<u8>, DamageKind)> = vec![
        ("half a record", b"{\"type\":\"x\"".to_vec(), DamageKind::TornTail),
        ("a whole record without newline", b"{\"type\":\"x\"}".to_vec(), DamageKind::TornTail),
        ("bytes that are not UTF-8", b"{\"type\":\"\xFF\"}\n".to_vec(), DamageKind::NotUtf8),
        ("a blank line", b" \t\n".to_vec(), DamageKind::BlankLine),
        ("no JSON", b"{\"type\":x}\n".to_vec(), DamageKind::NotJson),
        ("a run of NUL bytes", [&[0; 40][..], b"\n"].concat(), DamageKind::NotJson),
        ("nesting of 129 levels", format!("{deep}\n").into_bytes(), DamageKind::TooDeep),
        (
            "a key given twice",
            b"{\"type\":\"x\",\"\\u0074ype\":\"y\"}\n".to_vec(),
            DamageKind::DuplicateKey,
        ),
        (
            "a key given twice inside",
            b"{\"type\":\"x\",\"v\":[{\"a\":1,\"a\":1}]}\n".to_vec(),
            DamageKind::DuplicateKey,
        ),
        ("an array", b"[1]\n".to_vec(), DamageKind::NotAnObject),
        ("no type", b"{\"at\":\"x\"}\n".to_vec(), DamageKind::NoType),
    ];
    for kind in DamageKind::ALL {
        // A line of over 256 MiB is the scanner's own test: `too-long` takes no place here.
        let seen = cases.iter().any(|(_, _, seen)| *seen == kind);
        assert!(seen || kind == DamageKind::TooLong, "{kind:?} is not provoked");
    }
    for (name, damage, kind) in &mut cases {
        let home = Home::empty();
        fs::create_dir(home.data_dir()).unwrap();
        let mut log = [&good[..], b"\n"].concat();
        let offset = log.len();
        log.append(damage);
        if *kind != DamageKind::TornTail {
            log.extend_from_slice(b"{\"type\":\"\"}\n");
        }
        fs::write(home.paths().log, &log).unwrap();
        for verb in ["register", "heartbeat", "inbox"] {
            let ran = home.run(&[verb, "--actorId", "gaia"]);
            ran.failed_closed("log-corrupt", 3);
            assert_eq!(ran.answer["corrupt"]["kind"], kind.as_str(), "{name}");
            assert_eq!(ran.answer["corrupt"]["line"], 2, "{name}");
            assert_eq!(ran.answer["corrupt"]["offset"], offset, "{name}");
            if name.contains("NUL") {
                assert!(ran.error().contains("NUL"), "{}", ran.error());
            }
        }
        assert_eq!(home.log(), log, "{name}: every byte as it was");
        assert_eq!(home.names(), ["events.jsonl"], "{name}: no lock is left");
    }
}

#[test]
fn records_that_do_not_fold_are_refused_with_their_line() {
    let home = Home::new();
    let mut log = home.log();
    log.extend_from_slice(b"{\"type\":\"message.acked\",\"actorId\":\"act-0001\"}\n");
    fs::write(home.paths().log, &log).unwrap();
    let ran = home.register("x");
    ran.failed_closed("log-unreplayable", 3);
    assert_eq!(ran.answer["corrupt"]["line"], 2);
    assert_eq!(ran.answer["corrupt"]["offset"], second_line(&log));
    assert!(ran.error().contains("messageId"), "{}", ran.error());
    assert_eq!(home.log(), log);
}

/// The first commit makes the names above the data directory durable; `missing` is none of them.
#[test]
fn a_data_directory_behind_the_dots_of_a_missing_one_is_refused_and_nothing_is_made() {
    let home = Home::empty();
    let refused = Settings::of_data_dir(&home.root.path().join("missing/../data"));
    assert_failed(&register(&mut Bus::new(refused), "x"), "lock-unavailable", 3);
    assert_eq!(fs::read_dir(home.root.path()).unwrap().count(), 0);
    fs::create_dir(home.root.path().join("missing")).unwrap();
    let there = Settings::of_data_dir(&home.root.path().join("missing/../deep/data"));
    assert_eq!(register(&mut Bus::new(there), "x").exit_code, 0);
    assert!(home.root.path().join("deep/data/events.jsonl").exists());
}

#[test]
fn history_rewritten_under_a_warm_handle_fails_closed_until_restart() {
    for rewrite in [
        (|log: &mut Vec<u8>| log[60] ^= 1) as fn(&mut Vec<u8>),
        |log| {
            let first = log.iter().position(|b| *b == b'\n').unwrap();
            log.truncate(first + 1);
        },
        Vec::clear,
    ] {
        let home = Home::new();
        let mut bus = Bus::new(Settings::of_data_dir(&home.data_dir()));
        assert!(register(&mut bus, "warm").ok);
        let kept = home.log();
        let mut log = kept.clone();
        rewrite(&mut log);
        fs::write(home.paths().log, &log).unwrap();
        assert_failed(&register(&mut bus, "x"), "history-rewritten", 3);
        assert_eq!(home.log(), log, "nothing was written");
        assert_eq!(home.names(), ["events.jsonl"]);
        // Also when the old bytes are back: only a restart may forget what was seen.
        fs::write(home.paths().log, &kept).unwrap();
        assert_failed(&register(&mut bus, "x"), "history-rewritten", 3);
        home.works_again(&kept);
    }
}

#[test]
fn a_log_that_vanishes_under_a_warm_handle_is_history_rewritten() {
    let home = Home::new();
    let mut bus = Bus::new(Settings::of_data_dir(&home.data_dir()));
    assert!(register(&mut bus, "warm").ok);
    fs::remove_file(home.paths().log).unwrap();
    assert_failed(&register(&mut bus, "x"), "history-rewritten", 3);
    assert!(!home.paths().log.exists(), "it is not made anew");
}

// The disk.

#[test]
fn a_full_disk_is_taken_back_and_works_again_once_there_is_room() {
    let mounted = tempfile::tempdir().unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(mounted.path())
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        return skip("mounting a tmpfs of 64 KiB");
    }
    let data_dir = mounted.path().join("data");
    let filler = mounted.path().join("filler");
    let run = |text: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_gaia-bus"))
            .args(["send", "--from", "a", "--to", "a", "--text", text])
            .env("GAIA_INTERAGENT_DATA_DIR", &data_dir)
            .output()
            .unwrap();
        Ran::of(output)
    };
    let result = std::panic::catch_unwind(|| {
        let output = Command::new(env!("CARGO_BIN_EXE_gaia-bus"))
            .args(["register", "--actorId", "a"])
            .env("GAIA_INTERAGENT_DATA_DIR", &data_dir)
            .output()
            .unwrap();
        assert!(output.status.success());
        // Room for the owner record and for a part of the message: the write is short.
        fs::write(&filler, vec![0; 44 * 1024]).unwrap();
        let before = fs::read(data_dir.join("events.jsonl")).unwrap();
        let short = run(&"m".repeat(30_000));
        short.failed_closed("io", 3);
        assert!(short.error().contains("bytes could be written"), "{}", short.error());
        // No room at all: not even the owner record can be written.
        let mut room = vec![0; 64 * 1024];
        while fs::write(mounted.path().join("rest"), &room).is_err() && !room.is_empty() {
            room.truncate(room.len() - 1024);
        }
        let full = run("m");
        full.failed_closed("io", 3);
        assert!(full.error().contains("owner record"), "{}", full.error());
        assert_eq!(fs::read(data_dir.join("events.jsonl")).unwrap(), before);
        assert!(!data_dir.join("events.lock").exists());
        fs::remove_file(&filler).unwrap();
        assert_eq!(run(&"m".repeat(10_000)).code, 0);
    });
    let unmounted = Command::new("umount").arg(mounted.path()).status().unwrap();
    assert!(unmounted.success());
    result.unwrap();
}

#[test]
fn a_file_size_limit_does_not_kill_the_holder() {
    let home = Home::new();
    let before = home.log();
    // Blocks of 1024 bytes in this shell; the log is small, and the message does not fit.
    let output = Command::new("bash")
        .args(["-c", r#"ulimit -f 8; exec "$0" send --from gaia --to gaia --text "$1""#])
        .arg(env!("CARGO_BIN_EXE_gaia-bus"))
        .arg("m".repeat(20_000))
        .env("GAIA_INTERAGENT_DATA_DIR", home.data_dir())
        .output()
        .unwrap();
    let ran = Ran::of(output);
    ran.failed_closed("io", 3);
    home.works_again(&before);
}

#[test]
fn a_failed_append_or_fsync_is_taken_back() {
    type Planted = fn(&Call<'_>) -> Fault;
    let cases: [(&str, Planted); 5] = [
        ("fsync", |call| if *call == Call::SyncLog { Fault::Errno(EIO) } else { Fault::None }),
        ("write", |call| match call {
            Call::Append(_) => Fault::Errno(EIO),
            _ => Fault::None,
        }),
        ("no byte", |call| match call {
            Call::Append(_) => Fault::Short(0),
            _ => Fault::None,
        }),
        ("half", |call| match call {
            Call::Append(lines) => Fault::Short(lines.len() / 2),
            _ => Fault::None,
        }),
        ("all but the newline", |call| match call {
            Call::Append(lines) => Fault::Short(lines.len() - 1),
            _ => Fault::None,
        }),
    ];
    for (name, planted) in cases {
        let home = Home::new();
        let before = home.log();
        let mut failing = true;
        let mut bus = home.faulty(move |call| {
            let fault = if failing { planted(call) } else { Fault::None };
            failing &= matches!(fault, Fault::None);
            fault
        });
        assert_failed(&register(&mut bus, "x"), "io", 3);
        assert_eq!(home.log(), before, "{name}: taken back");
        assert_eq!(home.names(), ["events.jsonl"], "{name}: released");
        assert!(register(&mut bus, "y").ok, "{name}: the same process goes on");
        assert!(home.log().starts_with(&before));
    }
}

#[test]
fn a_first_commit_that_fails_is_cut_to_nothing_and_not_unlinked() {
    let home = Home::empty();
    let mut bus = home.faulty(|call| match call {
        Call::SyncLog => Fault::Errno(EIO),
        _ => Fault::None,
    });
    assert_failed(&register(&mut bus, "x"), "io", 3);
    assert_eq!(home.log(), b"");
    assert_eq!(home.names(), ["events.jsonl"]);
    home.works_again(b"");
}

#[test]
fn a_take_back_that_fails_is_unconfirmed_and_keeps_the_lock() {
    type Step = fn(&Call<'_>) -> bool;
    let steps: [(&str, Step); 4] = [
        ("read back", |call| matches!(call, Call::ReadTail { .. })),
        ("truncate", |call| matches!(call, Call::Truncate { .. })),
        ("fsync", |call| *call == Call::SyncTruncated),
        ("length", |call| *call == Call::MeasureLog),
    ];
    for mark_fails in [false, true] {
        for (name, step) in steps {
            let home = Home::new();
            let before = home.log();
            let mut bus = home.faulty(move |call| match call {
                Call::SyncLog => Fault::Errno(EIO),
                Call::MarkUnconfirmed(_) if mark_fails => Fault::Errno(30),
                call if step(call) => Fault::Errno(EIO),
                _ => Fault::None,
            });
            let answer = register(&mut bus, "x");
            assert_failed(&answer, "write-unconfirmed", 4);
            assert!(answer.error.unwrap().contains("do not assume either way"), "{name}");
            let owner = fs::read_to_string(home.paths().owner()).unwrap();
            assert_eq!(owner.contains("\"state\":\"unconfirmed\""), !mark_fails, "{owner}");
            // Nobody gets past the lock; the process that kept it does not wait for itself.
            assert_failed(&register(&mut bus, "y"), "lock-timeout", 3);
            home.register("z").failed_closed("lock-timeout", 3);
            let log = home.log();
            assert!(log.starts_with(&before), "{name}: nothing older is lost");
        }
    }
}

#[test]
fn a_take_back_that_finds_foreign_bytes_leaves_them_alone() {
    let home = Home::new();
    let log = home.paths().log;
    let mut bus = home.faulty(move |call| {
        if *call == Call::SyncLog {
            let mut bytes = fs::read(&log).unwrap();
            bytes.extend_from_slice(b"foreign");
            fs::write(&log, bytes).unwrap();
            return Fault::Errno(EIO);
        }
        Fault::None
    });
    assert_failed(&register(&mut bus, "x"), "write-unconfirmed", 4);
    assert!(home.log().ends_with(b"foreign"));
}

#[test]
fn a_new_log_whose_name_cannot_be_made_durable_is_unconfirmed() {
    for failing in [Call::SyncDataDir, Call::SyncParentDir] {
        let home = Home::empty();
        let mut bus = home.faulty(move |call| match call {
            call if *call == failing => Fault::Errno(EIO),
            _ => Fault::None,
        });
        assert_failed(&register(&mut bus, "x"), "write-unconfirmed", 4);
        assert_eq!(home.log(), b"", "before the first byte");
        assert!(home.paths().lock.is_dir(), "the lock is kept");
    }
}

#[test]
fn an_owner_record_that_cannot_be_written_releases_the_lock() {
    let home = Home::new();
    let before = home.log();
    let mut bus = home.faulty(|call| match call {
        Call::WriteOwner(_) => Fault::Errno(28),
        _ => Fault::None,
    });
    let answer = register(&mut bus, "x");
    assert_failed(&answer, "io", 3);
    assert!(answer.error.unwrap().contains("owner record"));
    home.works_again(&before);
}

#[test]
fn a_failed_release_behind_a_durable_append_is_the_success_it_is() {
    let home = Home::new();
    let mut bus = home.faulty(|call| match call {
        Call::RemoveLock => Fault::Errno(EIO),
        _ => Fault::None,
    });
    let answer = register(&mut bus, "x");
    assert!(answer.ok && answer.exit_code == 0, "{answer:?}");
    assert_eq!(answer.lock_released, Some(false));
    assert!(answer.warning.unwrap().contains("could not be removed"));
    assert_eq!(home.log().iter().filter(|b| **b == b'\n').count(), 2, "it is in the log");
    assert!(home.paths().lock.exists());
}

#[test]
fn a_lock_replaced_while_it_was_held_is_not_removed() {
    let home = Home::new();
    let lock = home.paths().lock;
    let mut bus = home.faulty(move |call| {
        if *call == Call::RemoveLock {
            fs::remove_dir(&lock).unwrap();
            fs::create_dir(&lock).unwrap();
        }
        Fault::None
    });
    let answer = register(&mut bus, "x");
    assert!(answer.ok && answer.lock_released == Some(false), "{answer:?}");
    assert!(home.paths().lock.exists(), "the foreign lock stands");
}

#[test]
fn a_panic_at_any_call_leaves_no_lock_and_no_half_record() {
    let mut counts = Vec::new();
    for after in [false, true] {
        for at in 0.. {
            let home = Home::new();
            let before = home.log();
            let mut count = 0;
            let mut seen = None;
            let reached = std::rc::Rc::new(std::cell::Cell::new(None));
            let note = reached.clone();
            let mut bus = home.faulty(move |call| {
                count += 1;
                if count - 1 != at {
                    return Fault::None;
                }
                note.set(Some(format!("{call:?}").split(['(', ' ']).next().unwrap().to_owned()));
                if after { Fault::PanicAfter } else { Fault::Panic }
            });
            let answer = register(&mut bus, "x");
            if let Some(name) = reached.take() {
                seen = Some(name);
            }
            let Some(call) = seen else {
                assert!(answer.ok);
                counts.push(at);
                break;
            };
            let log = home.log();
            let released = !home.paths().lock.exists();
            match call.as_str() {
                // The lock may have been made, and nobody can tell any more.
                "MakeLock" => assert!(released != after, "{call}"),
                "OpenLock" if !after => assert!(!released, "{call}: left for a person"),
                // The answer stands; what is left of the lock is reported.
                "RemoveOwner" => assert!(answer.ok && !released, "{call}: {answer:?}"),
                "RemoveLock" => assert!(answer.ok && released == after, "{call}: {answer:?}"),
                _ => {
                    assert!(released, "{call}: {answer:?}");
                    assert_failed(&answer, "io", 3);
                    assert_eq!(log, before, "{call}: nothing was written, or it was taken back");
                }
            }
            assert!(log.starts_with(&before) && log.ends_with(b"\n"), "{call}");
        }
    }
    assert!(counts.iter().all(|count| *count >= 10), "calls that panicked: {counts:?}");
}

#[test]
fn the_codes_are_those_of_the_contract_and_only_unconfirmed_exits_with_4() {
    let error = DiskError { code: None, text: String::new() };
    let all = [
        Failure::LockTimeout { waited_ms: 0, owner: String::new() },
        Failure::LockUnavailable { error: error.clone() },
        Failure::LockLeft {
            cause: Box::new(Failure::NotAFile { found: "FIFO" }),
            error: error.clone(),
        },
        Failure::LogUnreplayable { line: 1, offset: 0, reason: String::new() },
        Failure::HistoryRewritten { known_bytes: 1, found_bytes: 0 },
        Failure::Io { doing: "x", error: error.clone() },
        Failure::WriteUnconfirmed { doing: "x", error },
    ];
    for (failure, code) in all.iter().zip(Failure::CODES) {
        assert_eq!(failure.code(), code);
        assert_eq!(failure.exit_code(), if code == "write-unconfirmed" { 4 } else { 3 });
    }
}
