//! `config`: what a client needs to start this server, in the client's own format.
//!
//! Contract. A dry run unless `--write`, and then only one file, in a directory that the caller
//! names and [`destination`] allows; nothing user-global is ever edited. The text is made from a
//! template that ships and holds placeholders only, with the absolute path of this binary and the
//! data directory. The shipped verdict file is obeyed: for a target that it rejects, defers, or
//! leaves to an adapter of its own, nothing is written.
//!
//! Guarded by `tests/config.rs`, and by `tests/clients` with the clients' own tools.

pub mod destination;
pub mod ecosystem;

use std::path::Path;
use std::time::Duration;

/// The key under which the server is known to a client.
pub const SERVER_KEY: &str = "gaia-interagent";

/// What the start of the server may take beyond twice the wait for the lock, in seconds.
pub const STARTUP_MARGIN_SEC: u64 = 5;

/// How long a client may wait for one tool call, in seconds.
pub const TOOL_TIMEOUT_SEC: u64 = 60;

/// A client that a configuration can be written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
}

/// Why no configuration can be made. A usage error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A path is not text.
    #[error(
        "{0:?} is not UTF-8, and a client's configuration can only hold text: use another path"
    )]
    NotText(String),
    /// The client would replace a part of the path by something else.
    #[error(
        "{path:?} holds {what:?}, which {client} would expand to something else: use another path"
    )]
    Expanded {
        /// The path.
        path: String,
        /// The part of it.
        what: &'static str,
        /// The client.
        client: &'static str,
    },
}

impl Client {
    /// All of them.
    pub const ALL: [Client; 4] = [Client::Claude, Client::Codex, Client::Gemini, Client::Opencode];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
            Client::Opencode => "opencode",
        }
    }

    /// The client of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Client> {
        Client::ALL.into_iter().find(|client| client.name() == name)
    }

    /// The file that the client reads.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Client::Claude => ".mcp.json",
            Client::Codex => "config.toml",
            Client::Gemini => "settings.json",
            Client::Opencode => "opencode.json",
        }
    }

    /// Where the client looks for that file, for a person.
    #[must_use]
    pub const fn loaded_from(self) -> &'static str {
        match self {
            Client::Claude => "the root of a project, once its user has approved the server there",
            Client::Codex => {
                "the .codex directory of a project that its user trusts, or $CODEX_HOME"
            }
            Client::Gemini => "the .gemini directory of a project that its user trusts",
            Client::Opencode => "the root of a project",
        }
    }

    /// The template that ships: placeholders only.
    #[must_use]
    pub const fn template(self) -> &'static str {
        match self {
            Client::Claude => include_str!("../../plugin/templates/claude.mcp.json"),
            Client::Codex => include_str!("../../plugin/templates/codex.config.toml"),
            Client::Gemini => include_str!("../../plugin/templates/gemini.settings.json"),
            Client::Opencode => include_str!("../../plugin/templates/opencode.opencode.json"),
        }
    }

    /// What the client replaces inside of a string, which a path must then not hold.
    const fn expands(self) -> &'static [&'static str] {
        match self {
            Client::Claude | Client::Gemini => &["$"],
            Client::Codex => &[],
            Client::Opencode => &["{env:", "{file:"],
        }
    }
}

/// How long a client must wait for the server to start, in whole seconds: twice the wait for the
/// lock and a margin, so that it never equals that wait. A server that is cut off at the very
/// moment in which it would have said why, says nothing.
#[must_use]
pub fn startup_timeout_sec(lock_timeout: Duration) -> u64 {
    let whole = lock_timeout.as_secs().saturating_add(u64::from(lock_timeout.subsec_nanos() > 0));
    whole.saturating_mul(2).saturating_add(STARTUP_MARGIN_SEC)
}

/// The configuration of a client.
///
/// # Errors
/// A path that the client could not be told.
pub fn render(
    client: Client,
    binary: &Path,
    data_dir: &Path,
    lock_timeout: Duration,
) -> Result<String, RenderError> {
    let startup_sec = startup_timeout_sec(lock_timeout);
    let values = [
        ("{{BINARY}}", quoted(client, binary)?),
        ("{{DATA_DIR}}", quoted(client, data_dir)?),
        ("{{STARTUP_TIMEOUT_SEC}}", startup_sec.to_string()),
        ("{{STARTUP_TIMEOUT_MS}}", startup_sec.saturating_mul(1_000).to_string()),
        ("{{TOOL_TIMEOUT_SEC}}", TOOL_TIMEOUT_SEC.to_string()),
        ("{{TOOL_TIMEOUT_MS}}", TOOL_TIMEOUT_SEC.saturating_mul(1_000).to_string()),
    ];
    Ok(fill(client.template(), &values))
}

/// One pass over the template: a value is never read again, so a path that looks like a placeholder
/// stays what it is.
fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, from)) = rest.split_once("{{") {
        filled.push_str(before);
        let found = values
            .iter()
            .find_map(|(name, value)| Some((value, from.strip_prefix(name.strip_prefix("{{")?)?)));
        match found {
            Some((value, behind)) => {
                filled.push_str(value);
                rest = behind;
            }
            None => {
                filled.push_str("{{");
                rest = from;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// A path as the inside of a string, in JSON and in TOML: what both must escape, and DEL, which
/// TOML must, are written as both read them.
fn quoted(client: Client, path: &Path) -> Result<String, RenderError> {
    let text =
        path.to_str().ok_or_else(|| RenderError::NotText(path.to_string_lossy().into_owned()))?;
    if let Some(what) = client.expands().iter().find(|what| text.contains(**what)) {
        let (path, client) = (text.to_owned(), client.name());
        return Err(RenderError::Expanded { path, what, client });
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..='\u{1f}' | '\u{7f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Duration = Duration::from_secs(10);

    fn rendered(client: Client, binary: &str, data_dir: &str) -> String {
        render(client, Path::new(binary), Path::new(data_dir), TEN).unwrap()
    }

    #[test]
    fn the_startup_timeout_is_twice_the_lock_and_five_and_never_the_lock() {
        assert_eq!(startup_timeout_sec(TEN), 25);
        assert_eq!(startup_timeout_sec(Duration::ZERO), 5);
        assert_eq!(startup_timeout_sec(Duration::from_millis(10_001)), 27);
        for lock_ms in [0, 1, 999, 1_000, 4_999, 5_000, 60_000, u64::MAX] {
            let lock = Duration::from_millis(lock_ms);
            let startup = Duration::from_secs(startup_timeout_sec(lock));
            assert!(startup >= lock + Duration::from_secs(STARTUP_MARGIN_SEC), "{lock_ms}");
        }
    }

    #[test]
    fn every_placeholder_is_filled() {
        for client in Client::ALL {
            let text = rendered(client, "/opt/gaia-bus", "/data");
            assert!(!text.contains("{{") && !text.contains("}}"), "{text}");
            assert!(text.contains("/opt/gaia-bus") && text.contains("\"/data\""), "{text}");
            assert!(client.template().contains("{{BINARY}}"));
        }
    }

    #[test]
    fn a_path_is_quoted_and_never_read_as_a_placeholder() {
        let odd = "/a \"b\" \\c\t\u{7f}{{DATA_DIR}}\u{e9}";
        for client in [Client::Claude, Client::Gemini, Client::Opencode] {
            let text = rendered(client, odd, "/d");
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(value.to_string().contains(&serde_json::to_string(odd).unwrap()), "{text}");
        }
        let text = rendered(Client::Codex, odd, "/d");
        let line = text.lines().find_map(|line| line.strip_prefix("command = ")).unwrap();
        assert_eq!(line, "\"/a \\\"b\\\" \\\\c\\u0009\\u007f{{DATA_DIR}}\u{e9}\"");
    }

    #[test]
    fn a_path_that_the_client_would_expand_is_refused() {
        for (client, path) in [
            (Client::Claude, "/a/${HOME}"),
            (Client::Gemini, "/a/$b"),
            (Client::Opencode, "/a/{env:HOME}"),
            (Client::Opencode, "/a/{file:x}"),
        ] {
            let refused = render(client, Path::new("/b"), Path::new(path), TEN).unwrap_err();
            assert!(refused.to_string().contains(client.name()), "{refused}");
        }
        assert!(render(Client::Codex, Path::new("/$b"), Path::new("/{env:x}"), TEN).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_text_is_refused() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff"));
        assert!(matches!(
            render(Client::Codex, path, Path::new("/d"), TEN),
            Err(RenderError::NotText(_))
        ));
    }
}
