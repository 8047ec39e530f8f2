//! What the fuzz targets do with bytes: each panics when a promise is broken.
//!
//! The targets in `fuzz/` are one line each and call these, `tests/corpus.rs` calls them on every
//! file of the corpora, and [`crate::corpus`] makes the named seeds.
//!
//! | target | promise |
//! | --- | --- |
//! | [`raw_log`] | any bytes are a log or named damage, however they are cut; both folds agree on it |
//! | [`damaged_log`] | a log that was validated and then damaged is refused, or extends what it was |
//! | [`commands`] | any sequence of commands, faults and mishaps comes to what the reference says |
//! | [`mcp_lines`] | whatever lines a client sends, each answer is one JSON line, and the next works |
//! | [`paths`] | any path is one harmless word of a shell, and any setting is read or refused |
//! | [`canary`] | must fail: a reader that skips a torn tail is found |

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gaia_bus::archive::Archive;
use gaia_bus::bus::Answer;
use gaia_bus::log::{Damage, DamageKind, ScanFault, Scanner, read_value};
use gaia_bus::mcp::{Door, serve};
use gaia_bus::replay::{LogFault, Replay};
use gaia_bus::report::recovery::quote;
use gaia_bus::settings::Settings;
use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::decide;
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::state::State;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;

use crate::chance::Chance;
use crate::conform::place;
use crate::conform::rig::{Bend, Rig};
use crate::conform::world::World;
use crate::corpus;
use crate::damage;
use crate::report::{Draft, Report, panics_as_errors};
use crate::strategy::instant;

/// A target: its name, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them but the canary.
pub const TARGETS: [Target; 5] = [
    ("raw_log", raw_log),
    ("damaged_log", damaged_log),
    ("commands", commands),
    ("mcp_lines", mcp_lines),
    ("paths", paths),
];

/// How far [`check`] looks.
#[must_use]
pub fn bound(mutations: usize) -> String {
    format!("every named seed, and {mutations} mutations of each, by {} targets", TARGETS.len())
}

/// How many mutations of a seed the gate tries, and how many with `--full`.
pub const MUTATIONS: usize = 200;
/// See [`MUTATIONS`].
pub const MUTATIONS_FULL: usize = 2_000;

/// A planted fault: which target's seeds must show it, what it is called, what it does with a seed,
/// and the words of the panic by which it is found.
type Planted = (&'static str, &'static str, fn(&[u8]), &'static str);

/// What is planted for [`check`]: something for every target.
pub const PLANTED: [Planted; 8] = [
    ("damaged_log", "a reader that skips a torn tail", canary, "the canary: damage was not seen"),
    (
        "raw_log",
        "a fold that forgets the last record",
        |bytes| reads_alike(bytes, |records, _| drop(records.pop())),
        "both folds must agree",
    ),
    (
        "raw_log",
        "damage that is named one byte off",
        |bytes| {
            reads_alike(bytes, |_, damage| {
                if let Some(damage) = damage {
                    damage.offset += 1;
                }
            });
        },
        "the damage must stand where it is named",
    ),
    (
        "commands",
        "a store that appends every line twice",
        |bytes| carried_out(bytes, Some(Bend::AppendsTwice)),
        "should be",
    ),
    (
        "mcp_lines",
        "a server that ends its last answer without a newline",
        |bytes| answers_alike(bytes, |output| output.truncate(output.len() - 1)),
        "an answer is a line",
    ),
    (
        "mcp_lines",
        "a server that answers one line twice",
        |bytes| {
            answers_alike(bytes, |output| {
                let first = output.split_inclusive(|byte| *byte == b'\n').next();
                output.splice(0..0, first.unwrap_or_default().to_vec());
            });
        },
        "no line has two answers",
    ),
    (
        "paths",
        "a quote that lets text move the cursor",
        |bytes| quotes_alike(bytes, |word| format!("'{}'", word.to_string_lossy())),
        "moves a cursor",
    ),
    (
        "paths",
        "a quote that a quote in the text ends",
        |bytes| quotes_alike(bytes, |word| quote(word).replace("'\\''", "'")),
        "stands outside of quotes",
    ),
];

/// Gives every named seed, and mutations of it, to its target; what is planted must be found.
#[must_use]
pub fn check(mutations: usize) -> Report {
    let mut draft = Draft::new("fuzz-seeds", bound(mutations));
    let seeds = corpus::seeds();
    let mut chance = Chance::new(17);
    for (target, name, bytes) in &seeds {
        let run = TARGETS.iter().find(|(known, _)| known == target);
        let (_, run) = run.expect("every seed has a target");
        draft.case(
            panics_as_errors(|| run(bytes)).map_err(|what| format!("{target}/{name}: {what}")),
        );
        for number in 0..mutations {
            let mutated = mutated(bytes, &mut chance);
            draft.case(panics_as_errors(|| run(&mutated)).map_err(|what| {
                format!("{target}/{name}, mutation {number}: {what}: {}", mutated.escape_ascii())
            }));
        }
    }
    for (target, name, planted, words) in PLANTED {
        let mut of_target = seeds.iter().filter(|(known, ..)| *known == target);
        let found = of_target.any(|(.., bytes)| {
            panics_as_errors(|| planted(bytes)).is_err_and(|what| what.contains(words))
        });
        draft.control(name, found);
    }
    draft.finish()
}

/// The bytes with one to four small changes.
fn mutated(bytes: &[u8], chance: &mut Chance) -> Vec<u8> {
    const TELLING: &[u8] = b"\n\0\"\\{}[],: 09\xED\xFF";
    let mut out = bytes.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(out.len() + 1);
        let count = chance.below(8).min(out.len() - at);
        match chance.below(5) {
            0 => out.truncate(at),
            1 => drop(out.drain(at..at + count)),
            2 => {
                let again = out[at..at + count].to_vec();
                out.splice(at..at, again);
            }
            3 => out.insert(at, *chance.pick(TELLING)),
            _ => {
                if let Some(byte) = out.get_mut(at) {
                    *byte ^= 1 << chance.below(8);
                }
            }
        }
    }
    out
}

/// Any bytes are read the same however they are cut, cold and warm, by both folds.
///
/// # Panics
///
/// When they are not.
pub fn raw_log(bytes: &[u8]) {
    reads_alike(bytes, |_, _| {});
}

/// The same, with what the scanner found bent before the folds are compared with it.
fn reads_alike(bytes: &[u8], bend: fn(&mut Vec<Object>, &mut Option<Damage>)) {
    let whole = scan(bytes, bytes.len().max(1));
    let cut = scan(bytes, 1 + usize::from(bytes.first().copied().unwrap_or_default()) % 7);
    assert_eq!(whole, cut, "where a log is cut must not show");
    let (mut records, mut damage) = whole;
    bend(&mut records, &mut damage);
    if let Some(damage) = &damage {
        assert!(is_where_it_says(bytes, damage), "the damage must stand where it is named");
    }
    let mut state = State::default();
    let folded = records.iter().try_for_each(|record| state.apply(record).map_err(drop));
    let cold = replay(Replay::new(Archive::new()), &[bytes]);
    match (&cold.1, folded, damage) {
        (Ok(()), Ok(()), None) => {
            let snapshot = cold.0.fold().snapshot();
            assert_eq!(snapshot, state.snapshot(), "both folds must agree");
        }
        (Err(LogFault::Unreplayable { .. }), Err(()), _) => {}
        (Err(LogFault::Damaged(found)), Ok(()), Some(expected)) => {
            assert_eq!(*found, expected, "the damage must be the same");
        }
        (result, folded, damage) => panic!("{result:?}, {folded:?} and {damage:?} do not agree"),
    }
    // Whoever read the first half before, and the whole now, comes to the same.
    let half = bytes.len() / 2;
    let (warm, _) = replay(Replay::new(Archive::new()), &[&bytes[..half]]);
    let warm = replay(warm, &[bytes]);
    assert_eq!(warm.1, cold.1, "warm and cold must agree");
    assert_eq!((warm.0.length(), warm.0.digest()), (cold.0.length(), cold.0.digest()));
}

/// Whether line, offset, length and NULs are those of one line, counted apart from the scanner;
/// only a torn tail lacks its newline.
fn is_where_it_says(bytes: &[u8], damage: &Damage) -> bool {
    let mut offset = 0;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    lines.any(|(index, line)| {
        let told = damage::report(damage.kind, line, index + 1, offset);
        offset += line.len();
        told == *damage && line.ends_with(b"\n") != (damage.kind == DamageKind::TornTail)
    })
}

fn scan(bytes: &[u8], chunk: usize) -> (Vec<Object>, Option<Damage>) {
    let mut records = Vec::new();
    let mut scanner = Scanner::new();
    for chunk in bytes.chunks(chunk) {
        let fed = scanner.feed(chunk, &mut |record| {
            records.push(record.to_object());
            Ok::<_, std::convert::Infallible>(())
        });
        match fed {
            Ok(()) => {}
            Err(ScanFault::Damaged(damage)) => return (records, Some(damage)),
            Err(ScanFault::Visit(never)) => match never {},
        }
    }
    (records, scanner.finish().err())
}

type Read = (Replay<Archive>, Result<(), LogFault>);

fn replay(mut replay: Replay<Archive>, chunks: &[&[u8]]) -> Read {
    replay.begin();
    let fed = chunks.iter().try_for_each(|chunk| replay.feed(chunk));
    let result = fed.and_then(|()| replay.finish());
    (replay, result)
}

/// A sound log is validated, damaged as the bytes say, and read again: it is refused, or what was
/// validated stands there unchanged.
///
/// # Panics
///
/// When a damaged log is taken for a good one.
pub fn damaged_log(bytes: &[u8]) {
    let original = corpus::sound_log();
    let damaged = corpus::damaged_by(&original, bytes);
    assert!(is_refused_or_equal(&original, &damaged, &damaged), "damage was not seen");
}

/// Whether who has validated `original` and now reads `read` refuses, or finds the original in
/// `damaged`, which is what really stands there.
fn is_refused_or_equal(original: &[u8], damaged: &[u8], read: &[u8]) -> bool {
    let (warm, sound) = replay(Replay::new(Archive::new()), &[original]);
    assert_eq!(sound, Ok(()), "the original is sound");
    let (_, result) = replay(warm, &[read]);
    result.is_err() || (damaged.starts_with(original) && damaged.ends_with(b"\n"))
}

/// The same promise held against a reader that skips a torn tail: this must fail on a torn log.
///
/// # Panics
///
/// When the planted fault is found.
pub fn canary(bytes: &[u8]) {
    let original = corpus::sound_log();
    let damaged = corpus::damaged_by(&original, bytes);
    let end = damaged.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let fine = is_refused_or_equal(&original, &damaged, &damaged[..end]);
    assert!(fine, "the canary: damage was not seen");
}

/// Every four bytes are the seed of one transition, drawn from what the world knows then: a byte
/// more or less changes one transition and leaves what was before it. The store carries them out.
///
/// # Panics
///
/// When the store differs from the reference.
pub fn commands(bytes: &[u8]) {
    carried_out(bytes, None);
}

/// The same, on a store that is bent.
fn carried_out(bytes: &[u8], bend: Option<Bend>) {
    const TRANSITIONS_MAX: usize = 40;
    let (coverage, (under, _)) = (RefCell::default(), place());
    let mut rig = Rig::new(&under, bend, &coverage);
    let mut world = World::new();
    for chunk in bytes.chunks(4).take(TRANSITIONS_MAX) {
        let mut seed = [0; 32];
        seed[..chunk.len()].copy_from_slice(chunk);
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let drawn = World::transitions(&world).new_tree(&mut runner).expect("nothing is rejected");
        let transition = drawn.current();
        if World::preconditions(&world, &transition) {
            world = World::apply(world, &transition);
            rig.step(&transition, &world).unwrap_or_else(|what| panic!("{transition:?}: {what}"));
        }
    }
}

/// A bus in memory behind the server.
#[derive(Default)]
struct InMemory(State);

impl Door for InMemory {
    fn call(&mut self, verb: Verb, arguments: Object) -> Answer {
        let command = Command { verb, at: instant(0), arguments };
        let decision = decide(&self.0, &command, &Limits::default());
        for event in &decision.events {
            self.0.apply(event).expect("own records fold");
        }
        crate::conform::rig::envelope(&decision)
    }
}

/// A client's lines, then a ping: every line of output is one JSON-RPC answer, the last is the
/// ping's.
///
/// # Panics
///
/// When it is not.
pub fn mcp_lines(bytes: &[u8]) {
    answers_alike(bytes, |_| {});
}

/// The same, with the output bent before it is judged.
fn answers_alike(bytes: &[u8], bend: fn(&mut Vec<u8>)) {
    const PING: &[u8] = b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n";
    let input = [bytes, PING].concat();
    let mut output = Vec::new();
    serve(input.as_slice(), &mut output, &mut InMemory::default()).expect("memory does not fail");
    bend(&mut output);
    assert!(output.ends_with(b"\n"), "an answer is a line");
    let lines: Vec<_> = output[..output.len() - 1].split(|byte| *byte == b'\n').collect();
    let is_blank = |line: &&[u8]| line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let asked = input.split(|byte| *byte == b'\n').filter(|line| !is_blank(line)).count();
    assert!(lines.len() <= asked, "no line has two answers");
    for line in &lines {
        let answer = read_value(line).unwrap_or_else(|fault| panic!("{fault:?} in an answer"));
        let answer = answer.as_object().expect("an answer is an object");
        let said = ["result", "error"].iter().filter(|key| answer.get(key).is_some()).count();
        assert_eq!((said, answer.get("jsonrpc")), (1, Some(&Json::from("2.0"))));
    }
    let last = lines.last().expect("the ping is answered");
    assert_eq!(*last, b"{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"result\":{}}");
}

/// Bytes as a path and as the values of settings.
///
/// # Panics
///
/// When a quoted path is not the word it was, or a setting is neither read nor refused in words.
pub fn paths(bytes: &[u8]) {
    quotes_alike(bytes, quote);
    let word = as_word(bytes);
    let value = OsString::from(OsStr::from_bytes(&word));
    let flag = PathBuf::from("/data");
    let read = Settings::from_environment(Some(flag), |_| Some(value.clone()));
    let number = value.to_str().and_then(|text| text.trim().parse::<u64>().ok());
    assert_eq!(read.is_ok(), number.is_some(), "{value:?}");
    let homeless = Settings::from_environment(None, |name| {
        (name == "GAIA_INTERAGENT_DATA_DIR").then(|| value.clone())
    });
    match homeless {
        Ok(settings) => assert_eq!(settings.paths.data_dir, Path::new(&value)),
        Err(error) => assert!(value.is_empty(), "{error}"),
    }
}

/// What can be a path: anything without NUL.
fn as_word(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|byte| *byte != 0).collect()
}

fn quotes_alike(bytes: &[u8], quote: fn(&OsStr) -> String) {
    let word = as_word(bytes);
    let quoted = quote(OsStr::from_bytes(&word));
    assert!(!quoted.chars().any(char::is_control), "{quoted:?} moves a cursor");
    assert_eq!(unquote(&quoted), word, "{quoted:?}");
}

/// What a POSIX shell (with `$'...'`) makes of one word: written from the shell's rules.
fn unquote(word: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = word.as_bytes();
    let spelled = rest.starts_with(b"$");
    rest = rest.strip_prefix(b"$").unwrap_or(rest);
    while let Some((first, tail)) = rest.split_first() {
        match (first, spelled) {
            (b'\\', _) => {
                out.push(tail[0]);
                rest = &tail[1..];
            }
            (b'\'', false) => {
                let end = tail.iter().position(|byte| *byte == b'\'').expect("it is closed");
                out.extend(&tail[..end]);
                rest = &tail[end + 1..];
            }
            (b'\'', true) => {
                rest = spelled_part(tail, &mut out);
            }
            (other, _) => panic!("{other} stands outside of quotes"),
        }
    }
    out
}

fn spelled_part<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    loop {
        match rest {
            [b'\'', tail @ ..] => return tail,
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = tail;
            }
            [b'\\', other, tail @ ..] | [other, tail @ ..] => {
                out.push(*other);
                rest = tail;
            }
            [] => panic!("it is not closed"),
        }
    }
}
