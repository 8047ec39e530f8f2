//! The server as it ships: a process, two pipes, and the signals that end it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::rows::{NEXT, NEXT_ANSWER, rows};
use super::{call, modern_request};

/// A running server and the directory it writes to.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    dir: TempDir,
}

impl Server {
    fn start() -> Server {
        Server::start_in(tempfile::tempdir().unwrap())
    }

    fn start_in(dir: TempDir) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gaia-bus"))
            .arg("--data-dir")
            .arg(dir.path().join("data"))
            .arg("serve")
            // Nobody waits that long: who comes back earlier was let through.
            .env("GAIA_INTERAGENT_LOCK_TIMEOUT_MS", "3600000")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().map(BufReader::new);
        Server { child, stdin, stdout, dir }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next line of the server, without its line feed.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the server went away: {line:?}");
        line.truncate(line.len() - 1);
        line
    }

    fn ask(&mut self, request: &str) -> Value {
        self.write(format!("{request}\n").as_bytes());
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Ends the input; everything that is still said.
    fn finish(mut self) -> Vec<String> {
        drop(self.stdin.take());
        let mut rest = String::new();
        self.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        assert!(rest.is_empty() || rest.ends_with('\n'), "an answer was cut: {rest:?}");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        rest.lines().map(str::to_owned).collect()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    fn log(&self) -> Vec<u8> {
        std::fs::read(self.dir.path().join("data/events.jsonl")).unwrap_or_default()
    }

    fn committed(&self) -> usize {
        self.log().iter().filter(|byte| **byte == b'\n').count()
    }

    fn has_lock(&self) -> bool {
        self.dir.path().join("data/events.lock").exists()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already unless a test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn register(id: usize) -> String {
    call(id, "register", r#"{"actorId":"gaia"}"#)
}

fn id_of(line: &str) -> u64 {
    serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap()
}

#[test]
fn every_row_gets_its_exact_answer_through_one_process() {
    let mut server = Server::start();
    for row in rows() {
        server.write(&[&row.input[..], b"\n", NEXT.as_bytes(), b"\n"].concat());
        for expected in row.answer.iter().map(String::as_str).chain([NEXT_ANSWER]) {
            assert_eq!(server.line(), expected, "{}", row.name);
        }
    }
    assert!(!server.dir.path().join("data").exists(), "something reached the bus");
    assert_eq!(server.finish(), Vec::<String>::new());
}

#[test]
fn fifty_pipelined_calls_are_all_answered_in_order_at_the_end_of_the_input() {
    let mut server = Server::start();
    let calls: Vec<String> = (0..50).map(register).collect();
    server.write(calls.join("\n").as_bytes());
    let log = server.dir.path().join("data/events.jsonl");
    let keep = std::mem::replace(&mut server.dir, tempfile::tempdir().unwrap());
    let answers = server.finish();
    let ids: Vec<u64> = answers.iter().map(|line| id_of(line)).collect();
    assert_eq!(ids, (0..50).collect::<Vec<u64>>());
    assert_eq!(std::fs::read_to_string(log).unwrap().lines().count(), 50);
    drop(keep);
}

#[test]
fn requests_with_one_id_are_both_answered() {
    let mut server = Server::start();
    server.write(format!("{}\n{}\n", register(7), register(7)).as_bytes());
    let refs: Vec<String> = (0..2)
        .map(|_| serde_json::from_str::<Value>(&server.line()).unwrap())
        .inspect(|answer| assert_eq!(answer["id"], 7))
        .map(|answer| answer["result"]["structuredContent"]["ref"].to_string())
        .collect();
    assert_eq!(refs, ["\"act-0001\"", "\"act-0002\""]);
}

#[test]
fn a_mark_split_and_joined_writes_cr_lf_and_a_missing_last_line_feed_work() {
    let mut server = Server::start();
    for byte in format!("\u{FEFF}{NEXT}\r\n").bytes() {
        server.write(&[byte]);
    }
    assert_eq!(server.line(), NEXT_ANSWER);
    server.write(format!("{NEXT}\n{NEXT}\r\n\n{}", &NEXT[..9]).as_bytes());
    assert_eq!(server.line(), NEXT_ANSWER);
    assert_eq!(server.line(), NEXT_ANSWER);
    server.write(&NEXT.as_bytes()[9..]);
    assert_eq!(server.finish(), [NEXT_ANSWER]);
}

#[test]
fn a_mark_before_a_later_line_is_not_json() {
    let mut server = Server::start();
    server.write(format!("{NEXT}\n\u{FEFF}{NEXT}\n").as_bytes());
    assert_eq!(server.line(), NEXT_ANSWER);
    assert!(server.line().contains("-32700"));
}

#[test]
fn nothing_is_created_before_the_first_call() {
    let mut server = Server::start();
    server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
    server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert!(!server.dir.path().join("data").exists());
    server.ask(&register(3));
    assert_eq!(server.committed(), 1);
}

#[test]
fn a_call_may_come_before_the_handshake() {
    let mut server = Server::start();
    let answer = server.ask(&register(1));
    assert_eq!(answer["result"]["structuredContent"]["ref"], "act-0001");
    let hello = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"initialize"}"#);
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn a_server_beside_a_damaged_log_starts_and_every_call_fails_closed() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("data/events.jsonl");
    std::fs::create_dir(dir.path().join("data")).unwrap();
    std::fs::write(&log, b"{\"type\":\"x\"}\n{\"type\":").unwrap();
    let mut server = Server::start_in(dir);
    let listed = server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 6);
    for id in 2..4 {
        let answer = server.ask(&register(id));
        assert_eq!(answer["result"]["isError"], true);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let text: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text["failClosed"], true);
        assert_eq!(text["code"], "log-corrupt");
        assert_eq!(text["eventsAppended"], json!([]));
    }
    assert_eq!(server.log(), b"{\"type\":\"x\"}\n{\"type\":");
    assert!(!server.has_lock());
    // Once a person has put the log right, the same process serves again.
    std::fs::write(&log, b"{\"type\":\"x\"}\n").unwrap();
    assert_eq!(server.ask(&register(4))["result"]["structuredContent"]["ref"], "act-0001");
}

#[test]
fn arguments_that_the_bus_refuses_are_recorded_refusals_and_never_protocol_errors() {
    let mut server = Server::start();
    server.ask(&register(0));
    let refused = [
        ("register", "{}", "missing-field"),
        ("register", r#"{"actorId":7}"#, "missing-field"),
        ("register", r#"{"actorId":["gaia"]}"#, "missing-field"),
        ("register", r#"{"actorId":"act-0001"}"#, "ref-shaped-name"),
        ("register", r#"{"actorId":"a","ref":"act-0009"}"#, "unknown-ref"),
        ("register", r#"{"actorId":"a","correlationID":"typo"}"#, "unknown-field"),
        ("send", r#"{"from":null,"to":"gaia","text":"x"}"#, "missing-field"),
        ("send", r#"{"from":"gaia","to":"gaia","text":{}}"#, "missing-field"),
        (
            "send",
            r#"{"from":"gaia","to":"gaia","text":"x","requestedAuthority":"approve"}"#,
            "authority-not-a-list",
        ),
        (
            "send",
            r#"{"from":"gaia","to":"gaia","text":"x","requestedAuthority":[1]}"#,
            "authority-entry-not-a-string",
        ),
        ("inbox", r#"{"actorId":"gaia","limit":"10"}"#, "bad-limit"),
        ("ack", r#"{"actorId":"gaia","messageId":1}"#, "unknown-message"),
        ("heartbeat", r#"{"actorId":"nobody"}"#, "unknown-actor"),
        ("handoff", r#"{"from":"gaia","to":"gaia","text":"x"}"#, "unknown-field"),
    ];
    for (id, (tool, arguments, code)) in refused.iter().enumerate() {
        let answer = server.ask(&call(id, tool, arguments));
        assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap()["code"], *code, "{arguments}");
    }
    let log = String::from_utf8(server.log()).unwrap();
    let rejected = log.lines().filter(|line| line.starts_with(r#"{"type":"command.rejected""#));
    assert_eq!(rejected.count(), refused.len());
}

#[test]
fn arguments_of_an_odd_type_that_the_bus_accepts_are_accepted_here_too() {
    let mut server = Server::start();
    let accepted = [
        ("register", r#"{"actorId":" gaia ","kind":7,"capabilities":"x","ref":null}"#),
        (
            "send",
            r#"{"from":"gaia","to":"act-0001","text":"x","kind":[],"expectsReply":"0","requestedAuthority":null,"correlationId":7,"replyTo":{}}"#,
        ),
        ("ack", r#"{"actorId":"gaia","messageId":"msg-0001","note":1e999}"#),
        ("heartbeat", r#"{"actorId":"gaia","note":["x"]}"#),
    ];
    for (tool, arguments) in accepted {
        let answer = server.ask(&call(1, tool, arguments));
        assert!(answer["result"]["structuredContent"].is_object(), "{arguments}: {answer}");
    }
}

#[test]
fn an_ordinary_send_is_answered_in_less_than_a_kilobyte_in_both_eras() {
    let mut server = Server::start();
    server.ask(&register(0));
    let arguments =
        r#"{"from":"gaia","to":"gaia","text":"Add the test.","requestedAuthority":["draft"]}"#;
    server.write(format!("{}\n", call(1, "send", arguments)).as_bytes());
    let legacy = server.line();
    let params = json!({
        "name": "send", "arguments": serde_json::from_str::<Value>(arguments).unwrap(),
    });
    server.write(format!("{}\n", modern_request("tools/call", params)).as_bytes());
    let modern = server.line();
    for answer in [&legacy, &modern] {
        assert!(answer.contains(r#""messageId":"msg-"#), "{answer}");
        assert!(answer.len() < 1_024, "{} bytes: {answer}", answer.len());
    }
    println!("a send answer takes {} bytes, {} in the modern era", legacy.len(), modern.len());
}

#[test]
fn a_server_whose_output_nobody_can_read_ends_although_its_input_stays_open() {
    let mut server = Server::start();
    server.ask(NEXT);
    drop(server.stdout.take());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    assert!(server.stdin.is_some());
}

/// The signals that end a server, but for those that whoever started this test has told it to
/// ignore (`nohup`, or a shell's background job): a server inherits that, and is right to.
fn ending_signals() -> Vec<Signal> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    let mut signals = vec![Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];
    signals.retain(|signal| ignored & (1 << (*signal as i32 - 1)) == 0);
    assert!(signals.contains(&Signal::SIGTERM));
    signals
}

#[test]
fn an_idle_server_ends_at_once_on_each_ending_signal() {
    for signal in ending_signals() {
        let mut server = Server::start();
        server.ask(&register(1));
        server.signal(signal);
        assert_eq!(server.child.wait().unwrap().signal(), Some(signal as i32));
        assert!(!server.has_lock());
    }
}

#[test]
fn a_server_that_waits_for_the_lock_ends_at_once_and_leaves_the_lock_alone() {
    for signal in ending_signals() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("data/events.lock")).unwrap();
        let mut server = Server::start_in(dir);
        // Both lines arrive in one read, so behind the first answer comes only the wait.
        server.write(format!("{NEXT}\n{}\n", register(1)).as_bytes());
        assert_eq!(server.line(), NEXT_ANSWER);
        server.signal(signal);
        assert_eq!(server.child.wait().unwrap().signal(), Some(signal as i32));
        assert!(server.has_lock());
        assert_eq!(server.log(), b"");
    }
}

#[test]
fn a_signal_in_the_midst_of_calls_loses_no_answer_to_what_was_committed() {
    for (round, signal) in (0..12).zip(ending_signals().iter().cycle()) {
        let mut server = Server::start();
        let calls: Vec<String> = (0..200).map(register).collect();
        server.write(format!("{}\n", calls.join("\n")).as_bytes());
        let mut answered: Vec<String> = (0..=round).map(|_| server.line()).collect();
        server.signal(*signal);
        let mut rest = String::new();
        server.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        assert!(rest.is_empty() || rest.ends_with('\n'), "an answer was cut");
        answered.extend(rest.lines().map(str::to_owned));
        assert_eq!(server.child.wait().unwrap().signal(), Some(*signal as i32));
        assert!(!server.has_lock(), "the lock was left behind");
        let ids: BTreeSet<u64> = answered.iter().map(|line| id_of(line)).collect();
        assert!(ids.len() < calls.len(), "the signal came too late to show anything");
        assert!(server.log().ends_with(b"\n"), "the log is torn");
        assert_eq!(
            server.committed(),
            ids.len(),
            "a commit was not answered, or an answer not committed"
        );
    }
}

#[test]
fn a_client_that_has_stopped_reading_cannot_keep_the_server_alive() {
    let mut server = Server::start();
    server.ask(&register(0));
    let send = call(100, "send", r#"{"from":"gaia","to":"gaia","text":"x"}"#);
    server.write(format!("{send}\n").as_bytes());
    let answer_bytes = server.line().len() + 1;
    let calls = vec![send; 200];
    server.write(format!("{}\n", calls.join("\n")).as_bytes());
    // A pipe takes 16 pages of whole answers. Then the server stands still before the next one.
    let committed_at_standstill = 2 + 16 * (4096 / answer_bytes);
    while server.committed() < committed_at_standstill {
        std::thread::yield_now();
    }
    server.signal(Signal::SIGTERM);
    assert_eq!(server.child.wait().unwrap().signal(), Some(Signal::SIGTERM as i32));
    assert!(!server.has_lock());
}

#[test]
fn an_answer_into_a_pipe_that_somebody_made_non_blocking_is_whole() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{OFlags, fcntl_setfl};

    let dir = tempfile::tempdir().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    let ours = writer.try_clone().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_gaia-bus"))
        .arg("--data-dir")
        .arg(dir.path().join("data"))
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(writer)
        .spawn()
        .unwrap();
    let send = format!(r#"{{"from":"gaia","to":"gaia","text":"{}"}}"#, "x".repeat(100_000));
    let inbox = call(2, "inbox", r#"{"actorId":"gaia"}"#);
    let requests = [register(0), call(1, "send", &send), inbox, register(3)];
    child.stdin.take().unwrap().write_all(format!("{}\n", requests.join("\n")).as_bytes()).unwrap();
    // Nobody reads until the pipe is full, so that the server has met with "would block".
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    while poll(&mut [PollFd::new(&ours, PollFlags::OUT)], Some(&now)).unwrap() > 0 {
        std::thread::yield_now();
    }
    // And until its patience is over: it lets signals through again, and waits for room (or died).
    #[cfg(target_os = "linux")]
    loop {
        let path = format!("/proc/{}/status", child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let is_waiting =
            status.contains("State:\tS") && status.contains("SigBlk:\t0000000000000000");
        if is_waiting || status.contains("State:\tZ") {
            break;
        }
        std::thread::yield_now();
    }
    let error = (&ours).write(b"x").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "the control");
    drop(ours);
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(said.lines().map(id_of).collect::<Vec<_>>(), [0, 1, 2, 3]);
}
