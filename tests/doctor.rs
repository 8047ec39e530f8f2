//! Promise: the doctor says what is wrong with a data directory, writes nothing, and prints steps
//! that work.
//!
//! Method: the shipped binary on planted directories; the printed commands are run in a real shell,
//! as a person would who copies them, and the log is compared byte by byte.
//!
//! Cannot see: whether the rewritten bytes really reached the disk (the harness explores what a
//! person who follows these steps does to a disk that fails), and other hosts.
#![allow(clippy::unwrap_used)]

mod binary;

use std::os::unix::ffi::OsStrExt;

use binary::{Bench, Done, LESSON};
use gaia_bus::lock::{Identity, Owner};
use serde_json::{Value, json};

const TOKEN: &str = "0123456789abcdef";

fn owner(change: impl FnOnce(&mut Owner)) -> Vec<u8> {
    let here = Identity::of_this_process();
    let mut owner = Owner::new(
        &here,
        "2026-09-15T23:41:09.954Z".into(),
        TOKEN.into(),
        gaia_bus::commit::Mode::Write,
    );
    change(&mut owner);
    owner.to_bytes()
}

/// A log with a lock of that owner record beside it; a doctor does not wait for it.
fn locked(log: &[u8], owner: Option<&[u8]>) -> Bench {
    let mut bench = Bench::with_log(log);
    bench.lock_timeout_ms = "0";
    std::fs::create_dir(bench.lock()).unwrap();
    if let Some(owner) = owner {
        std::fs::write(bench.lock().join("owner.json"), owner).unwrap();
    }
    bench
}

fn doctor(bench: &Bench, code: i32) -> Value {
    let before = bench.log_bytes();
    let done = bench.run(&["doctor"]);
    assert_eq!(done.code, code, "{done:?}");
    assert_eq!(bench.log_bytes(), before, "the doctor writes nothing");
    let report = done.json();
    assert_eq!(report["ok"], json!(code == 0));
    assert_eq!(report["error"].is_null(), code == 0);
    assert_eq!(report["recovery"].as_array().unwrap().is_empty(), code != 3);
    report
}

/// The commands of the steps, in order.
fn commands(report: &Value) -> Vec<String> {
    let steps = report["recovery"].as_array().unwrap();
    assert!(steps[0].as_str().unwrap().starts_with("Stop every bus process"), "{steps:?}");
    steps
        .iter()
        .filter_map(|step| {
            let (_, command) = step.as_str().unwrap().split_once('`')?;
            Some(command.strip_suffix('`').unwrap().to_owned())
        })
        .collect()
}

/// Follows the steps as a person does who stops at the first command that fails. Looking for
/// processes is left out, since other tests run their own.
fn follow(bench: &Bench, report: &Value) -> Result<(), String> {
    for command in commands(report) {
        if command.starts_with("pgrep") || command.starts_with("lsof") {
            continue;
        }
        let Done { code, stderr, .. } = bench.shell(&command);
        if code != 0 {
            return Err(format!("{command}: {code}: {stderr}"));
        }
    }
    Ok(())
}

fn rewrites(report: &Value) -> bool {
    commands(report).iter().any(|command| command.contains(".rewritten"))
}

#[test]
fn a_directory_that_does_not_exist_is_healthy_and_stays_that_way() {
    let bench = Bench::new();
    let report = doctor(&bench, 0);
    assert!(!bench.data.exists());
    let keys: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let order = [
        "version",
        "platform",
        "bundledServerPresent",
        "manifestPresent",
        "mcpManifestPresent",
        "dataDir",
        "dataDirIsDefault",
        "dataDirExists",
        "logExists",
        "logBytes",
        "filesystem",
        "lockBusyOnEntry",
        "lockTimeoutMs",
        "supportedMaxLiveLanes",
        "laneEvidence",
        "events",
        "replayable",
        "actors",
        "integrityOk",
        "integrityFindings",
        "correlationIssuerAt",
        "correlationHeadroom",
        "correlationExhausted",
        "correlationFindings",
        "replayMs",
    ];
    let shown: Vec<_> = keys.into_iter().filter(|key| order.contains(key)).collect();
    assert_eq!(shown, order);
    assert_eq!(report["dataDirExists"], json!(false));
    assert_eq!(report["logExists"], json!(false));
    assert_eq!(report["events"], json!(0));
    assert_eq!(report["replayable"], json!(true));
    assert_eq!(report["lock"], Value::Null);
    let begin = format!("initialize --apply --data-dir='{}'`", bench.data.display());
    assert!(report["note"].as_str().unwrap().ends_with(&begin), "{}", report["note"]);
    let evidence = json!({"supported":4,"nextValidationTarget":6,"unprovenWithRealClients":8});
    assert_eq!(report["laneEvidence"], evidence);
}

#[test]
fn the_lesson_log_is_sound() {
    let bench = Bench::with_log(LESSON);
    let report = doctor(&bench, 0);
    assert_eq!(report["events"], json!(10));
    assert_eq!(report["actors"], json!(3));
    assert_eq!(report["logBytes"], json!(3617));
    assert_eq!(report["integrityOk"], json!(true));
    assert_eq!(report["correlationIssuerAt"], json!(0));
    assert_eq!(report["correlationHeadroom"], json!(9_007_199_254_740_991_u64));
    assert_eq!(report["note"], Value::Null);
    assert_eq!(bench.names(), ["events.jsonl"]);
}

#[test]
fn an_address_that_was_never_minted_is_unsound() {
    let forged = b"{\"type\":\"actor.registered\",\"at\":\"2026-09-15T23:41:50.000Z\",\
        \"ref\":\"root\",\"name\":\"root\"}\n";
    let bench = Bench::with_log(&[LESSON, forged.as_slice()].concat());
    let report = doctor(&bench, 1);
    assert_eq!(report["integrityOk"], json!(false));
    assert_eq!(report["integrityFindings"][0]["finding"], json!("unminted-actor-ref"));
    assert_eq!(report["integrityFindings"][0]["subject"], json!("root"));
    assert!(report["integrityFindings"][0]["sentence"].as_str().unwrap().contains("never minted"));
    assert!(report["error"].as_str().unwrap().contains("never minted"));
    assert_eq!(report["replayable"], json!(true));
}

#[test]
fn a_correlation_issuer_without_a_claim_window_of_room_is_unsound() {
    let lesson = String::from_utf8(LESSON.to_vec()).unwrap();
    for (ordinal, code) in
        [(9_007_199_253_740_990_u64, 0), (9_007_199_253_740_991, 1), (9_007_199_254_740_991, 1)]
    {
        let log = lesson.replace("cor-voicings", &format!("cor-{ordinal}"));
        let report = doctor(&Bench::with_log(log.as_bytes()), code);
        assert_eq!(report["correlationIssuerAt"], json!(ordinal));
        assert_eq!(report["correlationExhausted"], json!(ordinal == 9_007_199_254_740_991));
        let findings = report["correlationFindings"].as_array().unwrap();
        assert_eq!(findings.len(), if code == 1 { 3 } else { 0 });
        if code == 1 {
            assert_eq!(findings[0]["subject"], json!("msg-0001"));
            assert!(report["error"].as_str().unwrap().contains("correlation issuer"));
        }
    }
}

#[test]
fn every_kind_of_damage_is_named_with_its_place_and_leaves_every_byte() {
    let deep = format!("{{\"type\":\"x\",\"v\":{}{}}}\n", "[".repeat(128), "]".repeat(128));
    for (kind, damage) in [
        ("torn-tail", b"{\"type\":\"x\"}".as_slice()),
        ("not-utf8", b"{\"type\":\"\xff\"}\n"),
        ("blank-line", b" \n"),
        ("not-json", b"\0\0\0\0\n"),
        ("too-deep", deep.as_bytes()),
        ("duplicate-key", b"{\"type\":\"x\",\"a\":{\"b\":1,\"\\u0062\":2}}\n"),
        ("not-an-object", b"[]\n"),
        ("no-type", b"{\"kind\":\"x\"}\n"),
        ("unreplayable", b"{\"type\":\"actor.registered\"}\n"),
    ] {
        let bench = Bench::with_log(&[LESSON, damage].concat());
        let report = doctor(&bench, 3);
        assert_eq!(report["corrupt"]["kind"], json!(kind));
        assert_eq!(report["corrupt"]["line"], json!(11), "{kind}");
        if kind != "unreplayable" {
            assert_eq!(report["corrupt"]["offset"], json!(LESSON.len()), "{kind}");
        }
        assert_eq!(report["replayable"], json!(false));
        assert_eq!(report["failClosed"], json!(true));
        assert_eq!(report["lock"], Value::Null);
        let cuts = commands(&report).iter().any(|command| command.contains("truncate"));
        assert_eq!(cuts, kind == "torn-tail", "{kind}");
        assert_eq!(bench.names(), ["events.jsonl"]);
    }
}

#[test]
fn a_log_that_is_a_directory_is_never_edited() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.log()).unwrap();
    let report = doctor(&bench, 3);
    assert_eq!(report["corrupt"]["kind"], json!("not-a-file"));
    assert_eq!(report["logBytes"], json!(0));
}

#[test]
fn the_steps_for_a_torn_tail_cut_exactly_the_torn_bytes_and_keep_a_copy() {
    // A name that a careless command would take apart.
    for name in ["data", "it's; a $(name)\n\u{1b}[2J", "-rf"] {
        let bench = Bench::named(name);
        let torn = [LESSON, b"{\"type\":\"message.sent\",".as_slice()].concat();
        bench.write_log(&torn);
        follow(&bench, &doctor(&bench, 3)).unwrap();
        assert_eq!(bench.log_bytes(), LESSON);
        assert_eq!(bench.names(), ["events.jsonl", "events.jsonl.torn-at-3617"]);
        assert_eq!(std::fs::read(bench.data.join("events.jsonl.torn-at-3617")).unwrap(), torn);
        doctor(&bench, 0);
    }
}

#[test]
fn the_steps_for_a_torn_tail_stop_when_the_log_is_no_longer_the_one_described() {
    let torn = [LESSON, b"{".as_slice()].concat();
    let bench = Bench::with_log(&torn);
    let report = doctor(&bench, 3);
    let grown = [&torn, b"\"type\":\"x\"}\n".as_slice()].concat();
    bench.write_log(&grown);
    assert!(follow(&bench, &report).is_err());
    assert_eq!(bench.log_bytes(), grown);

    // And when there is a lock after all.
    let bench = Bench::with_log(&torn);
    let report = doctor(&bench, 3);
    std::fs::create_dir(bench.lock()).unwrap();
    assert!(follow(&bench, &report).unwrap_err().starts_with("mkdir"));
    assert_eq!(bench.log_bytes(), torn);
}

#[test]
fn a_tail_torn_twice_at_one_offset_is_cut_twice_and_both_copies_are_kept() {
    let bench = Bench::with_log(LESSON);
    let copies = ["events.jsonl.torn-at-3617", "events.jsonl.torn-at-3617.2"];
    for (tail, copy) in [b"{\"a\"".as_slice(), b"{\"b\""].into_iter().zip(copies) {
        let torn = [LESSON, tail].concat();
        bench.write_log(&torn);
        follow(&bench, &doctor(&bench, 3)).unwrap();
        assert_eq!(bench.log_bytes(), LESSON);
        assert_eq!(std::fs::read(bench.data.join(copy)).unwrap(), torn);
    }
    assert_eq!(bench.names(), ["events.jsonl", copies[0], copies[1]]);
}

/// Steps that were printed earlier, beside a whole record of the length that the torn one had.
#[test]
fn old_steps_for_a_torn_tail_cut_no_whole_record_of_that_length() {
    let whole = b"{\"type\":\"x\"}\n";
    let torn = [LESSON, &[b' '; 13][..]].concat();
    assert_eq!(whole.len(), 13);
    let bench = Bench::with_log(&torn);
    let report = doctor(&bench, 3);
    let sound = [LESSON, whole.as_slice()].concat();
    bench.write_log(&sound);
    assert!(follow(&bench, &report).unwrap_err().starts_with("cmp"));
    assert_eq!(bench.log_bytes(), sound);
}

#[test]
fn two_people_cannot_both_take_the_lock_under_which_a_torn_tail_is_cut() {
    let bench = Bench::with_log(&[LESSON, b"{".as_slice()].concat());
    let report = doctor(&bench, 3);
    claim_once(&bench, &report, |command| command.starts_with("mkdir"));
}

/// Carries out the step that claims the lock, which nobody can do twice; what doctor says then.
fn claim_once(bench: &Bench, report: &Value, claims: fn(&String) -> bool) -> Value {
    let claim = commands(report).into_iter().find(claims).unwrap();
    assert_eq!(bench.shell(&claim).code, 0, "{claim}");
    assert_ne!(bench.shell(&claim).code, 0, "{claim}");
    let again = doctor(bench, 3);
    assert!(again["recovery"].to_string().contains("claimed already"), "{again:#}");
    again
}

/// Carries out the steps up to the first whose command holds these words, which comes next.
fn follow_until(bench: &Bench, report: &Value, words: &str) -> String {
    let commands = commands(report).into_iter();
    for command in commands.filter(|command| !command.starts_with("pgrep")) {
        if command.contains(words) {
            return command;
        }
        assert_eq!(bench.shell(&command).code, 0, "{command}");
    }
    panic!("no step has {words}")
}

#[test]
fn a_tail_that_changed_behind_its_copy_is_not_cut() {
    let bench = Bench::with_log(&[LESSON, b"{\"a\"".as_slice()].concat());
    let cut = follow_until(&bench, &doctor(&bench, 3), "truncate");
    let changed = [LESSON, b"{\"b\"".as_slice()].concat();
    bench.write_log(&changed);
    assert_ne!(bench.shell(&cut).code, 0, "{cut}");
    assert_eq!(bench.log_bytes(), changed);
}

#[test]
fn a_copy_that_lost_lines_does_not_take_the_place_of_the_log() {
    let bench = locked(LESSON, None);
    let replace = follow_until(&bench, &doctor(&bench, 3), "mv -f");
    for lost in [b"".as_slice(), &LESSON[..LESSON.iter().position(|b| *b == b'\n').unwrap() + 1]] {
        std::fs::write(bench.data.join("events.jsonl.rewritten"), lost).unwrap();
        assert_ne!(bench.shell(&replace).code, 0, "{replace}");
        assert_eq!(bench.log_bytes(), LESSON);
    }
}

#[test]
fn a_rewrite_that_was_interrupted_behind_its_copy_can_be_made_again() {
    let bench = locked(LESSON, Some(&owner(|owner| owner.started_at = Some("long ago".into()))));
    follow_until(&bench, &doctor(&bench, 3), "mv -f");
    assert!(bench.data.join("events.jsonl.rewritten").exists());
    follow(&bench, &doctor(&bench, 3)).unwrap();
    assert_eq!((bench.log_bytes(), bench.names()), (LESSON.to_vec(), vec!["events.jsonl".into()]));
}

#[test]
fn other_damage_is_kept_and_the_steps_start_a_new_directory() {
    let damaged = [LESSON, b"[]\n".as_slice()].concat();
    let bench = Bench::with_log(&damaged);
    // They end with a look at the new directory, which is well.
    follow(&bench, &doctor(&bench, 3)).unwrap();
    assert_eq!(bench.log_bytes(), damaged);
    let fresh = bench.outside().join("data-new/events.jsonl");
    assert!(std::fs::read_to_string(fresh).unwrap().contains("\"name\":\"gaia\""));
}

/// What the doctor says of an owner: whether it runs, and whether the log is to be rewritten.
#[test]
fn each_state_of_a_left_over_lock_gets_its_own_steps_and_they_work() {
    let gone = |owner: &mut Owner| owner.started_at = Some("long ago".into());
    let cases: Vec<(&str, Option<Vec<u8>>, &str, bool)> = vec![
        ("a live writer", Some(owner(|_| ())), "yes", true),
        ("a dead writer of this boot", Some(owner(gone)), "no", true),
        (
            "an unconfirmed write",
            Some(owner(|o| {
                gone(o);
                o.state = Some("unconfirmed".into());
            })),
            "no",
            true,
        ),
        ("an earlier boot", Some(owner(|o| o.boot_id = Some("earlier".into()))), "no", false),
        (
            "an earlier boot, unconfirmed",
            Some(owner(|o| {
                o.boot_id = Some("earlier".into());
                o.state = Some("unconfirmed".into());
            })),
            "no",
            false,
        ),
        (
            "a dead reader",
            Some(owner(|o| {
                gone(o);
                o.mode = Some("read".into());
            })),
            "no",
            false,
        ),
        (
            "another host",
            Some(owner(|o| {
                o.host = Some("elsewhere".into());
                o.boot_id = Some("other".into());
            })),
            "unknown",
            true,
        ),
        (
            "an older build, pid in use",
            Some(
                format!("{{\"pid\":{},\"at\":\"2026-09-15T23:41:09.954Z\"}}", std::process::id())
                    .into_bytes(),
            ),
            "unknown",
            true,
        ),
        (
            "an older build, pid free",
            Some(b"{\"pid\":4194999,\"at\":\"2026-09-15T23:41:09.954Z\"}".to_vec()),
            "no",
            true,
        ),
        ("no record", None, "unknown", true),
        ("half a record", Some(b"{\"pid\":".to_vec()), "unknown", true),
    ];
    for (what, record, running, rewritten) in cases {
        // The dead writer left half a line behind: only whole lines may be copied.
        let tail: &[u8] = if rewritten { b"{\"type\":" } else { b"" };
        let bench = locked(&[LESSON, tail].concat(), record.as_deref());
        let report = doctor(&bench, 3);
        assert_eq!(report["lockBusyOnEntry"], json!(true), "{what}");
        assert_eq!(report["code"], json!("lock-timeout"), "{what}");
        assert_eq!(report["lock"]["ownerRunning"], json!(running), "{what}");
        assert_eq!(report["lock"]["path"], json!(bench.lock()), "{what}");
        assert_eq!(report["lock"]["probablyAbandoned"], json!(false), "{what}");
        assert_eq!(rewrites(&report), rewritten, "{what}: {report:#}");
        assert!(bench.lock().exists(), "{what}: described, never touched");
        let found = bench.log_bytes();
        follow(&bench, &report).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(bench.log_bytes(), LESSON, "{what}");
        if rewritten {
            // What was behind the whole lines is kept as evidence.
            assert_eq!(bench.names(), ["events.jsonl", "events.jsonl.torn"], "{what}");
            assert_eq!(std::fs::read(bench.data.join("events.jsonl.torn")).unwrap(), found);
        } else {
            assert_eq!(bench.names(), ["events.jsonl"], "{what}");
        }
        doctor(&bench, 0);
    }
}

#[test]
fn a_lock_beside_no_log_and_beside_an_empty_one_can_be_cleared() {
    let bench = locked(b"", None);
    follow(&bench, &doctor(&bench, 3)).unwrap();
    assert_eq!(bench.names(), ["events.jsonl"]);
    assert_eq!(bench.log_bytes(), b"");

    let bench = locked(b"", None);
    std::fs::remove_file(bench.log()).unwrap();
    follow(&bench, &doctor(&bench, 3)).unwrap();
    assert_eq!(bench.names(), [""; 0]);

    // A log that came after doctor's look may hold bytes that are not on the disk.
    let bench = locked(b"", None);
    std::fs::remove_file(bench.log()).unwrap();
    let report = doctor(&bench, 3);
    bench.write_log(LESSON);
    assert!(follow(&bench, &report).unwrap_err().starts_with("test ! -e"));
    assert!(bench.lock().exists());
}

#[test]
fn an_old_lock_is_called_probably_abandoned_and_left_alone() {
    let bench = locked(LESSON, Some(&owner(|_| ())));
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::open(bench.lock()).unwrap().set_modified(hour_ago).unwrap();
    let report = doctor(&bench, 3);
    assert_eq!(report["lock"]["probablyAbandoned"], json!(true));
    assert!(report["lock"]["ageMs"].as_u64().unwrap() >= 3_600_000);
    assert!(bench.lock().join("owner.json").exists());
}

#[test]
fn two_people_cannot_both_claim_a_lock_and_a_claim_fits_one_lock_only() {
    for record in [Some(owner(|_| ())), None, Some(b"{\"pid\":1,\"at\":\"then\"}".to_vec())] {
        let bench = locked(LESSON, record.as_deref());
        let report = doctor(&bench, 3);
        let again = claim_once(&bench, &report, |command| command.contains("claimed'"));
        follow(&bench, &again).unwrap();
        assert_eq!(bench.names(), ["events.jsonl"]);
    }
    // The lock that was described is gone, and another stands in its place.
    let bench = locked(LESSON, Some(&owner(|_| ())));
    let report = doctor(&bench, 3);
    std::fs::write(bench.lock().join("owner.json"), owner(|o| o.token = Some("other".into())))
        .unwrap();
    assert!(follow(&bench, &report).is_err());
    assert!(bench.lock().join("owner.json").exists());
}

/// Steps that were printed for a lock without a readable record, beside the lock of a live process
/// that has been made since.
#[test]
fn old_steps_for_a_lock_without_a_record_do_not_claim_the_next_one() {
    for record in [None, Some(b"{\"pid\":".as_slice())] {
        let bench = locked(LESSON, record);
        let report = doctor(&bench, 3);
        std::fs::remove_dir_all(bench.lock()).unwrap();
        std::fs::create_dir(bench.lock()).unwrap();
        std::fs::write(bench.lock().join("owner.json"), owner(|_| ())).unwrap();
        assert!(follow(&bench, &report).unwrap_err().starts_with("test $(stat"));
        assert!(bench.lock().join("owner.json").exists());
        assert_eq!(bench.names(), ["events.jsonl", "events.lock"]);
    }
}

#[cfg(unix)]
#[test]
fn a_log_that_is_rewritten_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let bench = locked(LESSON, None);
    std::fs::set_permissions(bench.log(), std::fs::Permissions::from_mode(0o640)).unwrap();
    follow(&bench, &doctor(&bench, 3)).unwrap();
    let mode = std::fs::metadata(bench.log()).unwrap().permissions().mode();
    assert_eq!((mode & 0o777, bench.log_bytes().as_slice()), (0o640, LESSON));
}

#[test]
fn something_that_is_no_lock_is_moved_aside_and_not_removed() {
    let bench = Bench::with_log(LESSON);
    std::fs::write(bench.data.join("events.lock.foreign"), b"of an earlier time").unwrap();
    std::fs::write(bench.lock(), b"not a directory").unwrap();
    let report = doctor(&bench, 3);
    assert_eq!(report["code"], json!("lock-unavailable"));
    follow(&bench, &report).unwrap();
    let kept = ["events.jsonl", "events.lock.foreign", "events.lock.foreign.2"];
    assert_eq!(bench.names(), kept);
    doctor(&bench, 0);
}

#[test]
fn a_data_directory_that_is_a_file_is_said_to_be_unusable() {
    let bench = Bench::new();
    std::fs::write(&bench.data, b"").unwrap();
    let report = doctor(&bench, 3);
    assert_eq!(report["code"], json!("lock-unavailable"));
}

#[test]
fn a_data_directory_whose_name_is_not_text_can_be_examined() {
    let bench = Bench::named(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    bench.write_log(&[LESSON, b"{".as_slice()].concat());
    follow(&bench, &doctor(&bench, 3)).unwrap();
    assert_eq!(bench.log_bytes(), LESSON);
}
