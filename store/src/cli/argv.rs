//! From what the shell passed to what clap reads without doubt.
//!
//! A message body may begin with a dash: a diff hunk is an ordinary body. So before clap sees the
//! arguments, each flag that takes a value is joined to the token behind it, as in `--text=---
//! a/x`. A value counts as missing only when that token is one of *our own* flags, of the command
//! in hand or global, in either spelling, with or without `=value`; then the two are left apart and
//! clap says what is missing. `--text=--quiet` is joined by the caller and so never in doubt.
//!
//! Which flags there are, and which of them take a value, is asked of clap's own definitions: there
//! is no second table to fall out of step. Guarded by the unit tests below and by `tests/cli.rs`.

use std::ffi::{OsStr, OsString};

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};

/// Joins each flag to its value. `root` must have been built, so that global flags and `--help`
/// stand in every command; `argv` begins with the program's name.
pub(super) fn normalise(root: &Command, argv: Vec<OsString>) -> Vec<OsString> {
    let mut here = root;
    let mut tokens = argv.into_iter();
    let mut joined: Vec<OsString> = tokens.next().into_iter().collect();
    let mut tokens = tokens.peekable();
    while let Some(token) = tokens.next() {
        if token == "--" {
            joined.push(token);
            break;
        }
        if own_flag(here, &token).is_some_and(|flag| wants_value(flag, &token)) {
            let value = tokens.next_if(|next| own_flag(here, next).is_none());
            joined.push(value.map_or_else(|| token.clone(), |value| join(&token, &value)));
            continue;
        }
        if !token.as_encoded_bytes().starts_with(b"-") {
            here = here.find_subcommand(&token).unwrap_or(here);
        }
        joined.push(token);
    }
    joined.extend(tokens);
    joined
}

/// The flag of this command that a token names: `--flag`, `--flag=value` or `-f`.
fn own_flag<'a>(command: &'a Command, token: &OsStr) -> Option<&'a Arg> {
    let bytes = token.as_encoded_bytes();
    let Some(long) = bytes.strip_prefix(b"--") else {
        return match bytes {
            [b'-', short] => {
                let short = char::from(*short);
                command.get_arguments().find(|arg| arg.get_short() == Some(short))
            }
            _ => None,
        };
    };
    let name = long.split(|byte| *byte == b'=').next().unwrap_or(long);
    command.get_arguments().find(|arg| spellings(arg).any(|known| known.as_bytes() == name))
}

fn spellings(arg: &Arg) -> impl Iterator<Item = &str> {
    arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default())
}

/// Whether the token is a flag that takes a value and does not bring it along.
fn wants_value(flag: &Arg, token: &OsStr) -> bool {
    flag.get_action().takes_values()
        && flag.get_num_args().is_none_or(|count| count.min_values() > 0)
        && !token.as_encoded_bytes().contains(&b'=')
}

fn join(flag: &OsStr, value: &OsStr) -> OsString {
    let mut joined = flag.to_os_string();
    joined.push("=");
    joined.push(value);
    joined
}

/// Text as the bus takes it: any UTF-8. What is not UTF-8 is a usage error that names the flag.
#[derive(Clone, Debug)]
pub(super) struct Utf8;

impl TypedValueParser for Utf8 {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        value.to_str().map(str::to_owned).ok_or_else(|| {
            let flag = arg.and_then(Arg::get_long).unwrap_or("value");
            clap::Error::raw(
                ErrorKind::InvalidUtf8,
                format!("--{flag}: the value is not UTF-8; a record can only hold text\n"),
            )
            .with_cmd(command)
        })
    }
}

/// The other spelling of a flag: `actorId` as `actor-id`, `data-dir` as `dataDir`.
pub(super) fn other_spelling(flag: &str) -> Option<String> {
    let mut other = String::new();
    let mut after_dash = false;
    for character in flag.chars() {
        match character {
            '-' => after_dash = true,
            c if after_dash => {
                other.push(c.to_ascii_uppercase());
                after_dash = false;
            }
            c if c.is_ascii_uppercase() => {
                other.push('-');
                other.push(c.to_ascii_lowercase());
            }
            c => other.push(c),
        }
    }
    (other != flag).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalised(argv: &[&str]) -> Vec<String> {
        let root = super::super::command();
        normalise(&root, argv.iter().map(OsString::from).collect())
            .into_iter()
            .map(|token| token.into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_value_that_begins_with_dashes_is_joined_to_its_flag() {
        assert_eq!(
            normalised(&["gaia-bus", "send", "--text", "--- a/file", "--from", "-1"]),
            ["gaia-bus", "send", "--text=--- a/file", "--from=-1"]
        );
    }

    #[test]
    fn a_value_is_missing_only_before_a_flag_of_this_command_or_a_global_one() {
        for own in
            ["--quiet", "--from", "--from=a", "--correlation-id", "--data-dir", "--dataDir=x", "-h"]
        {
            assert_eq!(
                normalised(&["gaia-bus", "send", "--text", own]),
                ["gaia-bus", "send", "--text", own],
                "{own} is ours"
            );
        }
        // Flags of other commands and flags of nobody are ordinary text.
        for text in ["--actorId", "--summary", "--quietly", "--apply=1", "-x", "--", "-"] {
            assert_eq!(
                normalised(&["gaia-bus", "send", "--text", text]),
                ["gaia-bus".to_owned(), "send".to_owned(), format!("--text={text}")],
                "{text} is a value"
            );
        }
    }

    #[test]
    fn joined_values_and_switches_are_left_alone() {
        for argv in [
            vec!["gaia-bus", "send", "--text=--quiet", "--expectsReply", "--quiet"],
            vec!["gaia-bus", "send", "--expectsReply=false", "--", "--text", "x"],
            vec!["gaia-bus", "no-such-command", "--text", "x"],
        ] {
            assert_eq!(normalised(&argv), argv);
        }
    }

    #[test]
    fn global_flags_are_joined_before_the_command_too() {
        assert_eq!(
            normalised(&["gaia-bus", "--data-dir", "-odd", "acknowledge", "--note", "--to"]),
            ["gaia-bus", "--data-dir=-odd", "acknowledge", "--note=--to"]
        );
    }

    #[test]
    fn both_spellings_are_derived_from_one() {
        assert_eq!(other_spelling("requestedAuthority").unwrap(), "requested-authority");
        assert_eq!(other_spelling("data-dir").unwrap(), "dataDir");
        assert_eq!(other_spelling("text"), None);
    }
}
