//! JSON-RPC 2.0: what a line is, and how an answer is written.
//!
//! Contract: [`read`] sorts a line into a request, something to be refused, or something to be met
//! with silence (a notification, a stray response, a blank line). Ids are strings or integers and
//! are echoed as they were written, beyond 2^53 too. An answer is one line.
//!
//! Absent: methods and eras (`era`, the parent), and batches, which the 2025-06-18 revision took
//! out. Each row of the table in `tests/mcp.rs` guards it.

use std::borrow::Cow;

use gaia_bus_model::json::{Json, Object};
use serde::Serialize;

use crate::log::{ReadFault, holds_lone_surrogate, read_value};

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;
pub(super) const INTERNAL_ERROR: i32 = -32603;
pub(super) const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;

/// A valid id, or null where none could be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Id(Json);

impl Id {
    pub(super) const NULL: Id = Id(Json::Null);

    /// The id, when it is a string or an integer: an integer is digits, so `1.0` is none.
    fn valid(value: &Json) -> Option<Id> {
        match value {
            Json::String(_) => Some(Id(value.clone())),
            Json::Number(number)
                if number.literal().bytes().all(|b| b.is_ascii_digit() || b == b'-') =>
            {
                Some(Id(value.clone()))
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }
}

/// A protocol error: the request itself was wrong, whatever the bus would have said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RpcError {
    pub(super) code: i32,
    pub(super) message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<VersionMismatch>,
}

/// What a client needs to choose a version both sides speak.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct VersionMismatch {
    pub(super) supported: &'static [&'static str],
    pub(super) requested: String,
}

impl RpcError {
    pub(super) fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        RpcError { code, message: message.into(), data: None }
    }
}

/// A request to be answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) id: Id,
    pub(super) method: String,
    pub(super) params: Option<Json>,
}

/// What a line turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Incoming {
    /// Nothing that may be answered.
    Silence,
    /// Something that is answered with an error at once.
    Refused(Id, RpcError),
    /// A request.
    Request(Request),
}

/// Sorts one line.
pub(super) fn read(line: &[u8]) -> Incoming {
    if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
        return Incoming::Silence;
    }
    let (value, is_doubled) = match read_value(line) {
        Ok(value) => (value, false),
        Err(ReadFault::DuplicateKey { value }) => (value, true),
        Err(fault @ (ReadFault::NotUtf8 | ReadFault::NotJson | ReadFault::TooDeep)) => {
            return Incoming::Refused(Id::NULL, RpcError::new(PARSE_ERROR, fault.to_string()));
        }
        Err(fault @ ReadFault::TooLong) => {
            return Incoming::Refused(Id::NULL, RpcError::new(INVALID_REQUEST, fault.to_string()));
        }
    };
    if holds_lone_surrogate(&value) {
        let error = RpcError::new(PARSE_ERROR, "a string holds half of a surrogate pair");
        return Incoming::Refused(Id::NULL, error);
    }
    match value {
        Json::Object(message) => sort(&message, is_doubled),
        Json::Array(_) => invalid(Id::NULL, "batches are not offered: send one request a line"),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            invalid(Id::NULL, "a request is an object")
        }
    }
}

fn invalid(id: Id, message: &'static str) -> Incoming {
    Incoming::Refused(id, RpcError::new(INVALID_REQUEST, message))
}

fn sort(message: &Object, is_doubled: bool) -> Incoming {
    let method = message.get_text("method").and_then(|method| method.as_str());
    let is_version_2 = message.get_text("jsonrpc").is_some_and(|version| version == "2.0");
    let is_response = message.get("result").is_some() || message.get("error").is_some();
    if message.get("method").is_none() && is_response {
        return Incoming::Silence;
    }
    let Some(id) = message.get("id") else {
        return if is_version_2 && method.is_some() {
            Incoming::Silence
        } else {
            invalid(Id::NULL, "neither a request nor a notification of JSON-RPC 2.0")
        };
    };
    let Some(id) = Id::valid(id) else {
        return invalid(Id::NULL, "an id is a string or an integer");
    };
    if is_doubled {
        return invalid(
            id,
            "a key is given twice in one object: which value counts is anyone's guess",
        );
    }
    if !is_version_2 {
        return invalid(id, "jsonrpc must be \"2.0\"");
    }
    match method {
        Some(method) => Incoming::Request(Request {
            id,
            method: method.to_owned(),
            params: message.get("params").cloned(),
        }),
        None => invalid(id, "method must be a string"),
    }
}

/// The line of an answer, with its line feed.
pub(super) fn write<R: Serialize>(id: &Id, outcome: Result<R, RpcError>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Success<'a, R> {
        jsonrpc: &'static str,
        id: &'a Id,
        result: R,
    }
    #[derive(Serialize)]
    struct Failure<'a> {
        jsonrpc: &'static str,
        id: &'a Id,
        error: RpcError,
    }
    let written = match outcome {
        Ok(result) => serde_json::to_vec(&Success { jsonrpc: "2.0", id, result }),
        Err(error) => serde_json::to_vec(&Failure { jsonrpc: "2.0", id, error }),
    };
    match written {
        Ok(mut line) => {
            line.push(b'\n');
            line
        }
        // Strings, numbers, arrays and objects with string keys always serialise; should that ever
        // change, the caller still hears of it.
        Err(error) => {
            write::<()>(id, Err(RpcError::new(INTERNAL_ERROR, format!("unwritable: {error}"))))
        }
    }
}
