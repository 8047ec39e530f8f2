//! The checks of the gate, as data: what each is called, what it shows, how far it looks, which
//! promises it looks at, and how it is run.
//!
//! One table feeds `gate`, `check NAME` and the README. To add a checker, write it in a room of its
//! own as a function that returns a [`Report`], and give it a row here.

use std::path::Path;

use crate::disk::bend::Fault;
use crate::invariant::Broken;
use crate::report::{Draft, Report, panics_as_errors};
use crate::runs::Reach;
use crate::{
    conform, crash, crash_real, fuzzing, history, interleave, log_alone, processes, runs, vectors,
};

/// What a check is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// This program, which is the bus when it is called as one.
    pub executable: &'a Path,
    /// How far the exploration goes, and the others where it is [`Reach::Full`].
    pub reach: Reach,
    /// A fault to plant in what the exploration runs.
    pub planted: Option<Fault>,
}

impl Request<'_> {
    /// The larger bound where it is asked for.
    fn sized<T>(&self, gate: T, full: T) -> T {
        if self.reach == Reach::Full { full } else { gate }
    }
}

/// Which promises a check looks at. One name may stand for a part that a log shows and a part that
/// takes a disk to see: those are two promises.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    /// Invariants of `gaia_bus_model::invariant`.
    pub at_logs: Vec<&'static str>,
    /// Invariants of [`crate::invariant`], each as a whole: a check that cuts no power does not
    /// look at what must hold after a power cut.
    pub at_disks: Vec<&'static str>,
    /// Others: see [`crate::promises`].
    pub beside: Vec<&'static str>,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name, for the command line and the table.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// How far it looks at the gate's size.
    pub bound: fn() -> String,
    /// The promises that it looks at.
    pub looks: fn() -> Looks,
    /// Whether it takes seconds, and no process, privilege or file system of its own.
    pub is_simulated: bool,
    run: fn(&Request<'_>) -> Report,
}

impl Check {
    /// Runs it at the gate's size. A check that panics is a red row, not the end of the gate.
    #[must_use]
    pub fn run(&self, request: &Request<'_>) -> Report {
        let report = panics_as_errors(|| (self.run)(request)).unwrap_or_else(|what| {
            let mut draft = Draft::new(self.name, (self.bound)());
            draft.violation(format!("the check itself failed: {what}"));
            draft.finish()
        });
        Report { check: self.name, about: self.about, ..report }
    }

    /// The check of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Check> {
        CHECKS.iter().find(|check| check.name == name)
    }
}

/// All of them, in the order in which the gate runs them.
pub const CHECKS: [Check; 11] = [
    Check {
        name: "exploration",
        about: "no order of calls, kills, power cuts, failures and repairs breaks a promise",
        bound: || runs::bound(&runs::of(Reach::Gate)),
        looks: || Looks { at_disks: Broken::ALL.names(), ..Looks::default() },
        is_simulated: true,
        run: |request| runs::check(request.reach, request.planted),
    },
    Check {
        name: "interleavings",
        about: "no order in which threads get at one disk breaks a promise",
        bound: || interleave::BOUND.into(),
        looks: || Looks { at_disks: interleave::promises(), ..Looks::default() },
        is_simulated: true,
        run: |_| interleave::check(),
    },
    Check {
        name: "crash-matrix",
        about: "whatever happens at whichever call, and whatever comes next, no promise is broken",
        bound: || crash::BOUND.into(),
        looks: || Looks { at_disks: Broken::ALL.names(), ..Looks::default() },
        is_simulated: true,
        run: |_| crash::check(),
    },
    Check {
        name: "conformance",
        about: "the store answers as the reference, and leaves exactly the bytes that it should",
        bound: || conform::Size::GATE.bound(),
        looks: || Looks {
            at_disks: vec!["answer_explained", "damage_refused", "foreign_lock_kept"],
            beside: vec!["folds_agree", "damage_named"],
            ..Looks::default()
        },
        is_simulated: false,
        run: |request| conform::check(request.sized(conform::Size::GATE, conform::Size::FULL)),
    },
    Check {
        name: "many-processes",
        about: "one order that agrees with real time explains what killed processes were told",
        bound: || processes::Size::GATE.bound(),
        looks: || Looks {
            at_logs: always(),
            at_disks: vec!["answer_explained", "acked_present"],
            ..Looks::default()
        },
        is_simulated: false,
        run: |request| {
            let size = request.sized(processes::Size::GATE, processes::Size::FULL);
            processes::check(size, request.executable)
        },
    },
    Check {
        name: "system-calls",
        about: "the shipped program, killed or failing at any system call, leaves a sound log",
        bound: || crash_real::SYSTEM_CALLS_BOUND.into(),
        looks: || Looks {
            at_logs: crash_real::JUDGED.to_vec(),
            at_disks: vec!["answer_explained", "acked_present"],
            ..Looks::default()
        },
        is_simulated: false,
        run: |request| crash_real::system_calls(crash_real::Size::GATE, request.executable),
    },
    Check {
        name: "power-loss",
        about: "what the shipped program answered survives a power cut of a real file system",
        bound: || crash_real::POWER_LOSS_BOUND.into(),
        looks: || Looks {
            at_logs: crash_real::JUDGED.to_vec(),
            at_disks: vec!["acked_durable", "failclosed_writes_nothing"],
            ..Looks::default()
        },
        is_simulated: false,
        run: |request| crash_real::power_loss(crash_real::Size::GATE, request.executable),
    },
    Check {
        name: "witness-checker",
        about: "the judge of what many processes were told agrees with exhaustive search",
        bound: || history::bound(history::HISTORIES),
        looks: Looks::default,
        is_simulated: false,
        run: |request| {
            history::cross_check(request.sized(history::HISTORIES, history::HISTORIES_FULL))
        },
    },
    Check {
        name: "vectors",
        about: "both folds decide, append and report as the bus that was observed, to the byte",
        bound: || vectors::BOUND.into(),
        looks: || Looks {
            beside: vec!["decisions_as_recorded", "folds_agree", "damage_named"],
            ..Looks::default()
        },
        is_simulated: true,
        run: |_| vectors::check(),
    },
    Check {
        name: "log-alone",
        about: "what a log alone can show holds on a genuine log and finds each planted change",
        bound: || log_alone::BOUND.into(),
        looks: || Looks {
            at_logs: log_alone::invariants().map(|invariant| invariant.name).collect(),
            ..Looks::default()
        },
        is_simulated: true,
        run: |_| log_alone::check(),
    },
    Check {
        name: "fuzz-seeds",
        about: "any bytes are a log or named damage; any line from a client has a one-line answer",
        bound: || fuzzing::bound(fuzzing::MUTATIONS),
        looks: || Looks {
            at_disks: vec!["damage_refused", "answer_explained"],
            beside: vec!["damage_named", "folds_agree"],
            ..Looks::default()
        },
        is_simulated: false,
        run: |request| fuzzing::check(request.sized(fuzzing::MUTATIONS, fuzzing::MUTATIONS_FULL)),
    },
];

/// What is looked at by the checks that judge real logs.
fn always() -> Vec<&'static str> {
    gaia_bus_model::invariant::ALWAYS.iter().map(|invariant| invariant.name).collect()
}
