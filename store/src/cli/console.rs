//! What leaves the process, and how it stays harmless.
//!
//! One JSON document goes to stdout and sentences go to stderr; nothing else writes there, so that
//! a closed pipe ends a command quietly and never in a panic. Text that other agents wrote is
//! hostile to a terminal: escape sequences move the cursor, bidi controls reorder what a person
//! reads. Where a person may be reading (stdout is a terminal, `--pretty`, stderr), such characters
//! leave as `\uXXXX`. Inside JSON that is the same string to every reader.
//!
//! Absent on purpose: `print!` and `eprint!`, which panic when nobody listens. `tests/cli.rs`
//! closes both streams.

use std::io::{self, Write};

use gaia_bus_model::text::is_deceptive;
use serde::Serialize;

use crate::bus::Answer;
use crate::failure::Failure;
use crate::settings::Paths;

/// Where a command's words go.
pub struct Console<'a> {
    /// Answers.
    pub stdout: &'a mut dyn Write,
    /// Sentences about what went wrong.
    pub stderr: &'a mut dyn Write,
    /// Whether a terminal shows stdout.
    pub stdout_is_terminal: bool,
    pub(super) pretty: bool,
    pub(super) quiet: bool,
    pub(super) undelivered: Option<io::Error>,
}

impl<'a> Console<'a> {
    /// A console over two streams.
    pub fn new(
        stdout: &'a mut dyn Write,
        stderr: &'a mut dyn Write,
        stdout_is_terminal: bool,
    ) -> Self {
        let (pretty, quiet, undelivered) = (false, false, None);
        Console { stdout, stderr, stdout_is_terminal, pretty, quiet, undelivered }
    }

    /// Shows a document, or with `--quiet` only its result.
    pub(super) fn show<D: Serialize, R: Serialize>(&mut self, document: &D, result: &R) {
        let text = match (self.quiet, self.pretty) {
            (false, false) => serde_json::to_string(document),
            (false, true) => serde_json::to_string_pretty(document),
            (true, false) => serde_json::to_string(result),
            (true, true) => serde_json::to_string_pretty(result),
        };
        match text {
            Ok(mut text) => {
                if self.pretty || self.stdout_is_terminal {
                    text = escape_unsafe(&text, is_unsafe_in_json);
                }
                text.push('\n');
                self.write(text.as_bytes());
            }
            Err(error) => self.undelivered = Some(error.into()),
        }
    }

    /// Shows the envelope of a command that failed closed, and says its sentence; the exit code.
    pub(super) fn fail(&mut self, failure: &Failure, paths: &Paths) -> u8 {
        let answer = Answer::of_failure(failure, paths);
        self.show(&answer, &answer.result);
        self.warn(answer.error.as_deref());
        answer.exit_code
    }

    /// The same for a command whose stdout is not JSON: the envelope goes to stderr too.
    pub(super) fn fail_on_stderr(&mut self, failure: &Failure, paths: &Paths) -> u8 {
        let answer = Answer::of_failure(failure, paths);
        self.warn(answer.error.as_deref());
        if let Ok(envelope) = serde_json::to_string(&answer) {
            self.say_lines(&format!("{envelope}\n"));
        }
        answer.exit_code
    }

    /// Says a sentence, where there is one.
    pub(super) fn warn(&mut self, sentence: Option<&str>) {
        if let Some(sentence) = sentence {
            self.say(sentence);
        }
    }

    /// Writes bytes to stdout as they are. Once a write has failed, nothing more is tried: the
    /// answer says whether it is worth going on.
    pub(super) fn write(&mut self, bytes: &[u8]) -> bool {
        if self.undelivered.is_none() {
            self.undelivered =
                self.stdout.write_all(bytes).and_then(|()| self.stdout.flush()).err();
        }
        self.undelivered.is_none()
    }

    /// Says a sentence on stderr. When nobody listens there, nobody is told.
    pub(super) fn say(&mut self, sentence: &str) {
        let line = format!("gaia-bus: {}\n", escape_unsafe(sentence, is_deceptive));
        self.say_lines(&line);
    }

    /// Writes text of several lines to stderr, with all but its line ends made visible.
    pub(super) fn say_lines(&mut self, lines: &str) {
        let lines = escape_unsafe(lines, is_unsafe_in_json);
        let _ = self.stderr.write_all(lines.as_bytes()).and_then(|()| self.stderr.flush());
    }
}

/// Replaces each character that the rule names by `\uXXXX`.
pub(super) fn escape_unsafe(text: &str, is_unsafe: fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Line feeds are let through: between the values of a JSON document they are layout, and inside a
/// string they are escaped already. In a sentence they are not: a name that holds one must not
/// forge a line of ours.
fn is_unsafe_in_json(c: char) -> bool {
    c != '\n' && is_deceptive(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[2Jb\u{7f}c\u{9b}d\u{202e}e\u{2066}f\u{200f}g\u{61c}h\u{2028}i\n";

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn shown(terminal: bool, pretty: bool) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console::new(&mut out, &mut err, terminal);
        console.pretty = pretty;
        console.show(&[HOSTILE], &());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hostile_text_reaches_a_terminal_escaped_and_stays_the_same_string() {
        for (terminal, pretty) in [(true, false), (false, true), (true, true)] {
            let shown = shown(terminal, pretty);
            assert!(shown.chars().all(|c| !is_unsafe_in_json(c)), "{shown:?}");
            let read: Vec<String> = serde_json::from_str(&shown).unwrap();
            assert_eq!(read, [HOSTILE]);
        }
        // The control: a pipe gets the characters that JSON does not demand to escape.
        assert!(shown(false, false).contains('\u{202e}'));
    }

    #[test]
    fn a_sentence_on_stderr_is_one_visible_line() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        Console::new(&mut out, &mut err, false).say(HOSTILE);
        let said = String::from_utf8(err).unwrap();
        assert_eq!(said.matches('\n').count(), 1, "{said:?}");
        assert!(said.contains("a\\u001b[2Jb\\u007fc\\u009bd\\u202ee"), "{said:?}");
    }

    #[test]
    fn streams_that_nobody_reads_are_remembered_and_never_panic() {
        let (mut out, mut err) = (Closed, Closed);
        let mut console = Console::new(&mut out, &mut err, false);
        console.say("nobody hears this");
        assert!(!console.write(b"x"));
        assert_eq!(console.undelivered.unwrap().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn quiet_shows_only_the_result() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console::new(&mut out, &mut err, false);
        console.quiet = true;
        console.show(&["whole"], &["result"]);
        assert_eq!(out, b"[\"result\"]\n");
    }
}
