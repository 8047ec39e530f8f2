//! Promise: what an operator asks of the binary beside the bus itself is answered as stated:
//! `lanes`, `config`, `uninstall-preview`, completions and manual pages.
//!
//! Method: the shipped binary; exit codes, payloads, files.
//!
//! Cannot see: whether a client loads what `config` writes (`tests/clients` is for that), and the
//! protected places in all their spellings (`tests/config.rs`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod binary;

use std::fs;
use std::path::Path;

use binary::{Bench, Done};

#[test]
fn lanes_shows_number_and_evidence_together_and_judges_a_request() {
    let bench = Bench::new();
    let shown = bench.ok(&["lanes"]);
    assert_eq!(shown["supportedMaxLiveLanes"], 4);
    assert_eq!(
        shown["laneEvidence"],
        serde_json::json!({"supported": 4, "nextValidationTarget": 6, "unprovenWithRealClients": 8})
    );
    for (arguments, code) in [
        (&["lanes", "--check", "4"][..], 0),
        (&["lanes", "--check", "6"], 1),
        (&["lanes", "--check", "6", "--experimental-lanes"], 0),
        (&["lanes", "--check", "9", "--experimental-lanes"], 1),
        (&["lanes", "--check", "0"], 2),
        (&["lanes", "--check", "many"], 2),
    ] {
        let done = bench.run(arguments);
        assert_eq!(done.code, code, "{arguments:?} {done:?}");
        if code < 2 {
            assert_eq!(done.json()["ok"], code == 0);
            assert_eq!(done.json()["laneEvidence"], shown["laneEvidence"], "no evidence changes");
        }
    }
    let experimental = bench.ok(&["lanes", "--check", "6", "--experimental-lanes"]);
    assert_eq!(experimental["result"]["ruling"], "experimental");
}

fn config(bench: &Bench, home: &Path, arguments: &[&str]) -> Done {
    let mut command = bench.command(&[&["config"][..], arguments].concat());
    command.env("HOME", home);
    Done::of(command.output().unwrap())
}

#[test]
fn config_prints_each_clients_own_format_with_absolute_paths_and_writes_nothing() {
    let bench = Bench::new();
    let binary = env!("CARGO_BIN_EXE_gaia-bus");
    let data = bench.data.to_str().unwrap();
    for (client, file) in [
        ("claude", ".mcp.json"),
        ("codex", "config.toml"),
        ("gemini", "settings.json"),
        ("opencode", "opencode.json"),
    ] {
        let done = config(&bench, bench.outside(), &["--client", client]);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
        let shown = done.json();
        assert_eq!((&shown["mode"], &shown["fileName"]), (&"dry-run".into(), &file.into()));
        assert_eq!(shown["startupTimeoutSec"], 25);
        let text = shown["result"].as_str().unwrap();
        assert!(text.contains(binary) && text.contains(data), "{text}");
        assert!(text.contains("gaia-interagent") && text.contains("\"serve\""), "{text}");
        if client == "codex" {
            let lines: Vec<_> = text.lines().collect();
            assert_eq!(lines[0], "[mcp_servers.gaia-interagent]");
            assert!(lines.contains(&"startup_timeout_sec = 25"), "{text}");
            assert!(lines.contains(&"tool_timeout_sec = 60"), "{text}");
        } else {
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text}");
        }
        assert_eq!(fs::read_dir(bench.outside()).unwrap().count(), 0);
    }
}

#[test]
fn config_follows_the_lock_timeout_that_is_in_force() {
    let mut bench = Bench::new();
    bench.lock_timeout_ms = "2500";
    let shown = config(&bench, bench.outside(), &["--client", "codex"]).json();
    assert_eq!(shown["startupTimeoutSec"], 11);
}

#[test]
fn config_writes_only_where_it_is_told_and_overwrites_only_when_forced() {
    let bench = Bench::new();
    let home = bench.outside().join("home");
    let project = bench.outside().join("project");
    fs::create_dir_all(home.join(".codex")).unwrap();
    let out = project.to_str().unwrap();
    let written = config(&bench, &home, &["--client", "claude", "--out", out, "--write"]);
    assert_eq!(written.code, 0, "{written:?}");
    let file = project.join(".mcp.json");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(written.json()["result"], text);
    assert_eq!(written.json()["mode"], "written");

    fs::write(&file, "theirs").unwrap();
    let again = config(&bench, &home, &["--client", "claude", "--out", out, "--write"]);
    assert_eq!((again.code, &again.json()["mode"]), (1, &"refused".into()));
    assert_eq!(fs::read(&file).unwrap(), b"theirs");
    let forced = config(&bench, &home, &["--client", "claude", "--out", out, "--write", "--force"]);
    assert_eq!(forced.code, 0, "{forced:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    let protected = home.join("..//home/.codex/");
    for more in [&["--write"][..], &["--write", "--force"], &[]] {
        let out = ["--client", "codex", "--out", protected.to_str().unwrap()];
        let refused = config(&bench, &home, &[&out[..], more].concat());
        assert_eq!(refused.code, 1, "{refused:?}");
        assert_eq!(fs::read_dir(home.join(".codex")).unwrap().count(), 0);
    }
    assert_eq!(config(&bench, &home, &["--client", "claude", "--write"]).code, 2);
}

#[test]
fn config_obeys_the_verdict_file_and_knows_no_other_client() {
    let bench = Bench::new();
    for (target, verdict) in
        [("hari", "REJECT"), ("IX", "DEFER"), ("GA", "ADAPTER_ONLY"), ("tars", "ADAPTER_ONLY")]
    {
        let out = bench.outside().join("out");
        let arguments = ["--client", target, "--out", out.to_str().unwrap(), "--write"];
        let done = config(&bench, bench.outside(), &arguments);
        assert_eq!((done.code, &done.json()["verdict"]), (1, &verdict.into()), "{done:?}");
        assert!(!out.exists());
    }
    assert_eq!(config(&bench, bench.outside(), &["--client", "cursor"]).code, 2);
    assert_eq!(config(&bench, bench.outside(), &[]).code, 2);
}

#[test]
fn an_uninstall_would_leave_the_log_and_the_preview_removes_nothing() {
    let bench = Bench::with_log(binary::LESSON);
    let shown = bench.ok(&["uninstall-preview"]);
    assert_eq!(shown["destructive"], false);
    assert_eq!(shown["removed"], serde_json::json!([]));
    assert_eq!(shown["wouldRemove"][0]["path"], env!("CARGO_BIN_EXE_gaia-bus"));
    let survives: Vec<_> = shown["survives"].as_array().unwrap().iter().collect();
    let log = survives.iter().find(|item| item["path"] == bench.log().to_str().unwrap()).unwrap();
    assert_eq!(log["exists"], true);
    assert_eq!(bench.log_bytes(), binary::LESSON);
    assert!(Path::new(env!("CARGO_BIN_EXE_gaia-bus")).exists());
    // Nothing is created by looking, either.
    let empty = Bench::new();
    empty.ok(&["uninstall-preview"]);
    assert!(!empty.data.exists());
}

#[cfg(unix)]
#[test]
fn a_data_directory_that_is_not_utf8_is_shown_and_cannot_be_configured() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::named(std::ffi::OsStr::from_bytes(b"d\xff"));
    let shown = bench.ok(&["uninstall-preview"]);
    assert!(shown["survives"][0]["path"].as_str().unwrap().ends_with("d\u{fffd}"));
    let smoked = Done::of({
        let mut command = bench.command(&["smoke", "--data-dir"]);
        command.arg(&bench.data).output().unwrap()
    });
    assert_eq!(smoked.code, 0, "{smoked:?}");
    assert_eq!(bench.ok(&["verify", "--require-evidence"])["ok"], true);
    let done = config(&bench, bench.outside(), &["--client", "codex"]);
    assert_eq!(done.code, 2, "a client cannot be told of it: {done:?}");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let bench = Bench::new();
    let text = |arguments: &[&str]| {
        let done = bench.run(arguments);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{arguments:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let page = text(&["man"]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&["completions", shell]);
        for word in ["handoff", "uninstall-preview", "verify", "require-evidence", "actorId"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    for command in ["register", "send", "inbox", "ack", "heartbeat", "handoff", "verify", "smoke"] {
        assert!(page.contains(command), "{command}");
        let own = text(&["man", command]);
        assert!(own.contains(&format!("gaia\\-bus\\-{command}")), "{own}");
        assert!(own.contains("Reading rule"), "{own}");
    }
    assert_eq!(bench.run(&["completions", "tcsh"]).code, 2);
    assert_eq!(bench.run(&["man", "none"]).code, 2);
}
