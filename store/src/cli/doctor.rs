//! `doctor`: a look at the data directory. What it says is in [`report::doctor`].
//!
//! [`report::doctor`]: crate::report::doctor

use clap::Command;

use super::{Call, Console, Usage, after_help};
use crate::report::doctor::Doctor;

pub(super) fn define() -> Command {
    Command::new("doctor")
        .about("Examine the data directory, and say what to do when something is wrong")
        .long_about(
            "Examine the data directory: lock, log, addresses, correlation ids, file system. \
             Writes nothing and repairs nothing. Exit code 0 is sound, 1 unsound, 3 damaged or not \
             available; then `recovery` lists the manual steps, the first of which is always to \
             stop every bus process.",
        )
        .after_help(after_help(&["gaia-bus doctor --pretty"]))
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let doctor = Doctor::examine(call.settings()?);
    console.show(&doctor, &doctor);
    for sentence in doctor.warnings.iter().chain(&doctor.error) {
        console.say(sentence);
    }
    Ok(doctor.exit_code)
}
