//! What no shipped source may hold: a way onto the network, or a shell that runs text as commands.
//!
//! Contract. [`findings`] reads one source as text and names every line that uses what is
//! forbidden. Comments and the insides of literals are no use of anything, so an explanation of
//! what is absent is not a finding, and nor is the table below. The build script includes this
//! file, scans every source of the crates that ship, and embeds what it saw; `verify` shows it.
//!
//! It cannot see what a dependency does (`cargo deny` bans network crates from the tree), what a
//! macro makes up, or a name that was renamed on import. It is std only, because the build runs it.

/// Names that stand for a way onto the network; as whole words outside of comments and literals.
const NETWORK: [&str; 21] = [
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "UnixListener",
    "UnixStream",
    "UnixDatagram",
    "SocketAddr",
    "ToSocketAddrs",
    "socketpair",
    "SockFlag",
    "socket",
    "socket2",
    "tokio",
    "mio",
    "hyper",
    "reqwest",
    "ureq",
    "curl",
    "tungstenite",
    "quinn",
    "rustls",
];

/// Paths that stand for the same.
const NETWORK_PATHS: [&str; 4] = ["std::net", "core::net", "rustix::net", "os::unix::net"];

/// Programs that run text as commands.
const SHELLS: [&str; 12] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "ksh",
    "cmd",
    "cmd.exe",
    "powershell",
    "powershell.exe",
    "pwsh",
    "env",
];

/// A line that uses what is forbidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// What it uses.
    pub what: String,
}

/// Everything forbidden in a source.
#[must_use]
pub fn findings(source: &str) -> Vec<Finding> {
    let code = strip(source);
    let mut found = Vec::new();
    for (index, line) in code.text.lines().enumerate() {
        let mut tell = |what: &str| found.push(Finding { line: index + 1, what: what.to_owned() });
        for name in NETWORK {
            if words(line).any(|word| word == name) {
                tell(name);
            }
        }
        let dense: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        for path in NETWORK_PATHS {
            if holds_path(&dense, path) {
                tell(path);
            }
        }
    }
    if spawns(&code.text) {
        for (line, literal) in &code.literals {
            let program = literal.rsplit(['/', '\\']).next().unwrap_or(literal);
            if SHELLS.contains(&program.to_ascii_lowercase().as_str()) {
                found.push(Finding { line: *line, what: format!("a shell: {literal}") });
            }
        }
    }
    found.sort_by_key(|finding| finding.line);
    found
}

/// Whether a source starts processes at all. `clap` has a type of the same name, which starts
/// nothing.
fn spawns(code: &str) -> bool {
    let dense: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    ["process::Command", "CommandExt", "process::{", "fexecve", "execv", "posix_spawn"]
        .iter()
        .any(|way| dense.contains(way))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Whether a path stands in a line as a whole: `std::net` but not `std::network`.
fn holds_path(dense: &str, path: &str) -> bool {
    let mut rest = dense;
    while let Some((_, after)) = rest.split_once(path) {
        if !after.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return true;
        }
        rest = after;
    }
    false
}

/// A source without its comments and the insides of its literals, line for line.
struct Code {
    text: String,
    /// The string literals, each with the line it begins on.
    literals: Vec<(usize, String)>,
}

struct Stripper<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    code: Code,
    line: usize,
}

fn strip(source: &str) -> Code {
    let code = Code { text: String::with_capacity(source.len()), literals: Vec::new() };
    let mut stripper = Stripper { rest: source.chars().peekable(), code, line: 1 };
    while let Some(c) = stripper.next() {
        match (c, stripper.rest.peek().copied()) {
            ('/', Some('/')) => stripper.line_comment(),
            ('/', Some('*')) => stripper.block_comment(),
            ('"', _) => stripper.string(),
            // r"", br"", cr"": no other word may stand right before a quote or a hash.
            ('r', Some('"' | '#')) => stripper.raw(),
            ('\'', _) => stripper.quote(),
            (c, _) => stripper.code.text.push(c),
        }
    }
    stripper.code
}

impl Stripper<'_> {
    /// The next character; every line end is kept, so that lines stay what they are.
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }

    /// The next character of what is dropped.
    fn skip(&mut self) -> Option<char> {
        let c = self.next()?;
        if c == '\n' {
            self.code.text.push('\n');
        }
        Some(c)
    }

    fn line_comment(&mut self) {
        while self.rest.peek().is_some_and(|c| *c != '\n') {
            self.skip();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 1;
        let mut last = self.skip();
        while depth > 0 {
            let c = self.skip();
            match (last, c) {
                (_, None) => return,
                (Some('/'), Some('*')) => (depth, last) = (depth + 1, None),
                (Some('*'), Some('/')) => (depth, last) = (depth - 1, None),
                _ => last = c,
            }
        }
    }

    fn string(&mut self) {
        let line = self.line;
        let mut literal = String::new();
        while let Some(c) = self.skip() {
            match c {
                '"' => break,
                '\\' => literal.extend(self.skip()),
                c => literal.push(c),
            }
        }
        self.code.text.push_str("\"\"");
        self.code.literals.push((line, literal));
    }

    /// After an `r`: a raw string, or a raw identifier, which stays without its `r#`.
    fn raw(&mut self) {
        let mut hashes = 0;
        while self.rest.next_if_eq(&'#').is_some() {
            hashes += 1;
        }
        if self.rest.next_if_eq(&'"').is_none() {
            return;
        }
        let line = self.line;
        let end = format!("\"{}", "#".repeat(hashes));
        let mut literal = String::new();
        while let Some(c) = self.skip() {
            literal.push(c);
            if literal.ends_with(&end) {
                literal.truncate(literal.len() - end.len());
                break;
            }
        }
        self.code.text.push_str("\"\"");
        self.code.literals.push((line, literal));
    }

    /// A character literal or a lifetime.
    fn quote(&mut self) {
        match self.skip() {
            Some('\\') => {
                self.skip();
                while self.skip().is_some_and(|c| c != '\'') {}
            }
            Some(c) if self.rest.next_if_eq(&'\'').is_none() => {
                self.code.text.extend(['\'', c]);
            }
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(source: &str) -> Vec<String> {
        findings(source).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_source_that_opens_a_listener_is_found_on_its_line() {
        let source = "use std::net::TcpListener;\n\nfn f() { TcpListener::bind(\"x\"); }\n";
        assert_eq!(findings(source).iter().map(|f| f.line).collect::<Vec<_>>(), [1, 1, 3]);
    }

    #[test]
    fn lines_are_counted_through_comments_and_literals() {
        let source = "/*\n*/ \"\n\" r#\"\n\"#\nTcpListener\nprocess::Command::new(\"sh\")\n";
        assert_eq!(findings(source).iter().map(|f| f.line).collect::<Vec<_>>(), [5, 6]);
    }

    #[test]
    fn every_forbidden_name_and_path_is_found_in_code() {
        for name in NETWORK.iter().chain(&NETWORK_PATHS) {
            assert!(!whats(&format!("fn f() {{ let x = {name}::y(); }}")).is_empty(), "{name}");
            assert_eq!(whats(&format!("fn f() {{ {name}less(); }}")), [""; 0], "{name}");
        }
        assert_eq!(whats("use std :: net;"), ["std::net"]);
    }

    #[test]
    fn comments_and_literals_are_no_use_of_anything() {
        for source in [
            "// TcpListener\nfn f() {}",
            "//! std::net\n/* TcpStream /* nested */ UdpSocket */ fn f() {}",
            "const X: &str = \"TcpListener\";",
            "const X: &str = \"\\\"TcpListener\";",
            "const X: &str = r\"TcpListener\"; const Y: &str = r#\"a\"TcpListener\"#;",
            "const X: &[u8] = br#\"TcpListener\"#;",
            "const X: &CStr = cr#\"a\"TcpListener\"#;",
            "const X: char = '\"'; // TcpListener",
            "const X: char = '\\''; // TcpListener",
            "const X: char = '\\u{1f}'; /* TcpListener */",
            "fn f<'a>(x: &'a str) {} // TcpListener",
            "fn f<'asocket>() {}",
            "const X: [char; 2] = ['x'/* TcpListener */, '\\n'/* TcpListener */];",
            "/* TcpListener",
        ] {
            assert_eq!(findings(source), [], "{source}");
        }
    }

    #[test]
    fn code_behind_comments_and_literals_is_still_code() {
        for source in [
            "/* a */ TcpListener",
            "\"\" ; TcpListener",
            "'\"' ; TcpListener",
            "r#\"\"\"# ; TcpListener",
            "fn f<'a>() { TcpListener }",
            "'\\'' ; TcpListener",
            "br\"\\\" ; TcpListener",
            "r#type ; TcpListener",
            "r#TcpListener",
        ] {
            assert_eq!(whats(source), ["TcpListener"], "{source}");
        }
    }

    #[test]
    fn a_shell_is_found_only_where_processes_are_started() {
        let spawn =
            |program: &str| format!("use std::process::Command; Command::new({program:?});");
        for shell in ["sh", "/bin/sh", "/usr/bin/env", "cmd.exe", "C:\\Windows\\CMD.EXE", "pwsh"] {
            assert_eq!(whats(&spawn(shell)), [format!("a shell: {shell}")]);
        }
        for literal in ["r\"sh\"", "r#\"sh\"#", "r##\"/bin/sh\"##"] {
            assert_eq!(whats(&format!("process::Command::new({literal})")).len(), 1, "{literal}");
        }
        assert_eq!(whats(&spawn("gaia-bus")), [""; 0]);
        assert_eq!(whats("clap::Command::new(\"completions\").arg(\"bash\")"), [""; 0]);
        assert_eq!(whats("use std::{process::{Command}}; Command::new(\"sh\")"), ["a shell: sh"]);
    }
}
