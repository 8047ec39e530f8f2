//! `gaia-bus-harness`: the gate, and the stories that the checkers tell.

use std::process::ExitCode;

use gaia_bus_harness::story;

const USAGE: &str = "\
usage: gaia-bus-harness gate --story NAME

  --story stale-lock   the shortest ways in which breaking a stale lock goes wrong, call by call
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let told = match arguments.as_slice() {
        ["gate", "--story", name] => story::tell_of(name),
        _ => None,
    };
    match told {
        Some(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        None => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
