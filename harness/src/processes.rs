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
//! command in a shell. Some messages bear an idempotency key, and are sent again: also by the next
//! process of a worker whose last was killed while it sent one. In the end every invariant of the
//! model must hold, of a log that has records of every type, and `history::judge` reads the log as
//! the witness. A process that nobody killed must answer, and may fail closed for a lock only.
//!
//! Cannot see. Power loss (`crash_real`), and interleavings that this machine's scheduler never
//! makes (`explore`, `interleave`).

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use gaia_bus::settings::Paths;
use gaia_bus_model::command::Verb;
use gaia_bus_model::event::RecordType;
use gaia_bus_model::invariant::ALWAYS;
use gaia_bus_model::json::{Json, Object};

use crate::chance::Chance;
use crate::conform::place;
use crate::history::{Operation, Outcome, Tally, Unexplained, judge};
use crate::program::{
    Program, argv, holds, judged, object, records, strace_is_missing, told_by, types,
};
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
    /// What the gate runs with `--full`.
    pub const FULL: Size = Size { workers: 12, commands: 10_000 };
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
/// The actors that a worker writes to were registered at most so long before its own, or are not
/// registered yet: they are alive, so that they read and acknowledge.
const NEIGHBOURS: usize = 8;

/// Runs workers on one directory and judges what they were told. `executable` is this crate's own,
/// or the product's.
///
/// # Panics
///
/// When a process cannot be started.
#[must_use]
pub fn check(size: Size, executable: &Path) -> Report {
    let mut draft = Draft::new("many-processes", size.bound());
    if let Some(reason) = strace_is_missing() {
        // The control that only real processes can show takes it; without that the row is not run.
        return draft.skip(reason);
    }
    let program = Program::of(executable);
    let (under, file_system) = place();
    let root = tempfile::tempdir_in(&under).expect("a directory for the run");
    draft.note(format!("on {} ({file_system})", under.display()));
    let data_dir = root.path().join("data");
    let mut field = Field::new(&program, &data_dir, 11);
    let met = field.play(size);
    draft.cases(field.asked());
    match met {
        Ok(met) => {
            draft.note(met.told());
            if let Some(missing) = met.missing() {
                draft.violation(format!("never met: {missing}"));
            }
            for (name, is_found) in spoiled(&met.log, &field.history()) {
                draft.control(name, is_found);
            }
        }
        Err(sentence) => draft.violation(sentence),
    }
    match careless(&program) {
        Ok(is_found) => draft.control("a person removes a live lock", is_found),
        Err(sentence) => {
            draft.note(sentence);
            draft.control("a person removes a live lock", false);
        }
    }
    draft.finish()
}

/// What a sound run has met.
struct Met {
    log: Vec<Object>,
    tally: Tally,
    repairs: u64,
    types: BTreeSet<RecordType>,
}

impl Met {
    fn told(&self) -> String {
        let Tally { answered, unknown_in, unknown_out, failed_closed } = self.tally;
        let repeats =
            self.log.iter().filter(|it| RecordType::of(it) == Some(RecordType::MessageRepeated));
        format!(
            "{} records, {} repeats among them; {answered} answered, {unknown_in} killed and in \
             the log, {unknown_out} killed and not, {failed_closed} failed closed, {} repairs by \
             the doctor's steps",
            self.log.len(),
            repeats.count(),
            self.repairs
        )
    }

    /// What was not met, without which the run is no proof.
    fn missing(&self) -> Option<String> {
        let judged = judged(&self.types);
        let vacuous = ALWAYS.iter().find(|invariant| !judged.contains(&invariant.name));
        let types = RecordType::ALL.iter().find(|it| !self.types.contains(it));
        match (self.tally, vacuous, types) {
            (Tally { unknown_in: 0, .. }, _, _) => Some("a killed command in the log".into()),
            (Tally { unknown_out: 0, .. }, _, _) => Some("a killed command not in the log".into()),
            _ if self.repairs == 0 => Some("a lock that was left".into()),
            (_, Some(invariant), _) => Some(format!("what {} is about", invariant.name)),
            (_, None, Some(record_type)) => Some(format!("a record {}", record_type.name())),
            (_, None, None) => None,
        }
    }
}

/// What must not pass as a history of this log, and whether it was found for what it is.
fn spoiled(log: &[Object], history: &[Operation]) -> Vec<(&'static str, bool)> {
    let answered = |operation: &Operation| matches!(operation.outcome, Outcome::Answered(Ok(_)));
    let is_record = |judged: Result<Tally, Unexplained>, from: usize| {
        let is_behind = |place: usize| place >= from;
        matches!(judged, Err(Unexplained::Record { place, .. }) if is_behind(place))
    };
    // What was answered is missing, or what came later stands where nobody was told that it does.
    let is_missed = |judged: Result<Tally, Unexplained>| match judged {
        Err(Unexplained::Missing { .. } | Unexplained::OutOfTime { .. }) => true,
        judged => is_record(judged, 0),
    };
    // Of a registration in the middle everybody later knows that it was there.
    let is_registered = |record: &Object| {
        RecordType::of(record) == Some(RecordType::ActorRegistered)
            && record.get("isNew") == Some(&Json::Bool(true))
    };
    let registered: Vec<_> = (0..log.len()).filter(|at| is_registered(&log[*at])).collect();
    let Some(&middle) = registered.get(registered.len() / 2) else {
        return vec![("a registration that can be spoiled", false)];
    };
    let lost = [&log[..middle], &log[middle + 1..]].concat();
    let twice = [&log[..=middle], &log[middle..]].concat();
    let mut lied = history.to_vec();
    if let Some(operation) = lied.iter_mut().find(|operation| answered(operation)) {
        operation.outcome = Outcome::Answered(Ok(Object::new()));
    }
    // A registration: of most other commands a killed process may have left the very same record.
    let mut unfailed = history.to_vec();
    let registers = |it: &Operation| it.verb == Verb::Register && answered(it);
    if let Some(operation) = unfailed.iter_mut().rfind(|operation| registers(operation)) {
        operation.outcome = Outcome::FailedClosed;
    }
    let mut early = history.to_vec();
    // The first command of all says that it was asked when everything was over.
    if let Some(operation) = early.iter_mut().filter(|it| answered(it)).min_by_key(|it| it.invoked)
    {
        (operation.invoked, operation.returned) = (u64::MAX - 1, u64::MAX);
    }
    let is_late = matches!(judge(log, &early), Err(Unexplained::OutOfTime { .. }));
    vec![
        ("a record is lost", is_missed(judge(&lost, history))),
        ("a record is there twice", is_record(judge(&twice, history), middle + 1)),
        ("an answer is another", is_record(judge(log, &lied), 0)),
        ("a call that failed closed wrote", is_record(judge(log, &unfailed), 0)),
        ("a command stands before one that had returned", is_late),
    ]
}

/// How long the control's victim stands still, in microseconds: a busy machine may need longer.
const STOPS_US: [u64; 3] = [200_000, 1_000_000, 4_000_000];

/// The negative control that only real processes can show: one stands still between its last look
/// at the log and its write, a person removes its live lock, and another writes. Both are answered,
/// and no order explains it: they are told the same place.
fn careless(program: &Program) -> Result<bool, String> {
    for stop_us in STOPS_US {
        let (log, history) = careless_once(program, stop_us)?;
        let is_answered =
            |operation: &Operation| matches!(operation.outcome, Outcome::Answered(Ok(_)));
        if history.iter().all(is_answered) {
            // The first record is the first actor's, the next two both mean to be the second.
            let judged = judge(&log, &history);
            return Ok(matches!(judged, Err(Unexplained::Record { place: 2, .. })));
        }
    }
    Err("nobody stood still for long enough".into())
}

/// The log and what everybody was told.
fn careless_once(program: &Program, stop_us: u64) -> Result<(Vec<Object>, Vec<Operation>), String> {
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
    let first = field.run(Verb::Register, &asked(0), None)?;
    let mut history = vec![told(0, 0, first)];
    let invoked = field.now();
    let mut slow = standing_still(program, &data_dir, stop_us);
    let paths = Paths::of(&data_dir);
    while !paths.owner().exists() && slow.try_wait().expect("asking for strace").is_none() {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_micros(stop_us / 4));
    let _ = std::fs::remove_dir_all(&paths.lock);
    let between = field.now();
    let quick = field.run(Verb::Register, &asked(2), None);
    let done = slow.wait_with_output().expect("strace ends");
    history.push(told(2, between, quick?));
    history.push(told(1, invoked, whole(&done.stdout)?.unwrap_or(Outcome::Unknown)));
    Ok((records(&data_dir)?, history))
}

/// A registration that waits in front of its append.
fn standing_still(program: &Program, data_dir: &Path, stop_us: u64) -> Child {
    let mut slow = Command::new("strace");
    program.at_home(&mut slow, data_dir, LOCK_TIMEOUT_MS);
    // The second write is the append, behind the owner record.
    slow.args(["-qq", "-o", "/dev/null", "-e"])
        .arg(format!("inject=write:delay_enter={stop_us}:when=2"))
        .arg(program.path())
        .args(["register", "--actorId=p1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    slow.spawn().expect("starting strace")
}

/// One directory, and what all who used it were told.
struct Field<'a> {
    program: &'a Program,
    data_dir: &'a Path,
    begun: Instant,
    /// Nobody shares a process number, so that no two commands can be mistaken for one another.
    processes: AtomicU64,
    history: Mutex<Vec<Operation>>,
    /// What no bus may do, whatever happens around it.
    complaints: Mutex<Vec<String>>,
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
            complaints: Mutex::new(Vec::new()),
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

    fn lock(&self) -> MutexGuard<'_, Vec<Operation>> {
        self.history.lock().expect("no worker panicked")
    }

    fn complain(&self, sentence: String) {
        self.complaints.lock().expect("no worker panicked").push(sentence);
        self.over.store(true, Ordering::SeqCst);
    }

    /// Rounds and repairs until enough was asked and everything was met. What is random may take
    /// longer to be met; what is never met is no proof.
    fn play(&mut self, size: Size) -> Result<Met, String> {
        let mut repairs = 0;
        loop {
            self.round(size.workers);
            if let Some(sentence) = self.complaints.lock().expect("no worker panicked").pop() {
                return Err(sentence);
            }
            repairs += u64::from(!self.program.follow_doctor(self.data_dir)?.is_empty());
            if self.asked() < size.commands {
                continue;
            }
            let met = self.met(repairs)?;
            if met.missing().is_none() || self.asked() >= size.commands * COMMANDS_TIMES_MAX {
                return Ok(met);
            }
        }
    }

    /// Judges what there is so far.
    fn met(&self, repairs: u64) -> Result<Met, String> {
        let log = records(self.data_dir)?;
        holds(&log)?;
        let tally = judge(&log, &self.history()).map_err(|why| why.to_string())?;
        let types = types(&log);
        Ok(Met { log, tally, repairs, types })
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
        let mut mind = Mind::default();
        for turn in 0..ROUND_COMMANDS_MAX {
            if self.over.load(Ordering::SeqCst) {
                break;
            }
            let (verb, arguments) = mind.ask(&mut chance, process, turn);
            let kill =
                chance.one_in(KILL_ONE_IN).then(|| Kill::draw(&mut chance, self.log_bytes()));
            let invoked = self.now();
            let told = match &mut server {
                Some(server) => server.ask(verb, &arguments, kill, self),
                None => self.run(verb, &arguments, kill),
            };
            let returned = self.now();
            let outcome = match told {
                Ok(outcome) => outcome,
                Err(sentence) => {
                    return self.complain(format!("{verb}, process {process}: {sentence}"));
                }
            };
            mind.learn(verb, &outcome);
            let failed = outcome == Outcome::FailedClosed;
            let is_over = outcome == Outcome::Unknown || kill.is_some();
            let operation = Operation { process, invoked, returned, verb, arguments, outcome };
            self.lock().push(operation);
            if failed {
                // The lock is older than any live holder: somebody died with it.
                self.over.store(true, Ordering::SeqCst);
            }
            if is_over {
                process = self.new_process();
                mind.die();
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
    fn run(&self, verb: Verb, arguments: &Object, kill: Option<Kill>) -> Result<Outcome, String> {
        let mut command = self.program.command(self.data_dir, LOCK_TIMEOUT_MS);
        command.args(argv(verb, arguments)).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starting the bus");
        let mut answer = Vec::new();
        if let Some(kill) = kill {
            kill.wait(self);
            let _ = child.kill();
        }
        let mut stdout = child.stdout.take().expect("it is piped");
        stdout.read_to_end(&mut answer).expect("reading an answer");
        let status = child.wait().expect("the process ends");
        match (whole(&answer)?, kill) {
            (Some(outcome), _) => Ok(outcome),
            (None, Some(_)) => Ok(Outcome::Unknown),
            (None, None) => Err(format!("nobody killed it, and it does not answer: {status:?}")),
        }
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
    ) -> Result<Outcome, String> {
        let params = Object::new().with("name", verb.name()).with("arguments", arguments.clone());
        let request = Object::new()
            .with("jsonrpc", "2.0")
            .with("id", 1)
            .with("method", "tools/call")
            .with("params", params);
        let mut line = request.to_line();
        line.push(b'\n');
        // It was alive when it was last heard of, and only its own worker kills it.
        self.input
            .write_all(&line)
            .map_err(|error| format!("a server that nobody killed does not read: {error}"))?;
        if let Some(kill) = kill {
            kill.wait(field);
            let _ = self.child.kill();
            self.child.wait().expect("a killed process ends");
        }
        let mut answer = Vec::new();
        self.output.read_until(b'\n', &mut answer).expect("reading an answer");
        match (answer.ends_with(b"\n"), kill) {
            (true, _) => told_by_server(&answer),
            (false, Some(_)) => Ok(Outcome::Unknown),
            (false, None) => Err("a server that nobody killed does not answer".into()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a whole line tells; nothing when the line is not whole.
fn whole(output: &[u8]) -> Result<Option<Outcome>, String> {
    if output.ends_with(b"\n") { told_by_worker(output).map(Some) } else { Ok(None) }
}

/// What an envelope tells. Nothing but a lock that stays is ever in the way of a worker: that the
/// log is damaged, or cannot be read or written, is told for no reason.
fn told_by_worker(envelope: &[u8]) -> Result<Outcome, String> {
    let outcome = told_by(envelope)?;
    let code = object(envelope)?.get_text("code").map(ToString::to_string);
    match (&outcome, code.as_deref()) {
        (Outcome::Answered(_), _) | (Outcome::FailedClosed, Some("lock-timeout")) => Ok(outcome),
        (Outcome::FailedClosed | Outcome::Unknown, code) => {
            Err(format!("failed closed for no reason: {code:?}"))
        }
    }
}

/// What the answer of a server tells.
fn told_by_server(line: &[u8]) -> Result<Outcome, String> {
    let answer = object(line)?;
    let no_result = || format!("not the answer to a call: {}", String::from_utf8_lossy(line));
    let result = answer.get("result").and_then(Json::as_object).ok_or_else(no_result)?;
    if let Some(result) = result.get("structuredContent").and_then(Json::as_object) {
        // What is said of the lock is no part of the decision.
        let decided = result.iter().filter(|(key, _)| *key != "lockReleased");
        let decided = decided.map(|(key, value)| (key.clone(), value.clone())).collect();
        return Ok(Outcome::Answered(Ok(decided)));
    }
    let content = result.get("content").and_then(Json::as_array).unwrap_or_default();
    let text = content.first().and_then(Json::as_object).and_then(|text| text.get_text("text"));
    told_by_worker(text.ok_or_else(no_result)?.to_string().as_bytes())
}

/// What a worker remembers from one command to the next.
#[derive(Debug, Default)]
struct Mind {
    /// The actor that it is.
    me: Option<String>,
    /// What its inbox showed and it has not acknowledged.
    pending: Vec<String>,
    /// Its last message with an idempotency key. It outlives the process that sent it: to send it
    /// again is what a key is for when nobody knows what became of it.
    keyed: Option<(Verb, Object)>,
}

impl Mind {
    /// What it asks for: whatever it appends can be told from what others do.
    fn ask(&mut self, chance: &mut Chance, process: usize, turn: usize) -> (Verb, Object) {
        if let Some(keyed) = self.keyed.as_ref().filter(|_| chance.one_in(4)) {
            return keyed.clone();
        }
        let tag = format!("p{process}-{turn}");
        let Some(me) = &self.me else {
            let name = format!("p{process}");
            return (Verb::Register, Object::new().with("actorId", name).with("kind", tag));
        };
        let me = || me.as_str();
        match chance.below(12) {
            kind @ 0..=6 => self.message(chance, kind, tag),
            7 => (Verb::Heartbeat, Object::new().with("actorId", me()).with("note", tag)),
            8 | 9 => (Verb::Inbox, Object::new().with("actorId", me())),
            _ => {
                let guess = format!("msg-{:04}", chance.below(200) + 1);
                let ack = Object::new().with("actorId", me()).with("note", tag);
                (Verb::Ack, ack.with("messageId", self.pending.pop().unwrap_or(guess)))
            }
        }
    }

    /// A message to a neighbour, every second one with a key.
    fn message(&mut self, chance: &mut Chance, kind: usize, tag: String) -> (Verb, Object) {
        let me = self.me.clone().unwrap_or_default();
        let number = me.rsplit('-').next().and_then(|number| number.parse().ok());
        let number: usize = number.unwrap_or(1);
        let to = (number + 2).saturating_sub(chance.below(NEIGHBOURS)).max(1);
        let mut sent = Object::new().with("from", me).with("to", format!("act-{to:04}"));
        let has_key = chance.one_in(2);
        if has_key {
            sent = sent.with("idempotencyKey", format!("key {tag}"));
        }
        let asked = match kind {
            0..=4 => (Verb::Send, sent.with("text", tag)),
            5 => {
                let wanted = vec!["report", "merge"];
                (Verb::Send, sent.with("text", tag).with("requestedAuthority", wanted))
            }
            _ => (Verb::Handoff, sent.with("summary", tag)),
        };
        if has_key {
            self.keyed = Some(asked.clone());
        }
        asked
    }

    fn learn(&mut self, verb: Verb, outcome: &Outcome) {
        let Outcome::Answered(Ok(answer)) = outcome else { return };
        match verb {
            Verb::Register => self.me = answer.get_text("ref").map(ToString::to_string),
            Verb::Inbox => {
                let shown = answer.get("pending").and_then(Json::as_array).unwrap_or_default();
                let id = |message: &Json| message.as_object()?.get_text("messageId").cloned();
                self.pending = shown.iter().filter_map(id).map(|id| id.to_string()).collect();
            }
            Verb::Send | Verb::Ack | Verb::Heartbeat | Verb::Handoff => {}
        }
    }

    /// The process dies: the next one is another actor.
    fn die(&mut self) {
        (self.me, self.pending) = (None, Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_may_fail_closed_for_a_lock_and_for_nothing_else() {
        let told = |code: &str| {
            told_by_worker(format!("{{\"failClosed\":true,\"code\":\"{code}\"}}").as_bytes())
        };
        assert_eq!(told("lock-timeout"), Ok(Outcome::FailedClosed));
        for code in ["log-corrupt", "io", "write-unconfirmed", "history-rewritten"] {
            assert!(told(code).is_err(), "{code}");
        }
    }
}
