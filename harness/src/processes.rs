//! Many processes: real ones, killed at random, and a history that must have an explanation.
//!
//! Promise. However many processes share a directory and whichever of them die, what was answered
//! is in the log, once and in an order that agrees with real time; whoever failed closed left
//! nothing.
//!
//! Method. Workers run the shipped entry point: some as servers that stay warm, some as one process
//! a command. Each records when it asked and when it knew. Any command may be SIGKILLed while it
//! runs, its outcome then unknown unless its answer had been written. A round ends when a lock is
//! left behind: every process is stopped, and a person does what the doctor prints, command by
//! command in a shell. In the end `history::judge` reads the log as the witness, and every
//! invariant of the model must hold.
//!
//! Cannot see. Power loss (`crash_real`), and interleavings that this machine's scheduler never
//! makes (`explore`, `interleave`).

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gaia_bus::log::read_value;
use gaia_bus::settings::Paths;
use gaia_bus_model::command::Verb;
use gaia_bus_model::json::{Json, Object};

use crate::chance::Chance;
use crate::conform::place;
use crate::history::{Operation, Outcome, Tally, judge};
use crate::program::{Program, holds, records};
use crate::report::{Draft, Report};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// How many workers at a time.
    pub workers: usize,
    /// How many commands altogether, at least.
    pub commands: u64,
}

impl Size {
    /// What the gate runs.
    pub const GATE: Size = Size { workers: 6, commands: 2_000 };
    /// What a plain `cargo test` runs.
    pub const TEST: Size = Size { workers: 4, commands: 500 };

    /// In words.
    #[must_use]
    pub fn bound(self) -> String {
        let Size { workers, commands } = self;
        format!("{workers} workers, {commands} commands, one in {KILL_ONE_IN} killed")
    }
}

/// A worker waits so long for the lock before it fails closed. Longer than any live holder takes.
const LOCK_TIMEOUT_MS: u32 = 400;
/// One command in so many is killed.
const KILL_ONE_IN: usize = 8;
/// Until every outcome was met, at most so many times the commands are asked.
const COMMANDS_TIMES_MAX: u64 = 10;
/// A round ends after so many commands of each worker in any case, so that a person gets a look.
const ROUND_COMMANDS_MAX: usize = 60;

/// Runs workers on one directory and judges what they were told. `executable` is this crate's own,
/// or the product's.
///
/// # Panics
///
/// When a process cannot be started.
#[must_use]
pub fn check(size: Size, executable: &Path) -> Report {
    let mut draft = Draft::new("many-processes", size.bound());
    let program = Program::of(executable);
    let (under, file_system) = place();
    let root = tempfile::tempdir_in(&under).expect("a directory for the run");
    draft.note(format!("on {} ({file_system})", under.display()));
    let data_dir = root.path().join("data");
    let mut field = Field::new(&program, &data_dir, 11);
    let mut repairs = 0;
    // What is random may take longer to be met; what is never met is no proof.
    while field.asked() < size.commands
        || (field.asked() < size.commands * COMMANDS_TIMES_MAX
            && (repairs == 0 || !field.met_both(&data_dir)))
    {
        field.round(size.workers);
        match program.follow_doctor(&data_dir) {
            Ok(commands) => repairs += u64::from(!commands.is_empty()),
            Err(sentence) => {
                draft.violation(sentence);
                break;
            }
        }
    }
    let log = match records(&data_dir) {
        Ok(log) => log,
        Err(sentence) => {
            draft.violation(sentence);
            return draft.finish();
        }
    };
    let history = field.history();
    draft.cases(field.asked());
    match judge(&log, &history).and_then(|tally| holds(&log).map(|()| tally)) {
        Ok(tally) => {
            draft.note(told(tally, log.len(), repairs));
            if tally.unknown_in == 0 || tally.unknown_out == 0 || repairs == 0 {
                draft.violation("no killed command was in the log, or none out, or no lock left");
            }
        }
        Err(sentence) => draft.violation(sentence),
    }
    for (name, found) in spoiled(&log, &history) {
        draft.control(name, found);
    }
    if let Some(found) = careless(&program) {
        draft.control("a person removes a live lock", found);
    } else {
        draft.note("without strace the control of a person who removes a live lock is left out");
    }
    draft.finish()
}

fn told(tally: Tally, records: usize, repairs: u64) -> String {
    let Tally { answered, unknown_in, unknown_out, failed_closed } = tally;
    format!(
        "{records} records; {answered} answered, {unknown_in} killed and in the log, {unknown_out} \
         killed and not, {failed_closed} failed closed, {repairs} repairs by the \
         doctor's steps"
    )
}

/// What must not pass as a history of this log.
fn spoiled(log: &[Object], history: &[Operation]) -> Vec<(&'static str, bool)> {
    let found = |log: &[Object], history: &[Operation]| judge(log, history).is_err();
    let answered = |operation: &Operation| matches!(operation.outcome, Outcome::Answered(Ok(_)));
    let middle = log.len() / 2;
    let lost = [&log[..middle], &log[middle + 1..]].concat();
    let twice = [&log[..=middle], &log[middle..]].concat();
    let mut lied = history.to_vec();
    if let Some(operation) = lied.iter_mut().find(|operation| answered(operation)) {
        operation.outcome = Outcome::Answered(Ok(Object::new()));
    }
    let mut unfailed = history.to_vec();
    if let Some(operation) = unfailed.iter_mut().rfind(|operation| answered(operation)) {
        operation.outcome = Outcome::FailedClosed;
    }
    let mut early = history.to_vec();
    // The first command of all says that it was asked when everything was over.
    if let Some(operation) = early.iter_mut().filter(|it| answered(it)).min_by_key(|it| it.invoked)
    {
        (operation.invoked, operation.returned) = (u64::MAX - 1, u64::MAX);
    }
    vec![
        ("a record is lost", found(&lost, history)),
        ("a record is there twice", found(&twice, history)),
        ("an answer is another", found(log, &lied)),
        ("a call that failed closed wrote", found(log, &unfailed)),
        ("a command stands before one that had returned", found(log, &early)),
    ]
}

/// The negative control that only real processes can show: one stands still between its last look
/// at the log and its write, a person removes its live lock, and another writes. Both are answered,
/// and no order explains it. Nothing when strace is not there to make it stand still.
fn careless(program: &Program) -> Option<bool> {
    let strace = Command::new("strace").arg("-V").output();
    if !strace.is_ok_and(|done| done.status.success()) {
        return None;
    }
    // A busy machine may need a longer stop.
    Some([200_000, 1_000_000, 4_000_000].into_iter().any(|stop_us| careless_once(program, stop_us)))
}

fn careless_once(program: &Program, stop_us: u64) -> bool {
    let (under, _) = place();
    let root = tempfile::tempdir_in(&under).expect("a directory for the control");
    let data_dir = root.path().join("data");
    let field = Field::new(program, &data_dir, 1);
    let asked = |process: usize| Object::new().with("actorId", format!("p{process}"));
    let told = |process, invoked, outcome| Operation {
        process,
        invoked,
        returned: field.now(),
        verb: Verb::Register,
        arguments: asked(process),
        outcome,
    };
    let first = field.run(Verb::Register, &asked(0), None);
    let mut history = vec![told(0, 0, first)];
    let invoked = field.now();
    let mut slow = Command::new("strace");
    program.at_home(&mut slow, &data_dir, LOCK_TIMEOUT_MS);
    // The second write is the append, behind the owner record.
    slow.args(["-qq", "-o", "/dev/null", "-e"])
        .arg(format!("inject=write:delay_enter={stop_us}:when=2"))
        .arg(program.path())
        .args(["register", "--actorId=p1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut slow = slow.spawn().expect("starting strace");
    let paths = Paths::of(&data_dir);
    while !paths.owner().exists() && slow.try_wait().expect("asking for strace").is_none() {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_micros(stop_us / 4));
    let _ = std::fs::remove_dir_all(&paths.lock);
    let between = field.now();
    let quick = field.run(Verb::Register, &asked(2), None);
    history.push(told(2, between, quick));
    let done = slow.wait_with_output().expect("strace ends");
    history.push(told(1, invoked, told_by_or_unknown(&done.stdout)));
    let answered = history.iter().all(|it| matches!(it.outcome, Outcome::Answered(Ok(_))));
    let log = records(&data_dir).unwrap_or_default();
    answered && judge(&log, &history).is_err()
}

/// One directory, and what all who used it were told.
struct Field<'a> {
    program: &'a Program,
    data_dir: &'a Path,
    begun: Instant,
    /// Nobody shares a process number, so that no two commands can be mistaken for one another.
    processes: AtomicU64,
    history: Mutex<Vec<Operation>>,
    /// Whether a lock was left behind: everybody stops.
    over: AtomicBool,
    chance: Chance,
}

impl<'a> Field<'a> {
    fn new(program: &'a Program, data_dir: &'a Path, seed: u64) -> Self {
        Field {
            program,
            data_dir,
            begun: Instant::now(),
            processes: AtomicU64::new(0),
            history: Mutex::new(Vec::new()),
            over: AtomicBool::new(false),
            chance: Chance::new(seed),
        }
    }

    fn asked(&self) -> u64 {
        u64::try_from(self.lock().len()).expect("few")
    }

    fn history(&self) -> Vec<Operation> {
        self.lock().clone()
    }

    fn log_bytes(&self) -> u64 {
        std::fs::metadata(Paths::of(self.data_dir).log).map_or(0, |found| found.len())
    }

    /// Whether the records of a killed command are in the log, and those of another are not.
    fn met_both(&self, data_dir: &Path) -> bool {
        let log = records(data_dir).unwrap_or_default();
        judge(&log, &self.history())
            .is_ok_and(|tally| tally.unknown_in > 0 && tally.unknown_out > 0)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Operation>> {
        self.history.lock().expect("no worker panicked")
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).expect("centuries fit")
    }

    /// All workers until one finds a lock that stays, or has asked enough. No process is left
    /// behind.
    fn round(&mut self, workers: usize) {
        self.over.store(false, Ordering::SeqCst);
        let seeds: Vec<_> = (0..workers).map(|_| self.chance.draw()).collect();
        let field = &*self;
        std::thread::scope(|scope| {
            for (at, seed) in seeds.into_iter().enumerate() {
                let chance = Chance::new(seed);
                scope.spawn(move || match at % 3 {
                    0 => field.work(chance, None),
                    _ => field.work(chance, Some(Server::start(field))),
                });
            }
        });
    }

    /// One worker. Without a server, each command is a process of its own.
    fn work(&self, mut chance: Chance, mut server: Option<Server>) {
        let mut process = self.new_process();
        let mut me: Option<String> = None;
        for turn in 0..ROUND_COMMANDS_MAX {
            if self.over.load(Ordering::SeqCst) {
                break;
            }
            let (verb, arguments) = ask(&mut chance, process, turn, me.as_deref());
            let kill =
                chance.one_in(KILL_ONE_IN).then(|| Kill::draw(&mut chance, self.log_bytes()));
            let invoked = self.now();
            let outcome = match &mut server {
                Some(server) => server.ask(verb, &arguments, kill, self),
                None => self.run(verb, &arguments, kill),
            };
            let returned = self.now();
            if let (Verb::Register, Outcome::Answered(Ok(answer))) = (verb, &outcome) {
                me = answer.get_text("ref").map(ToString::to_string);
            }
            let failed = outcome == Outcome::FailedClosed;
            let is_over = outcome == Outcome::Unknown || kill.is_some();
            let operation = Operation { process, invoked, returned, verb, arguments, outcome };
            self.lock().push(operation);
            if failed {
                // The lock is older than any live holder: somebody died with it.
                self.over.store(true, Ordering::SeqCst);
            }
            if is_over {
                (process, me) = (self.new_process(), None);
                if server.is_some() {
                    server = Some(Server::start(self));
                }
            }
        }
    }

    fn new_process(&self) -> usize {
        usize::try_from(self.processes.fetch_add(1, Ordering::SeqCst)).expect("few")
    }

    /// One command as a process.
    fn run(&self, verb: Verb, arguments: &Object, kill: Option<Kill>) -> Outcome {
        let mut command = self.program.command(self.data_dir, LOCK_TIMEOUT_MS);
        command.arg(verb.name());
        for (key, value) in arguments.iter() {
            let value = match value {
                Json::Array(list) => list
                    .iter()
                    .filter_map(Json::as_text)
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(","),
                other => other.as_text().expect("workers give texts").to_string(),
            };
            command.arg(format!("--{key}={value}"));
        }
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starting the bus");
        let mut answer = Vec::new();
        if let Some(kill) = kill {
            kill.wait(self);
            let _ = child.kill();
        }
        let mut stdout = child.stdout.take().expect("it is piped");
        stdout.read_to_end(&mut answer).expect("reading an answer");
        child.wait().expect("the process ends");
        told_by_or_unknown(&answer)
    }
}

/// When a process is killed.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// After so long.
    After(Duration),
    /// As soon as the log is longer than so many bytes: somebody is between write and release.
    OnceLonger(u64),
}

impl Kill {
    fn draw(chance: &mut Chance, log_bytes: u64) -> Self {
        if chance.one_in(2) {
            return Kill::OnceLonger(log_bytes);
        }
        // Evenly over orders of magnitude: machines differ in what takes how long.
        let micros = 1_u64 << chance.below(15);
        Kill::After(Duration::from_micros(micros + chance.draw() % micros))
    }

    fn wait(self, field: &Field<'_>) {
        const PATIENCE: Duration = Duration::from_millis(50);
        match self {
            Kill::After(delay) => std::thread::sleep(delay),
            Kill::OnceLonger(bytes) => {
                let begun = Instant::now();
                while field.log_bytes() <= bytes && begun.elapsed() < PATIENCE {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// A server that stays up.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(field: &Field<'_>) -> Server {
        let mut command: Command = field.program.command(field.data_dir, LOCK_TIMEOUT_MS);
        command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starting a server");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Server { child, input, output }
    }

    fn ask(
        &mut self,
        verb: Verb,
        arguments: &Object,
        kill: Option<Kill>,
        field: &Field<'_>,
    ) -> Outcome {
        let params = Object::new().with("name", verb.name()).with("arguments", arguments.clone());
        let request = Object::new()
            .with("jsonrpc", "2.0")
            .with("id", 1)
            .with("method", "tools/call")
            .with("params", params);
        let mut line = request.to_line();
        line.push(b'\n');
        self.input.write_all(&line).expect("a live server reads");
        if let Some(kill) = kill {
            kill.wait(field);
            let _ = self.child.kill();
            self.child.wait().expect("a killed process ends");
        }
        let mut answer = Vec::new();
        self.output.read_until(b'\n', &mut answer).expect("reading an answer");
        if !answer.ends_with(b"\n") {
            return Outcome::Unknown;
        }
        let answer = object(&answer);
        let result = answer.get("result").and_then(Json::as_object).expect("a call has a result");
        match result.get("structuredContent").and_then(Json::as_object) {
            Some(result) => {
                // What is said of the lock is no part of the decision.
                let decided = result.iter().filter(|(key, _)| *key != "lockReleased");
                let decided = decided.map(|(key, value)| (key.clone(), value.clone())).collect();
                Outcome::Answered(Ok(decided))
            }
            None => {
                let content = result.get("content").and_then(Json::as_array).unwrap_or_default();
                let text = content.first().and_then(Json::as_object);
                let text = text.and_then(|text| text.get_text("text")).expect("a text");
                told_by(text.as_bytes())
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn object(bytes: &[u8]) -> Object {
    let value = read_value(bytes.strip_suffix(b"\n").unwrap_or(bytes)).expect("an answer is JSON");
    value.as_object().expect("an answer is an object").clone()
}

fn told_by_or_unknown(output: &[u8]) -> Outcome {
    if output.ends_with(b"\n") { told_by(output) } else { Outcome::Unknown }
}

/// What the envelope says.
fn told_by(envelope: &[u8]) -> Outcome {
    let envelope = object(envelope);
    let code = envelope.get_text("code").map(ToString::to_string);
    if let Some(result) = envelope.get("result").and_then(Json::as_object) {
        return Outcome::Answered(Ok(result.clone()));
    }
    match (envelope.get("failClosed"), code) {
        (Some(Json::Bool(true)), Some(code)) if code == "write-unconfirmed" => Outcome::Unknown,
        (Some(Json::Bool(true)), _) => Outcome::FailedClosed,
        (_, code) => Outcome::Answered(Err(code.expect("a refusal has a code"))),
    }
}

/// What a worker asks for: whatever it appends can be told from what others do.
fn ask(chance: &mut Chance, process: usize, turn: usize, me: Option<&str>) -> (Verb, Object) {
    let tag = format!("p{process}-{turn}");
    let Some(me) = me else {
        let name = format!("p{process}");
        return (Verb::Register, Object::new().with("actorId", name).with("kind", tag));
    };
    let to = format!("act-{:04}", chance.below(40) + 1);
    let sent = || Object::new().with("from", me).with("to", to.clone());
    match chance.below(12) {
        0..=4 => (Verb::Send, sent().with("text", tag)),
        5 => {
            let asked = vec!["report", "merge"];
            (Verb::Send, sent().with("text", tag).with("requestedAuthority", asked))
        }
        6 => (Verb::Handoff, sent().with("summary", tag)),
        7 => (Verb::Heartbeat, Object::new().with("actorId", me).with("note", tag)),
        8 | 9 => (Verb::Inbox, Object::new().with("actorId", me)),
        _ => {
            let id = format!("msg-{:04}", chance.below(200) + 1);
            let ack = Object::new().with("actorId", me).with("messageId", id).with("note", tag);
            (Verb::Ack, ack)
        }
    }
}
