//! `initialize`: the first start, as a dry run unless `--apply` is given.

use clap::Command;

use super::{Call, Console, Usage, after_help, flag, switch};
use crate::report::initialize::{COORDINATOR, Initialize};

pub(super) fn define() -> Command {
    Command::new("initialize")
        .about("Prepare a data directory; a dry run unless --apply is given")
        .long_about(
            "Prepare a data directory: create it where it is missing and register one coordinator, \
             unless there is one of that name. A dry run unless --apply is given. It never changes \
             or removes anything, and may be repeated.",
        )
        .args([
            switch("apply", "Do it; without this, only say what would be done"),
            flag("actor", "NAME", "The coordinator's name [default: gaia]"),
        ])
        .after_help(after_help(&[
            "gaia-bus initialize",
            "gaia-bus initialize --apply --actor conductor",
        ]))
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let settings = call.settings()?;
    let paths = settings.paths.clone();
    let name = call.matches.get_one::<String>("actor").map_or(COORDINATOR, String::as_str);
    let done = if call.matches.get_flag("apply") {
        Initialize::apply(settings, name)
    } else {
        Initialize::dry_run(settings, name)
    };
    let report = match done {
        Ok(report) => report,
        Err(failure) => return Ok(console.fail(&failure, &paths)),
    };
    console.show(&report, &report.result);
    console.warn(report.error.as_deref());
    console.warn(report.warning.as_deref());
    Ok(report.exit_code)
}
