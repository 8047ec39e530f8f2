//! The one door. Every surface (the MCP server, the command line) ends in [`Bus::call`], so nothing can
//! be done on one that cannot be done on the other.

use gaia_bus_model::command::Verb;
use gaia_bus_model::json::Object;
use serde::Serialize;

/// What a verb came to: the envelope that both surfaces show.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Whether the bus did what was asked.
    pub ok: bool,
    /// What went wrong, in a sentence to act on.
    pub error: Option<String>,
    /// The bus's answer; null on a refusal and on a failure.
    pub result: Option<Object>,
    /// The types of the records that this call appended, in order.
    pub events_appended: Vec<String>,
    /// The opposite of `ok`, as MCP names it.
    pub is_error: bool,
    /// The refusal's or the failure's stable code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// Present and true when the bus failed closed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fail_closed: bool,
    /// Present and false when the lock could not be released after all was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_released: Option<bool>,
    /// The exit code of the command line: 0 ok, 1 refused, 3 and 4 failed closed.
    #[serde(skip)]
    pub exit_code: u8,
}

/// One data directory, addressed by one process.
#[derive(Debug)]
pub struct Bus {}

impl Bus {
    /// Carries a command through: lock, read, decide, append, release.
    pub fn call(&mut self, verb: Verb, arguments: Object) -> Answer {
        let _ = (verb, arguments);
        todo!()
    }
}
