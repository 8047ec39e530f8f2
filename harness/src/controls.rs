//! The checks of the checkers: which planted fault which checker must find, at which smallest
//! bound.
//!
//! A verifier that cannot fail proves nothing. Each [`Control`] is a mistake in the protocol; each
//! of its [`Claim`]s is a checker at a bound that must find it by the promise that is named, and
//! must find nothing one step lower (one process, crash, power cut, failure or injury fewer), so
//! that the bounds are known to be tight. Every fault is claimed by two checkers of different
//! kinds. The numbers of steps are pinned: they are the shortest stories.
//!
//! Guarded by `tests/mutants.rs`, which finds all of them.

use std::fmt;

use crate::crash::{self, Injury, Sequel};
use crate::disk::Outcome;
use crate::disk::bend::Fault;
use crate::explore;
use crate::interleave::{Script, interleave};
use crate::invariant::{Broken, INVARIANTS};
use crate::report::Draft;
use crate::scene::{Budget, Setup};
use crate::small::Kind;
use crate::worker::Plan;

/// A command of the small bus has fewer calls than this.
const CALLS_MAX: u32 = 24;

/// A checker at a bound, which watches the promise that the fault breaks and no other.
#[derive(Clone, Debug)]
pub enum Claim {
    /// The explorer, and the length of the shortest story.
    Explorer(Setup, usize),
    /// The interleavings, with a sweep over the calls.
    Interleavings(Setup, Sweep),
    /// The simulated crash matrix.
    CrashMatrix(crash::Bounds),
}

/// What is swept over the calls of the first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// Nothing goes wrong.
    Nothing,
    /// It is killed before call k.
    Kill,
    /// Call k fails with this.
    Fail(Outcome),
}

/// A planted fault and who must find it.
#[derive(Clone, Debug)]
pub struct Control {
    /// The mistake.
    pub fault: Fault,
    /// Who must find it.
    pub claims: Vec<Claim>,
}

impl Claim {
    /// Runs the checker: what it found broken, in how many steps where it tells a story.
    #[must_use]
    pub fn find(&self) -> Option<Found> {
        match self {
            Claim::Explorer(setup, _) => explore::shortest(setup)
                .map(|story| Found { names: story.broken.names(), steps: Some(story.moves.len()) }),
            Claim::Interleavings(setup, sweep) => sweep.scripts().into_iter().find_map(|script| {
                let broken = interleave(setup, script).broken;
                (!broken.is_empty()).then(|| Found { names: broken.names(), steps: None })
            }),
            // Beside promises the matrix finds ends that fit no class; those are told too.
            Claim::CrashMatrix(bounds) => {
                let broken = crash::fill(bounds).broken;
                let watched = broken.iter().find(|broke| broke.names == bounds.watched.names());
                let told = watched.or(broken.first());
                told.map(|broke| Found { names: broke.names.clone(), steps: None })
            }
        }
    }

    /// Whether what was found is what is claimed.
    #[must_use]
    pub fn is_kept_by(&self, found: &Found) -> bool {
        let steps = match self {
            Claim::Explorer(_, steps) => Some(*steps),
            Claim::Interleavings(..) | Claim::CrashMatrix(_) => None,
        };
        *found == Found { names: self.watched().names(), steps }
    }

    const fn watched(&self) -> Broken {
        match self {
            Claim::Explorer(setup, _) | Claim::Interleavings(setup, _) => setup.watched,
            Claim::CrashMatrix(bounds) => bounds.watched,
        }
    }

    /// The same checker one step lower, in every direction in which there is one. There the
    /// explorer still watches one promise (a fault may break another in fewer processes), and the
    /// others watch all.
    #[must_use]
    pub fn lowered(&self) -> Vec<Claim> {
        match self {
            Claim::Explorer(setup, steps) => {
                lowered(setup).into_iter().map(|setup| Claim::Explorer(setup, *steps)).collect()
            }
            Claim::Interleavings(setup, sweep) => {
                let setup = setup.clone().watching(Broken::ALL);
                let mut lower = Vec::new();
                if *sweep != Sweep::Nothing {
                    lower.push(Claim::Interleavings(setup.clone(), Sweep::Nothing));
                }
                if setup.plans.len() > 1 {
                    lower.push(Claim::Interleavings(fewer(&setup), *sweep));
                }
                lower
            }
            Claim::CrashMatrix(bounds) => {
                let bounds = crash::Bounds { watched: Broken::ALL, ..bounds.clone() };
                let mut lower = Vec::new();
                if bounds.injuries != [Injury::Nothing] {
                    let injuries = vec![Injury::Nothing];
                    lower.push(Claim::CrashMatrix(crash::Bounds { injuries, ..bounds.clone() }));
                }
                if bounds.sequels != [Sequel::Nothing] {
                    let sequels = vec![Sequel::Nothing];
                    lower.push(Claim::CrashMatrix(crash::Bounds { sequels, ..bounds.clone() }));
                }
                lower
            }
        }
    }

    /// Which kind of checker it is.
    #[must_use]
    pub const fn checker(&self) -> &'static str {
        match self {
            Claim::Explorer(..) => "explorer",
            Claim::Interleavings(..) => "interleavings",
            Claim::CrashMatrix(_) => "crash matrix",
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let promise = self.watched().names().join(", ");
        match self {
            Claim::Explorer(setup, steps) => {
                let processes = processes(setup.plans.len());
                write!(f, "{promise}: {processes}, {}: {steps} steps", setup.budget)
            }
            Claim::Interleavings(setup, sweep) => {
                let sweep = match sweep {
                    Sweep::Nothing => "no faults",
                    Sweep::Kill => "1 crash",
                    Sweep::Fail(_) => "1 failed call",
                };
                write!(f, "{promise}: {}, {sweep}", processes(setup.plans.len()))
            }
            Claim::CrashMatrix(bounds) => {
                write!(f, "{promise}: {:?} x {:?}", bounds.injuries, bounds.sequels)
            }
        }
    }
}

fn processes(count: usize) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// What a checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What is broken.
    pub names: Vec<&'static str>,
    /// The length of the shortest story.
    pub steps: Option<usize>,
}

impl Sweep {
    fn scripts(self) -> Vec<Script> {
        let calls = 0..CALLS_MAX;
        match self {
            Sweep::Nothing => vec![Script::default()],
            Sweep::Kill => {
                calls.map(|call| Script { kill: Some((0, call)), ..Script::default() }).collect()
            }
            Sweep::Fail(outcome) => calls
                .map(|call| Script { fail: Some((0, call, outcome)), ..Script::default() })
                .collect(),
        }
    }
}

/// One process or one command fewer; the first process stays.
fn fewer(setup: &Setup) -> Setup {
    let mut plans = setup.plans.clone();
    plans.pop();
    Setup { plans, ..setup.clone() }
}

fn lowered(setup: &Setup) -> Vec<Setup> {
    let mut lower = Vec::new();
    if setup.plans.len() > 1 {
        lower.push(fewer(setup));
    } else if setup.plans.iter().all(|plan| plan.errands.len() > 1) {
        let plans = setup.plans.iter().map(|plan| {
            let errands = plan.errands[1..].to_vec();
            Plan { errands, ..plan.clone() }
        });
        lower.push(Setup { plans: plans.collect(), ..setup.clone() });
    }
    let fields: [fn(&mut Budget) -> &mut u8; 10] = [
        |budget| &mut budget.crashes,
        |budget| &mut budget.power_cuts,
        |budget| &mut budget.sync_failures,
        |budget| &mut budget.io_errors,
        |budget| &mut budget.short_writes,
        |budget| &mut budget.evictions,
        |budget| &mut budget.repairs,
        |budget| &mut budget.careless,
        |budget| &mut budget.foreign_appends,
        |budget| &mut budget.restores,
    ];
    for field in fields {
        let mut less = setup.clone();
        let count = field(&mut less.budget);
        if *count > 0 {
            *count -= 1;
            lower.push(less);
        }
    }
    lower
}

/// Every planted fault. See the module header.
#[must_use]
pub fn controls() -> Vec<Control> {
    let mut all = of_the_lock();
    all.extend(of_the_log());
    all.extend(of_durability());
    all.extend(of_the_take_back());
    all.extend(of_people());
    all
}

/// Runs the claims of a kind of checker: each must find its fault at its bound, by the promise that
/// it names, and nothing one step lower.
pub fn plant(draft: &mut Draft, checker: &str) {
    for control in controls() {
        for claim in control.claims.iter().filter(|claim| claim.checker() == checker) {
            let is_kept = claim.find().is_some_and(|found| claim.is_kept_by(&found));
            draft.control(format!("{} ({claim})", control.fault.words()), is_kept);
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

/// For every promise, in the order of [`INVARIANTS`]: a fault that breaks it. A promise that
/// nothing breaks is one that nobody looks at.
#[must_use]
pub fn breakers() -> [(&'static str, Setup); INVARIANTS.len()] {
    let repair = Budget { repairs: 1, ..CRASH };
    let reader = vec![one(), Plan::cold(&[Kind::Look])];
    let batch = vec![Plan::cold(&[Kind::Two])];
    [
        ("ids_dense", some(2, Budget::NONE).with(Fault::ReadOutsideLock)),
        ("records_whole", some(1, POWER).with(Fault::SkipFsync)),
        ("batch_whole", Setup::new(batch, repair).with(Fault::TwoWrites)),
        ("one_writer", some(2, Budget::NONE).with(Fault::BreakByAge)),
        ("foreign_lock_kept", some(2, Budget::NONE).with(Fault::BreakByAge)),
        ("log_extends", some(2, POWER).with(Fault::TruncateTornTail)),
        ("free_lock_is_durable", some(1, Budget::NONE).with(Fault::ReleaseBeforeFsync)),
        ("shown_survives", Setup::new(reader, repair).with(Fault::PersonMerelyRemoves)),
        ("acked_present", some(1, POWER).with(Fault::SkipFsync)),
        ("acked_durable", some(1, Budget::NONE).with(Fault::SkipFsync)),
        ("answer_explained", some(2, Budget::NONE).with(Fault::ReadOutsideLock)),
        ("failclosed_writes_nothing", some(1, SYNC).with(Fault::ReleaseWithoutTakeBack)),
        ("damage_refused", some(2, POWER).with(Fault::IgnoreTornTail)),
    ]
}

/// Breaks every promise by its fault, with nothing else watched.
pub fn plant_breakers(draft: &mut Draft) {
    for (name, setup) in breakers() {
        let control = breaker_name(name, &setup);
        let found = explore::explore(&setup.watching(Broken::named(&[name])));
        let found = found.violation.is_some_and(|story| story.broken.names() == [name]);
        draft.control(control, found);
    }
}

/// What the control of a promise is called.
#[must_use]
pub fn breaker_name(promise: &str, setup: &Setup) -> String {
    format!("{promise} is broken by: {}", setup.fault.map_or("nothing", Fault::words))
}

const CRASH: Budget = Budget { crashes: 1, ..Budget::NONE };
const POWER: Budget = Budget { power_cuts: 1, ..Budget::NONE };
const SYNC: Budget = Budget { sync_failures: 1, ..Budget::NONE };

fn one() -> Plan {
    Plan::cold(&[Kind::One])
}

fn some(count: usize, budget: Budget) -> Setup {
    Setup::new(vec![one(); count], budget)
}

fn cells(injury: Injury, sequel: Sequel) -> crash::Bounds {
    crash::Bounds { injuries: vec![injury], sequels: vec![sequel], ..crash::Bounds::all(one()) }
}

/// A fault with its claims.
fn control(fault: Fault, claims: Vec<Claim>) -> Control {
    let claims = claims
        .into_iter()
        .map(|claim| match claim {
            Claim::Explorer(setup, steps) => Claim::Explorer(setup.with(fault), steps),
            Claim::Interleavings(setup, sweep) => Claim::Interleavings(setup.with(fault), sweep),
            Claim::CrashMatrix(bounds) => {
                Claim::CrashMatrix(crash::Bounds { fault: Some(fault), ..bounds })
            }
        })
        .collect();
    Control { fault, claims }
}

fn explored(setup: Setup, promise: &str, steps: usize) -> Claim {
    Claim::Explorer(setup.watching(Broken::named(&[promise])), steps)
}

fn interleaved(setup: Setup, promise: &str, sweep: Sweep) -> Claim {
    Claim::Interleavings(setup.watching(Broken::named(&[promise])), sweep)
}

fn crashed(bounds: crash::Bounds, promise: &str) -> Claim {
    Claim::CrashMatrix(crash::Bounds { watched: Broken::named(&[promise]), ..bounds })
}

fn of_the_lock() -> Vec<Control> {
    let careless = Budget { careless: 1, ..Budget::NONE };
    vec![
        control(
            Fault::BreakByAge,
            vec![
                explored(some(2, Budget::NONE), "foreign_lock_kept", 5),
                explored(some(2, Budget::NONE), "one_writer", 6),
                interleaved(some(2, Budget::NONE), "one_writer", Sweep::Nothing),
                crashed(cells(Injury::Kill, Sequel::Writer), "foreign_lock_kept"),
            ],
        ),
        control(
            Fault::BreakDeadOwner,
            vec![
                explored(some(2, CRASH), "foreign_lock_kept", 6),
                explored(some(3, CRASH), "one_writer", 11),
                interleaved(some(2, Budget::NONE), "foreign_lock_kept", Sweep::Kill),
                crashed(cells(Injury::Kill, Sequel::Writer), "foreign_lock_kept"),
            ],
        ),
        control(
            Fault::UnlockOnTimeOut,
            vec![
                explored(some(2, Budget::NONE), "foreign_lock_kept", 4),
                explored(some(3, Budget::NONE), "one_writer", 6),
                interleaved(some(2, Budget::NONE), "foreign_lock_kept", Sweep::Nothing),
                crashed(cells(Injury::Kill, Sequel::Writer), "foreign_lock_kept"),
            ],
        ),
        control(
            Fault::RemoveForeignLock,
            vec![
                explored(some(2, careless), "foreign_lock_kept", 9),
                crashed(cells(Injury::Stolen, Sequel::Nothing), "foreign_lock_kept"),
            ],
        ),
    ]
}

fn of_the_log() -> Vec<Control> {
    let restore = Budget { restores: 1, ..Budget::NONE };
    let batch = || Plan::cold(&[Kind::Two]);
    let server = || Plan::warm(&[Kind::One, Kind::One]);
    vec![
        control(
            Fault::ReadOutsideLock,
            vec![
                explored(some(2, Budget::NONE), "ids_dense", 11),
                interleaved(some(2, Budget::NONE), "ids_dense", Sweep::Nothing),
            ],
        ),
        control(
            Fault::IgnoreTornTail,
            vec![
                explored(some(2, POWER), "damage_refused", 9),
                crashed(cells(Injury::PowerCut, Sequel::Writer), "damage_refused"),
            ],
        ),
        control(
            Fault::TruncateTornTail,
            vec![
                explored(some(2, POWER), "log_extends", 10),
                crashed(cells(Injury::PowerCut, Sequel::Writer), "log_extends"),
            ],
        ),
        control(
            Fault::TwoWrites,
            vec![
                explored(
                    Setup::new(vec![batch()], Budget { repairs: 1, ..CRASH }),
                    "batch_whole",
                    9,
                ),
                crashed(
                    crash::Bounds { victim: batch(), ..cells(Injury::Kill, Sequel::Repair) },
                    "batch_whole",
                ),
            ],
        ),
        control(
            Fault::CacheWithoutDigest,
            vec![
                explored(Setup::new(vec![server()], restore), "ids_dense", 12),
                crashed(
                    crash::Bounds { victim: server(), ..cells(Injury::Restored, Sequel::Nothing) },
                    "ids_dense",
                ),
            ],
        ),
    ]
}

fn of_durability() -> Vec<Control> {
    let quiet = || cells(Injury::Nothing, Sequel::Nothing);
    vec![
        control(
            Fault::SkipFsync,
            vec![
                explored(some(1, Budget::NONE), "acked_durable", 7),
                interleaved(some(1, Budget::NONE), "acked_durable", Sweep::Nothing),
                crashed(quiet(), "acked_durable"),
            ],
        ),
        control(
            Fault::AnswerBeforeFsync,
            vec![
                explored(some(1, Budget::NONE), "acked_durable", 5),
                interleaved(some(1, Budget::NONE), "acked_durable", Sweep::Nothing),
                crashed(quiet(), "acked_durable"),
            ],
        ),
        control(
            Fault::ReleaseBeforeFsync,
            vec![
                explored(some(1, Budget::NONE), "free_lock_is_durable", 7),
                explored(some(2, SYNC), "acked_durable", 16),
                interleaved(some(1, Budget::NONE), "free_lock_is_durable", Sweep::Nothing),
                crashed(quiet(), "free_lock_is_durable"),
            ],
        ),
        control(
            Fault::RetryFsync,
            vec![
                explored(some(1, SYNC), "acked_durable", 8),
                interleaved(
                    some(1, Budget::NONE),
                    "acked_durable",
                    Sweep::Fail(Outcome::SyncFail(0)),
                ),
                crashed(cells(Injury::FailOnce, Sequel::Nothing), "acked_durable"),
            ],
        ),
        control(
            Fault::SkipDirFsync,
            vec![
                explored(some(1, Budget::NONE).fresh(), "acked_durable", 10),
                interleaved(some(1, Budget::NONE).fresh(), "acked_durable", Sweep::Nothing),
                crashed(quiet().fresh(), "acked_durable"),
            ],
        ),
    ]
}

fn of_the_take_back() -> Vec<Control> {
    let short = Budget { short_writes: 1, ..Budget::NONE };
    let never_works = Budget { io_errors: 1, ..SYNC };
    let with_stranger = Budget { foreign_appends: 1, ..short };
    let failing = || crashed(cells(Injury::FailOnce, Sequel::Nothing), "failclosed_writes_nothing");
    vec![
        control(
            Fault::ReleaseWithoutTakeBack,
            vec![
                explored(some(1, SYNC), "failclosed_writes_nothing", 11),
                explored(some(1, short), "failclosed_writes_nothing", 10),
                interleaved(
                    some(1, Budget::NONE),
                    "failclosed_writes_nothing",
                    Sweep::Fail(Outcome::SyncFail(0)),
                ),
                failing(),
            ],
        ),
        control(
            Fault::TakeBackWithoutFsync,
            vec![
                explored(some(1, SYNC), "failclosed_writes_nothing", 9),
                interleaved(
                    some(1, Budget::NONE),
                    "failclosed_writes_nothing",
                    Sweep::Fail(Outcome::SyncFail(16)),
                ),
                failing(),
            ],
        ),
        control(
            Fault::IgnoreFailedTakeBack,
            vec![
                explored(some(1, never_works), "failclosed_writes_nothing", 9),
                crashed(cells(Injury::FailForEver, Sequel::Nothing), "failclosed_writes_nothing"),
            ],
        ),
        control(
            Fault::RollBackBlindly,
            vec![
                explored(some(1, with_stranger), "log_extends", 12),
                crashed(cells(Injury::ShortThenForeign, Sequel::Nothing), "log_extends"),
            ],
        ),
    ]
}

fn of_people() -> Vec<Control> {
    let repair = Budget { repairs: 1, ..CRASH };
    let lost = Budget { sync_failures: 1, ..repair };
    let doomed = Budget { repairs: 1, ..SYNC };
    vec![
        control(
            Fault::PersonMerelyRemoves,
            vec![
                explored(some(2, lost), "acked_durable", 14),
                crashed(cells(Injury::Kill, Sequel::Repair), "free_lock_is_durable"),
            ],
        ),
        control(
            Fault::PersonRewritesEmptyLog,
            vec![
                explored(some(2, doomed).fresh(), "acked_durable", 20),
                crashed(cells(Injury::FailOnce, Sequel::Repair).fresh(), "acked_durable"),
            ],
        ),
    ]
}
