//! Promise: the architecture is what the module headers say it is, as far as the source text shows
//! it.
//!
//! Method: each rule is a function from a source to what is wrong with it; it is applied to every
//! source it is about, and first to a planted source that breaks it.
//!
//! Cannot see: what a dependency does, and what a macro expands to.

#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use gaia_bus::verify::scan;

struct Rule {
    name: &'static str,
    /// Whether the rule is about the file of this path, relative to the root.
    about: fn(&str) -> bool,
    /// What the rule forbids in a line of code.
    breaks: fn(&str) -> bool,
    /// A line that breaks it: the negative control.
    control: &'static str,
}

fn in_model(path: &str) -> bool {
    path.starts_with("model/src/")
}

fn in_store(path: &str) -> bool {
    path.starts_with("store/src/")
}

fn in_store_but_for_disk_and_configuration(path: &str) -> bool {
    const MAY: [&str; 2] = ["store/src/disk.rs", "store/src/config/destination.rs"];
    in_store(path) && !MAY.contains(&path)
}

fn shipped(path: &str) -> bool {
    in_model(path) || in_store(path)
}

fn any(_: &str) -> bool {
    true
}

fn has(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.contains(word))
}

const RULES: &[Rule] = &[
    Rule {
        name: "the model knows no I/O, clock, thread, chance or environment",
        about: in_model,
        breaks: |line| {
            has(
                line,
                &[
                    "std::fs",
                    "std::io",
                    "std::net",
                    "std::env",
                    "std::thread",
                    "std::time",
                    "std::process",
                    "SystemTime",
                    "Instant::",
                    "RandomState",
                    "rand::",
                    "File::",
                ],
            )
        },
        control: "use std::time::Instant;",
    },
    Rule {
        name: "only the disk truncates or removes, and configuration what its own call has made",
        about: in_store_but_for_disk_and_configuration,
        breaks: |line| {
            has(line, &["set_len(", "remove_dir", "remove_file", "unlinkat", "ftruncate"])
        },
        control: "fs::remove_dir(&paths.lock)?;",
    },
    Rule {
        name: "only the disk fsyncs, so that an fsync that fails is the commit's to answer for",
        about: in_store_but_for_disk_and_configuration,
        breaks: |line| has(line, &["sync_all(", "sync_data(", "fsync(", "fdatasync("]),
        control: "File::open(parent)?.sync_all()?;",
    },
    Rule {
        name: "the source that ships is the source that is explored: no cfg(loom)",
        about: shipped,
        breaks: |line| has(line, &["cfg(loom)", "cfg(not(loom))"]),
        control: "#[cfg(loom)]",
    },
    Rule {
        name: "nothing knows the harness",
        about: shipped,
        breaks: |line| has(line, &["gaia_bus_harness"]),
        control: "use gaia_bus_harness::disk;",
    },
    Rule {
        name: "a broken stderr or stdout never panics",
        about: shipped,
        breaks: |line| has(line, &["println!(", "print!(", "eprintln!(", "eprint!("]),
        control: "eprintln!(\"{error}\");",
    },
    Rule {
        name: "no test is switched off or meant to panic",
        about: any,
        breaks: |line| has(line.trim_start(), &["#[ignore", "#[should_panic"]),
        control: "    #[ignore = \"slow\"]",
    },
    Rule {
        name: "sources are ASCII",
        about: any,
        breaks: |line| !line.is_ascii(),
        control: "let dash = \"\u{2014}\";",
    },
    Rule {
        name: "lines have at most 100 columns, but for tables and raw data",
        about: any,
        breaks: |line| line.chars().count() > 100 && !has(line, &["r#\"", "//! |", "{\\\""]),
        control: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
                  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pending: Vec<PathBuf> = ["model", "store", "harness", "tests", "benches", "fuzz"]
        .iter()
        .map(|name| root().join(name))
        .filter(|path| path.exists())
        .collect();
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn every_rule_holds_and_could_fail() {
    let sources = sources();
    let mut wrong = Vec::new();
    for rule in RULES {
        assert!((rule.breaks)(rule.control), "the control of {:?} passes", rule.name);
        let about: Vec<_> = sources
            .iter()
            .filter(|(path, _)| (rule.about)(path) && path != "tests/tidy.rs")
            .collect();
        assert!(about.len() > 3, "{:?} is about nothing", rule.name);
        for (path, source) in about {
            for (number, line) in source.lines().enumerate() {
                if (rule.breaks)(line) {
                    wrong.push(format!("{path}:{}: {}: {}", number + 1, rule.name, line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The build makes the same scan and `verify` shows it; this one needs no build script to have run.
#[test]
fn nothing_that_ships_opens_a_socket_or_runs_a_shell() {
    let found = |path: &str, source: &str| {
        let findings = scan::findings(source).into_iter();
        findings.map(|found| format!("{path}:{}: {}", found.line, found.what)).collect::<Vec<_>>()
    };
    assert_eq!(found("x", "\nuse std::net::TcpListener;"), ["x:2: TcpListener", "x:2: std::net"]);
    assert_eq!(
        found("x", "use std::process::Command;\nfn f() { Command::new(\"sh\"); }"),
        ["x:2: a shell: sh"]
    );
    for (path, source) in sources().iter().filter(|(path, _)| shipped(path)) {
        assert_eq!(found(path, source), [""; 0]);
    }
}

#[test]
fn unsafe_code_is_forbidden_where_it_ships() {
    for name in ["model", "store"] {
        let source = fs::read_to_string(root().join(name).join("src/lib.rs")).unwrap();
        assert!(source.contains("#![forbid(unsafe_code)]"), "{name}");
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    for (path, source) in sources() {
        assert!(source.starts_with("//!"), "{path} has no header");
    }
}

#[test]
fn nothing_that_ships_depends_on_the_harness() {
    for name in ["model", "store"] {
        let manifest = fs::read_to_string(root().join(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("gaia-bus-harness"), "{name}");
    }
}

/// Crates that talk to networks or bring a runtime that does.
const NETWORK_CRATES: &[&str] = &[
    "actix-web",
    "async-std",
    "axum",
    "curl",
    "h2",
    "hyper",
    "mio",
    "native-tls",
    "openssl",
    "quinn",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "tiny_http",
    "tokio",
    "tungstenite",
    "ureq",
    "warp",
];

fn banned(tree: &str) -> Vec<&str> {
    tree.lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| NETWORK_CRATES.contains(name))
        .collect()
}

#[test]
fn no_crate_that_ships_can_reach_a_network() {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["tree", "--package", "gaia-bus", "--edges", "normal,build", "--prefix", "none"])
        .args(["--locked", "--offline", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.contains("serde_json"), "the tree is there: {tree}");
    assert_eq!(banned(&tree), Vec::<&str>::new());
    assert_eq!(banned("serde v1.0.0\ntokio v1.0.0 (*)\n"), ["tokio"], "the control");
}
