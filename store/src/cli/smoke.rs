//! `smoke`: the main job in one command. What is played is in [`smoke`](crate::smoke).

use std::path::PathBuf;

use clap::Command;
use clap::builder::ValueParser;

use super::{Call, Console, Usage, after_help, flag, this_program};
use crate::settings::Settings;
use crate::smoke::{self, Request};

pub(super) fn define() -> Command {
    Command::new("smoke")
        .about("Play an exchange through a real server, and verify its log as evidence")
        .long_about(
            "Play an exchange of three roles (task, candidate, handoff, verdict) around a real \
             file through a spawned server, then verify the log as evidence. The data directory is \
             made by this command: one that exists is refused. Nothing is overwritten. It launches \
             no model and runs no code.",
        )
        .args([
            flag("artifact", "FILE", "The file that the exchange is about [default: this program]")
                .value_parser(ValueParser::path_buf()),
            flag("out", "FILE", "Where to write the receipt; a file that exists is refused")
                .value_parser(ValueParser::path_buf()),
        ])
        .after_help(after_help(&["gaia-bus smoke --artifact README.md --out receipt.json"]))
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let path = |name: &str| call.matches.get_one::<PathBuf>(name).cloned();
    // Only the flag names a directory to claim: the one of the environment holds somebody's log.
    let data_dir = path("data-dir");
    let settings = Settings::from_environment(Some(PathBuf::from(".")), call.environment)
        .map_err(|error| Usage(error.to_string()))?;
    let request = Request {
        binary: this_program()?,
        settings,
        data_dir,
        artifact: path("artifact"),
        receipt: path("out"),
    };
    match smoke::run(&request) {
        Ok(receipt) => {
            console.show(&receipt, &receipt.exchange);
            for line in receipt.transcript() {
                console.say(&line);
            }
            console.warn(receipt.warning.as_deref());
            Ok(receipt.exit_code())
        }
        Err(trouble) => {
            let document = serde_json::json!({
                "ok": false,
                "command": "smoke",
                "error": trouble.to_string(),
                "result": null,
            });
            console.show(&document, &());
            console.say(&trouble.to_string());
            Ok(trouble.exit_code())
        }
    }
}
