//! Two eras of the protocol in one process, told apart request by request.
//!
//! Contract. *Legacy*: a handshake, `initialize`, settles the version; nothing here remembers it,
//! since no answer depends on it. *Modern* (2026-07-28): no handshake; each request names its
//! version and the client's capabilities in `params._meta`, and results say who answers and how
//! long they may be kept. A request is modern when it names a version there, or is
//! `server/discover`.
//!
//! Absent: state. A client may probe with `server/discover`, fall back to `initialize` and mix
//! both. `tests/mcp.rs` guards it, and every pinned client of `tests/clients.rs`.

use gaia_bus_model::json::{Json, Object};
use serde::Serialize;

use super::envelope::{
    INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, UNSUPPORTED_PROTOCOL_VERSION, VersionMismatch,
};

/// The versions with a handshake, newest first. 2025-03-26 demands batches and is not offered.
const LEGACY_VERSIONS: [&str; 3] = [LEGACY_NEWEST, "2025-06-18", "2024-11-05"];

const LEGACY_NEWEST: &str = "2025-11-25";

/// The version without one.
pub(super) const MODERN_VERSION: &str = "2026-07-28";

/// What a modern client may choose from: a version with a handshake cannot be named in a request.
pub(super) const MODERN_VERSIONS: [&str; 1] = [MODERN_VERSION];

const PROTOCOL_VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// How long a client may keep what never changes while this process lives, in milliseconds.
const KEEP_MS: u64 = 3_600_000;

/// The methods there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Initialize,
    Ping,
    Discover,
    ListTools,
    CallTool,
}

impl Method {
    pub(super) fn from_name(name: &str) -> Option<Method> {
        match name {
            "initialize" => Some(Method::Initialize),
            "ping" => Some(Method::Ping),
            "server/discover" => Some(Method::Discover),
            "tools/list" => Some(Method::ListTools),
            "tools/call" => Some(Method::CallTool),
            _ => None,
        }
    }
}

/// Which rules a request goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

impl Era {
    /// The era of a request, once it is known to be a sound request of it.
    pub(super) fn of(method: Method, params: &Object) -> Result<Era, RpcError> {
        let meta = params.get("_meta").and_then(Json::as_object);
        let version = meta.and_then(|meta| meta.get(PROTOCOL_VERSION_KEY));
        if version.is_none() && method != Method::Discover {
            return Ok(Era::Legacy);
        }
        let Some(Json::String(version)) = version else {
            return Err(RpcError::new(
                INVALID_PARAMS,
                format!("_meta[\"{PROTOCOL_VERSION_KEY}\"] must be a string"),
            ));
        };
        let capabilities = meta.and_then(|meta| meta.get(CLIENT_CAPABILITIES_KEY));
        if !matches!(capabilities, Some(Json::Object(_))) {
            return Err(RpcError::new(
                INVALID_PARAMS,
                format!("_meta[\"{CLIENT_CAPABILITIES_KEY}\"] must be an object"),
            ));
        }
        if *version != MODERN_VERSION {
            return Err(unsupported(version.to_string()));
        }
        match method {
            Method::Initialize | Method::Ping => Err(RpcError::new(
                METHOD_NOT_FOUND,
                format!("this method does not exist in {MODERN_VERSION}"),
            )),
            Method::Discover | Method::ListTools | Method::CallTool => Ok(Era::Modern),
        }
    }

    /// What every result of the era ends with.
    pub(super) fn mark(self) -> Mark {
        match self {
            Era::Legacy => Mark::default(),
            Era::Modern => {
                Mark { result_type: Some("complete"), meta: Some(ResultMeta { server: SERVER }) }
            }
        }
    }

    /// What a result that never changes says besides.
    pub(super) fn keep(self) -> Keep {
        match self {
            Era::Legacy => Keep::default(),
            Era::Modern => Keep { ttl_ms: Some(KEEP_MS), cache_scope: Some("public") },
        }
    }
}

fn unsupported(requested: String) -> RpcError {
    RpcError {
        code: UNSUPPORTED_PROTOCOL_VERSION,
        message: "unsupported protocol version".into(),
        data: Some(VersionMismatch { supported: &MODERN_VERSIONS, requested }),
    }
}

/// The version that `initialize` answers with: the one asked for where it is offered, else the
/// newest, so that the client decides whether it can live with that.
pub(super) fn negotiate(params: &Object) -> &'static str {
    let requested = params.get_text("protocolVersion");
    LEGACY_VERSIONS
        .into_iter()
        .find(|version| requested.is_some_and(|requested| requested == version))
        .unwrap_or(LEGACY_NEWEST)
}

/// The server, as it names itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Server {
    name: &'static str,
    version: &'static str,
}

pub(super) const SERVER: Server =
    Server { name: "gaia-interagent-bus", version: env!("CARGO_PKG_VERSION") };

/// The fields that mark a modern result; none of them on a legacy one.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Mark {
    #[serde(rename = "resultType", skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<ResultMeta>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct ResultMeta {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    server: Server,
}

/// How long and for whom a modern result may be kept.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Keep {
    #[serde(rename = "ttlMs", skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(rename = "cacheScope", skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
}
