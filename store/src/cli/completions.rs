//! `completions` and `man`: generated from the definition that arguments are read with, so that
//! they cannot fall behind it.

use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use clap_complete::generator::generate;

use super::{Call, Console, FAILED_CLOSED, OK, Usage, after_help, command};

const SHELLS: [(&str, Shell); 5] = [
    ("bash", Shell::Bash),
    ("elvish", Shell::Elvish),
    ("fish", Shell::Fish),
    ("powershell", Shell::PowerShell),
    ("zsh", Shell::Zsh),
];

pub(super) fn define() -> Command {
    Command::new("completions")
        .about("Print the completion script for a shell")
        .arg(
            clap::Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(PossibleValuesParser::new(SHELLS.map(|(name, _)| name)))
                .help("The shell that it is for"),
        )
        .after_help(after_help(&[
            "gaia-bus completions bash > ~/.local/share/bash-completion/completions/gaia-bus",
        ]))
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let wanted = call.matches.get_one::<String>("shell").map(String::as_str).unwrap_or_default();
    let Some((_, shell)) = SHELLS.iter().find(|(name, _)| *name == wanted) else {
        return Err(Usage(format!("there are no completions for {wanted:?}")));
    };
    let mut script = Vec::new();
    generate(*shell, &mut command(), "gaia-bus", &mut script);
    console.write(&script);
    Ok(OK)
}

pub(super) fn define_man() -> Command {
    Command::new("man")
        .about("Print the manual page of this program, or of one command")
        .arg(clap::Arg::new("page").value_name("COMMAND").help("The command that it is about"))
        .after_help(after_help(&["gaia-bus man > gaia-bus.1", "gaia-bus man send | man -l -"]))
}

pub(super) fn run_man(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let root = command();
    let page = match call.matches.get_one::<String>("page") {
        None => root,
        Some(name) => {
            let found = root.find_subcommand(name).cloned();
            let found = found.ok_or_else(|| Usage(format!("there is no command {name:?}")))?;
            let title = format!("gaia-bus-{}", found.get_name());
            found.name(title)
        }
    };
    let mut text = Vec::new();
    match clap_mangen::Man::new(page).render(&mut text) {
        Ok(()) => {
            console.write(&text);
            Ok(OK)
        }
        Err(error) => {
            console.say(&format!("the manual page could not be made: {error}"));
            Ok(FAILED_CLOSED)
        }
    }
}
