//! The explorations that are made: in the test suite, in the gate, and when time does not matter.
//!
//! Each has its budget by name, its number of states pinned, and the sights without which it would
//! be vacuous. A run ends only when there is nothing left to explore.

use crate::controls;
use crate::disk::bend::Fault;
use crate::explore::Run;
use crate::invariant::Broken;
use crate::report::{Draft, Report, progress};
use crate::scene::{Budget, Setup};
use crate::small::Kind;
use crate::worker::Plan;

/// One of each fault of the machine, and a person who repairs once.
const ONE_OF_EACH: Budget = Budget {
    crashes: 1,
    power_cuts: 1,
    sync_failures: 1,
    io_errors: 1,
    short_writes: 1,
    repairs: 1,
    ..Budget::NONE
};

const COMMIT: &str = "a commit is answered";
const SHOWN: &str = "a reader shows the log";
const TIME_OUT: &str = "a waiter times out";
const TORN: &str = "a torn log is refused";
const REWRITTEN: &str = "a rewritten log is refused";
const TAKEN_BACK: &str = "a failure is taken back";
const UNCONFIRMED: &str = "a write is unconfirmed";
const SURVIVES: &str = "an unacknowledged record survives";
const LOST: &str = "an unacknowledged record is lost";
const OUTLIVES: &str = "a lock outlives its owner";
const MARKED: &str = "a lock is marked unconfirmed";
const CUT: &str = "a person cuts a torn tail";
const REPAIRED: &str = "a commit follows a repair";

/// What a run with one of each fault must see.
const USUAL: [&str; 11] = [
    COMMIT,
    TIME_OUT,
    TORN,
    TAKEN_BACK,
    UNCONFIRMED,
    SURVIVES,
    LOST,
    OUTLIVES,
    MARKED,
    CUT,
    REPAIRED,
];

fn commits(processes: usize, each: usize) -> Vec<Plan> {
    vec![Plan::cold(&vec![Kind::One; each]); processes]
}

fn run(name: &'static str, setup: Setup, states: usize, sights: &[&'static str]) -> Run {
    Run { name, setup, states, sights: sights.to_vec() }
}

/// How far is explored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// What the test suite explores: seconds.
    Test,
    /// What the gate explores: three minutes, and 3.3 GB.
    #[default]
    Gate,
    /// More.
    Full,
}

/// The explorations that reach so far.
#[must_use]
pub fn of(reach: Reach) -> Vec<Run> {
    let mut runs = small();
    if reach != Reach::Test {
        runs.extend(large());
    }
    if reach == Reach::Full {
        runs.extend(full());
    }
    runs
}

/// In words.
#[must_use]
pub fn bound(runs: &[Run]) -> String {
    let with = |commits: usize| {
        let usual = runs.iter().filter(|run| run.setup.budget == ONE_OF_EACH);
        let plans = usual.map(|run| &run.setup.plans);
        plans
            .filter(|plans| plans.iter().all(|plan| plan.errands.len() >= commits))
            .map(Vec::len)
            .max()
    };
    let twice = with(2).map(|count| format!(", or {count} with two commits each"));
    format!(
        "{} runs; {} processes{}; one of each fault and a repair",
        runs.len(),
        with(1).unwrap_or_default(),
        twice.unwrap_or_default()
    )
}

/// Explores all that reaches so far, with a fault planted in it where one is given, and finds the
/// faults that this checker claims.
#[must_use]
pub fn check(reach: Reach, planted: Option<Fault>) -> Report {
    let runs = of(reach);
    let mut draft = Draft::new("exploration", bound(&runs));
    for mut run in runs {
        if let Some(fault) = planted {
            run.setup = run.setup.with(fault);
        }
        let (explored, wrong) = run.judge();
        let told = format!("{} [{}]: {} states", run.name, run.setup.budget, explored.states);
        progress(&format!("  {told}, {:.0} s", explored.took.as_secs_f64()));
        draft.cases(explored.states as u64);
        for sentence in wrong {
            draft.violation(sentence);
        }
        draft.note(told);
        if planted.is_some() && explored.violation.is_some() {
            break;
        }
    }
    controls::plant(&mut draft, "explorer");
    controls::plant_breakers(&mut draft);
    draft.finish()
}

/// Those of the test suite: seconds.
fn small() -> Vec<Run> {
    let evicting = Budget { evictions: 1, ..ONE_OF_EACH };
    let twice = Budget { io_errors: 2, power_cuts: 0, short_writes: 0, ..ONE_OF_EACH };
    let with_reader = vec![Plan::cold(&[Kind::Two]), Plan::cold(&[Kind::Look])];
    let with_server = vec![Plan::warm(&[Kind::One, Kind::One]), Plan::cold(&[Kind::One])];
    let restoring = Budget { restores: 1, io_errors: 0, short_writes: 0, ..ONE_OF_EACH };
    let two_repairs =
        Budget { crashes: 1, power_cuts: 1, sync_failures: 1, repairs: 2, ..Budget::NONE };
    let people = Setup { people: 2, ..Setup::new(commits(3, 1), two_repairs) };
    let careless = Budget { careless: 1, ..Budget::NONE };
    let foreign = Budget { foreign_appends: 1, power_cuts: 0, repairs: 0, ..ONE_OF_EACH };
    let with_server_sights = [COMMIT, TIME_OUT, TORN, REWRITTEN, TAKEN_BACK, OUTLIVES, REPAIRED];
    let with_reader_sights = [SHOWN, COMMIT, TORN, TAKEN_BACK, UNCONFIRMED, REPAIRED];
    vec![
        run(
            "2 processes, killed at any call",
            Setup::new(commits(2, 1), Budget { crashes: 1, ..Budget::NONE }),
            95,
            &[COMMIT, TIME_OUT, OUTLIVES],
        ),
        run("2 processes", Setup::new(commits(2, 1), ONE_OF_EACH), 15_628, &USUAL),
        run(
            "2 processes, new directory",
            Setup::new(commits(2, 1), ONE_OF_EACH).fresh(),
            19_490,
            &USUAL,
        ),
        run("2 processes, pages evicted", Setup::new(commits(2, 1), evicting), 27_948, &USUAL),
        run(
            "2 processes, a take-back fails",
            Setup::new(commits(2, 1), twice),
            3_254,
            &[UNCONFIRMED, MARKED, REPAIRED],
        ),
        run(
            "a batch and a reader",
            Setup::new(with_reader, ONE_OF_EACH),
            17_081,
            &with_reader_sights,
        ),
        run(
            "a command that reads a line again",
            Setup::new(vec![Plan::cold(&[Kind::Recall]), Plan::cold(&[Kind::One])], ONE_OF_EACH),
            22_631,
            &USUAL,
        ),
        run(
            "a server and a shell command",
            Setup::new(with_server, restoring),
            16_708,
            &with_server_sights,
        ),
        run(
            "3 processes, 2 people repair",
            people,
            46_703,
            &[COMMIT, TAKEN_BACK, OUTLIVES, CUT, REPAIRED],
        ),
        run(
            "2 processes, a person repairs twice",
            Setup::new(commits(2, 1), Budget { repairs: 2, ..ONE_OF_EACH }),
            21_411,
            &USUAL,
        ),
        run(
            "2 processes, a careless person",
            Setup::new(commits(2, 1), careless).watching(Broken::named(&["foreign_lock_kept"])),
            681,
            &[COMMIT, TIME_OUT],
        ),
        run(
            "2 processes, another program appends",
            Setup::new(commits(2, 1), foreign),
            6_604,
            &[COMMIT, TAKEN_BACK, UNCONFIRMED],
        ),
        run("3 processes", Setup::new(commits(3, 1), ONE_OF_EACH), 149_968, &USUAL),
    ]
}

/// Those of the gate besides. The last holds 19 million states in 3.3 GB.
fn large() -> Vec<Run> {
    vec![
        run("2 processes, 2 commits each", Setup::new(commits(2, 2), ONE_OF_EACH), 329_076, &USUAL),
        run("4 processes", Setup::new(commits(4, 1), ONE_OF_EACH), 1_162_799, &USUAL),
        run(
            "3 processes, 2 commits each",
            Setup::new(commits(3, 2), ONE_OF_EACH),
            19_058_792,
            &USUAL,
        ),
    ]
}

/// Those with `--full` besides.
fn full() -> Vec<Run> {
    vec![
        run(
            "4 processes, new directory",
            Setup::new(commits(4, 1), ONE_OF_EACH).fresh(),
            1_438_514,
            &USUAL,
        ),
        run(
            "3 processes, 2 of each fault",
            Setup::new(
                commits(3, 1),
                Budget {
                    crashes: 2,
                    power_cuts: 2,
                    sync_failures: 2,
                    io_errors: 2,
                    short_writes: 2,
                    repairs: 2,
                    ..Budget::NONE
                },
            ),
            2_185_658,
            &USUAL,
        ),
        run("5 processes", Setup::new(commits(5, 1), ONE_OF_EACH), 8_232_813, &USUAL),
    ]
}
