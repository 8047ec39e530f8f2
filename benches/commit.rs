//! What a command costs beside its floor: the same system calls with no bus behind them.
//!
//! The floor makes and removes the lock and its owner record, reads the log into one reused buffer
//! of the product's own chunk size, appends the same bytes with one write and fsyncs them. A warm
//! call does all of that, and digests the log, folds what is new, decides and renders. The
//! difference is the price of the bus; the ratio is what is published, since the floor moves with
//! the machine.
//!
//! `cargo bench -p gaia-bus --bench commit` prints the ratio table of interleaved medians first,
//! then criterion's figures. `GAIA_BUS_BENCH_DIR` chooses the file system (default: the temporary
//! directory).

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use gaia_bus::bus::Bus;
use gaia_bus::disk::CHUNK_BYTES;
use gaia_bus::settings::{Paths, Settings};
use gaia_bus_model::command::Verb;
use gaia_bus_model::json::Object;

const LOG_EVENTS: [u64; 3] = [100, 1_000, 10_000];
const ROUNDS: usize = 200;

fn main() {
    // Without `--bench` this runs as a test: once, and without figures.
    if std::env::args().any(|argument| argument == "--bench") {
        print_ratios();
    }
    let mut criterion = Criterion::default().sample_size(30).configure_from_args();
    for events in LOG_EVENTS {
        let directory = Directory::with_events(events);
        let mut bus = directory.bus();
        let mut floor = Floor::new(&directory.paths());
        let mut group = criterion.benchmark_group("command");
        group.measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
        group.bench_function(BenchmarkId::new("warm", events), |b| b.iter(|| heartbeat(&mut bus)));
        group.bench_function(BenchmarkId::new("floor", events), |b| b.iter(|| floor.call()));
        group.finish();
    }
    criterion.final_summary();
}

/// Medians of calls that take turns, so that whatever else the machine does hits both alike.
fn print_ratios() {
    println!("a warm heartbeat against its floor, {ROUNDS} interleaved rounds, medians");
    println!(
        "{:>10} {:>12} {:>12} {:>12} {:>7}",
        "events", "log bytes", "floor us", "warm us", "ratio"
    );
    for events in LOG_EVENTS {
        let directory = Directory::with_events(events);
        let mut bus = directory.bus();
        let mut floor = Floor::new(&directory.paths());
        heartbeat(&mut bus);
        let (mut warm_times, mut floor_times) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            floor_times.push(time(|| floor.call()));
            warm_times.push(time(|| heartbeat(&mut bus)));
        }
        let (floor, warm) = (median(floor_times), median(warm_times));
        let bytes = fs::metadata(directory.paths().log).unwrap().len();
        let ratio = warm / floor;
        println!("{events:>10} {bytes:>12} {floor:>12.1} {warm:>12.1} {ratio:>7.2}");
    }
}

fn time(run: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    run();
    begun.elapsed().as_secs_f64() * 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn heartbeat(bus: &mut Bus) {
    let answer = bus.call(Verb::Heartbeat, Object::new().with("actorId", "act-0001"));
    assert!(answer.ok, "{answer:?}");
}

struct Directory(tempfile::TempDir);

impl Directory {
    fn with_events(events: u64) -> Self {
        let directory = match std::env::var_os("GAIA_BUS_BENCH_DIR") {
            Some(path) => tempfile::tempdir_in(path).unwrap(),
            None => tempfile::tempdir().unwrap(),
        };
        let directory = Directory(directory);
        let mut bus = directory.bus();
        assert!(bus.call(Verb::Register, Object::new().with("actorId", "bench")).ok);
        let line = fs::read(directory.paths().log).unwrap();
        let mut log = OpenOptions::new().append(true).open(directory.paths().log).unwrap();
        let beat = br#"{"type":"actor.heartbeat","at":"2026-09-15T23:41:09.954Z","actorId":"act-0001","note":null}"#;
        let lines: Vec<u8> =
            (1..events).flat_map(|_| beat.iter().copied().chain([b'\n'])).collect();
        log.write_all(&lines).unwrap();
        assert!(!line.is_empty());
        directory
    }

    fn settings(&self) -> Settings {
        Settings::of_data_dir(&self.0.path().join("data"))
    }

    fn paths(&self) -> Paths {
        self.settings().paths
    }

    fn bus(&self) -> Bus {
        Bus::new(self.settings())
    }
}

/// The same system calls, in the same order, with no bus behind them.
struct Floor {
    data_dir: PathBuf,
    lock: PathBuf,
    owner: PathBuf,
    log: PathBuf,
    buffer: Vec<u8>,
    owner_record: Vec<u8>,
    line: Vec<u8>,
}

impl Floor {
    fn new(paths: &Paths) -> Self {
        Floor {
            data_dir: paths.data_dir.clone(),
            lock: paths.lock.clone(),
            owner: paths.owner(),
            log: paths.log.clone(),
            buffer: vec![0; CHUNK_BYTES],
            owner_record: vec![b'x'; 260],
            line: format!("{}\n", r#"{"type":"floor.line","at":"2026-09-15T23:41:09.954Z","actorId":"act-0001","note":null}"#).into_bytes(),
        }
    }

    fn call(&mut self) {
        let directory = File::open(&self.data_dir).unwrap();
        fs::create_dir(&self.lock).unwrap();
        let lock = File::open(&self.lock).unwrap();
        File::create_new(&self.owner).unwrap().write_all(&self.owner_record).unwrap();
        let mut log = File::open(&self.log).unwrap();
        let length = log.metadata().unwrap().len();
        while log.read(&mut self.buffer).unwrap() > 0 {}
        let mut append = open(&self.log, |options| options.append(true));
        let take_back = open(&self.log, |options| options.read(true).write(true));
        for handle in [&append, &take_back, &log] {
            assert_eq!(handle.metadata().unwrap().len(), length);
        }
        assert_eq!(append.write(&self.line).unwrap(), self.line.len());
        append.sync_all().unwrap();
        fs::remove_file(&self.owner).unwrap();
        lock.metadata().unwrap();
        fs::symlink_metadata(&self.lock).unwrap();
        fs::remove_dir(&self.lock).unwrap();
        drop(directory);
    }
}

fn open(path: &Path, options: impl Fn(&mut OpenOptions) -> &mut OpenOptions) -> File {
    options(&mut OpenOptions::new()).open(path).unwrap()
}
