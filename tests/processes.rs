//! Promise: many processes on one directory act as one after another. Ids are unique and dense,
//! lines are whole, replay is deterministic, and no answered command is missing from the log.
//!
//! Method: 16 workers run 50 mixed commands each, every command a process of the shipped binary, on
//! one data directory at once; then the log is read with a JSON reader of another make and compared
//! with what was answered. And 64 writers start at once.
//!
//! Cannot see: kills and power cuts (see the harness), and orders that this machine did not happen
//! to produce.

#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const WORKERS: usize = 16;
const COMMANDS: usize = 50;

fn run(data_dir: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_gaia-bus"))
        .args(arguments)
        .env("GAIA_INTERAGENT_DATA_DIR", data_dir)
        .env("GAIA_INTERAGENT_LOCK_TIMEOUT_MS", "120000")
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = if answer["ok"] == true { 0 } else { 1 };
    assert_eq!(output.status.code(), Some(expected), "{answer}");
    answer
}

/// One worker's commands; gives back every answer.
fn work(data_dir: &Path, worker: usize) -> Vec<Value> {
    let name = format!("worker-{worker}");
    let peer = format!("worker-{}", (worker + 1) % WORKERS);
    let mut answers = Vec::new();
    let mut read = Vec::new();
    for step in 0..COMMANDS {
        let text = format!("{worker}/{step}: please merge this");
        let answer = match step % 7 {
            _ if step == 0 => run(data_dir, &["register", "--actorId", &name]),
            1 => run(data_dir, &["send", "--from", &name, "--to", &peer, "--text", &text]),
            2 => {
                let wanted = "--requestedAuthority=read,merge";
                run(data_dir, &["send", "--from", &name, "--to", &name, "--text", &text, wanted])
            }
            3 => run(data_dir, &["inbox", "--actorId", &name]),
            4 => {
                let id = read.pop().unwrap_or_else(|| "msg-none".to_owned());
                run(data_dir, &["ack", "--actorId", &name, "--messageId", &id])
            }
            5 => run(data_dir, &["heartbeat", "--actorId", &name]),
            6 => run(data_dir, &["handoff", "--from", &name, "--to", &peer, "--summary", &text]),
            // One that is refused whatever the others do.
            _ if step == 7 => run(data_dir, &["heartbeat", "--actorId", "nobody"]),
            _ => run(data_dir, &["register", "--actorId", &format!("{name}-{step}")]),
        };
        if let Some(pending) = answer["result"]["pending"].as_array() {
            read = pending.iter().map(|m| m["messageId"].as_str().unwrap().to_owned()).collect();
        }
        answers.push(answer);
    }
    answers
}

#[test]
fn sixteen_processes_leave_dense_ids_whole_lines_and_every_answer() {
    let home = tempfile::tempdir().unwrap();
    let data_dir = home.path().join("data");
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let data_dir = &data_dir;
        let workers: Vec<_> =
            (0..WORKERS).map(|worker| scope.spawn(move || work(data_dir, worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(answers.len(), WORKERS * COMMANDS);

    let log = fs::read_to_string(data_dir.join("events.jsonl")).unwrap();
    assert!(log.ends_with('\n'));
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &'static str| records.iter().filter(move |record| record["type"] == kind);
    let minted = |prefix: &str, ids: Vec<&Value>| {
        for (index, id) in ids.iter().enumerate() {
            assert_eq!(**id, format!("{prefix}-{:04}", index + 1), "dense, in log order");
        }
    };
    let new = of("actor.registered").filter(|record| record["isNew"] == true);
    minted("act", new.map(|record| &record["ref"]).collect());
    minted("msg", of("message.sent").map(|record| &record["message"]["messageId"]).collect());

    // Every answer accounts for its records, and every record for an answer.
    let appended: usize =
        answers.iter().map(|answer| answer["eventsAppended"].as_array().unwrap().len()).sum();
    assert_eq!(appended, records.len());
    let sent: HashSet<&str> =
        of("message.sent").map(|r| r["message"]["messageId"].as_str().unwrap()).collect();
    let answered: Vec<&str> = answers
        .iter()
        .filter(|answer| answer["result"]["delivery"].is_string())
        .map(|answer| answer["result"]["messageId"].as_str().unwrap())
        .collect();
    assert_eq!(answered.len(), sent.len(), "no message was answered twice");
    assert!(answered.iter().all(|id| sent.contains(id)));
    let refused = answers.iter().filter(|answer| answer["ok"] == false).count();
    assert_eq!(refused, of("command.rejected").count());
    assert!(refused > 0 && of("message.acked").count() > 0, "the commands were mixed");

    // Replay is deterministic: two cold folds by two processes show the same.
    let state = run(&data_dir, &["state"]);
    assert_eq!(state, run(&data_dir, &["state"]));
    assert_eq!(state["result"]["eventsApplied"], records.len());
    let names: Vec<_> = fs::read_dir(&data_dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["events.jsonl"]);
}

#[test]
fn sixty_four_writers_at_once_all_finish() {
    const WRITERS: usize = 64;
    let home = tempfile::tempdir().unwrap();
    let data_dir = home.path().join("data");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let data_dir = &data_dir;
            scope.spawn(move || {
                let name = format!("writer-{writer}");
                assert_eq!(run(data_dir, &["register", "--actorId", &name])["ok"], true);
            });
        }
    });
    let log = fs::read_to_string(data_dir.join("events.jsonl")).unwrap();
    let refs: HashSet<String> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["ref"].to_string())
        .collect();
    assert_eq!((log.lines().count(), refs.len()), (WRITERS, WRITERS));
}
