//! `uninstall-preview`: what an uninstall would remove, and what survives. It removes nothing.

use clap::Command;

use super::{Call, Console, OK, Usage, after_help, this_program};
use crate::report::uninstall::Uninstall;

pub(super) fn define() -> Command {
    Command::new("uninstall-preview")
        .about("Show what an uninstall would remove, and what survives; remove nothing")
        .after_help(after_help(&["gaia-bus uninstall-preview --pretty"]))
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let preview = Uninstall::preview(&this_program()?, &call.settings()?);
    console.show(&preview, &preview);
    Ok(OK)
}
