//! Why four lanes: what one more live session costs all the others.
//!
//! Every command, also one that only reads, holds the one lock for one replay of the log and one
//! fsync. When all lanes ask at once, the last one waits for all the others, so its wait grows with
//! the number of lanes; it fails closed when that exceeds the lock time-out. How long a replay
//! takes grows with the log, and for the reference fold with the number of actors too, O(events x
//! actors), since it looks at every actor after every record. From both follows how long a log may
//! get before the last of so many lanes can no longer be sure of its answer.
//!
//! `cargo bench -p gaia-bus --bench lanes` prints two tables, then criterion's figures. Read the
//! ratios: a bare time is one of this machine.

use std::hint::black_box;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use gaia_bus::bus::Bus;
use gaia_bus::log::Scanner;
use gaia_bus::projection::Projection;
use gaia_bus::replay::Replay;
use gaia_bus::settings::Settings;
use gaia_bus_model::command::Verb;
use gaia_bus_model::json::Object;
use gaia_bus_model::state::State;

#[path = "support/logs.rs"]
mod logs;

/// One, what is supported (4), what is being validated (6), and what is unproven (8).
const LANES: [usize; 5] = [1, 2, 4, 6, 8];
const LOG_EVENTS: u64 = 1_000;
const ROUNDS: usize = 60;
/// Long enough for the quadratic part of the reference fold to show.
const REPLAYED_EVENTS: u64 = 2_000;
const REPLAYS: usize = 7;

fn main() {
    if std::env::args().any(|argument| argument == "--bench") {
        print_waits();
        print_replays();
    }
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut group = criterion.benchmark_group("lanes");
    group.measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(300));
    for lanes in LANES {
        let workspace = Workspace::new(lanes);
        group.bench_function(BenchmarkId::new("all ask at once", lanes), |bench| {
            bench.iter(|| workspace.round());
        });
    }
    group.finish();
    criterion.final_summary();
}

/// A data directory with a log, and one actor a lane.
struct Workspace {
    directory: tempfile::TempDir,
    lanes: usize,
}

impl Workspace {
    fn new(lanes: usize) -> Self {
        let directory = match std::env::var_os("GAIA_BUS_BENCH_DIR") {
            Some(path) => tempfile::tempdir_in(path).unwrap(),
            None => tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(directory.path().join("data")).unwrap();
        let log = logs::log(LOG_EVENTS, lanes as u64);
        std::fs::write(directory.path().join("data/events.jsonl"), log).unwrap();
        Workspace { directory, lanes }
    }

    /// Every lane sends one command from a new process's state, all at once: how long each waited
    /// for its answer, in seconds.
    fn round(&self) -> Vec<f64> {
        let barrier = Barrier::new(self.lanes);
        let (barrier, data_dir) = (&barrier, self.directory.path().join("data"));
        std::thread::scope(|scope| {
            let lanes = (1..=self.lanes).map(|lane| {
                let data_dir = data_dir.clone();
                scope.spawn(move || ask(lane, &data_dir, barrier))
            });
            let lanes: Vec<_> = lanes.collect();
            lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
        })
    }
}

fn ask(lane: usize, data_dir: &Path, barrier: &Barrier) -> f64 {
    let mut bus = Bus::new(Settings::of_data_dir(data_dir));
    barrier.wait();
    let begun = Instant::now();
    let arguments = Object::new().with("actorId", format!("act-{lane:04}"));
    let answer = bus.call(Verb::Heartbeat, arguments);
    let seconds = begun.elapsed().as_secs_f64();
    assert!(answer.ok, "{answer:?}");
    seconds
}

/// How long the last of so many lanes waits, when all ask at once.
fn print_waits() {
    println!(
        "{ROUNDS} rounds in which every lane asks at once, cold, on a log of {LOG_EVENTS} events"
    );
    println!("{:>6} {:>14} {:>18} {:>14}", "lanes", "last, ms", "against one lane", "of time-out");
    let workspaces = LANES.map(Workspace::new);
    let mut lasts: [Vec<f64>; LANES.len()] = Default::default();
    for _ in 0..ROUNDS {
        for (workspace, lasts) in workspaces.iter().zip(&mut lasts) {
            lasts.push(workspace.round().into_iter().fold(0.0, f64::max));
        }
    }
    let medians = lasts.map(median);
    let timeout = timeout_seconds();
    for (lanes, last) in LANES.iter().zip(medians) {
        let (against_one, of_timeout) = (last / medians[0], last / timeout);
        println!("{lanes:>6} {:>14.2} {against_one:>18.2} {:>13.3}%", last * 1e3, of_timeout * 1e2);
    }
}

/// How long a log may get, by replay alone, before the last of so many lanes waits for longer than
/// the time-out: under the reference fold, whose cost an event grows with the log and the actors,
/// and under the projection.
fn print_replays() {
    println!("\nreplay of {REPLAYED_EVENTS} events with one actor a lane, medians of {REPLAYS}");
    println!(
        "{:>6} {:>14} {:>14} {:>12} {:>22} {:>22}",
        "actors", "reference, ms", "projection, ms", "ratio", "events, reference", "projection"
    );
    for actors in LANES.into_iter().chain([100, 1_000]) {
        let log = logs::log(REPLAYED_EVENTS, actors as u64);
        let (mut slow, mut fast) = (Vec::new(), Vec::new());
        for _ in 0..REPLAYS {
            slow.push(time(|| reference(&log)));
            fast.push(time(|| projection(&log)));
        }
        let (slow, fast) = (median(slow), median(fast));
        let budget = timeout_seconds() / actors as f64;
        let events = REPLAYED_EVENTS as f64;
        println!(
            "{actors:>6} {:>14.2} {:>14.3} {:>12.0} {:>22.0} {:>22.0}",
            slow * 1e3,
            fast * 1e3,
            slow / fast,
            // The reference looks through all messages too: its cost is quadratic in events.
            events * (budget / slow).sqrt(),
            events * (budget / fast),
        );
    }
}

/// How long a command waits for the lock.
fn timeout_seconds() -> f64 {
    Settings::of_data_dir(Path::new("/")).lock_timeout.as_secs_f64()
}

fn time<T>(run: impl FnOnce() -> T) -> f64 {
    let begun = Instant::now();
    black_box(run());
    begun.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn reference(log: &[u8]) -> State {
    let mut state = State::default();
    Scanner::new().feed(log, &mut |record| state.apply(&record.to_object())).unwrap();
    state
}

fn projection(log: &[u8]) -> Replay<Projection> {
    let mut replay = Replay::new(Projection::new());
    replay.feed(log).unwrap();
    replay.finish().unwrap();
    replay
}
