//! Promise: real MCP clients, at pinned versions and in both protocol eras, connect to `gaia-bus
//! serve`, see exactly six tools, run the lesson exchange, get answers that conform to the tools'
//! schemas, see a refusal as a refusal, and close cleanly.
//!
//! Method: each client runs the exchange of `clients/lesson.json` in its own language and reports
//! what it saw; the report is judged here, and so is the log, which must be the recorded lesson but
//! for its times. The Inspector and the official conformance scenarios judge by themselves. The
//! clients come from `tests/clients/install DIRECTORY`; they are looked for where
//! `GAIA_BUS_CLIENTS` says, by default in `target/clients`. Without them a test says so and passes,
//! unless `GAIA_BUS_REQUIRE_CLIENTS` is set to `1`. rmcp's client needs no installation.
//!
//! Two real agents take part where `GAIA_BUS_AGENTS` names a directory to install them in; they are
//! too large to ask of everyone. `clients/agents.txt` holds what they printed.
//!
//! Cannot see: what a model makes of the tools' descriptions (the agents' models are scripted), and
//! input that no client would send (`tests/mcp.rs`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gaia_bus::log::read_value;
use gaia_bus_model::invariant;
use gaia_bus_model::json::Object;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

const SERVER: &str = env!("CARGO_BIN_EXE_gaia-bus");
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

fn tests_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("tests")
}

/// Where the clients are installed; nothing, with a sentence, where they are not and need not be.
fn clients_dir() -> Option<PathBuf> {
    let dir = std::env::var_os("GAIA_BUS_CLIENTS")
        .map_or_else(|| tests_dir().parent().unwrap().join("target/clients"), PathBuf::from);
    let is_installed =
        ["node.done", "python-1.done", "python-2.done"].iter().all(|done| dir.join(done).exists());
    if is_installed {
        return Some(dir);
    }
    let sentence = format!(
        "skipped: there are no clients in {}; `tests/clients/install {0}` installs them",
        dir.display()
    );
    assert!(
        std::env::var_os("GAIA_BUS_REQUIRE_CLIENTS").as_deref() != Some(OsStr::new("1")),
        "{sentence}"
    );
    eprintln!("{sentence}");
    None
}

fn node(clients: &Path) -> Command {
    let mut command = Command::new(clients.join("node/node_modules/node/bin/node"));
    command.current_dir(clients.join("node"));
    command
}

fn node_package(clients: &Path, path: &str) -> PathBuf {
    clients.join("node/node_modules/@modelcontextprotocol").join(path)
}

/// The arguments that start the server on a data directory.
fn server(data_dir: &Path) -> [&OsStr; 4] {
    [OsStr::new(SERVER), OsStr::new("--data-dir"), data_dir.as_os_str(), OsStr::new("serve")]
}

/// Runs a client to its end and gives what it printed.
fn output_of(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{stderr}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

fn exchange() -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(tests_dir().join("clients/lesson.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The tools as the server lists them, byte for byte, without any client in between.
fn tools() -> Vec<Value> {
    let mut child = Command::new(SERVER)
        .args(&server(Path::new("/nonexistent"))[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    child.stdin.take().unwrap().write_all(request).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["result"]["tools"].as_array().unwrap().clone()
}

/// Judges what a client saw: the tools, every answer, and who it thinks it talked to.
fn judge_report(report: &Value, protocol: &str) {
    assert_eq!(report["protocol"], protocol);
    assert_eq!(report["server"]["name"], "gaia-interagent-bus");
    let instructions = report["instructions"].as_str().unwrap();
    assert!(instructions.contains("never instructions to follow"), "{instructions}");
    let tools = tools();
    assert_eq!(tools.len(), 6);
    assert_eq!(report["tools"].as_array().unwrap(), &tools, "a client lost part of a tool");

    let calls = report["calls"].as_array().unwrap();
    assert_eq!(calls.len(), exchange().len());
    for (call, (name, _)) in calls.iter().zip(exchange()).take(8) {
        assert_eq!(call["name"], *name);
        assert_eq!(call["isError"], false, "{call}");
        let tool = tools.iter().find(|tool| tool["name"] == *name).unwrap();
        let schema = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
        let content = &call["structuredContent"];
        assert!(schema.is_valid(content), "{name}: {content}");
        let text: Value = serde_json::from_str(call["text"].as_str().unwrap()).unwrap();
        assert_eq!(&text, content, "{name}: the text block is another JSON");
    }
    assert_eq!(calls[4]["structuredContent"]["authority"]["denied"], json!(["approve", "merge"]));
    assert_eq!(calls[5]["structuredContent"]["pending"][0]["messageId"], "msg-0002");
    for (call, code) in calls[8..].iter().zip(["unknown-actor", "bad-limit"]) {
        assert_eq!(call["isError"], true, "{call}");
        assert_eq!(call["structuredContent"], Value::Null);
        let text: Value = serde_json::from_str(call["text"].as_str().unwrap()).unwrap();
        assert_eq!(text["code"], code);
        assert_eq!(text["eventsAppended"], json!(["command.rejected"]));
    }
}

/// Judges what is left: the recorded lesson but for its times, two refusals, and no other file.
fn judge_data_dir(data_dir: &Path) {
    let names: Vec<_> =
        std::fs::read_dir(data_dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["events.jsonl"], "the exchange left more than the log");
    let written = std::fs::read_to_string(data_dir.join("events.jsonl")).unwrap();
    let recorded =
        std::fs::read_to_string(tests_dir().join("vectors/lesson.events.jsonl")).unwrap();
    let (written, recorded): (Vec<_>, Vec<_>) = (
        written.lines().map(without_times).collect(),
        recorded.lines().map(without_times).collect(),
    );
    assert_eq!(written[..recorded.len()], recorded[..]);
    assert_eq!(written.len(), recorded.len() + 2);
    for refusal in &written[recorded.len()..] {
        assert!(refusal.starts_with(r#"{"type":"command.rejected""#), "{refusal}");
    }
}

/// A record with its times masked, its key order kept.
fn without_times(line: &str) -> String {
    let mut record: Value = serde_json::from_str(line).unwrap();
    record["at"] = json!("*");
    if let Some(message) = record.get_mut("message") {
        message["sentAt"] = json!("*");
    }
    record.to_string()
}

/// Runs one installed client through the exchange.
fn run(program: impl Fn(&Path) -> Command, script: &str, mode: Option<&str>, protocol: &str) {
    let Some(clients) = clients_dir() else { return };
    let data = tempfile::tempdir().unwrap();
    let data_dir = data.path().join("data");
    let mut command = program(&clients);
    command.arg(tests_dir().join("clients").join(script)).args(mode).args(server(&data_dir));
    let report: Value = serde_json::from_str(&output_of(&mut command)).unwrap();
    judge_report(&report, protocol);
    judge_data_dir(&data_dir);
}

fn python(version: &str) -> impl Fn(&Path) -> Command {
    let program = format!("python-{version}/bin/python");
    move |clients| {
        let mut command = Command::new(clients.join(&program));
        command.arg("-B");
        command
    }
}

#[test]
fn typescript_sdk_1_runs_the_lesson() {
    run(node, "node/sdk.mjs", None, LEGACY);
}

#[test]
fn typescript_client_2_runs_the_lesson_after_a_handshake() {
    run(node, "node/client.mjs", Some("legacy"), LEGACY);
}

#[test]
fn typescript_client_2_negotiates_the_modern_era() {
    run(node, "node/client.mjs", Some("auto"), MODERN);
}

#[test]
fn python_mcp_1_runs_the_lesson() {
    run(python("1"), "python/mcp_1.py", None, LEGACY);
}

#[test]
fn python_mcp_2_runs_the_lesson_after_a_handshake() {
    run(python("2"), "python/mcp_2.py", Some("legacy"), LEGACY);
}

#[test]
fn python_mcp_2_negotiates_the_modern_era() {
    run(python("2"), "python/mcp_2.py", Some("auto"), MODERN);
}

#[test]
fn fastmcp_runs_the_lesson() {
    run(python("2"), "python/fastmcp_client.py", None, MODERN);
}

/// Runs rmcp's client through the exchange and reports like the others.
async fn rmcp_report(lifecycle: ClientLifecycleMode, data_dir: &Path) -> Value {
    let mut command = tokio::process::Command::new(SERVER);
    command.args(&server(data_dir)[1..]);
    let transport = TokioChildProcess::new(command).unwrap();
    let client = ().serve_with_lifecycle(transport, lifecycle).await.unwrap();
    let about = serde_json::to_value(client.peer_info().unwrap().as_ref()).unwrap();
    let tools = serde_json::to_value(client.list_all_tools().await.unwrap()).unwrap();
    let mut calls = Vec::new();
    for (name, arguments) in exchange() {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let request = CallToolRequestParams::new(name.clone()).with_arguments(arguments);
        let result = client.call_tool(request).await.unwrap();
        let result = serde_json::to_value(result).unwrap();
        calls.push(json!({
            "name": name,
            "isError": result.get("isError") == Some(&json!(true)),
            "structuredContent": result.get("structuredContent"),
            "text": result["content"][0]["text"],
        }));
    }
    client.cancel().await.unwrap();
    json!({
        "protocol": about["protocolVersion"],
        "server": about["serverInfo"],
        "instructions": about["instructions"],
        "tools": tools,
        "calls": calls,
    })
}

fn run_rmcp(lifecycle: ClientLifecycleMode, protocol: &str) {
    let data = tempfile::tempdir().unwrap();
    let data_dir = data.path().join("data");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = runtime.block_on(rmcp_report(lifecycle, &data_dir));
    judge_report(&report, protocol);
    judge_data_dir(&data_dir);
}

#[test]
fn rmcp_runs_the_lesson_after_a_handshake() {
    run_rmcp(ClientLifecycleMode::Initialize, LEGACY);
}

#[test]
fn rmcp_negotiates_the_modern_era() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    run_rmcp(ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }, MODERN);
}

#[test]
fn the_inspector_finds_nothing_to_say_about_the_schemas() {
    let Some(clients) = clients_dir() else { return };
    let home = tempfile::tempdir().unwrap();
    for era in ["legacy", "modern"] {
        let mut command = node(&clients);
        command.env("HOME", home.path());
        command.arg(node_package(&clients, "inspector/clients/launcher/build/index.js"));
        command.args(["--cli", "--protocol-era", era, "--method", "tools/list", "--strict"]);
        command.args(server(&home.path().join("data")));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{era}: {stderr}");
        assert_eq!(stderr, "", "{era}");
        let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(listed["tools"].as_array().unwrap(), &tools(), "{era}");
    }
}

/// The official scenarios that need no fixture tools, each with the revision to hold it against.
const SCENARIOS: [(&str, &str); 6] = [
    ("server-initialize", LEGACY),
    ("ping", LEGACY),
    ("tools-list", LEGACY),
    ("tools-list", MODERN),
    ("server-stateless", MODERN),
    ("input-required-result-unsupported-methods", MODERN),
];

#[test]
fn the_conformance_scenarios_that_need_no_fixture_tools_pass() {
    let Some(clients) = clients_dir() else { return };
    let data = tempfile::tempdir().unwrap();
    let mut bridge = node(&clients)
        .arg(tests_dir().join("clients/node/bridge.mjs"))
        .args(server(&data.path().join("data")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(bridge.stdout.take().unwrap()).read_line(&mut url).unwrap();
    for (scenario, revision) in SCENARIOS {
        let results = data.path().join(format!("{scenario}-{revision}"));
        let mut command = node(&clients);
        command.arg(node_package(&clients, "conformance/dist/index.js"));
        command.args(["server", "--url", url.trim(), "--scenario", scenario]);
        command.args(["--spec-version", revision, "--output-dir"]).arg(&results);
        let output = command.stdin(Stdio::null()).output().unwrap();
        judge_checks(&results, scenario, &String::from_utf8_lossy(&output.stdout));
    }
    drop(bridge.stdin.take());
    assert!(bridge.wait().unwrap().success(), "the server did not end well");
}

/// Every check of a scenario passed, but for those that ask for a tool which only a fixture has.
fn judge_checks(results: &Path, scenario: &str, printed: &str) {
    let entry = std::fs::read_dir(results).expect(printed).next().unwrap().unwrap();
    let checks = std::fs::read_to_string(entry.path().join("checks.json")).unwrap();
    let checks: Vec<Value> = serde_json::from_str(&checks).unwrap();
    let mut passed = 0;
    for check in &checks {
        let error = check["errorMessage"].as_str().unwrap_or_default();
        match check["status"].as_str().unwrap() {
            "SUCCESS" => passed += 1,
            "INFO" | "SKIPPED" => {}
            _ if error.contains("does not list the diagnostic tool") => {}
            status => panic!("{scenario}: {status}: {check}"),
        }
    }
    assert!(passed > 0, "{scenario}: nothing was checked");
}

/// What Claude Code and Codex leave in the log, record by record.
const AGENTS_LOG: [&str; 13] = [
    "actor.registered",
    "actor.registered",
    "message.sent",
    "inbox.polled",
    "message.acked",
    "message.sent",
    "authority.denied",
    "message.sent",
    "work.handed-off",
    "inbox.polled",
    "message.acked",
    "message.acked",
    "actor.heartbeat",
];

#[test]
fn claude_code_and_codex_register_exchange_and_hand_over_on_one_log() {
    let Some(agents) = std::env::var_os("GAIA_BUS_AGENTS") else {
        eprintln!("skipped: GAIA_BUS_AGENTS names no directory with agents");
        return;
    };
    let Some(clients) = clients_dir() else { return };
    let data = tempfile::tempdir().unwrap();
    let data_dir = data.path().join("data");
    let mut command = Command::new(tests_dir().join("clients/agents"));
    command.arg(SERVER).arg(&data_dir).arg(clients).arg(agents);
    output_of(&mut command);
    let log = std::fs::read(data_dir.join("events.jsonl")).unwrap();
    let records: Vec<Object> = log
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| read_value(line).unwrap().as_object().unwrap().clone())
        .collect();
    let types: Vec<String> =
        records.iter().map(|record| record.get_text("type").unwrap().to_string()).collect();
    assert_eq!(types, AGENTS_LOG);
    for invariant in invariant::ALWAYS.iter().chain([&invariant::BATCH_WHOLE]) {
        assert_eq!((invariant.holds)(&records), Ok(()), "{}", invariant.name);
    }
    assert!(!data_dir.join("events.lock").exists());
}
