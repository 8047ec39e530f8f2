//! `gaia-bus-harness`: the gate, and the stories that the checkers tell. Called as `gaia-bus` it is
//! the bus, so that a check can run the shipped entry point without looking for another executable.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use gaia_bus_harness::checks::{CHECKS, Check, Request};
use gaia_bus_harness::disk::bend::Fault;
use gaia_bus_harness::gate::{self, Options};
use gaia_bus_harness::runs::Reach;
use gaia_bus_harness::{corpus, program, story};

/// The proof: checkers for the bus, and the checks of the checkers.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every checker and print one table. Exits with 0 only when nothing is violated and every
    /// planted fault is found; with 1 otherwise.
    Gate {
        /// Write the table to this file too.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// With the larger bounds: about twice as long.
        #[arg(long)]
        full: bool,
        /// Only what takes seconds and needs no process, file system or privilege.
        #[arg(long, conflicts_with = "full")]
        simulated: bool,
        /// Plant a fault in the explored protocol, as in "skip fsync": the gate must go red.
        #[arg(long, value_name = "FAULT", value_parser = fault)]
        plant: Option<Fault>,
        /// Tell a story instead, call by call: stale-lock is why no lock is ever broken.
        #[arg(long, value_name = "NAME", exclusive = true)]
        story: Option<String>,
    },
    /// Run one of the gate's checks and print all that it has to say.
    Check {
        /// Which one.
        #[arg(value_parser = CHECKS.map(|check| check.name))]
        name: String,
        /// With the larger bounds: see gate --full.
        #[arg(long)]
        full: bool,
    },
    /// Write the named seeds of the fuzz targets.
    Corpus {
        /// Where to.
        directory: PathBuf,
    },
}

fn fault(words: &str) -> Result<Fault, String> {
    let known = gaia_bus_harness::controls::controls().into_iter().map(|control| control.fault);
    let known: Vec<Fault> = known.collect();
    known.iter().copied().find(|fault| fault.words() == words).ok_or_else(|| {
        let all: Vec<_> = known.iter().map(|fault| fault.words()).collect();
        format!("known faults: {}", all.join(", "))
    })
}

fn main() -> ExitCode {
    if program::is_called_as_bus() {
        return gaia_bus::cli::main();
    }
    match Arguments::parse().command {
        Command::Gate { story: Some(name), .. } => match story::tell_of(&name) {
            Some(text) => say(&text, true),
            None => say(&format!("there is no story {name:?}; there is stale-lock"), false),
        },
        Command::Gate { json, full, simulated, plant, story: None } => {
            run_gate(Options { full, simulated, planted: plant }, json)
        }
        Command::Check { name, full } => match (Check::named(&name), executable()) {
            (Some(check), Ok(executable)) => {
                let (reach, planted) = (if full { Reach::Full } else { Reach::Gate }, None);
                let report = check.run(&Request { executable: &executable, reach, planted });
                say(&report.to_string(), report.is_green())
            }
            (None, _) => say(&format!("there is no check {name:?}"), false),
            (_, Err(error)) => say(&error, false),
        },
        Command::Corpus { directory } => match corpus::write(&directory) {
            Ok(count) => say(&format!("{count} seeds written to {}", directory.display()), true),
            Err(error) => say(&format!("{}: {error}", directory.display()), false),
        },
    }
}

/// This program, which is the bus when it is called as one.
fn executable() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))
}

fn run_gate(options: Options, json: Option<PathBuf>) -> ExitCode {
    let executable = match executable() {
        Ok(executable) => executable,
        Err(error) => return say(&error, false),
    };
    let table = gate::run(options, &executable);
    let outcome = say(&table.text(), table.green);
    if let Some(file) = json {
        let text = serde_json::to_string_pretty(&table).map_err(std::io::Error::from);
        if let Err(error) = text.and_then(|text| std::fs::write(&file, text + "\n")) {
            return say(&format!("{}: {error}", file.display()), false);
        }
    }
    outcome
}

/// Says it; a reader who has left is no failure.
fn say(text: &str, good: bool) -> ExitCode {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{text}");
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
