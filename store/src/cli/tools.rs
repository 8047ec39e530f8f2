//! `tools`: the tools that an agent gets, as a spawned server lists them: a negotiation and not a
//! claim.

use clap::Command;
use serde::Serialize;

use super::{Call, Console, OK, UNHEALTHY, Usage, after_help, this_program};
use crate::probe::Probe;

pub(super) fn define() -> Command {
    Command::new("tools")
        .about("Ask a server for the tools that an agent gets")
        .long_about(
            "Start a server, ask it for its tools as a client does, and end it. No log is read and \
             no lock is taken: that happens with the first call of a tool.",
        )
        .after_help(after_help(&["gaia-bus tools --quiet"]))
}

#[derive(Serialize)]
struct Tools {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    result: Option<Vec<String>>,
    count: usize,
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let data_dir = call.settings()?.paths.data_dir;
    let asked = Probe::start(&this_program()?, &data_dir).and_then(|mut server| {
        let names = server.tool_names()?;
        server.finish().map(|()| names)
    });
    let tools = match asked {
        Ok(names) => Tools { ok: true, error: None, count: names.len(), result: Some(names) },
        Err(error) => Tools { ok: false, error: Some(error), result: None, count: 0 },
    };
    console.show(&tools, &tools.result);
    console.warn(tools.error.as_deref());
    Ok(if tools.ok { OK } else { UNHEALTHY })
}
