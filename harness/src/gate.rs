//! The gate: every checker at its size for a build server, and one table that says why this bus can
//! be trusted to fail closed.
//!
//! A row is green when nothing it looked at was wrong *and* every fault that was planted for it was
//! found; a row that could not run is not green. The gate is green when all rows are. It can be
//! seen to fail: [`Options::planted`] bends the protocol of the exploration itself, and the table
//! goes red (`tests/gate.rs`).

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::checks::{CHECKS, Check, Request};
use crate::disk::bend::Fault;
use crate::report::{Report, progress};
use crate::runs::Reach;

/// How far the gate looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Options {
    /// More explorations.
    pub full: bool,
    /// Only the checks that are [simulated](Check::is_simulated), as far as the test suite goes.
    pub simulated: bool,
    /// A fault to plant in what the explorer runs: the gate must go red.
    #[serde(serialize_with = "in_words")]
    pub planted: Option<Fault>,
}

fn in_words<S: serde::Serializer>(fault: &Option<Fault>, to: S) -> Result<S::Ok, S::Error> {
    fault.map(Fault::words).serialize(to)
}

/// All rows, as `--json` writes them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    /// Whether every row is green.
    pub green: bool,
    /// What was asked for.
    pub options: Options,
    /// The checks that were not run, because only the simulated ones were asked for.
    pub left_out: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<Report>,
}

/// Runs the gate. `executable` is this program, which is also the bus when it is called as one.
#[must_use]
pub fn run(options: Options, executable: &Path) -> Table {
    let reach = match options {
        Options { full: true, .. } => Reach::Full,
        Options { simulated: true, .. } => Reach::Test,
        Options { .. } => Reach::Gate,
    };
    let request = Request { executable, reach, planted: options.planted };
    let (checks, left_out): (Vec<&Check>, Vec<&Check>) =
        CHECKS.iter().partition(|check| check.is_simulated || !options.simulated);
    // A program that has held millions of states takes long to start others: the exploration, which
    // stands first in the table, is run behind those that start processes.
    let (alone, starting): (Vec<&Check>, Vec<&Check>) =
        checks.iter().partition(|check| check.is_simulated);
    let mut rows = Vec::new();
    for (number, check) in starting.iter().chain(&alone).enumerate() {
        progress(&format!("{} of {}: {} ...", number + 1, checks.len(), check.name));
        let report = check.run(&request);
        let verdict = if report.is_green() { "green" } else { "RED" };
        progress(&format!("  {verdict} after {:.0} s", report.seconds));
        rows.push(report);
    }
    rows.sort_by_key(|row| CHECKS.iter().position(|check| check.name == row.check));
    Table {
        green: rows.iter().all(Report::is_green),
        options,
        left_out: left_out.iter().map(|check| check.name).collect(),
        rows,
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
        out.push_str("\nWhat a green row says, and what else is to be known:\n");
        for report in &self.rows {
            let _ = writeln!(out, "\n  {}: {}", report.check, report.about);
            for note in &report.notes {
                let _ = writeln!(out, "    {note}");
            }
        }
        out.push('\n');
        for report in self.rows.iter().filter(|report| !report.is_green()) {
            let _ = writeln!(out, "{report}");
        }
        if !self.left_out.is_empty() {
            let _ = writeln!(out, "NOT RUN: {}", self.left_out.join(", "));
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
