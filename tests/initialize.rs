//! Promise: `initialize` says what it would do, does only that, and does it once.
//!
//! Method: the shipped binary, alone and eight at a time on one directory.
//!
//! Cannot see: a coordinator that someone registers by hand between two looks at the dry run.
#![allow(clippy::unwrap_used)]

mod binary;

use std::process::Stdio;

use binary::{Bench, Done, LESSON};
use serde_json::{Value, json};

fn registrations(bench: &Bench) -> usize {
    let log = String::from_utf8(bench.log_bytes()).unwrap();
    log.matches("\"type\":\"actor.registered\"").count()
}

#[test]
fn a_dry_run_says_what_would_be_done_and_creates_nothing() {
    let bench = Bench::new();
    let plan = bench.ok(&["initialize"]);
    assert_eq!(plan["mode"], json!("dry-run"));
    assert_eq!(plan["willCreateDataDir"], json!(true));
    assert_eq!(plan["existingLog"], json!(false));
    assert_eq!(plan["willRegisterCoordinator"], json!("gaia"));
    assert_eq!(plan["destructive"], json!(false));
    assert_eq!(plan["required"], json!("--apply"));
    assert!(plan["note"].as_str().unwrap().contains("one registration"));
    assert!(!bench.data.exists());

    let bench = Bench::with_log(LESSON);
    let plan = bench.ok(&["initialize", "--actor", "conductor"]);
    assert_eq!(plan["willCreateDataDir"], json!(false));
    assert_eq!(plan["existingLog"], json!(true));
    assert_eq!(plan["willRegisterCoordinator"], json!("conductor"));
    let plan = bench.ok(&["initialize"]);
    assert_eq!(plan["willRegisterCoordinator"], Value::Null, "gaia is there already");
    assert_eq!(plan["alreadyRegistered"], json!(true));
    assert_eq!(bench.log_bytes(), LESSON);
}

#[test]
fn applied_once_it_registers_a_coordinator_and_applied_again_nothing() {
    let bench = Bench::new();
    let done = bench.ok(&["initialize", "--apply"]);
    assert_eq!(done["mode"], json!("applied"));
    assert_eq!(done["alreadyRegistered"], json!(false));
    assert_eq!(done["result"]["ref"], json!("act-0001"));
    let actor = &bench.ok(&["state"])["result"]["actors"][0];
    assert_eq!((&actor["name"], &actor["kind"]), (&json!("gaia"), &json!("coordinator")));
    assert_eq!(actor["declaredCapabilities"], json!(["observe", "report"]));
    let log = bench.log_bytes();
    let again = bench.ok(&["initialize", "--apply"]);
    assert_eq!(again["alreadyRegistered"], json!(true));
    assert_eq!(again["candidates"], json!(["act-0001"]));
    assert_eq!(again["eventsAppended"], json!([]));
    bench.ok(&["initialize", "--apply", "--actor", " gaia "]);
    assert_eq!(bench.log_bytes(), log);
    bench.ok(&["initialize", "--apply", "--actor", "conductor"]);
    assert_eq!(registrations(&bench), 2);
    assert_eq!(bench.names(), ["events.jsonl"]);
}

#[test]
fn a_name_that_several_bear_is_refused_with_the_candidates_and_nothing_is_appended() {
    let bench = Bench::new();
    bench.ok(&["register", "--actorId", "gaia"]);
    bench.ok(&["register", "--actorId", "gaia"]);
    let log = bench.log_bytes();
    for arguments in [vec!["initialize"], vec!["initialize", "--apply"]] {
        let done = bench.run(&arguments);
        assert_eq!(done.code, 1, "{done:?}");
        let answer = done.json();
        assert_eq!(answer["ok"], json!(false));
        assert_eq!(answer["code"], json!("ambiguous-name"));
        assert_eq!(answer["candidates"], json!(["act-0001", "act-0002"]));
        assert!(done.stderr.contains("act-0001, act-0002"), "{done:?}");
        assert_eq!(bench.log_bytes(), log);
    }
}

#[test]
fn a_name_that_the_bus_refuses_is_refused_here_too() {
    for name in ["", "  ", "act-0001"] {
        let bench = Bench::with_log(LESSON);
        let plan = bench.run(&["initialize", "--actor", name]);
        assert_eq!(plan.code, 1, "{plan:?}");
        assert_eq!(bench.log_bytes(), LESSON, "a dry run records nothing");
        let done = bench.run(&["initialize", "--apply", "--actor", name]);
        assert_eq!(done.code, 1, "{done:?}");
        assert_eq!(done.json()["code"], plan.json()["code"]);
        assert_eq!(done.json()["eventsAppended"], json!(["command.rejected"]));
        assert_eq!(registrations(&bench), 3);
    }
}

#[test]
fn eight_at_a_time_register_one_coordinator() {
    let bench = Bench::new();
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = bench.command(&["initialize", "--apply"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let answers: Vec<Value> = children
        .into_iter()
        .map(|child| {
            let done = Done::of(child.wait_with_output().unwrap());
            assert_eq!(done.code, 0, "{done:?}");
            done.json()
        })
        .collect();
    let fresh = answers.iter().filter(|answer| answer["alreadyRegistered"] == json!(false));
    assert_eq!(fresh.count(), 1);
    assert_eq!(registrations(&bench), 1);
}

#[test]
fn a_damaged_log_fails_closed_also_in_a_dry_run() {
    let bench = Bench::with_log(b"{");
    for arguments in [vec!["initialize"], vec!["initialize", "--apply"]] {
        let done = bench.run(&arguments);
        assert_eq!(done.code, 3, "{done:?}");
        assert_eq!(bench.log_bytes(), b"{");
    }
}
