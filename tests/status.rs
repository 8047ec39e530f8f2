//! Promise: `status` says who is live, who works in the same tree and how long the bus has been
//! quiet, and changes nothing.
//!
//! Method: the shipped binary on the recorded lesson and on what its own verbs wrote.
//!
//! Cannot see: two spellings of one tree that only the file system knows to be the same (links,
//! case).
#![allow(clippy::unwrap_used)]

mod binary;

use binary::{Bench, LESSON};
use serde_json::{Value, json};

#[test]
fn the_lesson_at_a_glance() {
    let bench = Bench::with_log(LESSON);
    let status = bench.ok(&["status"]);
    let keys: Vec<_> = status.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "ok",
            "command",
            "dataDir",
            "logPath",
            "events",
            "liveActors",
            "staleActors",
            "supportedMaxLiveLanes",
            "overSupportedLaneLimit",
            "workspaceCollisions",
            "asOf",
            "quietForMs",
            "result"
        ]
    );
    assert_eq!(status["command"], json!("status"));
    assert_eq!(status["logPath"], json!(bench.log()));
    assert_eq!(status["events"], json!(10));
    // The coordinator was last seen 38 seconds before the newest event.
    assert_eq!((&status["liveActors"], &status["staleActors"]), (&json!(2), &json!(1)));
    assert_eq!(status["overSupportedLaneLimit"], json!(false));
    assert_eq!(status["asOf"], json!("2026-09-15T23:41:48.520Z"));
    assert!(status["quietForMs"].as_i64().unwrap() > 0);
    assert_eq!(
        status["workspaceCollisions"],
        json!([{
            "cwd": "c:/repos/ga",
            "refs": ["act-0002", "act-0003"],
            "occupants": [
                {"ref": "act-0002", "status": "online",
                 "lastSeenAt": "2026-09-15T23:41:28.116Z", "branch": "feat/voicings"},
                {"ref": "act-0003", "status": "online",
                 "lastSeenAt": "2026-09-15T23:41:48.318Z", "branch": "feat/voicings"},
            ],
            "branches": ["feat/voicings"],
        }])
    );
    assert_eq!(status["result"], bench.ok(&["state"])["result"]);
    assert_eq!(bench.log_bytes(), LESSON);
}

#[test]
fn an_empty_bus_has_no_newest_event() {
    let status = Bench::new().ok(&["status"]);
    assert_eq!(status["asOf"], Value::Null);
    assert_eq!(status["quietForMs"], Value::Null);
    assert_eq!(status["liveActors"], json!(0));
}

#[test]
fn trees_are_compared_windows_first_and_only_online_actors_collide() {
    let bench = Bench::new();
    let register = |name: &str, capabilities: &str| {
        bench.ok(&["register", "--actorId", name, "--capabilities", capabilities]);
    };
    register("a", "cwd=C:\\src\\app\\,branch=Main");
    assert_eq!(bench.ok(&["status"])["workspaceCollisions"], json!([]));
    register("b", "cwd=c:/src/app,branch=fix\\");
    register("c", "cwd=c:/src/App");
    register("d", "observe,cwd=");
    let collisions = bench.ok(&["status"])["workspaceCollisions"].clone();
    assert_eq!(collisions.as_array().unwrap().len(), 1);
    assert_eq!(collisions[0]["cwd"], json!("c:/src/app"));
    assert_eq!(collisions[0]["refs"], json!(["act-0001", "act-0002"]));
    assert_eq!(collisions[0]["branches"], json!(["Main", "fix\\"]));

    // A minute later only one of them has been seen.
    let later = b"{\"type\":\"actor.heartbeat\",\"at\":\"2999-01-01T00:00:00.000Z\",\
        \"actorId\":\"act-0001\",\"note\":null}\n";
    bench.write_log(&[bench.log_bytes().as_slice(), later].concat());
    let status = bench.ok(&["status"]);
    assert_eq!(status["workspaceCollisions"], json!([]));
    assert_eq!(status["liveActors"], json!(1));
    // The record is ahead of this clock. (The control is the lesson, which lies behind it.)
    assert_eq!(status["quietForMs"], json!(0));
}

#[test]
fn more_live_lanes_than_supported_are_said() {
    let bench = Bench::new();
    for (name, over) in [("a", false), ("b", false), ("c", false), ("d", false), ("e", true)] {
        bench.ok(&["register", "--actorId", name]);
        let status = bench.ok(&["status"]);
        assert_eq!(status["overSupportedLaneLimit"], json!(over), "{name}");
        assert_eq!(status["supportedMaxLiveLanes"], json!(4));
    }
}
