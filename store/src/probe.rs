//! A client of our own: starts `serve` as a client would, and asks it.
//!
//! Contract. What it returns was said by a process that runs, not read from a table. Every answer
//! has a deadline; a server that does not keep it is killed, by its handle and never by name. The
//! server gets pipes and nothing else: its standard error is discarded.
//!
//! Absent: retries, and anything but the oldest era of the protocol, which every server speaks.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use gaia_bus_model::command::Verb;
use serde_json::{Value, json};

/// How long one answer may take: longer than a call may wait for the lock.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// A server that was started, and is stopped with this value.
#[derive(Debug)]
pub struct Probe {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<Vec<u8>>,
    last_id: u64,
}

impl Probe {
    /// Starts `BINARY serve` on a data directory and initialises the session.
    ///
    /// # Errors
    /// A sentence: it does not start, or does not answer as a server does.
    pub fn start(binary: &Path, data_dir: &Path) -> Result<Self, String> {
        let mut child = Command::new(binary)
            .arg("--data-dir")
            .arg(data_dir)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", binary.display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("the server has no standard output")?;
        let (sender, answers) = channel();
        thread::spawn(move || {
            let mut lines = BufReader::new(stdout);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        let mut probe = Probe { child, stdin, answers, last_id: 0 };
        let client = json!({"name": "gaia-bus", "version": env!("CARGO_PKG_VERSION")});
        probe.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        )?;
        probe.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(probe)
    }

    /// The process id of the server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks, and gives the result of the answer.
    ///
    /// # Errors
    /// A sentence: no answer in time, or one that is an error.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let line = self.answers.recv_timeout(ANSWER_WAIT).map_err(|error| match error {
            RecvTimeoutError::Timeout => format!("{method}: no answer in {ANSWER_WAIT:?}"),
            RecvTimeoutError::Disconnected => format!("{method}: the server has gone"),
        })?;
        let answer: Value = serde_json::from_slice(&line)
            .map_err(|error| format!("{method}: the answer is not JSON: {error}"))?;
        if answer.get("id").and_then(Value::as_u64) != Some(id) {
            return Err(format!("{method}: the answer is to another request"));
        }
        match (answer.get("result"), answer.get("error")) {
            (Some(result), None) => Ok(result.clone()),
            (_, Some(error)) => Err(format!("{method}: {error}")),
            (None, None) => Err(format!("{method}: the answer has no result")),
        }
    }

    /// The names of the tools that the server lists, in its order.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn tool_names(&mut self) -> Result<Vec<String>, String> {
        let listed = self.request("tools/list", &json!({}))?;
        let tools = listed.get("tools").and_then(Value::as_array);
        let tools = tools.ok_or("tools/list: the answer has no tools")?;
        let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
        tools.iter().map(|tool| name(tool).ok_or_else(|| "a tool has no name".into())).collect()
    }

    /// Calls a verb, and gives the bus's answer.
    ///
    /// # Errors
    /// A sentence; the bus's own where it refused.
    pub fn call(&mut self, verb: Verb, arguments: &Value) -> Result<Value, String> {
        let params = json!({"name": verb.name(), "arguments": arguments});
        let result = self.request("tools/call", &params)?;
        if result.get("isError") == Some(&Value::Bool(true)) {
            let text = result.pointer("/content/0/text").and_then(Value::as_str);
            return Err(format!("{verb}: {}", text.unwrap_or("refused without a word")));
        }
        let answer = result.get("structuredContent").cloned();
        answer.ok_or_else(|| format!("{verb}: the result has no structured content"))
    }

    /// Ends the session as a client does, by closing the pipe, and waits for the server to go.
    ///
    /// # Errors
    /// A sentence: it does not go, or not with success.
    pub fn finish(mut self) -> Result<(), String> {
        drop(self.stdin.take());
        match self.answers.recv_timeout(ANSWER_WAIT) {
            Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => {
                return Err("the server does not end with its input".into());
            }
            Ok(_) => return Err("the server said something that nobody asked".into()),
        }
        let status =
            self.child.wait().map_err(|error| format!("waiting for the server: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) }
    }

    fn write(&mut self, message: &Value) -> Result<(), String> {
        let stdin = self.stdin.as_mut().ok_or("the session is over")?;
        let written = writeln!(stdin, "{message}").and_then(|()| stdin.flush());
        written.map_err(|error| format!("writing to the server: {error}"))
    }
}

impl Drop for Probe {
    /// Stops a server that is still there. Both calls do nothing where it has gone.
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
