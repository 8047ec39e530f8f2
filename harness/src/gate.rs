//! The gate: every checker at its size for a build server, and one table that says why this bus can
//! be trusted to fail closed.
//!
//! A row is green when nothing it looked at was wrong *and* every fault that was planted for it was
//! found; a row that could not run is not green. The gate is green when all rows are. It can be
//! seen to fail: [`Options::planted`] bends the protocol of the exploration itself, and the table
//! goes red (`tests/gate.rs`).
//!
//! Absent: vectors, which come from outside and are run by `cargo test` against both folds; a wrong
//! *decision* is the same in both folds, and only they can see it.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::Path;

use serde::Serialize;

use crate::controls::{Claim, controls};
use crate::crash::{self, Bounds};
use crate::disk::Outcome;
use crate::disk::bend::Fault;
use crate::interleave::{Script, interleave};
use crate::report::{Draft, Report};
use crate::scene::{Budget, Setup};
use crate::small::Kind;
use crate::worker::Plan;
use crate::{real, runs};

/// A commit of the small bus has fewer calls than this.
const CALLS_MAX: u32 = 16;

/// How far the gate looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The larger bounds, which take a quarter of an hour more.
    pub full: bool,
    /// Only the checks that need no process, file system or privilege.
    pub simulated: bool,
    /// A fault to plant in what the explorer runs: the gate must go red.
    pub planted: Option<Fault>,
}

/// A check: what it is called while it runs, and what it comes to.
type Check<'a> = (&'static str, Box<dyn Fn() -> Report + 'a>);

/// All rows, as `--json` writes them.
#[derive(Debug, Serialize)]
pub struct Table {
    /// Whether every row is green.
    pub green: bool,
    /// The rows.
    pub rows: Vec<Report>,
}

/// Runs the gate. `executable` is this program, which is also the bus when it is called as one.
#[must_use]
pub fn run(options: Options, executable: &Path) -> Table {
    let mut checks: Vec<Check<'_>> = vec![
        ("exploration", Box::new(move || exploration(options))),
        ("interleavings", Box::new(interleavings)),
        ("crash matrix, simulated", Box::new(crash_matrix)),
    ];
    if !options.simulated {
        for (name, check) in real::CHECKS {
            checks.push((name, Box::new(move || check(executable))));
        }
    }
    let mut rows = Vec::new();
    for (name, check) in checks {
        progress(&format!("{name} ..."));
        let report = check();
        progress(&format!("{name}: {:.0} s", report.seconds));
        rows.push(report);
    }
    Table { green: rows.iter().all(Report::is_green), rows }
}

/// One line on stderr, where somebody watches.
fn progress(line: &str) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = writeln!(stderr, "gate: {line}");
    }
}

impl Table {
    /// The table as a person reads it, with what is wrong below.
    #[must_use]
    pub fn text(&self) -> String {
        const HEAD: [&str; 6] = ["check", "cases", "violations", "controls", "seconds", "bound"];
        let rows: Vec<[String; 6]> =
            std::iter::once(HEAD.map(str::to_owned)).chain(self.rows.iter().map(cells)).collect();
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max()
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(|column| width(column).unwrap_or(0)).collect();
        let mut out = String::new();
        for row in &rows {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = match column {
                    0 => write!(out, "{cell:<width$}"),
                    5 => write!(out, "  {cell}"),
                    _ => write!(out, "  {cell:>width$}"),
                };
            }
            out.push('\n');
        }
        out.push('\n');
        for report in self.rows.iter().filter(|report| !report.is_green()) {
            let _ = writeln!(out, "{report}");
        }
        out.push_str(if self.green {
            "GREEN: nothing was violated, and every planted fault was found.\n"
        } else {
            "RED: see above. A row is red when something was violated, when a planted fault was \
             missed, or when the check could not run.\n"
        });
        out
    }
}

fn cells(report: &Report) -> [String; 6] {
    [
        report.check.to_owned(),
        report.cases.to_string(),
        report.violations.len().to_string(),
        format!("{}/{}", report.controls_found(), report.controls.len()),
        format!("{:.1}", report.seconds),
        match &report.skipped {
            Some(reason) => format!("SKIPPED: {reason}"),
            None => report.bound.clone(),
        },
    ]
}

/// The faults that a kind of checker claims, each at its smallest bound and not one step lower.
fn plant_controls(draft: &mut Draft, checker: &str) {
    for control in controls() {
        for claim in control.claims.iter().filter(|claim| claim.checker() == checker) {
            let found = claim.find();
            let in_time = match (claim, &found) {
                (Claim::Explorer(_, steps), Some(found)) => found.steps == Some(*steps),
                (_, found) => found.is_some(),
            };
            draft.control(format!("{} ({claim})", control.fault.words()), in_time);
            for lower in claim.lowered() {
                if let Some(found) = lower.find() {
                    draft.violation(format!(
                        "{} is found one step lower, at {lower}: {:?}",
                        control.fault.words(),
                        found.names
                    ));
                }
            }
        }
    }
}

fn exploration(options: Options) -> Report {
    let mut all = runs::small();
    all.extend(if options.full { runs::full() } else { Vec::new() });
    if !options.simulated {
        all.extend(runs::large());
    }
    let bound = format!(
        "{} runs: up to 4 processes, or 3 with two commits each; crash, power cut, failed fsync, \
         I/O error, short write, repair",
        all.len()
    );
    let mut draft = Draft::new("exploration", bound);
    for mut run in all {
        if let Some(fault) = options.planted {
            run.setup = run.setup.with(fault);
        }
        let (explored, wrong) = run.judge();
        draft.cases(explored.states as u64);
        for sentence in wrong {
            draft.violation(sentence);
        }
        draft.note(format!("{} [{}]: {} states", run.name, run.setup.budget, explored.states));
        if options.planted.is_some() && explored.violation.is_some() {
            break;
        }
    }
    plant_controls(&mut draft, "explorer");
    draft.finish()
}

fn interleavings() -> Report {
    let bound =
        "2 processes in every order, a kill or a failed call at each call; 3 with 2 preemptions";
    let mut draft = Draft::new("interleavings", bound);
    let processes = |count| Setup::new(vec![Plan::cold(&[Kind::One]); count], Budget::default());
    let mut scripts =
        vec![(2, Script::default()), (3, Script { preemptions_max: Some(2), ..Script::default() })];
    for call in 0..CALLS_MAX {
        scripts.push((2, Script { kill: Some((0, call)), ..Script::default() }));
        let fail = Some((0, call, Outcome::SyncFail(0)));
        scripts.push((2, Script { fail, preemptions_max: Some(3), ..Script::default() }));
    }
    for (count, script) in scripts {
        let found = interleave(&processes(count), script);
        draft.cases(found.orders);
        if !found.broken.is_empty() {
            draft.violation(format!("{count} processes, {script:?}: {:?}", found.broken.names()));
        }
    }
    plant_controls(&mut draft, "interleavings");
    draft.finish()
}

fn crash_matrix() -> Report {
    let bound = "every call x {kill, power cut with every surviving image, short write, errors} \
                 x what comes next";
    let mut draft = Draft::new("crash matrix, simulated", bound);
    for bounds in [
        Bounds::all(Plan::cold(&[Kind::One])),
        Bounds::all(Plan::cold(&[Kind::One])).fresh(),
        Bounds::all(Plan::cold(&[Kind::Two])),
        Bounds::all(Plan::warm(&[Kind::One, Kind::Two])).fresh(),
        Bounds::all(Plan::cold(&[Kind::Look])),
    ] {
        let matrix = crash::fill(&bounds);
        draft.cases(matrix.cells as u64);
        draft.note(format!("{} calls, {} cells: {:?}", matrix.calls, matrix.cells, matrix.classes));
        for broke in matrix.broken {
            draft.violation(format!("{broke:?}"));
        }
    }
    plant_controls(&mut draft, "crash matrix");
    draft.finish()
}
