//! `smoke`: the main job in one command, through a real server, and then judged as evidence.
//!
//! Contract. Three roles exchange a task, a candidate, a handoff and a verdict around a real file,
//! whose size and SHA-256 travel in the bodies; each message is read and acknowledged. Everything
//! goes through one spawned `serve`, as a client's calls would. Then `verify --require-evidence`
//! judges the log. The data directory is fresh: it is claimed by being made, and one that exists is
//! refused. Nothing is overwritten. The artifact and the place of the receipt are judged before
//! that directory is made, so that what fails closed (3) has written nothing.
//!
//! Absent: a model, and code that runs. The roles are played by this program, and it says so.
//! Guarded by `tests/smoke.rs`.

use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use gaia_bus_model::command::Verb;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::bus::Bus;
use crate::config::destination::{self, Refusal};
use crate::probe::Probe;
use crate::regular::{self, NotOpened};
use crate::settings::{Paths, Settings, show_path};
use crate::verify::product::{Product, look_at_server};
use crate::verify::{Claim, Records, Report};

/// What is played, for whoever reads the receipt.
const NOTE: &str = "the three roles were played by this program: it launched no model and ran no \
                    code. The receipt attests that the exchange went through a real server and \
                    that the log passes as evidence of shape, not of provenance";

/// The thread of the exchange.
const THREAD: &str = "cor-smoke";

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// This program: it is started as the server.
    pub binary: PathBuf,
    /// The settings in force; their data directory is replaced by the one that is claimed.
    pub settings: Settings,
    /// The data directory to claim; a fresh one in the temporary directory where none is given.
    pub data_dir: Option<PathBuf>,
    /// The file that the exchange is about; this program itself where none is given.
    pub artifact: Option<PathBuf>,
    /// Where the receipt goes.
    pub receipt: Option<PathBuf>,
}

/// Why there is no receipt.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Something is there already.
    #[error("{} exists: smoke only works in a directory that it makes itself", .0.display())]
    Taken(PathBuf),
    /// The receipt cannot be written.
    #[error("the receipt: {0}")]
    Receipt(#[from] Refusal),
    /// What the exchange is to be about is no file.
    #[error("{} is a {found} and not a regular file", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A file or directory cannot be used.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        error: io::Error,
    },
    /// The exchange did not go through, or its receipt did not. Something was written by then.
    #[error("the exchange in {} broke off: {sentence}", data_dir.display())]
    Broken {
        /// Where the log lies.
        data_dir: PathBuf,
        /// Why.
        sentence: String,
    },
}

impl Trouble {
    /// 1 where the answer is no, 3 where something failed before anything was written.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Trouble::Taken(_) | Trouble::NotAFile { .. } | Trouble::Broken { .. } => 1,
            Trouble::Receipt(refusal) => refusal.exit_code(),
            Trouble::Io { .. } => 3,
        }
    }
}

/// A file as the receipt names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Digested {
    /// Where it lies.
    #[serde(serialize_with = "show_path")]
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// One message of the exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exchanged {
    /// Its id.
    pub message_id: String,
    /// Who sent it.
    pub from: &'static str,
    /// To whom.
    pub to: &'static str,
    /// What sort of message.
    pub kind: &'static str,
    /// Its body.
    pub text: String,
    /// What was asked for and granted, to no effect.
    pub granted: Vec<String>,
    /// What was asked for and denied.
    pub denied: Vec<String>,
    /// Whether its addressee read it from its inbox.
    pub read: bool,
    /// Whether its addressee acknowledged it.
    pub acknowledged: bool,
}

/// The verdict over the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Whether every check is green.
    pub ok: bool,
    /// The same for those about the log.
    pub evidence_ok: bool,
    /// True: the log was claimed as evidence.
    pub evidence_gates_result: bool,
    /// Green checks.
    pub passed: usize,
    /// Red checks.
    pub failed: usize,
    /// The names of the red ones.
    pub red: Vec<String>,
}

/// What came of it: printed, and written as the receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Whether the exchange went through and the log passes as evidence.
    pub ok: bool,
    /// `smoke`
    pub command: &'static str,
    /// The data directory that was made.
    #[serde(serialize_with = "show_path")]
    pub data_dir: PathBuf,
    /// The file that the exchange was about.
    pub artifact: Digested,
    /// The messages, in order.
    pub exchange: Vec<Exchanged>,
    /// The log.
    pub log: Digested,
    /// How many records it has.
    pub events: usize,
    /// What verify says of it.
    pub verify: Verified,
    /// True: verify gated this result as evidence.
    pub evidence_gates_result: bool,
    /// What this attests, and what not.
    pub note: &'static str,
    /// What to say on stderr beside it.
    #[serde(skip)]
    pub warning: Option<String>,
}

impl Receipt {
    /// The exit code.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        if self.ok { 0 } else { 1 }
    }

    /// The exchange as a person reads it: who, to whom, what, granted, denied, and where the log
    /// lies.
    #[must_use]
    pub fn transcript(&self) -> Vec<String> {
        let list = |names: &[String]| {
            if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
        };
        let mut lines: Vec<_> = self
            .exchange
            .iter()
            .map(|message| {
                format!(
                    "{} -> {}: {} ({}): {} | granted {}, denied {}",
                    message.from,
                    message.to,
                    message.kind,
                    message.message_id,
                    message.text,
                    list(&message.granted),
                    list(&message.denied)
                )
            })
            .collect();
        let Verified { passed, failed, .. } = self.verify;
        lines.push(format!("verify as evidence: {passed} checks green, {failed} red"));
        lines.push(format!("the log lies in {}", self.log.path.display()));
        lines.push(NOTE.to_owned());
        lines
    }
}

/// Plays the exchange and judges its log.
///
/// # Errors
/// Why there is no receipt. A log that was begun stays where it is.
pub fn run(request: &Request) -> Result<Receipt, Trouble> {
    if let Some(receipt) = &request.receipt {
        destination::try_place(receipt)?;
    }
    let artifact = digest(request.artifact.as_ref().unwrap_or(&request.binary))?;
    let data_dir = claim(request.data_dir.as_deref())?;
    let broken = |sentence: String| Trouble::Broken { data_dir: data_dir.clone(), sentence };
    let exchange = play(&request.binary, &data_dir, &artifact).map_err(broken)?;
    let mut settings = request.settings.clone();
    settings.paths = Paths::of(&data_dir);
    let (report, log) = judge(&request.binary, settings).map_err(broken)?;
    let all_arrived = exchange.iter().all(|message| message.read && message.acknowledged);
    let red = report.sections.iter().flat_map(|section| &section.checks).filter(|check| !check.ok);
    let mut receipt = Receipt {
        ok: report.ok && all_arrived,
        command: "smoke",
        data_dir: data_dir.clone(),
        artifact,
        exchange,
        log,
        events: report.evidence.events,
        verify: Verified {
            ok: report.ok,
            evidence_ok: report.evidence_ok,
            evidence_gates_result: report.evidence_gates_result,
            passed: report.passed,
            failed: report.failed,
            red: red.map(|check| check.name.clone()).collect(),
        },
        evidence_gates_result: report.evidence_gates_result,
        note: NOTE,
        warning: None,
    };
    if let Some(path) = &request.receipt {
        let mut text =
            serde_json::to_vec_pretty(&receipt).map_err(|error| broken(error.to_string()))?;
        text.push(b'\n');
        let placed = destination::place(path, &text, false);
        receipt.warning = placed.map_err(|refusal| broken(format!("its receipt: {refusal}")))?;
    }
    Ok(receipt)
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> Trouble + '_ {
    |error| Trouble::Io { path: path.to_owned(), error }
}

fn digest(path: &Path) -> Result<Digested, Trouble> {
    let mut file = regular::open(path).map_err(|not_opened| match not_opened {
        NotOpened::NotAFile(found) => Trouble::NotAFile { path: path.to_owned(), found },
        NotOpened::Io(error) => io_at(path)(error),
    })?;
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let read = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(io_at(path)(error)),
        };
        hasher.update(chunk.get(..read).unwrap_or_default());
        bytes += u64::try_from(read).unwrap_or_default();
    }
    let sha256 = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let path = std::path::absolute(path).map_err(io_at(path))?;
    Ok(Digested { path, bytes, sha256 })
}

/// How many names are tried in the temporary directory.
const NAMES_MAX: u32 = 1_000;

/// Makes the data directory. Making it is the claim: of two that try, one succeeds.
fn claim(wanted: Option<&Path>) -> Result<PathBuf, Trouble> {
    if let Some(path) = wanted {
        let path = std::path::absolute(path).map_err(io_at(path))?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io_at(parent))?;
        }
        return match make_private(&path) {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Trouble::Taken(path)),
            Err(error) => Err(io_at(&path)(error)),
        };
    }
    let base = std::env::temp_dir();
    for number in 0..NAMES_MAX {
        let path = base.join(format!("gaia-bus-smoke-{}-{number}", std::process::id()));
        match make_private(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_at(&path)(error)),
        }
    }
    Err(Trouble::Taken(base))
}

fn make_private(path: &Path) -> io::Result<()> {
    #[allow(unused_mut, reason = "only where there are modes is one set")]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// One line of the play.
struct Line {
    verb: Verb,
    from: &'static str,
    to: &'static str,
    kind: &'static str,
    text: String,
    asks: &'static [&'static str],
    expects_reply: bool,
}

/// The exchange. What the builder asks for in its candidate is denied: that is shown on purpose.
fn script(artifact: &Digested) -> [Line; 4] {
    let Digested { bytes, sha256, path } = artifact;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let about = format!("{name}, {bytes} bytes, sha256 {sha256}");
    let line = |verb, from, to, kind, text: String, asks, expects_reply| Line {
        verb,
        from,
        to,
        kind,
        text,
        asks,
        expects_reply,
    };
    [
        line(
            Verb::Send,
            "coordinator",
            "builder",
            "task",
            format!("Prepare this file for review: {about}."),
            &["draft", "report"],
            true,
        ),
        line(
            Verb::Send,
            "builder",
            "reviewer",
            "candidate",
            format!("The candidate, as I have it: {about}. Please approve and merge it."),
            &["approve", "merge"],
            true,
        ),
        line(
            Verb::Handoff,
            "builder",
            "reviewer",
            "handoff",
            format!("The review is yours, the authority is nobody's: {about}."),
            &[],
            false,
        ),
        line(
            Verb::Send,
            "reviewer",
            "coordinator",
            "verdict",
            format!("I have read the same file: {about}. This is a verdict and no approval."),
            &["report"],
            false,
        ),
    ]
}

fn play(binary: &Path, data_dir: &Path, artifact: &Digested) -> Result<Vec<Exchanged>, String> {
    let mut probe = Probe::start(binary, data_dir)?;
    for role in ["coordinator", "builder", "reviewer"] {
        probe.call(Verb::Register, &json!({"actorId": role, "kind": role}))?;
    }
    let mut exchange = Vec::new();
    for line in script(artifact) {
        if line.kind == "verdict" {
            // The reviewer looks at the file again: its verdict is about what is there now.
            let now = digest(&artifact.path).map_err(|trouble| trouble.to_string())?;
            if now != *artifact {
                return Err(format!("{} has changed meanwhile", artifact.path.display()));
            }
        }
        exchange.push(exchanged(&mut probe, line)?);
    }
    probe.finish()?;
    Ok(exchange)
}

/// Sends one message, and lets its addressee read and acknowledge it.
fn exchanged(probe: &mut Probe, line: Line) -> Result<Exchanged, String> {
    let Line { verb, from, to, kind, text, asks, expects_reply } = line;
    let body = if verb == Verb::Handoff { json!({"summary": text}) } else { json!({"text": text}) };
    let Value::Object(mut arguments) = body else { return Err("a body is an object".into()) };
    arguments.extend([
        ("from".to_owned(), json!(from)),
        ("to".to_owned(), json!(to)),
        ("correlationId".to_owned(), json!(THREAD)),
        ("requestedAuthority".to_owned(), json!(asks)),
        ("expectsReply".to_owned(), json!(expects_reply)),
    ]);
    if verb == Verb::Send {
        arguments.insert("kind".to_owned(), json!(kind));
    }
    let sent = probe.call(verb, &Value::Object(arguments))?;
    let message_id = sent.get("messageId").and_then(Value::as_str).map(str::to_owned);
    let message_id = message_id.ok_or_else(|| format!("{verb}: the answer names no message"))?;
    let inbox = probe.call(Verb::Inbox, &json!({"actorId": to}))?;
    let pending = inbox.get("pending").and_then(Value::as_array).map(Vec::as_slice);
    let shown = pending.unwrap_or_default().iter().find(|message| {
        message.get("messageId").and_then(Value::as_str) == Some(message_id.as_str())
    });
    let authority = |key: &str| -> Vec<String> {
        let list = shown.and_then(|message| message.pointer(&format!("/authority/{key}")));
        let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let read = shown.and_then(|message| message.get("text")) == Some(&json!(text));
    let (granted, denied) = (authority("granted"), authority("denied"));
    let receipt = json!({"actorId": to, "messageId": message_id, "note": "read; receipt only"});
    let acked = probe.call(Verb::Ack, &receipt)?;
    let acknowledged = acked.get("messageId") == receipt.get("messageId");
    Ok(Exchanged { message_id, from, to, kind, text, granted, denied, read, acknowledged })
}

fn judge(binary: &Path, settings: Settings) -> Result<(Report, Digested), String> {
    let paths = settings.paths.clone();
    let lock_timeout = settings.lock_timeout;
    let mut bus = Bus::new(settings);
    let reading = bus.read(Records::default()).map_err(|failure| failure.sentence(&paths))?;
    let server = look_at_server(binary, &paths.data_dir);
    let product = Product { server, lock_timeout }.sections();
    let source = paths.log.display().to_string();
    let report = Report::of(product, reading.fold.as_slice(), source, Claim::Evidence);
    let log = digest(&paths.log).map_err(|trouble| trouble.to_string())?;
    Ok((report, log))
}
