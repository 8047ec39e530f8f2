//! `tools`: the six verbs. From the table that the server lists its tools from.

use clap::Command;
use gaia_bus_model::command::Verb;
use serde::Serialize;

use super::{Call, Console, OK, Usage, after_help};

pub(super) fn define() -> Command {
    Command::new("tools")
        .about("List the six tools that an agent gets")
        .after_help(after_help(&["gaia-bus tools --quiet"]))
}

#[derive(Serialize)]
struct Tools {
    ok: bool,
    result: [&'static str; 6],
    count: usize,
}

pub(super) fn run(_: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let result = Verb::ALL.map(Verb::name);
    let tools = Tools { ok: true, result, count: result.len() };
    console.show(&tools, &tools.result);
    Ok(OK)
}
