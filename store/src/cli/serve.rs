//! `serve`: the MCP server on stdin and stdout. What it says is in [`mcp`](crate::mcp).

use clap::Command;

use super::{Call, Console, OK, UNHEALTHY, Usage, after_help};
use crate::bus::Bus;
use crate::mcp;

pub(super) fn define() -> Command {
    Command::new("serve")
        .about("Serve the six tools to an MCP client on stdin and stdout")
        .long_about(
            "Serve the six tools to an MCP client, as newline-delimited JSON-RPC on stdin and \
             stdout. Nothing is read, locked or created before the first call, and nothing else is \
             ever written to stdout. Ends when stdin ends.",
        )
        .after_help(after_help(&["gaia-bus serve --data-dir /home/me/bus"]))
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    match mcp::serve_stdio(&mut Bus::new(call.settings()?)) {
        Ok(()) => Ok(OK),
        Err(error) => {
            // Not 3, which promises that nothing was written: calls may have been answered before.
            console.say(&format!("serving ended: {error}"));
            Ok(UNHEALTHY)
        }
    }
}
