//! The MCP server: newline-delimited JSON-RPC 2.0, one request after another.
//!
//! Contract. Each request is answered before the next is read, each answer is one line and flushed,
//! and nothing else is ever written to the output. Whatever a line holds, the next one works. Every
//! `tools/call` goes through one [`Door`]; nothing is touched before the first, so a server starts
//! at once beside a damaged log and says so when asked. A panic inside a call goes to standard
//! error and ends that call, not the server.
//!
//! | file | what it decides |
//! | --- | --- |
//! | `line` | where a line ends, and when it is too long to be held |
//! | `envelope` | what a line is in JSON-RPC, and how an answer is written |
//! | `era` | which of two protocol eras a request belongs to |
//! | `tools` | what a client and its model are told of the six verbs |
//! | `stdio` | the process around it: pipes and signals |
//!
//! Absent: threads, time-outs, subscriptions, requests of the server's own, state between requests.
//! `tests/mcp.rs` guards every row of the input table through a real process; `tests/clients.rs`
//! has real clients look at it.

mod envelope;
mod era;
mod line;
mod stdio;
mod tools;

use std::io::{ErrorKind, Read, Result, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use gaia_bus_model::command::Verb;
use gaia_bus_model::json::{Json, Object};
use serde::Serialize;
use serde_json::Value;

pub use self::stdio::serve_stdio;

use self::envelope::{
    INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Id, Incoming, METHOD_NOT_FOUND, Request,
    RpcError,
};
use self::era::{Era, Keep, Mark, Method, SERVER, Server};
use self::line::{LINE_BYTES_MAX, Line, LineReader};
use crate::bus::{Answer, Bus, Edge};
use crate::disk::Disk;

/// Where a call goes: [`Bus`] in the product.
pub trait Door {
    /// Carries a verb through.
    fn call(&mut self, verb: Verb, arguments: Object) -> Answer;
}

impl<D: Disk, E: Edge> Door for Bus<D, E> {
    fn call(&mut self, verb: Verb, arguments: Object) -> Answer {
        Bus::call(self, verb, arguments)
    }
}

/// Answers requests until the input ends or nobody reads the output any more.
///
/// # Errors
///
/// What reading the input or writing the output came to, except for an output that was closed: that
/// is an ordinary way for a client to go.
pub fn serve(input: impl Read, mut output: impl Write, door: &mut impl Door) -> Result<()> {
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next()? {
        let Some(answer) = answer(&line, door) else { continue };
        match output.write_all(&answer).and_then(|()| output.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The line that answers a line; nothing where silence is the answer.
fn answer(line: &Line<'_>, door: &mut impl Door) -> Option<Vec<u8>> {
    let bytes = match line {
        Line::Held(bytes) => bytes,
        Line::TooLong => {
            let message = format!("a line holds at most {LINE_BYTES_MAX} bytes");
            let error = RpcError::new(INVALID_REQUEST, message);
            return Some(envelope::write::<()>(&Id::NULL, Err(error)));
        }
    };
    match envelope::read(bytes) {
        Incoming::Silence => None,
        Incoming::Refused(id, error) => Some(envelope::write::<()>(&id, Err(error))),
        Incoming::Request(Request { id, method, params }) => {
            Some(envelope::write(&id, result(&method, params, door)))
        }
    }
}

fn result(
    method: &str,
    params: Option<Json>,
    door: &mut impl Door,
) -> std::result::Result<Outcome, RpcError> {
    let Some(method) = Method::from_name(method) else {
        let shown: String = method.chars().take(64).collect();
        return Err(RpcError::new(METHOD_NOT_FOUND, format!("unknown method {shown:?}")));
    };
    let params = match params {
        None => Object::new(),
        Some(Json::Object(params)) => params,
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) => {
            return Err(RpcError::new(INVALID_PARAMS, "params must be an object"));
        }
    };
    let era = Era::of(method, &params)?;
    match method {
        Method::Initialize => Ok(Outcome::Initialized(Initialized {
            protocol_version: era::negotiate(&params),
            capabilities: Capabilities::default(),
            server_info: SERVER,
            instructions: tools::INSTRUCTIONS,
        })),
        Method::Ping => Ok(Outcome::Pong {}),
        Method::Discover => Ok(Outcome::Discovered(Discovered {
            supported_versions: &era::MODERN_VERSIONS,
            capabilities: Capabilities::default(),
            instructions: tools::INSTRUCTIONS,
            keep: era.keep(),
            mark: era.mark(),
        })),
        Method::ListTools => match params.get("cursor") {
            None | Some(Json::Null) => Ok(Outcome::Listed(Listed {
                tools: tools::list(),
                keep: era.keep(),
                mark: era.mark(),
            })),
            Some(_) => Err(RpcError::new(INVALID_PARAMS, "there is one page: send no cursor")),
        },
        Method::CallTool => call(&params, era, door).map(Outcome::Called),
    }
}

fn call(params: &Object, era: Era, door: &mut impl Door) -> std::result::Result<Called, RpcError> {
    let Some(name) = params.get_text("name").and_then(|name| name.as_str()) else {
        return Err(RpcError::new(INVALID_PARAMS, "name must be a string"));
    };
    let Some(verb) = Verb::from_name(name) else {
        let names = Verb::ALL.map(Verb::name).join(", ");
        return Err(RpcError::new(INVALID_PARAMS, format!("unknown tool; the six are {names}")));
    };
    let arguments = match params.get("arguments") {
        None | Some(Json::Null) => Object::new(),
        Some(Json::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(RpcError::new(INVALID_PARAMS, "arguments must be an object")),
    };
    // The door keeps its own state sound when it unwinds; nothing else is shared with the closure.
    // The panic hook has put the message on standard error by the time this returns.
    let answer = catch_unwind(AssertUnwindSafe(|| door.call(verb, arguments))).map_err(|_| {
        RpcError::new(INTERNAL_ERROR, "the call panicked; standard error says where")
    })?;
    if let Some(warning) = &answer.warning {
        // Whoever started the server may have closed its standard error.
        let _ = writeln!(std::io::stderr(), "gaia-bus: {warning}");
    }
    Called::new(answer, era)
        .map_err(|error| RpcError::new(INTERNAL_ERROR, format!("unwritable answer: {error}")))
}

/// The results there are.
#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Initialized(Initialized),
    Pong {},
    Discovered(Discovered),
    Listed(Listed),
    Called(Called),
}

/// Tools, and nothing else; their list never changes while the process lives.
#[derive(Default, Serialize)]
struct Capabilities {
    tools: Object,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: &'static str,
    capabilities: Capabilities,
    server_info: Server,
    instructions: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: &'static [&'static str],
    capabilities: Capabilities,
    instructions: &'static str,
    #[serde(flatten)]
    keep: Keep,
    #[serde(flatten)]
    mark: Mark,
}

#[derive(Serialize)]
struct Listed {
    tools: Vec<Value>,
    #[serde(flatten)]
    keep: Keep,
    #[serde(flatten)]
    mark: Mark,
}

/// What a call came to: on success the bus's answer, as structure and as text; otherwise the whole
/// envelope as text only, since a refusal does not conform to the tool's output schema.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Called {
    content: [TextBlock; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Object>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
    #[serde(flatten)]
    mark: Mark,
}

#[derive(Serialize)]
struct TextBlock {
    r#type: &'static str,
    text: String,
}

impl Called {
    fn new(answer: Answer, era: Era) -> serde_json::Result<Called> {
        let mark = era.mark();
        if answer.is_error {
            let content = [TextBlock { r#type: "text", text: serde_json::to_string(&answer)? }];
            return Ok(Called { content, structured_content: None, is_error: true, mark });
        }
        let result = answer.result.unwrap_or_default();
        let result = result.with_some("lockReleased", answer.lock_released);
        let content = [TextBlock { r#type: "text", text: serde_json::to_string(&result)? }];
        Ok(Called { content, structured_content: Some(result), is_error: false, mark })
    }
}
