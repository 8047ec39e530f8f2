//! What ships, and the server that runs: the checks that are not about a log.
//!
//! Each is made on values that are passed in, so that a manifest, a verdict file or a source with a
//! fault in it can be put to the same check; the tests below do.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use gaia_bus_model::command::Verb;
use gaia_bus_model::vocabulary::NEVER_GRANTABLE;
use serde_json::Value;

use super::scan;
use super::{Check, Section, Verdict};
use crate::config::ecosystem::{self, Decision, ruling};
use crate::config::{Client, SERVER_KEY, STARTUP_MARGIN_SEC, render, startup_timeout_sec};
use crate::probe::Probe;
use crate::report::lanes;

/// The sources of the crates that ship, as the build saw them.
#[derive(Clone, Copy, Debug)]
pub struct Sources {
    /// The files that were read.
    pub files: &'static [&'static str],
    /// File, line, and what is forbidden there.
    pub findings: &'static [(&'static str, usize, &'static str)],
}

/// What the build embedded.
pub const SOURCES: Sources = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The plugin as it ships: each file with its path inside of it.
pub const PLUGIN: [(&str, &str); 3] = [
    (".codex-plugin/plugin.json", include_str!("../../plugin/.codex-plugin/plugin.json")),
    (".claude-plugin/plugin.json", include_str!("../../plugin/.claude-plugin/plugin.json")),
    (".mcp.json", include_str!("../../plugin/.mcp.json")),
];

/// What is to be known of the product in one run.
#[derive(Clone, Debug)]
pub struct Product {
    /// The server, as it ran.
    pub server: Result<Running, String>,
    /// The wait for the lock that is in force.
    pub lock_timeout: Duration,
}

/// A server that was started and looked at.
#[derive(Clone, Debug)]
pub struct Running {
    /// The tools that it lists.
    pub tools: Vec<String>,
    /// The sockets that it holds and did not inherit; nothing on a system that does not tell.
    pub sockets: Result<Option<usize>, String>,
}

/// Starts a server, asks it for its tools, looks at what it holds, and ends it. It opens no log:
/// none is opened before the first call of a tool.
///
/// # Errors
/// A sentence.
pub fn look_at_server(binary: &Path, data_dir: &Path) -> Result<Running, String> {
    let mut probe = Probe::start(binary, data_dir)?;
    let tools = probe.tool_names()?;
    let sockets = own_sockets(probe.pid());
    probe.finish()?;
    Ok(Running { tools, sockets })
}

/// Sockets of this process may be inherited, as where a harness gives one as standard error; they
/// are told by their number.
#[cfg(target_os = "linux")]
fn own_sockets(pid: u32) -> Result<Option<usize>, String> {
    let held = sockets_of(&pid.to_string())?;
    let inherited = sockets_of("self")?;
    Ok(Some(held.difference(&inherited).count()))
}

#[cfg(target_os = "linux")]
fn sockets_of(process: &str) -> Result<BTreeSet<String>, String> {
    let path = format!("/proc/{process}/fd");
    let entries = std::fs::read_dir(&path).map_err(|error| format!("{path}: {error}"))?;
    let targets = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let names = targets.map(|target| target.to_string_lossy().into_owned());
    Ok(names.filter(|name| name.starts_with("socket:")).collect())
}

#[cfg(not(target_os = "linux"))]
fn own_sockets(_: u32) -> Result<Option<usize>, String> {
    Ok(None)
}

impl Product {
    /// The seven sections, in the order in which they are shown.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        let section = |section, checks| Section { section, gates_result: None, checks };
        vec![
            section("manifest", manifest(&PLUGIN)),
            section("transport", vec![transport(&SOURCES, &self.server)]),
            section("templates", vec![templates(&Client::ALL.map(Client::template))]),
            section("lanes", lane_policy()),
            section("startup-timeout", startup_timeout(self.lock_timeout)),
            section("ecosystem", ecosystem_verdicts(ecosystem::SHIPPED)),
            section("tool-surface", tool_surface(&self.server)),
        ]
    }
}

/// One way of shipping the plugin: its manifest, and where that stands.
type Files<'a> = [(&'a str, &'a str)];

/// Every manifest is put to every check.
fn manifest(files: &Files<'_>) -> Vec<Check> {
    let manifests: Vec<_> =
        files.iter().filter(|(path, _)| path.ends_with("/plugin.json")).collect();
    let parsed =
        |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
    let declared = |text: &str| -> Result<String, String> {
        let path = parsed(text)?.get("mcpServers").and_then(Value::as_str).map(str::to_owned);
        path.ok_or_else(|| "mcpServers names no file".into())
    };
    let file = |text: &str| -> Result<&str, String> {
        let path = declared(text)?;
        let own = path.strip_prefix("./").unwrap_or(&path).to_owned();
        let found = files.iter().find(|(known, _)| *known == own);
        found.map(|(_, text)| *text).ok_or_else(|| format!("{path} does not ship"))
    };
    let server = |text: &str| -> Result<Value, String> {
        let declared = parsed(file(text)?)?;
        let found = declared.get("mcpServers").and_then(|servers| servers.get(SERVER_KEY)).cloned();
        found.ok_or_else(|| format!("{SERVER_KEY} is not declared"))
    };
    let each = |judge: &dyn Fn(&str) -> Result<(), String>, green: &str| -> Verdict {
        if manifests.is_empty() {
            return Err("no manifest ships".into());
        }
        for (path, text) in &manifests {
            judge(text).map_err(|sentence| format!("{path}: {sentence}"))?;
        }
        Ok(format!("{green} ({} manifests)", manifests.len()))
    };
    let demand =
        |is_so: bool, sentence: &str| if is_so { Ok(()) } else { Err(sentence.to_owned()) };
    let is_named = |text: &str| {
        let name = parsed(text)?.get("name").and_then(Value::as_str).map(str::to_owned);
        demand(name.as_deref() == Some(SERVER_KEY), "its name is another")
    };
    let is_stdio = |text: &str| {
        let server = server(text)?;
        let kind = server.get("type").and_then(Value::as_str).unwrap_or("stdio");
        let is_local = server.get("command").is_some() && server.get("url").is_none();
        demand(kind == "stdio" && is_local, "the server is not one on standard input and output")
    };
    let is_ours = |text: &str| {
        let server = server(text)?;
        let command = server.get("command").and_then(Value::as_str);
        let arguments = server.pointer("/args/0").and_then(Value::as_str);
        demand(
            command == Some("gaia-bus") && arguments == Some("serve"),
            "it does not start gaia-bus serve",
        )
    };
    let no_path = || -> Verdict {
        for (path, text) in files {
            no_developer_path(text).map_err(|found| format!("{path}: {found}"))?;
        }
        Ok(format!("{} files", files.len()))
    };
    vec![
        Check::new("the plugin manifest parses", each(&|text| parsed(text).map(drop), "JSON")),
        Check::new("the plugin manifest has the right name", each(&is_named, SERVER_KEY)),
        Check::new(
            "the plugin manifest declares the MCP manifest",
            each(&|text| declared(text).map(drop), "mcpServers"),
        ),
        Check::new("the MCP manifest exists", each(&|text| file(text).map(drop), ".mcp.json")),
        Check::new("the MCP manifest declares the stdio server", each(&is_stdio, SERVER_KEY)),
        Check::new("the MCP server is this binary's serve", each(&is_ours, "gaia-bus serve")),
        Check::new("the plugin holds no absolute developer path", no_path()),
    ]
}

/// Absolute paths in a text that ships, of either family; the schemes of addresses are none.
fn no_developer_path(text: &str) -> Result<(), String> {
    let mut quoted = text.split('"').skip(1).step_by(2);
    let is_absolute = |value: &str| {
        let mut chars = value.chars();
        let drive = matches!(
            (chars.next(), chars.next(), chars.next()),
            (Some('a'..='z' | 'A'..='Z'), Some(':'), Some('\\' | '/'))
        );
        drive || value.starts_with(['/', '~']) || value.starts_with("\\\\")
    };
    let is_home =
        |value: &str| ["/home/", "/Users/", "\\Users\\"].iter().any(|p| value.contains(p));
    match quoted.find(|value| is_absolute(value) || is_home(value)) {
        Some(path) => Err(format!("{path:?} is an absolute path")),
        None => Ok(()),
    }
}

fn transport(sources: &Sources, server: &Result<Running, String>) -> Check {
    let verdict = (|| -> Verdict {
        scan_sees(|source| !scan::findings(source).is_empty())?;
        for crate_root in ["store/src/lib.rs", "store/src/main.rs", "model/src/lib.rs"] {
            if !sources.files.contains(&crate_root) {
                return Err(format!("{crate_root} was not scanned"));
            }
        }
        if let Some((file, line, what)) = sources.findings.first() {
            return Err(format!("{file}:{line}: {what}"));
        }
        let scanned = format!("{} source files scanned", sources.files.len());
        match server.as_ref().map_err(String::clone).and_then(|running| running.sockets.clone()) {
            Ok(Some(0)) => Ok(format!("{scanned}; the running server holds no socket")),
            Ok(Some(held)) => Err(format!("{scanned}, but the server holds {held} sockets")),
            Ok(None) => Ok(format!("{scanned}; this system does not show what a process holds")),
            Err(sentence) => {
                Err(format!("{scanned}, but no server could be looked at: {sentence}"))
            }
        }
    })();
    Check::new("no network listener, no shell-command transport in shipped sources", verdict)
}

/// The negative control of the scan: sources that it must find fault with, on every run.
fn scan_sees(seen: impl Fn(&str) -> bool) -> Result<(), String> {
    let listener = "fn f() { std::net::TcpListener::bind(x); }";
    let shell = "use std::process::Command; fn f() { Command::new(\"sh\"); }";
    let clean = "fn f() -> &'static str { \"TcpListener\" } // std::net";
    if seen(listener) && seen(shell) && !seen(clean) {
        Ok(())
    } else {
        Err("negative control: the scan does not tell a listener from a clean source".into())
    }
}

fn templates(templates: &[&str]) -> Check {
    let verdict = templates
        .iter()
        .try_for_each(|template| {
            no_developer_path(template)?;
            // Codex reads a command only as one string, the others in ways of their own; all name
            // it.
            if template.contains("\"{{BINARY}}\"") && template.contains("\"{{DATA_DIR}}\"") {
                Ok(())
            } else {
                Err("a template names the binary or the data directory otherwise".into())
            }
        })
        .map(|()| format!("{} templates, placeholders only", templates.len()));
    Check::new("the shipped config templates hold no absolute developer path", verdict)
}

fn lane_policy() -> Vec<Check> {
    let supported = lanes::SUPPORTED_MAX_LIVE_LANES;
    let next = lanes::LANE_EVIDENCE.next_validation_target;
    let unproven = lanes::LANE_EVIDENCE.unproven_with_real_clients;
    let told = |is_so: bool, detail: String| if is_so { Ok(detail) } else { Err(detail) };
    let allowed = |lanes: u32, experimental| lanes::judge(lanes, experimental).is_allowed();
    vec![
        Check::new(
            "the default lane maximum is 4",
            told(supported == 4 && allowed(4, false), format!("{supported} lanes")),
        ),
        Check::new(
            "a request for 6 lanes is refused by default",
            told(next == 6 && !allowed(6, false), format!("{next} is the next validation target")),
        ),
        Check::new(
            "6 lanes only as explicitly experimental",
            told(
                allowed(6, true) && !allowed(unproven + 1, true),
                format!("experimental up to {unproven}, above that always refused"),
            ),
        ),
    ]
}

fn startup_timeout(lock_timeout: Duration) -> Vec<Check> {
    let anywhere = Path::new("/x");
    let generated = render(Client::Codex, anywhere, anywhere, lock_timeout)
        .map_err(|error| error.to_string())
        .and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("startup_timeout_sec = "));
            let seconds = line.and_then(|value| value.trim().parse::<u64>().ok());
            seconds.ok_or_else(|| "the configuration has no startup_timeout_sec".to_owned())
        });
    let lock_ms = lock_timeout.as_millis();
    let judged = |is_so: &dyn Fn(u64) -> bool| -> Verdict {
        let seconds = generated.clone()?;
        let detail = format!("startup {seconds} s, lock {lock_ms} ms");
        if is_so(seconds) { Ok(detail) } else { Err(detail) }
    };
    vec![
        Check::new(
            "the generated startup_timeout_sec never equals the lock timeout",
            judged(&|seconds| {
                Duration::from_secs(seconds) != lock_timeout
                    && seconds == startup_timeout_sec(lock_timeout)
            }),
        ),
        Check::new(
            format!(
                "the generated startup_timeout_sec leaves the margin of {STARTUP_MARGIN_SEC} s"
            ),
            judged(&|seconds| {
                let margin = Duration::from_secs(STARTUP_MARGIN_SEC);
                Duration::from_secs(seconds) >= lock_timeout.saturating_add(margin)
            }),
        ),
    ]
}

fn ecosystem_verdicts(text: &str) -> Vec<Check> {
    let rulings = ecosystem::read(text);
    let judged = |target: &str, wanted: Decision| -> Verdict {
        // The control of this check: a target that nobody has judged has no verdict.
        let rulings = rulings.clone()?;
        if ruling(&rulings, "a target that nobody has judged").is_some() {
            return Err("negative control: what nobody has judged has a verdict".into());
        }
        match ruling(&rulings, target) {
            Some(found) if found.verdict == wanted => Ok(found.reason.clone()),
            Some(found) => Err(format!("{target} is {}", found.verdict.as_str())),
            None => Err(format!("{target} has no verdict")),
        }
    };
    [
        ("GA", Decision::AdapterOnly),
        ("Hari", Decision::Reject),
        ("TARS", Decision::AdapterOnly),
        ("IX", Decision::Defer),
    ]
    .map(|(target, wanted)| {
        Check::new(format!("{target} {}", wanted.as_str()), judged(target, wanted))
    })
    .into()
}

fn tool_surface(server: &Result<Running, String>) -> Vec<Check> {
    let tools = server.as_ref().map(|running| running.tools.as_slice()).map_err(String::clone);
    let exactly = tools.clone().and_then(|tools| {
        let listed = tools.join(", ");
        if tools.iter().map(String::as_str).eq(Verb::ALL.map(Verb::name)) {
            Ok(listed)
        } else {
            Err(format!("the server lists {listed}"))
        }
    });
    let privileged = tools.and_then(|tools| {
        let is_privileged = |tool: &&String| {
            NEVER_GRANTABLE.iter().any(|word| tool.to_ascii_lowercase().contains(word))
        };
        match tools.iter().find(is_privileged) {
            Some(tool) => Err(format!("{tool} is privileged")),
            None => Ok("none of the never-grantable authorities is a tool".into()),
        }
    });
    vec![
        Check::new("a spawned server lists exactly the six verbs", exactly),
        Check::new("no tool is privileged", privileged),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Result<Running, String> {
        let tools = Verb::ALL.map(|verb| verb.name().to_owned()).into();
        Ok(Running { tools, sockets: Ok(Some(0)) })
    }

    fn red(checks: &[Check]) -> Vec<&str> {
        checks.iter().filter(|check| !check.ok).map(|check| check.name.as_str()).collect()
    }

    #[test]
    fn what_ships_is_green_in_seven_sections_of_twenty_checks() {
        let product = Product { server: running(), lock_timeout: Duration::from_secs(10) };
        let sections = product.sections();
        let counts: Vec<_> =
            sections.iter().map(|section| (section.section, section.checks.len())).collect();
        assert_eq!(
            counts,
            [
                ("manifest", 7),
                ("transport", 1),
                ("templates", 1),
                ("lanes", 3),
                ("startup-timeout", 2),
                ("ecosystem", 4),
                ("tool-surface", 2),
            ]
        );
        for check in sections.iter().flat_map(|section| &section.checks) {
            assert!(check.ok, "{check:?}");
        }
    }

    #[test]
    fn each_manifest_check_finds_its_fault_in_either_manifest() {
        let replaced = |path: &str, from: &str, to: &str| {
            PLUGIN.map(|(known, text)| {
                let text = if known == path { text.replace(from, to) } else { text.to_owned() };
                assert!(known != path || PLUGIN.iter().all(|(_, before)| *before != text));
                (known, text)
            })
        };
        let judged = |files: &[(&str, String)]| {
            let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            manifest(&files)
        };
        assert_eq!(red(&judged(&PLUGIN.map(|(path, text)| (path, text.to_owned())))), [""; 0]);
        for path in [".codex-plugin/plugin.json", ".claude-plugin/plugin.json"] {
            for (from, to, wanted) in [
                ("{\n", "\n", "the plugin manifest parses"),
                ("gaia-interagent\"", "other\"", "the plugin manifest has the right name"),
                ("mcpServers", "servers", "the plugin manifest declares the MCP manifest"),
                ("./.mcp.json", "./none.json", "the MCP manifest exists"),
                ("MIT", "/home/dev/x", "the plugin holds no absolute developer path"),
            ] {
                let checks = judged(&replaced(path, from, to));
                assert!(red(&checks).contains(&wanted), "{path} {to}: {checks:?}");
            }
        }
        for (from, to, wanted) in [
            ("gaia-interagent", "other", "the MCP manifest declares the stdio server"),
            ("\"stdio\"", "\"http\"", "the MCP manifest declares the stdio server"),
            ("command", "url", "the MCP manifest declares the stdio server"),
            ("\"args\"", "\"url\": \"x\", \"args\"", "the MCP manifest declares the stdio server"),
            ("serve\"", "state\"", "the MCP server is this binary's serve"),
            ("gaia-bus", "node", "the MCP server is this binary's serve"),
            ("gaia-bus", "C:\\\\dev\\\\gaia-bus", "the plugin holds no absolute developer path"),
        ] {
            let checks = judged(&replaced(".mcp.json", from, to));
            assert!(red(&checks).contains(&wanted), "{to}: {checks:?}");
        }
        assert_eq!(manifest(&[]).len(), 7);
        assert_eq!(red(&manifest(&[])).len(), 6);
    }

    #[test]
    fn the_build_saw_this_file_and_what_it_finds_turns_the_check_red() {
        assert!(SOURCES.files.contains(&"store/src/verify/product.rs"));
        assert_eq!(SOURCES.findings, []);
        let green = transport(&SOURCES, &running());
        assert!(green.ok, "{green:?}");
        let planted = Sources { findings: &[("store/src/x.rs", 3, "TcpListener")], ..SOURCES };
        let blind = Sources { files: &["store/src/lib.rs", "store/src/main.rs"], ..SOURCES };
        let holding = Ok(Running { tools: Vec::new(), sockets: Ok(Some(1)) });
        let hidden = Ok(Running { tools: Vec::new(), sockets: Err("no /proc".into()) });
        for (sources, server) in [
            (&planted, &running()),
            (&blind, &running()),
            (&SOURCES, &holding),
            (&SOURCES, &hidden),
            (&SOURCES, &Err("gone".into())),
        ] {
            assert!(!transport(sources, server).ok);
        }
    }

    #[test]
    fn a_scan_that_tells_nothing_apart_does_not_pass_its_control() {
        let blind: [fn(&str) -> bool; 4] = [
            |_| false,
            |_| true,
            |source| source.contains("bind"),
            |source| source.contains("process::Command"),
        ];
        for seen in blind {
            assert!(scan_sees(seen).is_err());
        }
    }

    #[test]
    fn a_template_with_a_path_of_its_own_is_red() {
        for bad in [
            "[x]\ncommand = \"/usr/local/bin/gaia-bus\" \"{{BINARY}}\" \"{{DATA_DIR}}\"",
            "\"{{BINARY}}\" \"{{DATA_DIR}}\" \"~/data\"",
            "\"{{BINARY}}\" \"{{DATA_DIR}}\" \"c:/data\"",
            "\"{{BINARY}}\"",
        ] {
            assert!(!templates(&[bad]).ok, "{bad}");
        }
    }

    #[test]
    fn a_verdict_file_that_drifts_is_red() {
        for (from, to) in [
            ("ADAPTER_ONLY", "REJECT"),
            ("REJECT", "DEFER"),
            ("DEFER", "ADAPTER_ONLY"),
            ("\"Hari\"", "\"Harry\""),
            ("\"reason\"", "\"because\""),
            ("\"IX\"", "\"GA\""),
            ("\"IX\"", "\"a target that nobody has judged\""),
        ] {
            let text = ecosystem::SHIPPED.replace(from, to);
            assert!(!red(&ecosystem_verdicts(&text)).is_empty(), "{from} {to}");
        }
    }

    #[test]
    fn a_server_with_another_surface_is_red() {
        let with = |tools: &[&str]| {
            let tools = tools.iter().map(|&tool| tool.to_owned()).collect();
            red(&tool_surface(&Ok(Running { tools, sockets: Ok(None) }))).len()
        };
        let six = Verb::ALL.map(Verb::name);
        assert_eq!(with(&six), 0);
        assert_eq!(with(&six[..5]), 1);
        assert_eq!(with(&[&six[..], &["approve"]].concat()), 2);
        assert_eq!(tool_surface(&Err("gone".into())).iter().filter(|check| !check.ok).count(), 2);
    }
}
