//! `verify`: is this bus built as it claims, and is this log worth citing as evidence?
//!
//! Contract. A check is data: a name and a function over the raw records (or over the product). A
//! red check makes the run red *unless its name stands in [`ADVISORY`]*. Gating by exclusion means
//! that a check which is new, or whose name drifts, gates by itself. The advisory checks ask how
//! rich a log is, which a correct, empty workspace answers badly; where a log is claimed as
//! evidence they gate too.
//!
//! | room | what it asks |
//! | --- | --- |
//! | [`evidence`] | authority, integrity and richness of a log, from the raw records |
//! | [`history`] | whether the records hang together as only a bus writes them |
//! | [`controls`] | logs that must be rejected: a run in which one passes is red |
//! | [`product`] | what ships: manifests, templates, sources, verdicts, lanes, the live server |
//! | [`scan`] | what the transport check looks for in sources; the build runs it |
//!
//! Judged on raw records, so that a clean record cannot cover up an earlier one. What this attests
//! is shape and not provenance ([`PROVES`]): no record is bound to the process that wrote it.
//!
//! Absent on purpose: writing, repairing, and any verdict that differs from what was shown. Guarded
//! by `tests/verify.rs`, `tests/verify_mutations.rs` and, against doctor,
//! `tests/verify_relation.rs`.

pub mod controls;
pub mod evidence;
pub mod history;
pub mod ledger;
pub mod product;
pub mod scan;

use std::convert::Infallible;
use std::io::Read;

use gaia_bus_model::event::{Unreplayable, check_identity};
use gaia_bus_model::json::Object;
use serde::Serialize;

use crate::failure::Failure;
use crate::log::Record;
use crate::replay::{Fold, Replay};

/// What a green run says of a log, and what it does not.
pub const PROVES: &str = "the log has the shape that this bus writes, and nothing in it was \
                          granted or transferred beyond the allowlist. Shape, not provenance: no \
                          record is bound to the process that wrote it, so a log that this product \
                          wrote by itself passes too";

/// The checks that do not gate, unless the log is claimed as evidence. Everything else always does.
pub const ADVISORY: [&str; 6] = [
    evidence::THREE_ACTORS,
    evidence::TWO_KINDS,
    evidence::THREAD,
    evidence::ACKNOWLEDGED,
    evidence::HANDED_OFF,
    history::CUT_BATCH,
];

/// What a check came to: a sentence in both cases.
pub type Verdict = Result<String, String>;

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its name, which is a contract.
    pub name: String,
    /// Whether it is green.
    pub ok: bool,
    /// What was seen.
    pub detail: String,
}

impl Check {
    /// The check of a name with its verdict.
    #[must_use]
    pub fn new(name: impl Into<String>, verdict: Verdict) -> Self {
        let ok = verdict.is_ok();
        let detail = verdict.unwrap_or_else(|sentence| sentence);
        Check { name: name.into(), ok, detail }
    }

    /// Whether a red verdict of this check makes the run red.
    #[must_use]
    pub fn gates(&self, claim: Claim) -> bool {
        match claim {
            Claim::Evidence => true,
            Claim::None => !ADVISORY.contains(&self.name.as_str()),
        }
    }
}

/// Whether somebody means to cite the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A look at a workspace: how rich its log is, is advice.
    None,
    /// `--evidence PATH` or `--require-evidence`: every check gates.
    Evidence,
}

/// Checks that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Section {
    /// Its name.
    pub section: &'static str,
    /// For the sections about a log: whether they gate as evidence in this run; history always
    /// does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates_result: Option<bool>,
    /// Its checks.
    pub checks: Vec<Check>,
}

/// What is said of the log that was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Where it was read.
    pub source: String,
    /// How many records it has.
    pub events: usize,
    /// Whether its richness gates.
    pub gates_result: bool,
    /// [`PROVES`].
    pub proves: &'static str,
}

/// The whole answer of `verify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Whether every check that gates is green. The exit code says the same.
    pub ok: bool,
    /// `verify`
    pub command: &'static str,
    /// Whether the log would pass as evidence: every check about it is green.
    pub evidence_ok: bool,
    /// Whether the log was claimed as evidence, so that richness gates.
    pub evidence_gates_result: bool,
    /// Green checks, of all sections.
    pub passed: usize,
    /// Red checks, of all sections; those that are only advice too.
    pub failed: usize,
    /// All checks.
    pub sections: Vec<Section>,
    /// The log.
    pub evidence: Source,
    /// True: nothing was written.
    pub read_only: bool,
    /// Present and false when the lock could not be released after all was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_released: Option<bool>,
}

impl Report {
    /// Judges a log beside what is known of the product.
    #[must_use]
    pub fn of(product: Vec<Section>, records: &[Object], source: String, claim: Claim) -> Self {
        let mut sections = product;
        sections.extend(log_sections(records, claim));
        Report::from_sections(sections, records.len(), source, claim)
    }

    /// The verdict over sections: the one place where red checks become a red run.
    #[must_use]
    pub fn from_sections(
        sections: Vec<Section>,
        events: usize,
        source: String,
        claim: Claim,
    ) -> Self {
        let claimed = claim == Claim::Evidence;
        let checks = || sections.iter().flat_map(|section| &section.checks);
        let failed = checks().filter(|check| !check.ok).count();
        let about_log = sections.iter().filter(|section| section.gates_result.is_some());
        Report {
            ok: checks().all(|check| check.ok || !check.gates(claim)),
            command: "verify",
            evidence_ok: about_log.flat_map(|section| &section.checks).all(|check| check.ok),
            evidence_gates_result: claimed,
            passed: checks().count() - failed,
            failed,
            evidence: Source { source, events, gates_result: claimed, proves: PROVES },
            sections,
            read_only: true,
            lock_released: None,
        }
    }

    /// The exit code: a printed failure is never returned as success.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        if self.ok { 0 } else { 1 }
    }
}

/// The sections about a log.
#[must_use]
pub fn log_sections(records: &[Object], claim: Claim) -> [Section; 2] {
    let claimed = claim == Claim::Evidence;
    let section = |section, gates, checks| Section { section, gates_result: Some(gates), checks };
    let mut evidence = evidence::judge(&evidence::CHECKS, records);
    evidence.extend(controls::judge(&evidence::CHECKS));
    let mut history = history::judge(&history::CHECKS, records);
    history.push(history::judge_controls(&history::CHECKS));
    [section("evidence", claimed, evidence), section("history", true, history)]
}

/// The fold that `verify` reads a log with: all of its records, verbatim, if it folds at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Records(Vec<Object>);

impl Records {
    /// The records.
    #[must_use]
    pub fn as_slice(&self) -> &[Object] {
        &self.0
    }
}

impl Fold for Records {
    fn apply(&mut self, record: &Record<'_>) -> Result<(), Unreplayable> {
        let object = record.to_object();
        check_identity(&object)?;
        self.0.push(object);
        Ok(())
    }
}

/// How much of an evidence file is read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Reads the log of `--evidence PATH`: that file only, without a lock, and nothing beside it.
///
/// # Errors
/// As for the log of a data directory: it cannot be read, is damaged, or does not fold.
pub fn read_evidence(mut file: impl Read) -> Result<Records, Failure> {
    let mut replay: Replay<Records> = Replay::new(Records::default());
    let mut chunk = vec![0; CHUNK_BYTES];
    replay.begin();
    loop {
        let read = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(Failure::Io { doing: "reading the evidence", error: error.into() });
            }
        };
        replay.feed(chunk.get(..read).unwrap_or_default())?;
    }
    replay.finish()?;
    Ok(replay.into_fold())
}

/// Folds records as a reader of their lines would, and shows the fold and the record before each.
fn refold<'a, F: Fold>(
    records: &'a [Object],
    mut fold: F,
    mut before: impl FnMut(&F, &'a Object) -> Result<(), String>,
) -> Result<F, (usize, String)> {
    let mut scanner = crate::log::Scanner::new();
    for (index, record) in records.iter().enumerate() {
        before(&fold, record).map_err(|sentence| (index, sentence))?;
        let mut line = record.to_line();
        line.push(b'\n');
        let mut refused = None;
        let scanned = scanner.feed::<Infallible>(&line, &mut |record| {
            refused = fold.apply(&record).err();
            Ok(())
        });
        if let Some(reason) = refused {
            return Err((index, reason.to_string()));
        }
        scanned.map_err(|fault| (index, fault.to_string()))?;
    }
    Ok(fold)
}
