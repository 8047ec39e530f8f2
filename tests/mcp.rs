//! Promise: the MCP server gives every input exactly the stated answer or silence, and the next
//! valid request works; nothing but JSON-RPC reaches its output; answers conform to the schemas it
//! states.
//!
//! Method: one table of inputs with the exact bytes of their answers, run through the loop in
//! process (with a door that is scripted, so that a panic can be provoked) and through the real
//! process, pipes and all. Answers of the bus are validated by an independent JSON Schema
//! implementation. Signals and closed pipes are real.
//!
//! Cannot see: whether real clients like it (`tests/clients.rs`), what the bus decides (the
//! vectors).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use gaia_bus::bus::Answer;
use gaia_bus::log::read_value;
use gaia_bus::mcp::{Door, serve};
use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::decide;
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::state::State;
use serde_json::{Value, json};

#[path = "mcp/process.rs"]
mod process;
#[path = "mcp/rows.rs"]
mod rows;

use rows::{NEXT, NEXT_ANSWER, failure, rows};

/// A door that remembers what came through, and panics when asked to.
#[derive(Default)]
struct Scripted {
    calls: Vec<(Verb, Object)>,
}

impl Door for Scripted {
    fn call(&mut self, verb: Verb, arguments: Object) -> Answer {
        assert!(arguments.get("panic").is_none(), "the provoked panic");
        self.calls.push((verb, arguments));
        Answer {
            ok: true,
            error: None,
            result: Some(Object::new().with("n", self.calls.len() as u64)),
            events_appended: Vec::new(),
            is_error: false,
            code: None,
            fail_closed: false,
            corrupt: None,
            lock_released: None,
            exit_code: 0,
            warning: None,
        }
    }
}

fn in_process(input: &[u8], door: &mut Scripted) -> Vec<String> {
    let mut output = Vec::new();
    serve(input, &mut output, door).unwrap();
    let output = String::from_utf8(output).unwrap();
    assert!(output.is_empty() || output.ends_with('\n'));
    output.lines().map(str::to_owned).collect()
}

#[test]
fn every_row_gets_its_exact_answer_and_the_next_request_works() {
    for row in rows() {
        let mut door = Scripted::default();
        let input = [&row.input[..], b"\n", NEXT.as_bytes(), b"\n"].concat();
        let expected: Vec<String> =
            row.answer.into_iter().chain([NEXT_ANSWER.to_owned()]).collect();
        assert_eq!(in_process(&input, &mut door), expected, "{}", row.name);
        assert_eq!(door.calls, [], "{}: a refused request reached the bus", row.name);
    }
}

#[test]
fn arguments_reach_the_bus_as_sent_and_absent_ones_as_an_empty_object() {
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"send"{arguments}}}}}"#
        )
    };
    let odd = r#"{"from":7,"zz":null,"text":["a",1e999],"to":"\u00e9"}"#;
    let input = [call(""), call(r#","arguments":null"#), call(&format!(r#","arguments":{odd}"#))];
    let mut door = Scripted::default();
    assert_eq!(in_process(input.join("\n").as_bytes(), &mut door).len(), 3);
    let [none, null, sent] = &door.calls[..] else { panic!("{:?}", door.calls) };
    assert_eq!(*none, (Verb::Send, Object::new()));
    assert_eq!(*null, (Verb::Send, Object::new()));
    let keys: Vec<String> = sent.1.iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys, ["from", "zz", "text", "to"]);
    assert_eq!(sent.1.get("from"), Some(&Json::from(7)));
    assert_eq!(sent.1.get("zz"), Some(&Json::Null));
    assert_eq!(sent.1.get_text("to").unwrap(), "\u{e9}");
}

#[test]
fn a_panic_ends_the_call_and_not_the_server() {
    let input = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"panic":1}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send"}}"#,
    ];
    let answers = in_process(input.join("\n").as_bytes(), &mut Scripted::default());
    let panicked = failure("1", -32603, "the call panicked; standard error says where").unwrap();
    assert_eq!(answers[0], panicked);
    assert_eq!(
        answers[1],
        r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}}"#
    );
    assert_eq!(answers.len(), 2);
}

#[test]
fn a_failure_is_text_only_and_says_all_that_the_command_line_says() {
    struct Failing;
    impl Door for Failing {
        fn call(&mut self, _: Verb, _: Object) -> Answer {
            Answer {
                ok: false,
                error: Some("the log is damaged".to_owned()),
                result: None,
                events_appended: Vec::new(),
                is_error: true,
                code: Some("log-corrupt"),
                fail_closed: true,
                corrupt: None,
                lock_released: None,
                exit_code: 3,
                warning: None,
            }
        }
    }
    let mut output = Vec::new();
    let input = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ack"}}"#;
    serve(input.as_bytes(), &mut output, &mut Failing).unwrap();
    let answer: Value = serde_json::from_slice(&output).unwrap();
    let result = &answer["result"];
    assert_eq!(result["isError"], true);
    assert!(result.get("structuredContent").is_none());
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    let expected = json!({
        "ok": false, "error": "the log is damaged", "result": null, "eventsAppended": [],
        "isError": true, "code": "log-corrupt", "failClosed": true,
    });
    assert_eq!(text, expected);
}

#[test]
fn a_closed_output_ends_the_server_quietly_and_before_the_next_call() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut door = Scripted::default();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send"}}"#;
    serve(format!("{call}\n{call}\n").as_bytes(), Closed, &mut door).unwrap();
    assert_eq!(door.calls.len(), 1);
}

#[test]
fn the_handshake_echoes_the_versions_it_offers_and_answers_any_other_with_the_newest() {
    for (requested, expected) in [
        (json!("2025-11-25"), "2025-11-25"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2024-11-05"), "2024-11-05"),
        (json!("2025-03-26"), "2025-11-25"),
        (json!("2026-07-28"), "2025-11-25"),
        (json!("banana"), "2025-11-25"),
        (json!(7), "2025-11-25"),
        (Value::Null, "2025-11-25"),
    ] {
        let request = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": requested, "capabilities": {}, "clientInfo": {} },
        });
        let answers = in_process(request.to_string().as_bytes(), &mut Scripted::default());
        let answer: Value = serde_json::from_str(&answers[0]).unwrap();
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], expected, "{requested}");
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["serverInfo"]["name"], "gaia-interagent-bus");
        assert!(result["instructions"].as_str().unwrap().contains("untrusted text"));
        assert!(result.get("resultType").is_none());
    }
    let bare = r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#;
    let answers = in_process(bare.as_bytes(), &mut Scripted::default());
    assert!(answers[0].contains(r#""protocolVersion":"2025-11-25""#));
}

/// A request of the modern era.
fn modern_request(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

#[test]
fn modern_results_say_that_they_are_complete_who_answers_and_how_long_they_keep() {
    let input = [
        modern_request("server/discover", json!({})),
        modern_request("tools/list", json!({})),
        modern_request("tools/call", json!({ "name": "send" })),
    ];
    let answers = in_process(input.join("\n").as_bytes(), &mut Scripted::default());
    for (answer, is_kept) in answers.iter().zip([true, true, false]) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let result = &answer["result"];
        assert_eq!(result["resultType"], "complete");
        let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server["name"], "gaia-interagent-bus");
        assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(result["ttlMs"].is_u64(), is_kept);
        assert_eq!(result["cacheScope"] == "public", is_kept);
    }
    let discovered: Value = serde_json::from_str(&answers[0]).unwrap();
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(discovered["result"]["capabilities"], json!({ "tools": {} }));
    assert!(discovered["result"]["instructions"].is_string());
}

fn tools() -> Vec<Value> {
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":null}}"#;
    let answers = in_process(list.as_bytes(), &mut Scripted::default());
    let answer: Value = serde_json::from_str(&answers[0]).unwrap();
    answer["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn there_are_six_tools_with_closed_schemas_and_all_four_hints() {
    let tools = tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["register", "send", "inbox", "ack", "heartbeat", "handoff"]);
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(!tool["title"].as_str().unwrap().is_empty());
        assert!(tool["description"].as_str().unwrap().contains("untrusted text"), "{name}");
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], false, "{name}");
        assert_eq!(hints["destructiveHint"], false, "{name}");
        assert_eq!(hints["openWorldHint"], false, "{name}");
        assert_eq!(hints["idempotentHint"], ["ack", "heartbeat"].contains(&name), "{name}");
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name}");
            assert_eq!(tool[schema]["additionalProperties"], false, "{name}");
            jsonschema::meta::validate(&tool[schema]).unwrap();
        }
    }
}

/// The bus's own decisions over the reference state, without a disk.
#[derive(Default)]
struct InMemory {
    state: State,
    calls: u64,
}

impl InMemory {
    /// A state folded from lines that some build wrote.
    fn from_log(log: &[u8]) -> Option<InMemory> {
        let mut state = State::default();
        for line in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let Ok(Json::Object(record)) = read_value(line) else { return None };
            state.apply(&record).ok()?;
        }
        Some(InMemory { state, calls: 0 })
    }
}

impl Door for InMemory {
    fn call(&mut self, verb: Verb, arguments: Object) -> Answer {
        self.calls += 1;
        let at = format!("2026-09-15T23:41:09.{:03}Z", self.calls % 1_000).into();
        let decision = decide(&self.state, &Command { verb, at, arguments }, &Limits::default());
        for event in &decision.events {
            self.state.apply(event).unwrap();
        }
        let (result, refusal) = match decision.answer {
            Ok(result) => (Some(result), None),
            Err(refusal) => (None, Some(refusal)),
        };
        Answer {
            ok: refusal.is_none(),
            error: refusal.as_ref().map(|refusal| refusal.reason.clone()),
            result,
            events_appended: Vec::new(),
            is_error: refusal.is_some(),
            code: refusal.map(|refusal| refusal.code.as_str()),
            fail_closed: false,
            corrupt: None,
            lock_released: None,
            exit_code: 0,
            warning: None,
        }
    }
}

fn call(id: usize, name: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

/// Validators of the tools' output schemas, by name.
fn output_schemas() -> BTreeMap<String, jsonschema::Validator> {
    tools()
        .iter()
        .map(|tool| {
            let name = tool["name"].as_str().unwrap().to_owned();
            (name, jsonschema::validator_for(&tool["outputSchema"]).unwrap())
        })
        .collect()
}

/// Calls of any verb whose successful answers are validated; how many there were of each verb.
fn validate_answers(
    door: &mut impl Door,
    calls: &[(String, String)],
    schemas: &BTreeMap<String, jsonschema::Validator>,
    seen: &mut BTreeMap<String, usize>,
) {
    let lines: Vec<String> =
        calls.iter().enumerate().map(|(id, (name, arguments))| call(id, name, arguments)).collect();
    let mut output = Vec::new();
    serve(lines.join("\n").as_bytes(), &mut output, door).unwrap();
    let answers: Vec<Value> = serde_json::Deserializer::from_slice(&output)
        .into_iter()
        .map(|answer| answer.unwrap())
        .collect();
    assert_eq!(answers.len(), calls.len());
    for ((name, arguments), answer) in calls.iter().zip(answers) {
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap();
        if result["isError"] == true {
            assert!(result.get("structuredContent").is_none());
            continue;
        }
        let content = &result["structuredContent"];
        let errors: Vec<String> =
            schemas[name].iter_errors(content).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name} {arguments}: {content}: {errors:?}");
        assert_eq!(text, content.to_string(), "the text block is the same JSON");
        *seen.entry(name.clone()).or_default() += 1;
    }
}

fn vectors(name: &str) -> Vec<Value> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("tests/vectors");
    let text = std::fs::read_to_string(dir.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_successful_answer_to_a_recorded_sequence_conforms_to_its_output_schema() {
    let schemas = output_schemas();
    let mut seen = BTreeMap::new();
    for sequence in vectors("sequences.jsonl") {
        let steps = sequence["steps"].as_array().unwrap().iter();
        let calls: Vec<_> = steps
            .map(|step| (step["verb"].as_str().unwrap().to_owned(), step["args"].to_string()))
            .collect();
        validate_answers(&mut InMemory::default(), &calls, &schemas, &mut seen);
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(seen.values().all(|count| *count >= 10), "{seen:?}");
}

#[test]
fn answers_about_what_other_builds_wrote_conform_too() {
    let schemas = output_schemas();
    let mut seen = BTreeMap::new();
    for vector in vectors("logs.jsonl") {
        let log = base64(vector["base64"].as_str().unwrap());
        let Some(mut door) = InMemory::from_log(&log) else { continue };
        let refs: Vec<String> =
            door.state.actors().iter().map(|actor| json!(actor.actor_ref).to_string()).collect();
        let mut calls = Vec::new();
        for actor in &refs {
            let send =
                format!(r#"{{"from":{actor},"to":{actor},"text":"x","idempotencyKey":"k"}}"#);
            let verbs = [
                ("inbox", format!(r#"{{"actorId":{actor}}}"#)),
                ("inbox", format!(r#"{{"actorId":{actor},"limit":1}}"#)),
                ("heartbeat", format!(r#"{{"actorId":{actor}}}"#)),
                ("send", send.clone()),
                ("send", send),
                ("register", format!(r#"{{"actorId":"again","ref":{actor}}}"#)),
            ];
            calls.extend(verbs.map(|(name, arguments)| (name.to_owned(), arguments)));
        }
        validate_answers(&mut door, &calls, &schemas, &mut seen);
    }
    assert!(seen["inbox"] >= 40, "{seen:?}");
    assert!(seen["send"] >= 40, "{seen:?}");
}

/// The control of both tests above: the schemas see what is missing, of another type, or too much.
#[test]
fn output_schemas_refuse_an_answer_that_lacks_or_changes_or_adds_a_field() {
    let samples = [
        ("register", r#"{"actorId":"a"}"#),
        ("send", r#"{"from":"a","to":"a","text":"x"}"#),
        ("handoff", r#"{"from":"a","to":"a","summary":"x"}"#),
        ("inbox", r#"{"actorId":"a"}"#),
        ("ack", r#"{"actorId":"a","messageId":"msg-0001"}"#),
        ("heartbeat", r#"{"actorId":"a"}"#),
    ];
    let lines: Vec<String> =
        samples.iter().map(|(name, arguments)| call(0, name, arguments)).collect();
    let mut output = Vec::new();
    serve(lines.join("\n").as_bytes(), &mut output, &mut InMemory::default()).unwrap();
    let answers = serde_json::Deserializer::from_slice(&output).into_iter::<Value>();
    let schemas = output_schemas();
    for ((name, _), answer) in samples.iter().zip(answers) {
        let content = answer.unwrap()["result"]["structuredContent"].take();
        let schema = &schemas[*name];
        assert!(schema.is_valid(&content), "{name}: {content}");
        for key in content.as_object().unwrap().keys() {
            let mut lacking = content.clone();
            lacking.as_object_mut().unwrap().shift_remove(key);
            assert!(!schema.is_valid(&lacking), "{name} without {key}");
            let mut changed = content.clone();
            changed[key] = json!(7);
            assert!(!schema.is_valid(&changed), "{name} with {key}: 7");
        }
        let mut more = content.clone();
        more["more"] = json!(1);
        assert!(!schema.is_valid(&more), "{name} with a field more");
    }
}

/// Decodes standard base64, as the vectors hold raw logs.
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = ALPHABET.iter().position(|known| *known == letter).unwrap();
        bits = (bits << 6) | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xFF).unwrap());
        }
    }
    bytes
}
