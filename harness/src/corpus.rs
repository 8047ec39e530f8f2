//! The named seeds of the fuzz targets, made from code.
//!
//! `gaia-bus-harness corpus DIRECTORY` writes them, and `tests/corpus.rs` compares what stands in
//! `fuzz/corpus` with what is made here: a seed cannot go stale, and none is a blob that nobody can
//! read. Each is under [`BYTES_MAX`]. What fuzzing finds is kept beside them, in
//! `fuzz/regressions`.

use std::fs;
use std::path::Path;

use gaia_bus::log::DamageKind;
use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::decide;
use gaia_bus_model::json::Object;
use gaia_bus_model::state::State;

use crate::damage;
use crate::strategy::instant;

/// No seed is larger.
pub const BYTES_MAX: usize = 4 * 1024;

/// A seed: of which target, what it is called, and its bytes.
pub type Seed = (&'static str, String, Vec<u8>);

/// A small log as the bus writes it: two actors, a message with a denial, its way, a refusal.
///
/// # Panics
///
/// When the bus's own records do not fold.
#[must_use]
pub fn sound_log() -> Vec<u8> {
    let object = |pairs: &[(&str, &str)]| {
        pairs.iter().fold(Object::new(), |object, (key, value)| object.with(key, *value))
    };
    let asked = [
        (Verb::Register, object(&[("actorId", "gaia"), ("kind", "coordinator")])),
        (Verb::Register, object(&[("actorId", "builder")])),
        (
            Verb::Send,
            object(&[("from", "gaia"), ("to", "builder"), ("text", "caf\u{e9} \u{1F469}")])
                .with("requestedAuthority", vec!["report", "merge"]),
        ),
        (Verb::Inbox, object(&[("actorId", "builder")])),
        (Verb::Ack, object(&[("actorId", "builder"), ("messageId", "msg-0001")])),
        (Verb::Heartbeat, object(&[("actorId", "nobody")])),
    ];
    let mut state = State::default();
    let mut log = Vec::new();
    for (turn, (verb, arguments)) in (1_i64..).zip(asked) {
        let command = Command { verb, at: instant(turn * 1_000), arguments };
        for event in decide(&state, &command, &Limits::default()).events {
            state.apply(&event).expect("own records fold");
            log.extend(event.to_line());
            log.push(b'\n');
        }
    }
    log
}

/// The log after what the bytes say was done to it, four bytes a deed: which deed, where, how much.
#[must_use]
pub fn damaged_by(original: &[u8], deeds: &[u8]) -> Vec<u8> {
    let mut log = original.to_vec();
    for deed in deeds.chunks_exact(4).take(16) {
        let at = usize::from(u16::from_le_bytes([deed[1], deed[2]])) % (log.len() + 1);
        let count = usize::from(deed[3]).min(log.len() - at);
        match deed[0] % 7 {
            0 => log.truncate(at),
            1 => log[at..at + count].fill(0),
            2 => drop(log.drain(at..at + count)),
            3 => {
                let again = log[at..at + count].to_vec();
                log.splice(at..at, again);
            }
            4 => log[at..].iter_mut().take(1).for_each(|byte| *byte ^= deed[3] | 1),
            5 => log.insert(at, deed[3]),
            _ => log.extend(std::iter::repeat_n(deed[3], count)),
        }
    }
    log
}

fn lines(log: &[u8]) -> Vec<&[u8]> {
    log.split_inclusive(|byte| *byte == b'\n').collect()
}

/// All seeds.
#[must_use]
pub fn seeds() -> Vec<Seed> {
    [raw_logs(), deeds(), draws(), conversations(), path_words()].concat()
}

fn raw_logs() -> Vec<Seed> {
    let sound = sound_log();
    let whole = lines(&sound);
    let seed = |name: &str, bytes: Vec<u8>| ("raw_log", name.to_owned(), bytes);
    let mut seeds = vec![
        seed("sound", sound.clone()),
        seed("empty", Vec::new()),
        seed("torn-in-the-first-record", sound[..40].to_vec()),
        seed("torn-before-the-last-newline", sound[..sound.len() - 1].to_vec()),
        seed("torn-inside-a-character", torn_inside_a_character(&sound)),
        seed("cut-between-a-message-and-its-denial", whole[..3].concat()),
        seed("carriage-returns", whole.iter().flat_map(|line| with_return(line)).collect()),
        seed("a-lone-surrogate-escape", surrogate()),
        seed("a-line-twice", [whole[0], whole[0], whole[1]].concat()),
        seed("nul-bytes-in-the-middle", holed(&sound)),
        seed("does-not-fold", [whole[0], b"{\"type\":\"message.sent\"}\n"].concat()),
        seed("an-unknown-type", [whole[0], b"{\"type\":\"weather.seen\",\"at\":1}\n"].concat()),
    ];
    for kind in damage::KINDS {
        for variant in 0..damage::variants(kind) {
            let template = b"{\"type\":\"weather.seen\"}";
            let line = damage::line(kind, template, variant);
            let behind = if kind == DamageKind::TornTail { &b""[..] } else { whole[1] };
            let bytes = [whole[0], line.as_slice(), behind].concat();
            if bytes.len() <= BYTES_MAX {
                seeds.push(seed(&format!("{kind}-{variant}"), bytes));
            }
        }
    }
    seeds
}

fn with_return(line: &[u8]) -> Vec<u8> {
    [line.strip_suffix(b"\n").unwrap_or(line), b"\r\n"].concat()
}

fn torn_inside_a_character(log: &[u8]) -> Vec<u8> {
    let at = log.iter().position(|byte| *byte >= 0xF0).expect("there is one of four bytes");
    log[..at + 2].to_vec()
}

fn surrogate() -> Vec<u8> {
    let cut = "{\"type\":\"actor.registered\",\"ref\":\"act-0001\",\"name\":\"cut \\ud83d\"}\n";
    cut.into()
}

fn holed(log: &[u8]) -> Vec<u8> {
    let mut log = log.to_vec();
    log[300..364].fill(0);
    log
}

fn deeds() -> Vec<Seed> {
    let seed = |name: &str, bytes: &[u8]| ("damaged_log", name.to_owned(), bytes.to_vec());
    vec![
        seed("nothing", &[]),
        seed("cut-to-nothing", &[0, 0, 0, 0]),
        seed("cut-in-a-record", &[0, 44, 1, 0]),
        seed("nul-bytes", &[1, 44, 1, 64]),
        seed("bytes-missing", &[2, 44, 1, 9]),
        seed("bytes-twice", &[3, 44, 1, 80]),
        seed("one-bit", &[4, 44, 1, 0]),
        seed("one-byte-more", &[5, 44, 1, b' ']),
        seed("newlines-behind-it", &[6, 0, 0, b'\n']),
        seed("letters-behind-it", &[6, 0, 0, b'x']),
        seed("cut-and-filled", &[0, 44, 1, 0, 6, 0, 0, 0]),
    ]
}

fn draws() -> Vec<Seed> {
    let mut chance = crate::chance::Chance::new(3);
    let mut random =
        |count: usize| (0..count).flat_map(|_| chance.draw().to_le_bytes()).collect::<Vec<u8>>();
    let seed = |name: &str, bytes: Vec<u8>| ("commands", name.to_owned(), bytes);
    vec![
        seed("the-same-again", vec![0; 80]),
        seed("one-transition", vec![1]),
        seed("random-short", random(4)),
        seed("random-long", random(20)),
    ]
}

fn conversations() -> Vec<Seed> {
    let seed = |name: &str, text: &str| ("mcp_lines", name.to_owned(), text.as_bytes().to_vec());
    let call = |name: &str, arguments: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{name}\",\
             \"arguments\":{arguments}}}}}\n"
        )
    };
    let register = call("register", "{\"actorId\":\"gaia\"}");
    vec![
        seed("a-call", &register),
        seed("a-refusal", &call("inbox", "{\"actorId\":\"nobody\"}")),
        seed("an-unknown-tool", &call("approve", "{}")),
        seed("two-calls", &format!("{register}{register}")),
        seed(
            "a-handshake",
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
             \"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"x\",\"version\":\"0\"}}}\n\
             {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
        ),
        seed("a-list", "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"tools/list\"}\n"),
        seed("a-batch", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n"),
        seed("half-a-request", "{\"jsonrpc\":\"2.0\",\"id\""),
        seed("half-a-surrogate-pair", "{\"jsonrpc\":\"2.0\",\"id\":\"\\ud83d\"}\n"),
        seed("blank-lines", "\n\r\n \n"),
    ]
}

fn path_words() -> Vec<Seed> {
    let seed = |name: &str, bytes: &[u8]| ("paths", name.to_owned(), bytes.to_vec());
    vec![
        seed("plain", b"/home/user/data"),
        seed("a-space-and-a-quote", b"/home/it's here"),
        seed("a-command", b"$(rm -rf /); `x` | y"),
        seed("a-dash", b"--data-dir"),
        seed("not-utf8", b"/\xFF\xFE'\\"),
        seed("controls", b"/a\nb\x1b[2J\x7f"),
        seed("right-to-left", "/\u{202e}txt.exe".as_bytes()),
        seed("a-number", b" 100 "),
        seed("a-large-number", b"18446744073709551616"),
        seed("nothing", b""),
    ]
}

/// Writes all seeds under a directory, one directory a target.
///
/// # Errors
///
/// What the operating system said.
pub fn write(directory: &Path) -> std::io::Result<usize> {
    let seeds = seeds();
    for (target, name, bytes) in &seeds {
        fs::create_dir_all(directory.join(target))?;
        fs::write(directory.join(target).join(name), bytes)?;
    }
    Ok(seeds.len())
}
