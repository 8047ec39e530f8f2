//! What reading the log costs: the scan alone, the fold on top of it, and the digest that a warm
//! call pays instead of both.
//!
//! The grid replays logs of events x actors on the projection and on the reference state. The
//! reference visits every actor after every record and is there to show what the projection saves,
//! so it is only run where it ends soon.
//!
//! `cargo bench -p gaia-bus --bench replay` prints the table of medians first (bytes a second, and
//! nanoseconds an event), then criterion's figures.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use gaia_bus::disk::CHUNK_BYTES;
use gaia_bus::log::{Record, Scanner};
use gaia_bus::projection::Projection;
use gaia_bus::replay::{Digest, Replay, Xxh3};
use gaia_bus_model::state::State;

#[path = "support/logs.rs"]
mod logs;
use logs::log;

const EVENTS: [u64; 2] = [1_000, 50_000];
const ACTORS: [u64; 3] = [3, 100, 1_000];
/// The reference state is quadratic in events as well: a longer log would take minutes.
const REFERENCE_EVENTS_MAX: u64 = 1_000;
const ROUNDS: usize = 15;

fn main() {
    // Without `--bench` this runs as a test: once, and without figures.
    if std::env::args().any(|argument| argument == "--bench") {
        print_table();
    }
    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    for events in EVENTS {
        for actors in ACTORS {
            let log = log(events, actors);
            let mut group = criterion.benchmark_group("replay");
            group.throughput(Throughput::Bytes(log.len() as u64));
            group.measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(300));
            let id = format!("{events}x{actors}");
            group.bench_function(BenchmarkId::new("scan", &id), |b| b.iter(|| scan(&log)));
            group.bench_function(BenchmarkId::new("cold", &id), |b| b.iter(|| cold(&log)));
            let mut warm = cold(&log);
            group.bench_function(BenchmarkId::new("warm", &id), |b| {
                b.iter(|| reread(&mut warm, &log));
            });
            if events <= REFERENCE_EVENTS_MAX {
                group.bench_function(BenchmarkId::new("reference", &id), |b| {
                    b.iter(|| reference(&log));
                });
            }
            group.finish();
        }
    }
    criterion.final_summary();
}

fn print_table() {
    println!("reading a log, medians of {ROUNDS}: MB/s, and for folds ns an event");
    println!(
        "{:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>10} {:>10}",
        "events", "actors", "bytes", "digest", "scan", "warm", "cold ns", "state ns"
    );
    for events in EVENTS {
        for actors in ACTORS {
            let log = log(events, actors);
            let bytes = log.len();
            let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
            let per_event = |seconds: f64| seconds * 1e9 / events as f64;
            let digest = rate(median(|| digest(&log)));
            let scanned = rate(median(|| scan(&log)));
            let mut replay = cold(&log);
            let warm = rate(median(|| reread(&mut replay, &log)));
            let cold = per_event(median(|| cold(&log)));
            let state = if events <= REFERENCE_EVENTS_MAX {
                format!("{:.0}", per_event(median(|| reference(&log))))
            } else {
                "-".to_owned()
            };
            println!(
                "{events:>8} {actors:>8} {bytes:>9} {digest:>8.0} {scanned:>8.0} {warm:>8.0} \
                 {cold:>10.0} {state:>10}"
            );
        }
    }
}

fn median<T>(mut run: impl FnMut() -> T) -> f64 {
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            black_box(run());
            begun.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[ROUNDS / 2]
}

fn digest(log: &[u8]) -> u128 {
    let mut digest = Xxh3::default();
    log.chunks(CHUNK_BYTES).for_each(|chunk| digest.update(chunk));
    digest.value()
}

fn scan(log: &[u8]) -> u64 {
    let mut scanner = Scanner::new();
    for chunk in log.chunks(CHUNK_BYTES) {
        let visit = &mut |record: Record<'_>| {
            black_box(record.kind());
            Ok::<(), ()>(())
        };
        scanner.feed(chunk, visit).unwrap();
    }
    scanner.lines()
}

fn cold(log: &[u8]) -> Replay<Projection> {
    let mut replay = Replay::new(Projection::new());
    reread(&mut replay, log);
    replay
}

fn reread(replay: &mut Replay<Projection>, log: &[u8]) {
    replay.begin();
    for chunk in log.chunks(CHUNK_BYTES) {
        replay.feed(chunk).unwrap();
    }
    replay.finish().unwrap();
}

fn reference(log: &[u8]) -> State {
    let mut state = State::default();
    let mut scanner = Scanner::new();
    for chunk in log.chunks(CHUNK_BYTES) {
        scanner.feed(chunk, &mut |record| state.apply(&record.to_object())).unwrap();
    }
    state
}
