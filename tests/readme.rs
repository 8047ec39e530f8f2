//! Promise: what the README shows is what happens. Every `gaia-bus` command in its console blocks runs,
//! exits as stated, and prints what is shown where output is shown.
//!
//! Method: the blocks are read from the README and run in order on one fresh data directory, with a
//! small reader of quoted words in place of a shell.
//!
//! Cannot see: prose that is wrong.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::process::Command;

const EXITS: &str = "# exits with ";

struct Shown {
    command: String,
    exit: i32,
    output: String,
}

/// The commands of the console blocks, each with the output shown below it.
fn shown(readme: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let (command, exit) = command.split_once(EXITS).unwrap_or((command, "0"));
            let exit = exit.trim().parse().unwrap();
            found.push(Shown { command: command.trim().into(), exit, output: String::new() });
        } else if inside {
            let last = found.last_mut().unwrap();
            last.output.push_str(line);
            last.output.push('\n');
        }
    }
    found
}

/// Words, of which some are in double quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

fn readme() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(root.join("README.md")).unwrap()
}

#[test]
fn every_command_of_the_readme_does_what_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let all = shown(&readme());
    assert!(all.len() >= 12, "the README shows its commands");
    for Shown { command, exit, output } in all {
        let mut words = words(&command).into_iter();
        assert_eq!(words.next().as_deref(), Some("gaia-bus"), "{command}");
        let ran = Command::new(env!("CARGO_BIN_EXE_gaia-bus"))
            .args(words)
            .env("GAIA_INTERAGENT_DATA_DIR", home.path().join("data"))
            .output()
            .unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(ran.status.code(), Some(exit), "{command}: {printed}");
        assert!(!printed.is_empty(), "{command}");
        if !output.is_empty() {
            assert_eq!(printed, output, "{command}");
        }
    }
}

#[test]
fn a_command_of_another_outcome_would_be_seen() {
    let all =
        shown("```console\n$ gaia-bus state --x \"a b\"   # exits with 3\n{}\n```\n$ not this\n");
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].exit, all[0].output.as_str()), (3, "{}\n"));
    assert_eq!(words(&all[0].command), ["gaia-bus", "state", "--x", "a b"]);
}
