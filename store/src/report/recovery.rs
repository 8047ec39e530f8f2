//! What a person is to do, for each kind of trouble: the steps in order, as commands.
//!
//! The bus never repairs anything, so these texts are part of the protocol: the harness explores
//! what comes of a person who takes these steps (`harness/src/scene.rs`), carries out the printed
//! commands after real crashes, and the README's runbook is made from them. Two rules stand above
//! all: every bus process is stopped first, and one person works at a time (a lock is *claimed* by
//! renaming its owner record, or by making a directory where there is none; either succeeds once).
//!
//! # Why a dead writer's lock is not just removed
//!
//! After a failed fsync its bytes can be visible and not on disk, and no later fsync brings them
//! there: the next writer's answered record would be lost with them. A reboot drops such bytes;
//! rewriting the log makes every byte dirty again and really syncs it. Either makes what is seen
//! and what is on disk agree, and only then is the lock free to go.
//!
//! `tests/doctor.rs` runs the printed commands in a real shell on real directories.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::lock::{LockReport, Owner, Running};
use crate::log::{Damage, DamageKind};
use crate::settings::Paths;

/// The name that an owner record gets when a person claims a lock.
pub const CLAIMED_NAME: &str = "claimed";

/// What is wrong.
#[derive(Clone, Copy, Debug)]
pub enum Trouble<'a> {
    /// A lock is in the way.
    LockHeld(&'a LockReport),
    /// Something that is not a directory stands where the lock belongs.
    LockForeign,
    /// The lock cannot be made: a permission, a full or read-only disk.
    LockUnavailable,
    /// The last line of the log lacks its newline.
    TornTail {
        /// Where that line begins.
        offset: u64,
        /// How many bytes it has.
        length: u64,
    },
    /// Any other damage, a log that does not fold, or no log at all where it belongs.
    LogUnusable,
    /// The operating system would not read or write.
    Io,
}

impl Trouble<'_> {
    /// The trouble that a damaged log is.
    #[must_use]
    pub fn of_damage(damage: &Damage) -> Self {
        match damage.kind {
            DamageKind::TornTail => {
                Trouble::TornTail { offset: damage.offset, length: damage.length }
            }
            DamageKind::TooLong
            | DamageKind::NotUtf8
            | DamageKind::BlankLine
            | DamageKind::NotJson
            | DamageKind::TooDeep
            | DamageKind::DuplicateKey
            | DamageKind::NotAnObject
            | DamageKind::NoType => Trouble::LogUnusable,
        }
    }
}

/// One step: what to do and, where it is one, the command that does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The sentence.
    pub text: String,
    /// The command, for a POSIX shell with GNU tools; every path in it is quoted. It holds no
    /// double quote and no backslash of its own, so that it can be copied out of JSON as it is
    /// shown.
    pub command: Option<String>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(command) => write!(f, "{}: `{command}`", self.text),
            None => write!(f, "{}.", self.text),
        }
    }
}

/// The steps for a trouble, in order. The first is always to stop every bus process. `log_bytes` is
/// the length of the log that a dead writer's lock stands beside; nothing when there is no log.
#[must_use]
pub fn steps(trouble: Trouble<'_>, paths: &Paths, log_bytes: Option<u64>) -> Vec<Step> {
    let mut steps = vec![stop_every_process()];
    let mut look_at = paths.data_dir.clone();
    steps.extend(match trouble {
        Trouble::LockHeld(lock) => left_over_lock(lock, paths, log_bytes),
        Trouble::LockForeign => foreign_lock(paths),
        Trouble::LockUnavailable => vec![say(
            "Mend what the error names: the permissions of the data directory, the space on its \
             disk, or the path",
        )],
        Trouble::TornTail { offset, length } => torn_tail(offset, length, paths),
        Trouble::LogUnusable => {
            look_at = beside(&paths.data_dir, "-new");
            unusable_log(paths, &look_at)
        }
        Trouble::Io => vec![
            say("Mend what the error names: permissions, memory, or the disk"),
            say("Do not edit the log"),
        ],
    });
    steps.push(run("See whether all is well", in_data_dir("doctor --pretty", &look_at)));
    steps
}

fn stop_every_process() -> Step {
    run(
        "Stop every bus process: agent sessions, the servers they started, and scripts, on every \
         host that uses this data directory. Then look that none is left (those of other data \
         directories may go on). From here on stop at the first command that fails, and run doctor \
         again",
        "pgrep -a gaia-bus".into(),
    )
}

fn left_over_lock(lock: &LockReport, paths: &Paths, log_bytes: Option<u64>) -> Vec<Step> {
    let mut steps = Vec::new();
    if lock.owner_running != Running::No {
        steps.push(run(
            "The owner may have been running: one that is stopped in the ordinary way releases its \
             lock. Go on only if the lock is still there",
            format!("ls -la {}", quote(paths.lock.as_os_str())),
        ));
    }
    let (claim, claimed) = claim(lock, paths);
    steps.push(claim);
    if needs_rewrite(lock) && log_bytes == Some(0) {
        // Explored as `PersonRewritesEmptyLog`: a copy makes bytes durable, and not the names of
        // the directories above it, whose fsync may be what failed.
        steps.push(say(
            "The log is new and empty, and the very names that lead to it may not have reached the \
             disk, which no copy can mend. Reboot this machine, with no bus process started by it",
        ));
    } else if needs_rewrite(lock) {
        steps.push(say(
            "Bytes of its writer may be visible and not on disk. Either reboot this machine (with \
             no bus process started by it) and go straight to removing the lock, or go on here and \
             make every byte really reach the disk",
        ));
        steps.extend(rewrite(paths, log_bytes.is_some()));
    }
    steps.push(run(
        "Remove the lock. If it is not empty, something else put files into it: move them out \
         first",
        claimed,
    ));
    steps
}

/// Whether a lock may hide bytes that never reached the disk. Only an owner that never writes, or
/// one of an earlier boot of this host, cannot.
#[must_use]
pub fn needs_rewrite(lock: &LockReport) -> bool {
    let reader = lock
        .owner
        .as_ref()
        .is_some_and(|owner| owner.mode.as_deref() == Some("read") && owner.state.is_none());
    !(reader || lock.this_boot == Some(false))
}

/// The command that claims a lock, and the one that removes it afterwards.
fn claim(lock: &LockReport, paths: &Paths) -> (Step, String) {
    let directory = quote(paths.lock.as_os_str());
    let claimed = quote(paths.lock.join(CLAIMED_NAME).as_os_str());
    let owner_path = paths.owner();
    let record = quote(owner_path.as_os_str());
    if let Ok(found) = paths.lock.join(CLAIMED_NAME).symlink_metadata() {
        let step = say(
            "This lock is claimed already: someone works on it. Go on only if that is you, or if \
             they have certainly given up",
        );
        let remove = if found.is_dir() { "rmdir" } else { "rm" };
        return (step, format!("{remove} -- {claimed} && rmdir -- {directory}"));
    }
    // Without a token the directory itself must be the one that was seen: its change time moves
    // with every name that is made or removed in it.
    let identity = paths.lock.symlink_metadata().map_or_else(
        |_| String::new(),
        |found| {
            let (inode, seconds, nanoseconds) = (found.ino(), found.ctime(), found.ctime_nsec());
            format!(
                "test $(stat -c %i-%.9Z -- {directory}) = {inode}-{seconds}.{nanoseconds:09} && "
            )
        },
    );
    let no_record = owner_path.symlink_metadata().is_err();
    if no_record && lock.owner.is_none() {
        let step = run(
            "Claim the lock, so that you alone work on it, and only if it is still the one \
             described here. It has no owner record; if this fails, it is another lock or someone \
             else works on it: stop here",
            format!("{identity}mkdir -- {claimed}"),
        );
        return (step, format!("rmdir -- {claimed} && rmdir -- {directory}"));
    }
    let token = lock.owner.as_ref().map(mark).filter(|mark| !mark.is_empty());
    let check = token.map_or(identity, |token| {
        format!("grep -qF -e {} -- {record} && ", quote(OsStr::new(token)))
    });
    let step = run(
        "Claim the lock, so that you alone work on it, and only if it is still the one described \
         here. If this fails, it is another lock or someone else works on it: stop here",
        format!("{check}mv -n -- {record} {claimed} && test ! -e {record}"),
    );
    (step, format!("rm -- {claimed} && rmdir -- {directory}"))
}

/// What tells this owner record from another: its token, or in an older build's record, its time.
fn mark(owner: &Owner) -> &str {
    owner.token.as_deref().filter(|token| !token.is_empty()).unwrap_or(&owner.at)
}

/// Copies every whole line, however many there are now: never up to a remembered length, since the
/// release alone may have failed behind an answered record.
fn rewrite(paths: &Paths, log_exists: bool) -> Vec<Step> {
    let directory = quote(paths.data_dir.as_os_str());
    let log = quote(paths.log.as_os_str());
    const ONCE: &str = "If this fails, do not repeat it (a second sync proves nothing): restart \
                        this machine, and run doctor again";
    if !log_exists {
        return vec![run(
            &format!("Sync the directory, if there is still no log in it. {ONCE}"),
            format!("test ! -e {log} && sync -- {directory}"),
        )];
    }
    let copy = quote(beside(&paths.log, ".rewritten").as_os_str());
    let torn = quote(unused(&beside(&paths.log, ".torn")).as_os_str());
    vec![
        run(
            "Copy every whole line of the log, and sync the copy. If this fails, it may be \
             repeated: it begins with a new copy",
            format!(
                "rm -f -- {copy} && (set -C; umask 077; \
                 head -n $(wc -l < {log}) -- {log} > {copy}) && \
                 cp -p --attributes-only -- {log} {copy} && sync -- {copy}"
            ),
        ),
        run(
            "Keep the file as it is, if more than whole lines stand in it: that is the evidence",
            format!(
                "cmp -s -- {log} {copy} || \
                 (set -C; umask 077; cat -- {log} > {torn} && sync -- {torn})"
            ),
        ),
        run(
            "Compare, which must print nothing, and put the copy in the log's place",
            format!(
                "test $(wc -l < {log}) -eq $(wc -l < {copy}) && \
                 cmp -n $(wc -c < {copy}) -- {log} {copy} && mv -f -- {copy} {log}"
            ),
        ),
        run(&format!("Sync the directory. {ONCE}"), format!("sync -- {directory}")),
    ]
}

fn foreign_lock(paths: &Paths) -> Vec<Step> {
    let lock = quote(paths.lock.as_os_str());
    let aside = quote(unused(&beside(&paths.lock, ".foreign")).as_os_str());
    vec![
        run(
            "No bus made this: a lock is a directory. Find out what did",
            format!("ls -ld -- {lock}"),
        ),
        run(
            "Move it out of the way",
            format!("mv -nT -- {lock} {aside} && test ! -e {lock} -a ! -L {lock}"),
        ),
    ]
}

fn torn_tail(offset: u64, length: u64, paths: &Paths) -> Vec<Step> {
    let log = quote(paths.log.as_os_str());
    let lock = quote(paths.lock.as_os_str());
    let claimed = quote(paths.lock.join(CLAIMED_NAME).as_os_str());
    let copy = unused(&beside(&paths.log, &format!(".torn-at-{offset}")));
    let copy = quote(copy.as_os_str());
    let whole = offset.saturating_add(length);
    vec![
        run(
            "Copy the file as it is; the copy is the evidence",
            format!("(set -C; umask 077; cat -- {log} > {copy}) && sync -- {copy}"),
        ),
        run(
            "Confirm that no lock exists, by taking and claiming it yourself. If this fails there \
             is one: stop here and run doctor again",
            format!("mkdir -- {lock} && mkdir -- {claimed}"),
        ),
        run(
            &format!(
                "Remove only the {length} bytes after the last newline, at byte offset {offset}, \
                 and sync the file. They are part of a record that was never acknowledged to \
                 anyone, unless something else than this bus has cut the file. If this fails, the \
                 file is not as it was: give the lock back and run doctor again"
            ),
            format!(
                "cmp -- {log} {copy} && test $(wc -c < {log}) -eq {whole} && \
                 test $(tail -c {length} -- {log} | wc -l) -eq 0 && \
                 truncate -s {offset} -- {log} && sync -- {log}"
            ),
        ),
        run("Give the lock back", format!("rmdir -- {claimed} && rmdir -- {lock}")),
    ]
}

fn unusable_log(paths: &Paths, fresh: &Path) -> Vec<Step> {
    let log = quote(paths.log.as_os_str());
    vec![
        say("Never edit the log: keep the file where it is, as evidence of how it got damaged"),
        run("Find what else writes to it, and stop that", format!("lsof -- {log}")),
        run(
            "Start a new data directory. Actors register anew there; what was not read stays in \
             the old file",
            in_data_dir("initialize --apply", fresh),
        ),
        run("Point every client at it, as in", in_data_dir("config --client claude", fresh)),
    ]
}

fn say(text: &str) -> Step {
    Step { text: text.to_owned(), command: None }
}

fn run(text: &str, command: String) -> Step {
    Step { text: text.to_owned(), command: Some(command) }
}

pub(super) fn in_data_dir(command: &str, data_dir: &Path) -> String {
    format!("gaia-bus {command} --data-dir={}", quote(data_dir.as_os_str()))
}

/// A path with something behind its last name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    name.into()
}

/// A path at which there is nothing: an earlier tail may have been torn at the same offset.
fn unused(path: &Path) -> PathBuf {
    let numbered = (2..).map(|number: u64| beside(path, &format!(".{number}")));
    let mut all = std::iter::once(path.to_owned()).chain(numbered);
    all.find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| path.to_owned())
}

/// One word for a POSIX shell, whatever it holds. Ordinary text stands in single quotes; text that
/// would act on the terminal, and bytes that are not text, are spelled in `$'...'`.
#[must_use]
pub fn quote(word: &OsStr) -> String {
    match word.to_str() {
        Some(text) if !text.chars().any(gaia_bus_model::text::is_deceptive) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        Some(_) | None => {
            let bytes = word.as_encoded_bytes().iter();
            let spelled: String = bytes
                .map(|byte| match byte {
                    b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
                    0x20..=0x7E => char::from(*byte).to_string(),
                    _ => format!("\\{byte:03o}"),
                })
                .collect();
            format!("$'{spelled}'")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(this_boot: Option<bool>, mode: &str, state: Option<&str>) -> LockReport {
        LockReport {
            path: "/d/events.lock".into(),
            age_ms: Some(1),
            probably_abandoned: false,
            owner: Some(Owner {
                pid: 1,
                at: "then".into(),
                started_at: None,
                host: None,
                boot_id: None,
                token: Some("t".into()),
                mode: Some(mode.into()),
                state: state.map(Into::into),
            }),
            owner_unreadable: None,
            owner_running: Running::No,
            this_boot,
        }
    }

    #[test]
    fn only_a_reader_and_an_earlier_boot_leave_nothing_behind() {
        assert!(needs_rewrite(&lock(Some(true), "write", None)));
        assert!(needs_rewrite(&lock(Some(true), "write", Some("unconfirmed"))));
        assert!(needs_rewrite(&lock(None, "write", None)), "another host, or an older build");
        assert!(needs_rewrite(&LockReport { owner: None, ..lock(None, "read", None) }));
        assert!(!needs_rewrite(&lock(Some(false), "write", None)));
        assert!(!needs_rewrite(&lock(Some(false), "write", Some("unconfirmed"))));
        assert!(!needs_rewrite(&lock(Some(true), "read", None)));
    }

    #[test]
    fn every_trouble_begins_with_stopping_every_process_and_ends_with_a_look() {
        let held = lock(Some(true), "write", None);
        for trouble in [
            Trouble::LockHeld(&held),
            Trouble::LockForeign,
            Trouble::LockUnavailable,
            Trouble::TornTail { offset: 10, length: 3 },
            Trouble::LogUnusable,
            Trouble::Io,
        ] {
            let steps = steps(trouble, &Paths::of(Path::new("/d")), Some(1));
            assert!(steps.first().unwrap().text.starts_with("Stop every bus process"));
            let last = steps.last().unwrap().command.as_deref().unwrap();
            let new = if matches!(trouble, Trouble::LogUnusable) { "-new" } else { "" };
            assert_eq!(last, format!("gaia-bus doctor --pretty --data-dir='/d{new}'"));
            assert!(steps.iter().all(|step| !step.text.contains('`')), "{steps:?}");
        }
    }

    #[test]
    fn beside_a_new_and_empty_log_only_a_reboot_frees_a_writers_lock() {
        let told = |log_bytes| {
            let held = lock(Some(true), "write", None);
            let paths = Paths::of(Path::new("/d"));
            let steps = steps(Trouble::LockHeld(&held), &paths, log_bytes);
            steps.iter().map(ToString::to_string).collect::<String>()
        };
        assert!(told(Some(0)).contains("Reboot this machine") && !told(Some(0)).contains("Copy"));
        assert!(told(Some(1)).contains("Copy every whole line"));
        assert!(!told(None).contains("Copy"), "there is nothing to copy");
    }

    #[test]
    fn the_commands_for_an_ordinary_path_are_the_same_in_json() {
        let held = lock(Some(true), "write", None);
        let unrecorded = LockReport { owner: None, ..lock(None, "write", None) };
        for trouble in [
            Trouble::LockHeld(&held),
            Trouble::LockHeld(&unrecorded),
            Trouble::LockForeign,
            Trouble::TornTail { offset: 10, length: 3 },
            Trouble::LogUnusable,
        ] {
            for log_bytes in [None, Some(0), Some(1)] {
                for step in steps(trouble, &Paths::of(Path::new("/d")), log_bytes) {
                    assert!(!step.to_string().contains(['"', '\\']), "{step}");
                }
            }
        }
    }

    #[test]
    fn any_path_is_one_harmless_word_for_a_shell() {
        for (word, quoted) in [
            ("/a b", "'/a b'"),
            ("it's", r"'it'\''s'"),
            ("$(rm -rf /)", "'$(rm -rf /)'"),
            ("a\nb\u{1b}\\'", r"$'a\012b\033\\\''"),
            ("\u{202e}", r"$'\342\200\256'"),
        ] {
            assert_eq!(quote(OsStr::new(word)), quoted);
        }
    }
}
