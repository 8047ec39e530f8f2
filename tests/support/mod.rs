//! What the vector tests and the gate share: where the folder is, a reader of JSON that loses
//! nothing, and masks.
//!
//! The folder is the one that `GAIA_BUS_VECTORS` names, else the copy in `tests/vectors`. A file
//! that is not there is skipped with a word on stderr; a folder with none of the files fails.
//! Nothing depends on how many cases there are or what they are called, except [`DEVIATIONS`].
//!
//! The reader is for well-formed input only and panics on anything else: vectors are trusted. It is
//! not `serde_json` because that reads neither lone surrogates nor `1e999`, and it is not the
//! store's strict reader because that is what is under test there.

#![allow(dead_code, reason = "each test target uses a part of this")]

pub(crate) mod checks;
mod reference;

use std::fs;
use std::path::{Path, PathBuf};

use gaia_bus_model::json::{Json, Number, Object};
use gaia_bus_model::text::{CodePoint, Text};

/// The files of a vectors folder.
pub(crate) const FILES: [&str; 4] =
    ["lesson.events.jsonl", "sequences.jsonl", "logs.jsonl", "tables.jsonl"];

/// Raw logs in which this project is stricter on purpose than the bus that was observed, each with
/// the reason. Entries that a folder does not have are fine.
pub(crate) const DEVIATIONS: [(&str, &str); 5] = [
    ("invalid-utf8-bytes", "bytes that are not UTF-8 are damage, not replaced"),
    ("overlong-utf8", "bytes that are not UTF-8 are damage, not replaced"),
    ("duplicate-key-type", "a key given twice is damage, no reader agrees which one counts"),
    ("deep-nesting-5000", "nesting over 128 levels is damage"),
    ("message-empty-object", "a message without its identity fields is unreplayable"),
];

/// Why this project deviates from a raw log on purpose, when it does.
pub(crate) fn deviation(name: &str) -> Option<&'static str> {
    DEVIATIONS.iter().find(|(known, _)| *known == name).map(|(_, reason)| *reason)
}

/// The folder under test.
pub(crate) fn folder() -> PathBuf {
    match std::env::var_os("GAIA_BUS_VECTORS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors"),
    }
}

/// The bytes of one file of the folder; nothing when it is not there.
pub(crate) fn file(name: &str) -> Option<Vec<u8>> {
    let folder = folder();
    assert!(
        FILES.iter().any(|file| folder.join(file).is_file()),
        "{} holds none of the vector files",
        folder.display()
    );
    let path = folder.join(name);
    if !path.is_file() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(fs::read(&path).unwrap())
}

/// The cases of one file, one a line; none when it is not there.
pub(crate) fn cases(name: &str) -> Vec<Object> {
    file(name).map(|bytes| records(&bytes)).unwrap_or_default()
}

/// The records of a well-formed log.
pub(crate) fn records(log: &[u8]) -> Vec<Object> {
    log.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(object).collect()
}

/// The object on a line.
pub(crate) fn object(line: &[u8]) -> Object {
    match read(line) {
        Json::Object(object) => object,
        other => panic!("not an object: {other:?}"),
    }
}

/// A value of a case that must be there.
pub(crate) fn field<'a>(case: &'a Object, key: &str) -> &'a Json {
    case.get(key).unwrap_or_else(|| panic!("the case has no {key}: {}", line(case)))
}

/// A list of a case that must be there.
pub(crate) fn list<'a>(case: &'a Object, key: &str) -> &'a [Json] {
    field(case, key).as_array().unwrap_or_else(|| panic!("{key} is no list"))
}

/// An object of a case that must be there.
pub(crate) fn nested<'a>(case: &'a Object, key: &str) -> &'a Object {
    field(case, key).as_object().unwrap_or_else(|| panic!("{key} is no object"))
}

/// A string of a case that must be there.
pub(crate) fn text<'a>(case: &'a Object, key: &str) -> &'a Text {
    field(case, key).as_text().unwrap_or_else(|| panic!("{key} is no string"))
}

/// The object as one canonical line, for comparison to the byte.
pub(crate) fn line(object: &Object) -> String {
    String::from_utf8(object.to_line()).unwrap()
}

/// The line of a record as the vectors show it: a `command.rejected` has its reason masked and no
/// code.
pub(crate) fn masked(record: &Object) -> String {
    if record.get_text("type").is_some_and(|name| *name == "command.rejected") {
        let kept = record.iter().filter(|(key, _)| **key != "code");
        let masked = kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Object>();
        line(&masked.with("reason", "*"))
    } else {
        line(record)
    }
}

/// The value with `reason` masked and `code` dropped in every row of `rejections`, as the vectors
/// show a snapshot.
pub(crate) fn masked_snapshot(snapshot: &Object) -> Object {
    let rows = list(snapshot, "rejections").iter().map(|row| {
        let row = row.as_object().unwrap();
        let kept = row.iter().filter(|(key, _)| **key != "code");
        let row: Object = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        if row.get("reason").is_some() { row.with("reason", "*") } else { row }
    });
    let rows: Vec<Object> = rows.collect();
    snapshot.clone().with("rejections", rows)
}

/// Decodes standard base64.
pub(crate) fn base64(text: &Text) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for &byte in text.as_bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            other => panic!("not base64: {other}"),
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xFF).unwrap());
        }
    }
    out
}

/// Reads one well-formed JSON value.
pub(crate) fn read(bytes: &[u8]) -> Json {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("not UTF-8: {error}"));
    let mut reader = Reader { rest: text };
    let value = reader.value();
    reader.skip_space();
    assert!(reader.rest.is_empty(), "left over: {:?}", reader.rest);
    value
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn must_eat(&mut self, token: &str) {
        assert!(self.eat(token), "{token} is missing before {:?}", self.rest);
    }

    fn value(&mut self) -> Json {
        if self.eat("null") {
            Json::Null
        } else if self.eat("true") {
            Json::Bool(true)
        } else if self.eat("false") {
            Json::Bool(false)
        } else if self.eat("[") {
            Json::Array(self.members("]", Self::value))
        } else if self.eat("{") {
            let member = |reader: &mut Self| {
                reader.must_eat("\"");
                let key = reader.string();
                reader.must_eat(":");
                (key, reader.value())
            };
            Json::Object(self.members("}", member).into_iter().collect())
        } else if self.eat("\"") {
            Json::String(self.string())
        } else {
            let is_of_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
            let end = self.rest.find(|c| !is_of_number(c)).unwrap_or(self.rest.len());
            let (literal, rest) = self.rest.split_at(end);
            assert!(literal.parse::<f64>().is_ok(), "not a value: {:?}", self.rest);
            self.rest = rest;
            Json::Number(Number::from_literal(literal))
        }
    }

    fn members<T>(&mut self, end: &str, mut member: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut members = Vec::new();
        if self.eat(end) {
            return members;
        }
        loop {
            members.push(member(self));
            if self.eat(end) {
                return members;
            }
            self.must_eat(",");
        }
    }

    /// The rest of a string whose opening quote has been read.
    fn string(&mut self) -> Text {
        let mut text = Text::new();
        loop {
            let mut chars = self.rest.chars();
            let c = chars.next().expect("the string has an end");
            self.rest = chars.as_str();
            match c {
                '"' => return text,
                '\\' => text.push(self.escape()),
                c => text.push(CodePoint::Char(c)),
            }
        }
    }

    fn escape(&mut self) -> CodePoint {
        let (escape, rest) = self.rest.split_at(1);
        self.rest = rest;
        CodePoint::Char(match escape {
            "b" => '\u{8}',
            "f" => '\u{C}',
            "n" => '\n',
            "r" => '\r',
            "t" => '\t',
            "u" => {
                let (digits, rest) = self.rest.split_at(4);
                self.rest = rest;
                let unit = u16::from_str_radix(digits, 16).unwrap();
                match char::from_u32(u32::from(unit)) {
                    Some(c) => c,
                    None => return CodePoint::Surrogate(unit),
                }
            }
            other => other.chars().next().unwrap(),
        })
    }
}
