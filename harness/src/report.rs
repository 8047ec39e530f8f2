//! What a check came to: one row of the gate's table.
//!
//! Every checker that the gate runs ends in a [`Report`], so that a row always tells how far was
//! looked, what was found, and whether the check itself was shown to be able to fail: each planted
//! [`Control`] must have been found. A check that could not run says why and is no success.

use std::cell::RefCell;
use std::fmt;
use std::io::{IsTerminal, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::time::Instant;

use serde::Serialize;

/// A fault planted on purpose, and whether the check found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Control {
    /// What was planted.
    pub name: String,
    /// Whether the check found it.
    pub found: bool,
}

/// One row of the gate's table.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The check.
    pub check: &'static str,
    /// What it shows, in words.
    pub about: &'static str,
    /// How far it looked, in words.
    pub bound: String,
    /// How many cases it judged.
    pub cases: u64,
    /// What it found wrong: none on a correct bus.
    pub violations: Vec<String>,
    /// The faults that were planted.
    pub controls: Vec<Control>,
    /// What a reader should know beside: the file system, a distribution.
    pub notes: Vec<String>,
    /// Why it could not run here, when it could not.
    pub skipped: Option<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Report {
    /// Whether something was looked at, nothing is wrong, and something was planted and all of it
    /// found.
    #[must_use]
    pub fn is_green(&self) -> bool {
        let is_empty = self.cases == 0 || self.controls.is_empty();
        let is_clean = self.violations.is_empty() && self.controls_missed() == 0;
        self.skipped.is_none() && !is_empty && is_clean
    }

    /// How many planted faults were found.
    #[must_use]
    pub fn controls_found(&self) -> usize {
        self.controls.iter().filter(|control| control.found).count()
    }

    /// How many planted faults were not.
    #[must_use]
    pub fn controls_missed(&self) -> usize {
        self.controls.len() - self.controls_found()
    }

    /// For tests: fails with the row when it is not green, else prints it. A skip passes unless
    /// `GAIA_BUS_REQUIRE_FAULTS` is set.
    ///
    /// # Panics
    ///
    /// When the check found something, missed a control, or was skipped where it must run.
    pub fn demand(&self) {
        println!("{self}");
        let is_clean = self.violations.is_empty() && self.controls_missed() == 0;
        let may_skip = self.skipped.is_some() && is_clean && !faults_are_required();
        assert!(self.is_green() || may_skip, "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ({}): {} cases, {} violations, {} of {} controls found, {:.1} s",
            self.check,
            self.bound,
            self.cases,
            self.violations.len(),
            self.controls_found(),
            self.controls.len(),
            self.seconds
        )?;
        if let Some(reason) = &self.skipped {
            writeln!(f, "  skipped: {reason}")?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        for control in self.controls.iter().filter(|control| !control.found) {
            writeln!(f, "  CONTROL NOT FOUND: {}", control.name)?;
        }
        for violation in &self.violations {
            writeln!(f, "  VIOLATION: {violation}")?;
        }
        Ok(())
    }
}

/// Whether a check that needs root, mounts or strace must fail where these are missing.
#[must_use]
pub fn faults_are_required() -> bool {
    std::env::var_os("GAIA_BUS_REQUIRE_FAULTS").is_some_and(|value| value == "1")
}

/// One line on stderr, where somebody watches a long check.
pub fn progress(line: &str) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = writeln!(stderr, "gate: {line}");
    }
}

thread_local! {
    /// What was panicked with in this thread, where somebody listens.
    static HEARD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Where nobody listens a panic is told as ever.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |panic| {
            let is_heard = HEARD.with_borrow_mut(|heard| match heard {
                Some(heard) => {
                    heard.push(panic.to_string());
                    true
                }
                None => false,
            });
            if !is_heard {
                hook(panic);
            }
        }));
    });
}

/// Runs what panics when a promise is broken: what was panicked with in this thread, and where, is
/// the error, and nothing is printed.
///
/// # Errors
///
/// What was panicked with first.
pub fn panics_as_errors<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    listen();
    let outer = HEARD.replace(Some(Vec::new()));
    let result = catch_unwind(AssertUnwindSafe(run));
    let heard = HEARD.replace(outer).unwrap_or_default();
    result.map_err(|_| {
        heard.into_iter().next().unwrap_or_else(|| "it panicked and said nothing".to_owned())
    })
}

/// A report in the making.
#[derive(Debug)]
pub struct Draft {
    begun: Instant,
    report: Report,
}

impl Draft {
    /// Starts the clock of a check.
    #[must_use]
    pub fn new(check: &'static str, bound: impl Into<String>) -> Self {
        let report = Report {
            check,
            about: "",
            bound: bound.into(),
            cases: 0,
            violations: Vec::new(),
            controls: Vec::new(),
            notes: Vec::new(),
            skipped: None,
            seconds: 0.0,
        };
        Draft { begun: Instant::now(), report }
    }

    /// One more case, judged: a violation is remembered.
    pub fn case(&mut self, verdict: Result<(), String>) {
        self.report.cases += 1;
        self.report.violations.extend(verdict.err());
    }

    /// So many cases; what is wrong with them is told as violations.
    pub fn cases(&mut self, count: u64) {
        self.report.cases += count;
    }

    /// Something is wrong beside the cases.
    pub fn violation(&mut self, sentence: impl Into<String>) {
        self.report.violations.push(sentence.into());
    }

    /// A fault was planted.
    pub fn control(&mut self, name: impl Into<String>, found: bool) {
        self.report.controls.push(Control { name: name.into(), found });
    }

    /// Something that a reader should know.
    pub fn note(&mut self, sentence: impl Into<String>) {
        self.report.notes.push(sentence.into());
    }

    /// It cannot run here.
    #[must_use]
    pub fn skip(mut self, reason: impl Into<String>) -> Report {
        self.report.skipped = Some(reason.into());
        self.finish()
    }

    /// The check is over.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.report.seconds = self.begun.elapsed().as_secs_f64();
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_green_only_without_violation_and_with_every_control_found() {
        let mut draft = Draft::new("check", "bound");
        draft.case(Ok(()));
        draft.control("planted", true);
        let green = draft.finish();
        assert!(green.is_green());
        let missed = Report {
            controls: vec![Control { name: "planted".into(), found: false }],
            ..green.clone()
        };
        assert!(!missed.is_green() && missed.to_string().contains("CONTROL NOT FOUND: planted"));
        let violated = Report { violations: vec!["broken".into()], ..green.clone() };
        assert!(!violated.is_green() && violated.to_string().contains("VIOLATION: broken"));
        assert!(!Report { skipped: Some("no root".into()), ..green.clone() }.is_green());
        assert!(!Report { cases: 0, ..green.clone() }.is_green());
        assert!(!Report { controls: Vec::new(), ..green }.is_green());
    }
}
