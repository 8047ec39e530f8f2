//! `status`: who is here, and who works in the same tree.

use clap::Command;

use super::{Call, Console, OK, Usage, after_help};
use crate::archive::Archive;
use crate::bus::Bus;
use crate::report::status::StatusReport;

pub(super) fn define() -> Command {
    Command::new("status")
        .about("Show who is live, what is pending, and who works in the same tree")
        .long_about(
            "Show who is live, what is pending, and which online actors declare the same working \
             tree (by a capability cwd=PATH). Liveness is judged at the newest event (asOf), not \
             now. Read-only.",
        )
        .after_help(after_help(&["gaia-bus status --pretty", "gaia-bus status --quiet"]))
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let mut bus = Bus::new(call.settings()?);
    let reading = match bus.read(Archive::new()) {
        Ok(reading) => reading,
        Err(failure) => return Ok(console.fail(&failure, &bus.settings().paths)),
    };
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let status = StatusReport::of(&reading, &bus.settings().paths, now_ms);
    console.show(&status, &status.result);
    console.warn(reading.warning.as_deref());
    Ok(OK)
}
