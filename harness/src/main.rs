//! `gaia-bus-harness`: the gate, and the stories that the checkers tell. Called as `gaia-bus` it is the
//! bus, so that a check can run the shipped entry point without looking for another executable.

use std::process::ExitCode;

use gaia_bus_harness::{corpus, program, real, story};

const USAGE: &str = "\
usage: gaia-bus-harness gate --story NAME
       gaia-bus-harness check NAME
       gaia-bus-harness corpus DIRECTORY

  --story stale-lock   the shortest ways in which breaking a stale lock goes wrong, call by call
  check NAME           one of the checks on real directories, at CI size: conformance, witness,
                       processes, system-calls, power-loss, seeds
  corpus DIRECTORY     writes the named seeds of the fuzz targets
";

fn main() -> ExitCode {
    if program::is_called_as_bus() {
        return gaia_bus::cli::main();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let told = match arguments.as_slice() {
        ["gate", "--story", name] => story::tell_of(name),
        ["check", name] => {
            let executable = std::env::current_exe().expect("this program has a path");
            match real::run(name, &executable) {
                Some(report) if report.is_green() => Some(report.to_string()),
                Some(report) => {
                    println!("{report}");
                    return ExitCode::FAILURE;
                }
                None => None,
            }
        }
        ["corpus", directory] => match corpus::write(directory.as_ref()) {
            Ok(count) => Some(format!("{count} seeds written to {directory}")),
            Err(error) => {
                eprintln!("{directory}: {error}");
                return ExitCode::FAILURE;
            }
        },
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
