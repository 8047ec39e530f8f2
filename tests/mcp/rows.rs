//! The input table: each malformed, early, late, huge or odd line with the exact bytes of its
//! answer.

use serde_json::Value;

/// What the next valid request after every row is, and its answer.
pub(crate) const NEXT: &str = r#"{"jsonrpc":"2.0","id":"next","method":"ping"}"#;
pub(crate) const NEXT_ANSWER: &str = r#"{"jsonrpc":"2.0","id":"next","result":{}}"#;

const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One row: what it shows, the bytes of one line, the answer (without its line feed) or silence.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) input: Vec<u8>,
    pub(crate) answer: Option<String>,
}

fn row(name: &str, input: impl Into<Vec<u8>>, answer: Option<String>) -> Row {
    Row { name: name.to_owned(), input: input.into(), answer }
}

pub(crate) fn failure(id: &str, code: i32, message: &str) -> Option<String> {
    let message = Value::from(message);
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#))
}

fn nested(depth: usize) -> Vec<u8> {
    // The request, params and _meta are three levels of the whole.
    let (open, close) = ("[".repeat(depth - 3), "]".repeat(depth - 3));
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":OPENCLOSE}}}"#;
    request.replace("OPEN", &open).replace("CLOSE", &close).into_bytes()
}

/// Not JSON, not UTF-8, half a surrogate pair, nesting over 128.
fn parse_errors() -> Vec<Row> {
    let not_json = failure("null", -32700, "the text is not one JSON value");
    let not_utf8 = failure("null", -32700, "the bytes are not UTF-8");
    let half = failure("null", -32700, "a string holds half of a surrogate pair");
    let deep = failure("null", -32700, "the value nests deeper than 128 levels");
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    vec![
        row("a word", "hello", not_json.clone()),
        row("a request cut short", &NEXT[..30], not_json.clone()),
        row("two requests in one line", format!("{NEXT}{NEXT}"), not_json.clone()),
        row("a trailing comma", r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#, not_json.clone()),
        row("single quotes", "{'jsonrpc':'2.0','id':1,'method':'ping'}", not_json.clone()),
        row("an unknown escape", ping(r#""\x41""#), not_json.clone()),
        row("a control character in a string", ping("\"a\u{1}b\""), not_json.clone()),
        row("NUL bytes", vec![0; 16], not_json.clone()),
        row("a leading zero", ping("01"), not_json.clone()),
        row("NaN", ping("NaN"), not_json),
        row(
            "a byte that is not UTF-8",
            &b"{\"jsonrpc\":\"2.0\",\"id\":\"\xFF\"}"[..],
            not_utf8.clone(),
        ),
        row(
            "an overlong encoding",
            &b"{\"jsonrpc\":\"2.0\",\"id\":\"\xC0\xAF\"}"[..],
            not_utf8.clone(),
        ),
        row("UTF-16", &b"\xFF\xFE{\0}\0"[..], not_utf8),
        row("half a surrogate pair in an id", ping(r#""\ud83d""#), half.clone()),
        row("a low half before a high one", ping(r#""\ude00\ud83d""#), half.clone()),
        row(
            "half a surrogate pair in a key, deep inside",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[{"\ud800":1}]}}"#,
            half.clone(),
        ),
        row(
            "half a surrogate pair in a notification",
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\udfff"}}"#,
            half,
        ),
        row("nesting of 129", nested(129), deep.clone()),
        row(
            "nesting of 100,000",
            vec![b'['; 100_000],
            failure("null", -32700, "the text is not one JSON value"),
        ),
        row(
            "nesting of 100,000, closed",
            [vec![b'['; 100_000], vec![b']'; 100_000]].concat(),
            deep,
        ),
        row(
            "nesting of 128 is read",
            nested(128),
            Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into()),
        ),
    ]
}

/// Batches, scalars and objects that are no requests.
fn invalid_requests() -> Vec<Row> {
    let batch = failure("null", -32600, "batches are not offered: send one request a line");
    let scalar = failure("null", -32600, "a request is an object");
    let neither = failure("null", -32600, "neither a request nor a notification of JSON-RPC 2.0");
    let bad_id = failure("null", -32600, "an id is a string or an integer");
    let version = |id: &str| failure(id, -32600, "jsonrpc must be \"2.0\"");
    let method = |id: &str| failure(id, -32600, "method must be a string");
    let doubled = |id: &str| {
        failure(
            id,
            -32600,
            "a key is given twice in one object: which value counts is anyone's guess",
        )
    };
    let mut rows = vec![
        row("a batch", format!("[{NEXT},{NEXT}]"), batch.clone()),
        row("an empty batch", "[]", batch),
        row("a number", "17", scalar.clone()),
        row("a string", "\"ping\"", scalar.clone()),
        row("true", "true", scalar.clone()),
        row("null", "null", scalar),
        row("an empty object", "{}", neither.clone()),
        row("no version, no id", r#"{"method":"ping"}"#, neither.clone()),
        row("a wrong version, no id", r#"{"jsonrpc":"1.0","method":"ping"}"#, neither.clone()),
        row("a numeric method, no id", r#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, neither),
        row("no version", r#"{"id":7,"method":"ping"}"#, version("7")),
        row("version 1.0", r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, version("\"a\"")),
        row("a numeric version", r#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#, version("7")),
        row("no method", r#"{"jsonrpc":"2.0","id":7}"#, method("7")),
        row("a null method", r#"{"jsonrpc":"2.0","id":7,"method":null}"#, method("7")),
        row("a method that is an object", r#"{"jsonrpc":"2.0","id":7,"method":{}}"#, method("7")),
        row(
            "a key given twice",
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}"#,
            doubled("7"),
        ),
        row(
            "a key given twice deep inside, differently spelt",
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"send","arguments":{"text":"a","t\u0065xt":"b"}}}"#,
            doubled("7"),
        ),
        row(
            "a key given twice beside an invalid id",
            r#"{"jsonrpc":"2.0","id":null,"method":"ping","method":"ping"}"#,
            bad_id.clone(),
        ),
    ];
    for id in ["null", "true", "false", "{}", "[]", "[1]", "1.5", "1.0", "1e2", "-0.1"] {
        let input = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        rows.push(row(&format!("the id {id}"), input, bad_id.clone()));
    }
    rows
}

/// Ids that are echoed exactly.
fn valid_ids() -> Vec<Row> {
    let ids = [
        "0",
        "-1",
        "7",
        "\"\"",
        "\"0\"",
        "\"next\"",
        "9007199254740991",
        "9007199254740993",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "\"\u{1F600} \u{E9}\"",
        r#""a\"b\\c\nd\u0001""#,
    ];
    ids.into_iter()
        .map(|id| {
            let input = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            row(&format!("the id {id}"), input, Some(answer))
        })
        .collect()
}

/// Methods that do not exist and params that make no sense.
fn bad_methods_and_params() -> Vec<Row> {
    let mut rows: Vec<Row> = [
        "resources/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "logging/setLevel",
        "completion/complete",
        "subscriptions/listen",
        "Ping",
        "",
        "notifications/initialized",
        "tools/list ",
        "rpc.discover",
    ]
    .into_iter()
    .map(|method| {
        let input = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        row(method, input, failure("1", -32601, &format!("unknown method {method:?}")))
    })
    .collect();
    for params in ["[]", "null", "1", "\"x\"", "false"] {
        for method in ["initialize", "ping", "server/discover", "tools/list", "tools/call"] {
            let input =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
            let answer = failure("1", -32602, "params must be an object");
            rows.push(row(&format!("{method} with params {params}"), input, answer));
        }
    }
    for params in ["{}", r#"{"name":null}"#, r#"{"name":1}"#, r#"{"name":["send"]}"#] {
        let input =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        rows.push(row(params, input, failure("1", -32602, "name must be a string")));
    }
    let no_params = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;
    rows.push(row("no params", no_params, failure("1", -32602, "name must be a string")));
    for name in ["Send", "send ", "", "approve", "acknowledge"] {
        let input = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}"}}}}"#
        );
        let names = "unknown tool; the six are register, send, inbox, ack, heartbeat, handoff";
        rows.push(row(name, input, failure("1", -32602, names)));
    }
    for arguments in ["[]", "1", "\"{}\"", "true"] {
        let input = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"send","arguments":{arguments}}}}}"#
        );
        rows.push(row(arguments, input, failure("1", -32602, "arguments must be an object")));
    }
    for cursor in ["\"\"", "\"page-2\"", "0", "{}"] {
        let input = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"cursor":{cursor}}}}}"#
        );
        rows.push(row(cursor, input, failure("1", -32602, "there is one page: send no cursor")));
    }
    rows
}

/// What is met with silence.
fn silence() -> Vec<Row> {
    [
        ("an empty line", ""),
        ("spaces", " \t "),
        ("a lone carriage return", "\r"),
        ("a known notification", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        (
            "an unknown notification",
            r#"{"jsonrpc":"2.0","method":"notifications/nothing","params":{}}"#,
        ),
        ("a request without an id", r#"{"jsonrpc":"2.0","method":"tools/list"}"#),
        (
            "a notification with params of the wrong type",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#,
        ),
        (
            "a notification with a key given twice",
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}"#,
        ),
        (
            "a cancellation of nothing",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}"#,
        ),
        ("a stray result", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        ("a stray error", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#),
        ("a malformed stray response", r#"{"id":{},"result":null,"error":null}"#),
    ]
    .into_iter()
    .map(|(name, input)| row(name, input, None))
    .collect()
}

/// The modern era's own refusals.
fn modern() -> Vec<Row> {
    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let request = |method: &str, meta: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{{{meta}}}}}}}"#)
    };
    let both = format!("{VERSION},{CAPABILITIES}");
    let no_version = "_meta[\"io.modelcontextprotocol/protocolVersion\"] must be a string";
    let no_capabilities = "_meta[\"io.modelcontextprotocol/clientCapabilities\"] must be an object";
    let mut rows = vec![
        row(
            "discover without params",
            r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#,
            failure("1", -32602, no_version),
        ),
        row(
            "discover without a version",
            request("server/discover", CAPABILITIES),
            failure("1", -32602, no_version),
        ),
    ];
    for method in ["server/discover", "tools/list", "tools/call", "ping", "initialize"] {
        let wrong = both.replace("\"2026-07-28\"", "7");
        rows.push(row(
            "a numeric version",
            request(method, &wrong),
            failure("1", -32602, no_version),
        ));
        rows.push(row(
            "no capabilities",
            request(method, VERSION),
            failure("1", -32602, no_capabilities),
        ));
        let wrong = both.replace("{}", "[]");
        rows.push(row(
            "capabilities of the wrong type",
            request(method, &wrong),
            failure("1", -32602, no_capabilities),
        ));
        for version in ["2025-11-25", "2026-07-29", "1", ""] {
            let unknown = both.replace("2026-07-28", version);
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32022,"message":"unsupported protocol version","data":{{"supported":["2026-07-28"],"requested":"{version}"}}}}}}"#
            );
            rows.push(row("an unknown version", request(method, &unknown), Some(answer)));
        }
    }
    for method in ["ping", "initialize"] {
        let gone = "this method does not exist in 2026-07-28";
        rows.push(row(method, request(method, &both), failure("1", -32601, gone)));
    }
    rows
}

/// What the two eras answer where all is well, and what passes unnoticed.
fn results() -> Vec<Row> {
    let pong = Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned());
    vec![
        row(
            "unknown _meta keys",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":1,"progressToken":7}}}"#,
            pong.clone(),
        ),
        row(
            "a _meta that is no object",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":3}}"#,
            pong.clone(),
        ),
        row(
            "unknown top-level keys",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","extra":[{}]}"#,
            pong.clone(),
        ),
        row("spaces around", format!("  {}\t", NEXT.replace("\"next\"", "1")), pong.clone()),
        row("CR LF", format!("{}\r", NEXT.replace("\"next\"", "1")), pong.clone()),
        row("an escaped method", r#"{"jsonrpc":"2.0","id":1,"method":"p\u0069ng"}"#, pong),
    ]
}

fn long_lines() -> Vec<Row> {
    let too_long = failure("null", -32600, "a line holds at most 16777216 bytes");
    let padded = |length: usize| {
        let mut line = NEXT.replace("\"next\"", "1").into_bytes();
        line.resize(length, b' ');
        line
    };
    let pong = Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned());
    vec![
        row("a line at the limit", padded(LINE_BYTES_MAX), pong),
        row("a line one byte over the limit", padded(LINE_BYTES_MAX + 1), too_long.clone()),
        row("a line of 40 MB that is no JSON", vec![b'x'; 40_000_000], too_long),
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    [
        parse_errors(),
        invalid_requests(),
        valid_ids(),
        bad_methods_and_params(),
        silence(),
        modern(),
        results(),
        long_lines(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
