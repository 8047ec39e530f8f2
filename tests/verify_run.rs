//! Promise: the exit code of `verify` says what its payload says, in both regimes; it writes
//! nothing, takes no lock for a file that is named, and leaves nothing beside it.
//!
//! Method: the shipped binary on the recorded lesson, on an empty workspace, and on logs with one
//! planted fault each; the directory is listed before and after.
//!
//! Cannot see: what each check sees (`tests/verify.rs`, `tests/verify_mutations.rs`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod binary;

use std::fs;
use std::path::Path;

use binary::{Bench, LESSON};
use gaia_bus::verify::product::look_at_server;
use serde_json::Value;

/// The sections and how many checks each has on any log.
fn sections(report: &Value) -> Vec<(String, usize)> {
    let sections = report["sections"].as_array().unwrap();
    sections
        .iter()
        .map(|section| {
            let name = section["section"].as_str().unwrap().to_owned();
            (name, section["checks"].as_array().unwrap().len())
        })
        .collect()
}

fn red(report: &Value) -> Vec<String> {
    let sections = report["sections"].as_array().unwrap();
    let checks = sections.iter().flat_map(|section| section["checks"].as_array().unwrap());
    checks
        .filter(|check| check["ok"] == false)
        .map(|check| check["name"].as_str().unwrap().to_owned())
        .collect()
}

const ADVISORY: [&str; 5] = [
    "at least three actors",
    "more than one actor kind",
    "a correlated thread of three or more messages",
    "at least one acknowledgement",
    "at least one handoff",
];

#[test]
fn the_lesson_has_thirty_seven_green_checks_in_eight_sections_and_history_on_top() {
    let bench = Bench::with_log(LESSON);
    for arguments in [&["verify"][..], &["verify", "--require-evidence"]] {
        let report = bench.ok(arguments);
        let sections = sections(&report);
        let (history, recorded) = sections.split_last().unwrap();
        let recorded: Vec<_> =
            recorded.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(
            recorded,
            [
                ("manifest", 7),
                ("transport", 1),
                ("templates", 1),
                ("lanes", 3),
                ("startup-timeout", 2),
                ("ecosystem", 4),
                ("tool-surface", 2),
                ("evidence", 17),
            ]
        );
        assert_eq!(recorded.iter().map(|(_, count)| count).sum::<usize>(), 37);
        assert_eq!(history.0, "history");
        assert_eq!(red(&report), [""; 0]);
        assert_eq!(report["passed"], 37 + history.1);
        assert_eq!((&report["failed"], &report["readOnly"]), (&0.into(), &true.into()));
        assert_eq!((&report["ok"], &report["evidenceOk"]), (&true.into(), &true.into()));
        assert_eq!(report["evidence"]["events"], 10);
        assert!(report["evidence"]["proves"].as_str().unwrap().contains("not provenance"));
        assert_eq!(report["evidenceGatesResult"], arguments.len() > 1);
        assert_eq!(report["sections"][7]["gatesResult"], arguments.len() > 1);
        assert_eq!(report["sections"][8]["gatesResult"], true);
    }
    assert_eq!(bench.names(), ["events.jsonl"]);
    assert_eq!(bench.log_bytes(), LESSON);
}

#[test]
fn an_empty_workspace_exits_0_unless_it_is_claimed_as_evidence_and_is_not_created() {
    let bench = Bench::new();
    let looked = bench.ok(&["verify"]);
    assert_eq!(red(&looked), ADVISORY);
    assert_eq!(looked["evidenceOk"], false);
    let claimed = bench.run(&["verify", "--require-evidence"]);
    assert_eq!(claimed.code, 1);
    assert_eq!(red(&claimed.json()), ADVISORY);
    for name in ADVISORY {
        assert!(claimed.stderr.contains(name), "{}", claimed.stderr);
    }
    assert!(!bench.data.exists());
}

#[test]
fn a_named_log_is_read_without_a_lock_and_nothing_is_left_beside_it() {
    let bench = Bench::new();
    let elsewhere = bench.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let path = elsewhere.join("events.jsonl");
    fs::write(&path, LESSON).unwrap();
    // A lock beside it and one in the data directory: neither is waited for.
    fs::create_dir(elsewhere.join("events.lock")).unwrap();
    fs::create_dir_all(bench.lock()).unwrap();
    let report = bench.ok(&["verify", "--evidence", path.to_str().unwrap()]);
    assert_eq!(report["evidenceGatesResult"], true);
    assert_eq!(report["evidence"]["source"], path.to_str().unwrap());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 2);
    assert_eq!(fs::read(&path).unwrap(), LESSON);
    assert_eq!(bench.names(), ["events.lock"]);
}

#[test]
fn a_transferred_authority_makes_verify_exit_1_and_leaves_doctor_at_0() {
    let lesson = String::from_utf8(LESSON.to_vec()).unwrap();
    let tampered =
        lesson.replace(r#""authorityTransferred":[]"#, r#""authorityTransferred":["approve"]"#);
    assert_ne!(tampered, lesson);
    let bench = Bench::with_log(tampered.as_bytes());
    let done = bench.run(&["verify"]);
    assert_eq!(done.code, 1);
    assert_eq!(done.json()["ok"], false);
    assert!(red(&done.json()).contains(&"no handoff transferred authority".to_owned()));
    assert!(done.stderr.contains("no handoff transferred authority"), "{}", done.stderr);
    assert_eq!(bench.run(&["doctor"]).code, 0);
}

#[test]
fn a_log_that_cannot_be_read_exits_3_and_says_why() {
    for (log, code) in [
        (&b"{\"type\":\"a\"}"[..], "log-corrupt"),
        (b"not json\n", "log-corrupt"),
        (b"{\"type\":\"message.sent\"}\n", "log-unreplayable"),
    ] {
        let bench = Bench::with_log(log);
        let path = bench.log();
        for arguments in [vec!["verify"], vec!["verify", "--evidence", path.to_str().unwrap()]] {
            let done = bench.run(&arguments);
            assert_eq!((done.code, &done.json()["code"]), (3, &code.into()), "{arguments:?}");
            assert_eq!(done.json()["failClosed"], true);
            assert_eq!(bench.log_bytes(), log);
        }
    }
    let bench = Bench::new();
    let missing = bench.outside().join("none.jsonl");
    for path in [missing.as_path(), bench.outside()] {
        assert_eq!(bench.run(&["verify", "--evidence", path.to_str().unwrap()]).code, 3);
    }
    assert!(!missing.exists());
}

#[cfg(unix)]
#[test]
fn a_fifo_as_evidence_is_refused_and_not_waited_for() {
    let bench = Bench::new();
    let path = bench.outside().join("fifo");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(bench.run(&["verify", "--evidence", path.to_str().unwrap()]).code, 3);
}

/// Starts the server as it ships, behind a shell that opens a connection first and leaves it open.
#[cfg(target_os = "linux")]
#[test]
fn a_socket_that_the_server_holds_is_counted_and_one_that_it_inherited_is_not() {
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;

    let bench = Bench::new();
    let look = |binary: &Path| look_at_server(binary, &bench.data).unwrap().sockets;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::empty()).unwrap();
    let shipped = Path::new(env!("CARGO_BIN_EXE_gaia-bus"));
    assert_eq!(look(shipped), Ok(Some(0)));

    let connected = bench.outside().join("connected");
    let port = listener.local_addr().unwrap().port();
    let connect = format!("exec 9<>/dev/tcp/127.0.0.1/{port} || exit 1");
    let script = format!("#!/usr/bin/env bash\n{connect}\nexec {shipped:?} \"$@\"\n");
    fs::write(&connected, script).unwrap();
    fs::set_permissions(&connected, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(look(&connected), Ok(Some(1)));
    assert!(!bench.data.exists());
}
