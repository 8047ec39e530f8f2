//! `state`: the snapshot.

use clap::Command;
use gaia_bus_model::json::Object;
use serde::Serialize;

use super::{Call, Console, OK, Usage, after_help};
use crate::archive::Archive;
use crate::bus::Bus;

pub(super) fn define() -> Command {
    Command::new("state")
        .about("Show the snapshot: actors, messages, handoffs, denials, rejections")
        .long_about(
            "Show the snapshot of the whole log: actors, messages (long texts clipped), handoffs, \
             denials of authority and rejected commands. Read-only.",
        )
        .after_help(after_help(&["gaia-bus state --quiet", "gaia-bus state --pretty"]))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct State {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock_released: Option<bool>,
    result: Object,
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let mut bus = Bus::new(call.settings()?);
    match bus.read(Archive::new()) {
        Ok(reading) => {
            let state = State {
                ok: true,
                lock_released: reading.warning.as_ref().map(|_| false),
                result: reading.fold.snapshot(),
            };
            console.show(&state, &state.result);
            console.warn(reading.warning.as_deref());
            Ok(OK)
        }
        Err(failure) => Ok(console.fail(&failure, &bus.settings().paths)),
    }
}
