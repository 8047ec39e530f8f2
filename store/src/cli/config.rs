//! `config`: what a client needs to start this server. Where it may be written is in
//! [`destination`](crate::config::destination).

use std::path::{Path, PathBuf};

use clap::Command;
use clap::builder::ValueParser;
use serde::Serialize;

use super::{Call, Console, OK, Usage, after_help, flag, switch, this_program};
use crate::config::destination::{Destination, Refusal, Territory};
use crate::config::ecosystem::{self, Decision, Ruling, ruling};
use crate::config::{Client, TOOL_TIMEOUT_SEC, render, startup_timeout_sec};
use crate::settings::show_path_if_any;

pub(super) fn define() -> Command {
    Command::new("config")
        .about("Print or write the configuration with which a client starts this server")
        .long_about(
            "Print the configuration with which a client starts this server, in the client's own \
             format, or write it into a directory with --out DIR --write. Nothing user-global is \
             ever edited: the directories of the clients in the home directory are refused, \
             however they are spelled, and so is the home directory itself.",
        )
        .args([
            flag("client", "CLIENT", "claude, codex, gemini or opencode").required(true),
            flag("out", "DIR", "The directory to write into; made where there is none")
                .value_parser(ValueParser::path_buf()),
            switch("write", "Write the file; without it this is a dry run"),
            switch("force", "Replace an existing regular file in an allowed place"),
        ])
        .after_help(after_help(&[
            "gaia-bus config --client codex",
            "gaia-bus config --client claude --out . --write",
        ]))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    ok: bool,
    command: &'static str,
    error: Option<String>,
    client: &'static str,
    /// `dry-run`, `written` or `refused`.
    mode: &'static str,
    file_name: &'static str,
    /// Where it was written, or would be.
    #[serde(serialize_with = "show_path_if_any")]
    path: Option<PathBuf>,
    loaded_from: &'static str,
    lock_timeout_ms: u64,
    startup_timeout_sec: u64,
    tool_timeout_sec: u64,
    result: String,
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let wanted = call.matches.get_one::<String>("client").map(String::as_str).unwrap_or_default();
    let Some(client) = Client::from_name(wanted) else { return no_client(wanted, console) };
    let settings = call.settings()?;
    let data_dir = absolute(&settings.paths.data_dir)?;
    let binary = this_program()?;
    if !binary.exists() {
        // Linux says so by a path that ends in " (deleted)", which no client could start.
        return Err(Usage(format!(
            "{}: this program was removed or replaced since it was started; run the installed one \
             again",
            binary.display()
        )));
    }
    let content = render(client, &binary, &data_dir, settings.lock_timeout)
        .map_err(|error| Usage(error.to_string()))?;
    let out = call.matches.get_one::<PathBuf>("out");
    let write = call.matches.get_flag("write");
    if write && out.is_none() {
        return Err(Usage("--write needs --out DIR: nothing is written where nobody named".into()));
    }
    let force = call.matches.get_flag("force");
    let territory = Territory::of(home(call).as_deref(), call.environment);
    let mut warning = None;
    let placed = out.map(|out| {
        let destination = Destination::judge(out, client.file_name(), &territory, force)?;
        if write {
            warning = destination.write(content.as_bytes(), &territory, force)?;
        }
        Ok::<_, Refusal>(destination.file().to_owned())
    });
    let (path, refusal) = match placed.transpose() {
        Ok(path) => (path, None),
        Err(refusal) => (None, Some(refusal)),
    };
    let config = Config {
        ok: refusal.is_none(),
        command: "config",
        error: refusal.as_ref().map(ToString::to_string),
        client: client.name(),
        mode: match (&refusal, write) {
            (Some(_), _) => "refused",
            (None, true) => "written",
            (None, false) => "dry-run",
        },
        file_name: client.file_name(),
        path,
        loaded_from: client.loaded_from(),
        lock_timeout_ms: u64::try_from(settings.lock_timeout.as_millis()).unwrap_or(u64::MAX),
        startup_timeout_sec: startup_timeout_sec(settings.lock_timeout),
        tool_timeout_sec: TOOL_TIMEOUT_SEC,
        result: content,
    };
    if console.quiet {
        // The client's own format, to be piped into its file.
        console.write(config.result.as_bytes());
    } else {
        console.show(&config, &config.result);
    }
    console.warn(config.error.as_deref());
    console.warn(warning.as_deref());
    Ok(refusal.map_or(OK, |refusal| refusal.exit_code()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Refused {
    ok: bool,
    command: &'static str,
    error: String,
    target: String,
    verdict: &'static str,
    mode: &'static str,
    result: Option<()>,
}

/// A target that the verdict file knows gets its verdict, and no file; any other name is a mistake.
fn no_client(wanted: &str, console: &mut Console<'_>) -> Result<u8, Usage> {
    let rulings = ecosystem::read(ecosystem::SHIPPED).map_err(Usage)?;
    let Some(Ruling { target, verdict, reason }) = ruling(&rulings, wanted) else {
        let clients = Client::ALL.map(Client::name).join(", ");
        return Err(Usage(format!("--client: {wanted:?} is none of {clients}")));
    };
    let what = match verdict {
        Decision::Reject => "is rejected",
        Decision::Defer => "is deferred",
        Decision::AdapterOnly => "is integrated by an adapter of its own only",
    };
    let refused = Refused {
        ok: false,
        command: "config",
        error: format!("{target} {what}: {reason}"),
        target: target.clone(),
        verdict: verdict.as_str(),
        mode: "refused",
        result: None,
    };
    console.show(&refused, &refused.result);
    console.warn(Some(&refused.error));
    Ok(1)
}

fn absolute(path: &Path) -> Result<PathBuf, Usage> {
    std::path::absolute(path).map_err(|error| Usage(format!("{}: {error}", path.display())))
}

/// The home directory: as the environment says, else as the system knows it.
fn home(call: &Call<'_>) -> Option<PathBuf> {
    ["HOME", "USERPROFILE"]
        .iter()
        .filter_map(|name| (call.environment)(name))
        .find(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(std::env::home_dir)
}
