//! Promise: what the README shows is what happens. Every `gaia-bus` command in it runs, exits as
//! stated, and prints what is shown where output is shown; the runbook and the figures are those of
//! the product.
//!
//! Method: the blocks are read from the README and run in order on one fresh data directory, with a
//! small reader of quoted words in place of a shell. `GAIA_BUS_BLESS=1` writes the runbook anew.
//!
//! Cannot see: prose that is wrong.

#![allow(clippy::unwrap_used, missing_docs)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gaia_bus::lock::{LockReport, Owner, Running};
use gaia_bus::report::recovery::{self, Trouble};
use gaia_bus::settings::Paths;

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
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
fn the_main_job_is_a_command_that_works() {
    let readme = readme();
    let (_, block) = readme.split_once("<!-- main job -->\n```sh\n").unwrap();
    let line = block.lines().next().unwrap();
    let arguments = line.strip_prefix("cargo run --release --locked -p gaia-bus -- ").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_gaia-bus")).args(words(arguments)).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.status.code(), &report["evidenceGatesResult"]), (Some(0), &true.into()));
    std::fs::remove_dir_all(report["dataDir"].as_str().unwrap()).unwrap();
}

/// The steps for every trouble, as doctor prints them, on example paths.
fn runbook() -> String {
    let paths = Paths::of(Path::new("/data"));
    let lock = |owner: Option<Owner>, this_boot, owner_running| LockReport {
        path: "/data/events.lock".into(),
        age_ms: None,
        probably_abandoned: true,
        owner_unreadable: None,
        owner,
        owner_running,
        this_boot,
    };
    let owner = |mode: &str| Owner {
        pid: 4711,
        at: "2026-09-15T23:41:09.954Z".into(),
        started_at: None,
        host: None,
        boot_id: None,
        token: Some("TOKEN".into()),
        mode: Some(mode.into()),
        state: None,
    };
    let writer = lock(Some(owner("write")), Some(true), Running::No);
    let reader = lock(Some(owner("read")), Some(true), Running::No);
    let sections = [
        ("A lock that a writer of this boot left behind", Trouble::LockHeld(&writer)),
        ("A lock of an earlier boot, or of a reader", Trouble::LockHeld(&reader)),
        ("Something else at the path of the lock", Trouble::LockForeign),
        (
            "A torn tail (here 13 bytes at offset 4096)",
            Trouble::TornTail { offset: 4096, length: 13 },
        ),
        ("Any other damage", Trouble::LogUnusable),
    ];
    let mut out = String::new();
    for (title, trouble) in sections {
        writeln!(out, "\n**{title}**\n").unwrap();
        for (number, step) in recovery::steps(trouble, &paths, Some(4109)).iter().enumerate() {
            writeln!(out, "{}. {step}", number + 1).unwrap();
        }
    }
    out
}

#[test]
fn the_runbook_is_what_doctor_prints() {
    const BEGIN: &str = "<!-- runbook -->\n";
    const END: &str = "\n<!-- end of runbook -->";
    let readme = readme();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END.trim_start()).unwrap();
    let expected = format!("{}\n", runbook());
    if std::env::var_os("GAIA_BUS_BLESS").is_some() {
        let whole = [before, BEGIN, &expected, END.trim_start(), after].concat();
        std::fs::write(root().join("README.md"), whole).unwrap();
        return;
    }
    assert!(shown == expected, "GAIA_BUS_BLESS=1 cargo test --test readme writes it anew");
}

#[test]
fn the_published_sizes_and_counts_are_those_of_the_tests() {
    let readme = readme();
    let table = std::fs::read_to_string(root().join("tests/verify_mutations.txt")).unwrap();
    let count = |what: &str| {
        let line = table.lines().find(|line| line.ends_with(what)).unwrap();
        line.split(' ').next().unwrap().to_owned()
    };
    let (all, unreadable) = (count(" in all"), count(" does not fold: exit 3"));
    let (red, evidence, unseen) =
        (count(" red"), count(" red only as evidence"), count(" invisible"));
    let thousands = |number: &str| match number.len() {
        4.. => format!("{},{}", &number[..number.len() - 3], &number[number.len() - 3..]),
        _ => number.to_owned(),
    };
    let readme_words = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = format!(
        "of {} changed logs {unreadable} no longer replay (exit 3), {red} are red in any run, \
         {evidence} are red when the log is claimed as evidence, and {unseen} are invisible",
        thousands(&all)
    );
    assert!(readme_words.contains(&sentence), "{sentence}");

    let home = tempfile::tempdir().unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_gaia-bus"))
        .args(["serve", "--data-dir"])
        .arg(home.path().join("data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    server.stdin.take().unwrap().write_all(request).unwrap();
    let listed = server.wait_with_output().unwrap().stdout;
    let bytes = thousands(&(listed.len() - 1).to_string());
    assert!(readme.contains(&format!("<!-- tools/list bytes -->{bytes} bytes<!-- -->")), "{bytes}");
}

#[test]
fn a_command_of_another_outcome_would_be_seen() {
    let all =
        shown("```console\n$ gaia-bus state --x \"a b\"   # exits with 3\n{}\n```\n$ not this\n");
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].exit, all[0].output.as_str()), (3, "{}\n"));
    assert_eq!(words(&all[0].command), ["gaia-bus", "state", "--x", "a b"]);
}
