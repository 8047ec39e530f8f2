//! Promise: the log is read strictly. Every record comes out verbatim, and the first damaged line
//! is named with its line, byte offset and kind, however the bytes arrive.
//!
//! Method: a table with every kind and every order between two kinds; proptest over where chunks
//! are cut; `serde_json` as an independent reader where both should agree, over random values and
//! over random damage to them.
//!
//! Cannot see: what is wrong in both readers, and time or memory other than by not ending.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use gaia_bus::log::{
    Damage, DamageKind, LINE_BYTES_MAX, ReadFault, Record, ScanFault, Scanner, Span,
    holds_lone_surrogate, line_digest, read_value,
};
use gaia_bus_model::json::{Json, Object};
use proptest::prelude::*;

const SOUND: &str = r#"{"type":"a","at":"2026-09-15T23:41:09.954Z"}"#;

/// What a scan gave: each record with its place, and the damage if any.
#[derive(Debug, PartialEq)]
struct Scan {
    records: Vec<(u64, Span, Object, Vec<u8>)>,
    damage: Option<Damage>,
    end: (u64, u64),
}

fn scan_with<'a>(mut scanner: Scanner, chunks: impl IntoIterator<Item = &'a [u8]>) -> Scan {
    let mut records = Vec::new();
    let mut visit = |record: Record<'_>| {
        records.push((record.line(), record.span(), record.to_object(), record.bytes().to_vec()));
        Ok::<(), std::convert::Infallible>(())
    };
    let mut damage = None;
    for chunk in chunks {
        if let Err(fault) = scanner.feed(chunk, &mut visit) {
            let ScanFault::Damaged(found) = fault;
            damage = Some(found);
            break;
        }
    }
    let damage = damage.or_else(|| scanner.finish().err());
    Scan { records, damage, end: (scanner.lines(), scanner.offset()) }
}

fn scan(bytes: &[u8]) -> Scan {
    scan_with(Scanner::new(), [bytes])
}

fn kind_of(line: &[u8]) -> Option<DamageKind> {
    let mut bytes = line.to_vec();
    bytes.push(b'\n');
    scan(&bytes).damage.map(|damage| damage.kind)
}

fn nested(levels: usize) -> String {
    format!(r#"{{"type":"a","x":{}1{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
}

#[test]
fn every_kind_of_damage_is_named_with_its_line_and_offset() {
    let deep = nested(129);
    let cases: &[(&[u8], DamageKind)] = &[
        (b"\xFF", DamageKind::NotUtf8),
        (b"{\"type\":\"\xC0\x80\"}", DamageKind::NotUtf8),
        (b"{\"type\":\"\xED\xA0\x80\"}", DamageKind::NotUtf8),
        (b"", DamageKind::BlankLine),
        (b" \t\r", DamageKind::BlankLine),
        ("\u{FEFF}\u{2028}\u{A0}\u{3000}\u{B}".as_bytes(), DamageKind::BlankLine),
        ("\u{85}".as_bytes(), DamageKind::NotJson),
        (b"{", DamageKind::NotJson),
        (b"\0\0\0", DamageKind::NotJson),
        (b"{\"type\":\"a\tb\"}", DamageKind::NotJson),
        (b"{\"type\":\"a\"}{\"type\":\"b\"}", DamageKind::NotJson),
        (b"{\"type\":\"a\"},", DamageKind::NotJson),
        (b"\xEF\xBB\xBF{\"type\":\"a\"}", DamageKind::NotJson),
        (deep.as_bytes(), DamageKind::TooDeep),
        (b"{\"type\":\"a\",\"type\":\"a\"}", DamageKind::DuplicateKey),
        (b"{\"type\":\"a\",\"x\":[{\"y\":1,\"\\u0079\":2}]}", DamageKind::DuplicateKey),
        (b"{\"type\":\"a\",\"\\ud800\":1,\"\\uD800\":1}", DamageKind::DuplicateKey),
        (b"[]", DamageKind::NotAnObject),
        (b"null", DamageKind::NotAnObject),
        (b"\"type\"", DamageKind::NotAnObject),
        (b"1e999", DamageKind::NotAnObject),
        (b"{}", DamageKind::NoType),
        (b"{\"type\":\"\"}", DamageKind::NoType),
        (b"{\"type\":1}", DamageKind::NoType),
        (b"{\"x\":{\"type\":\"a\"}}", DamageKind::NoType),
    ];
    for (line, kind) in cases {
        let mut bytes = format!("{SOUND}\n{SOUND}\r\n").into_bytes();
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(line);
        bytes.extend_from_slice(b"\nnot reached\n");
        let scan = scan(&bytes);
        let nul_run = line.iter().filter(|byte| **byte == 0).count() as u64;
        let expected = Damage { line: 3, offset, kind: *kind, length: line.len() as u64, nul_run };
        assert_eq!(scan.damage, Some(expected), "{}", line.escape_ascii());
        assert_eq!((scan.records.len(), scan.end), (2, (2, offset)));
    }
}

#[test]
fn a_line_without_newline_is_torn_whatever_it_holds() {
    for tail in [SOUND.as_bytes(), b"{", b"\xFF", b"\0\0", b" ", b"[]"] {
        let mut bytes = format!("{SOUND}\n").into_bytes();
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(tail);
        let scan = scan(&bytes);
        let damage = scan.damage.unwrap();
        assert_eq!((damage.line, damage.offset, damage.kind), (2, offset, DamageKind::TornTail));
        assert_eq!(damage.length, tail.len() as u64);
        assert_eq!(scan.records.len(), 1);
    }
}

#[test]
fn damage_in_an_earlier_line_is_reported_before_a_torn_tail() {
    let scan = scan(b"nope\n{\"type\":");
    assert_eq!(
        scan.damage.map(|damage| (damage.line, damage.kind)),
        Some((1, DamageKind::NotJson))
    );
}

#[test]
fn within_a_line_the_kinds_have_their_order() {
    let levels = "[".repeat(129);
    let cases: Vec<(Vec<u8>, DamageKind)> = vec![
        (b"  \xFF".to_vec(), DamageKind::NotUtf8),
        (b"{\xFF".to_vec(), DamageKind::NotUtf8),
        // Deeper and malformed: not JSON, found far behind the 129th level too.
        (levels.clone().into_bytes(), DamageKind::NotJson),
        (format!("{levels}{}", "]".repeat(128)).into_bytes(), DamageKind::NotJson),
        (format!("{levels}{}x", "]".repeat(129)).into_bytes(), DamageKind::NotJson),
        (format!("{levels}{{]{}", "]".repeat(129)).into_bytes(), DamageKind::NotJson),
        (format!("{levels}{{\"a\":1]{}", "]".repeat(129)).into_bytes(), DamageKind::NotJson),
        (format!("{levels}{{\"a\"}}{}", "]".repeat(129)).into_bytes(), DamageKind::NotJson),
        (format!("{levels}{{\"a\":1}}{}", "]".repeat(129)).into_bytes(), DamageKind::TooDeep),
        // A doubled key and too deep.
        (
            format!("{{\"a\":1,\"a\":{levels}{}}}", "]".repeat(129)).into_bytes(),
            DamageKind::TooDeep,
        ),
        (b"{\"a\":1,\"a\":2".to_vec(), DamageKind::NotJson),
        // A doubled key in what is no object, or has no type.
        (b"[{\"a\":1,\"a\":2}]".to_vec(), DamageKind::DuplicateKey),
        (b"{\"a\":1,\"a\":2}".to_vec(), DamageKind::DuplicateKey),
    ];
    for (line, kind) in cases {
        assert_eq!(kind_of(&line), Some(kind), "{}", line.escape_ascii());
    }
}

#[test]
fn json_white_space_around_a_record_passes() {
    for line in ["{\"type\":\"a\"}\r", " \t{ \"type\" : \"a\" } \r", "{\"type\":\"a\",\"x\":[ ]}"] {
        assert_eq!(kind_of(line.as_bytes()), None, "{line:?}");
    }
    // Other white space is none to JSON.
    assert_eq!(kind_of("{\"type\":\"a\"}\u{A0}".as_bytes()), Some(DamageKind::NotJson));
    assert_eq!(kind_of(b"{\"type\":\"a\"}\x0B"), Some(DamageKind::NotJson));
}

#[test]
fn nesting_passes_to_128_levels_and_not_to_129() {
    assert_eq!(kind_of(nested(128).as_bytes()), None);
    assert_eq!(kind_of(nested(129).as_bytes()), Some(DamageKind::TooDeep));
    for levels in [5_000, 1_000_000] {
        assert_eq!(kind_of(nested(levels).as_bytes()), Some(DamageKind::TooDeep));
    }
    let million = "[".repeat(1_000_000);
    assert_eq!(kind_of(million.as_bytes()), Some(DamageKind::NotJson));
}

#[test]
fn a_line_over_the_limit_is_too_long_once_it_ends_however_it_is_cut() {
    let max = SOUND.len();
    let long = format!("{SOUND} ");
    let sound = format!("{SOUND}\n");
    let bytes = format!("{sound}{long}\n{sound}");
    for size in [1, 7, max, max + 1, bytes.len()] {
        let scan = scan_with(Scanner::with_line_bytes_max(max), bytes.as_bytes().chunks(size));
        let damage = scan.damage.unwrap();
        assert_eq!((damage.line, damage.kind), (2, DamageKind::TooLong), "chunks of {size}");
        assert_eq!((damage.offset, damage.length), (sound.len() as u64, long.len() as u64));
        let torn = &bytes.as_bytes()[..sound.len() + long.len()];
        let scan = scan_with(Scanner::with_line_bytes_max(max), torn.chunks(size));
        let damage = scan.damage.unwrap();
        assert_eq!((damage.kind, damage.length), (DamageKind::TornTail, long.len() as u64));
    }
}

#[test]
fn a_run_of_nul_bytes_is_named_as_such() {
    let mut bytes = format!("{SOUND}\n").into_bytes();
    bytes.extend([0; 512]);
    for (end, kind) in [("", DamageKind::TornTail), ("\n", DamageKind::NotJson)] {
        let mut bytes = bytes.clone();
        bytes.extend_from_slice(end.as_bytes());
        let damage = scan_with(Scanner::new(), bytes.chunks(100)).damage.unwrap();
        assert_eq!((damage.kind, damage.nul_run), (kind, 512));
        assert!(damage.to_string().contains("holds 512 NUL bytes"), "{damage}");
    }
    let damage = scan(b"nope\n").damage.unwrap();
    assert!(!damage.to_string().contains("NUL"), "{damage}");
}

#[test]
fn a_lone_surrogate_escape_is_read_and_written_back() {
    let line = r#"{"type":"a","x":"cut \ud83d","y":["\udc00\ud800"],"\udfff":"\ud83d\ude00"}"#;
    let scan = scan(format!("{line}\n").as_bytes());
    assert_eq!(scan.damage, None);
    let object = &scan.records[0].2;
    let expected = line.replace(r"\ud83d\ude00", "\u{1F600}");
    assert_eq!(String::from_utf8(object.to_line()).unwrap(), expected);
    assert!(holds_lone_surrogate(&Json::Object(object.clone())));
    assert!(!holds_lone_surrogate(&read_value(br#"["\ud83d\ude00",{"a":"b"}]"#).unwrap()));
    assert!(holds_lone_surrogate(&read_value(br#"[{"\udc00\ud83d":1}]"#).unwrap()));
}

#[test]
fn numbers_pass_as_written() {
    for literal in ["1e999", "-0", "0.10", "123456789012345678901234567890", "1E+2", "-1.5e-7"] {
        assert_eq!(
            read_value(literal.as_bytes()).map(|value| {
                let mut out = Vec::new();
                value.write(&mut out);
                String::from_utf8(out).unwrap()
            }),
            Ok(literal.to_owned())
        );
    }
    for literal in ["01", "-", "1.", ".5", "1e", "1e+", "+1", "NaN", "Infinity", "0x1", "1_0"] {
        assert_eq!(read_value(literal.as_bytes()), Err(ReadFault::NotJson), "{literal}");
    }
}

#[test]
fn a_doubled_key_is_refused_with_the_value_that_ecmascript_reads() {
    let fault = read_value(br#"{"id":1,"m":{"x":1,"x":2},"id":[{"k":0,"\u006b":3}]}"#).unwrap_err();
    let ReadFault::DuplicateKey { value } = fault else { panic!("{fault}") };
    assert_eq!(value, read_value(br#"{"id":[{"k":3}],"m":{"x":2}}"#).unwrap());
}

/// A quadratic search for twins would need 4.5 * 10^10 comparisons here, and not end.
#[test]
fn three_hundred_thousand_keys_are_read_and_one_twin_among_them_is_found() {
    let keys = |twin: &str| {
        let mut line = String::from("{\"type\":\"a\"");
        for key in 0..300_000 {
            line.push_str(&format!(",\"k{key}\":{{}}"));
        }
        line + twin + "}"
    };
    assert_eq!(kind_of(keys("").as_bytes()), None);
    assert_eq!(kind_of(keys(",\"k151\\u0037\":1").as_bytes()), Some(DamageKind::DuplicateKey));
}

#[test]
fn a_refused_record_leaves_the_scanner_at_the_end_of_the_last_sound_line() {
    let bytes = format!("{SOUND}\n{SOUND}\n{SOUND}\n");
    let mut scanner = Scanner::new();
    let fault = scanner.feed(bytes.as_bytes(), &mut |record: Record<'_>| {
        if record.line() == 2 { Err("no") } else { Ok(()) }
    });
    assert_eq!(fault, Err(ScanFault::Visit("no")));
    assert_eq!((scanner.lines(), scanner.offset()), (1, SOUND.len() as u64 + 1));
    assert_eq!(scanner.finish(), Ok(()));
}

// ---- random ------------------------------------------------------------------------------------

/// A string that JSON writers and readers tend to get wrong.
/// The names are a contract; the sentences tell a person what to look for.
#[test]
fn every_kind_of_damage_has_the_name_of_the_contract_and_a_sentence_of_its_own() {
    let expected = [
        ("torn-tail", "no newline"),
        ("too-long", "longer than any line"),
        ("not-utf8", "not UTF-8"),
        ("blank-line", "is blank"),
        ("not-json", "is not JSON"),
        ("too-deep", "deeper than 128 levels"),
        ("duplicate-key", "a key twice"),
        ("not-an-object", "not an object"),
        ("no-type", "no type"),
    ];
    for (kind, (name, words)) in DamageKind::ALL.into_iter().zip(expected) {
        assert_eq!((kind.as_str(), kind.to_string().as_str()), (name, name));
        let damage = Damage { line: 3, offset: 70, kind, length: 5, nul_run: 0 };
        let sentence = damage.to_string();
        assert!(sentence.starts_with("line 3 at byte offset 70 (5 bytes) "), "{sentence}");
        assert!(sentence.contains(words) && !sentence.contains("NUL"), "{sentence}");
    }
}

#[test]
fn a_record_tells_its_type_and_a_line_its_digest() {
    let mut kinds = Vec::new();
    let log = format!("{SOUND}\n{{\"type\":\"message.\\ud800sent\"}}\n");
    let mut visit = |record: Record<'_>| {
        kinds.push(record.kind().to_owned());
        Ok::<(), ()>(())
    };
    Scanner::new().feed(log.as_bytes(), &mut visit).unwrap();
    assert_eq!(kinds, ["a", "message.\u{FFFD}sent"]);
    // XXH3 with 64 bits, seed 0, as its reference implementation has it.
    assert_eq!(line_digest(b""), 0x2d06_8005_38d3_94c2);
    assert_eq!(line_digest(b"xxhash"), 0xaa4c_2b42_ae6b_13de);
}

#[test]
fn a_value_tells_null_from_others_and_strings_compare_by_what_they_hold() {
    let line = concat!(
        r#"{"type":"a","n":null,"s":"caf\u00e9","t":"caf"#,
        "\u{e9}",
        r#"","u":"","o":{"\u006b":[1]}}"#,
        "\n"
    );
    let mut seen = 0;
    let mut visit = |record: Record<'_>| {
        seen += 1;
        let value = |key: &str| record.get(key).unwrap();
        assert!(value("n").is_null() && !value("s").is_null() && !value("o").is_null());
        let text = |key: &str| value(key).as_text().unwrap();
        assert!(text("s") == text("t") && text("s") != text("u"));
        assert!(text("s") == *"caf\u{e9}" && text("u") != *"caf\u{e9}");
        assert!(record.get("k").is_none() && value("o").get("k").is_some());
        let shown = format!("{:?}", value("o"));
        assert!(shown.contains('k') && shown.contains('1'), "{shown}");
        Ok::<(), ()>(())
    };
    Scanner::new().feed(line.as_bytes(), &mut visit).unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn a_line_may_have_256_mib() {
    assert_eq!(LINE_BYTES_MAX, 256 * 1024 * 1024);
}

/// An explorer's state holds a scanner, so equality is that of what it will do next.
#[test]
fn scanners_are_equal_when_they_stand_at_the_same_place_with_the_same_unfinished_line() {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let hash = |scanner: &Scanner| {
        let mut hasher = DefaultHasher::new();
        scanner.hash(&mut hasher);
        hasher.finish()
    };
    let fed = |limit: usize, bytes: &str| {
        let mut scanner = Scanner::with_line_bytes_max(limit);
        scanner.feed(bytes.as_bytes(), &mut |_| Ok::<(), ()>(())).unwrap();
        scanner
    };
    let line = format!("{SOUND}\n");
    let others = [
        fed(100, ""),
        fed(100, &line),
        fed(100, &format!("{line}{SOUND}")),
        fed(100, &format!("{line}{{")),
        fed(99, &line),
        // Another number of lines in as many bytes.
        fed(100, &format!("{SOUND}          \n{SOUND}\n")),
        fed(100, &format!("{SOUND}\n{SOUND}          \n")),
    ];
    for (at, one) in others.iter().enumerate() {
        let copy = one.clone();
        assert_eq!(*one, copy);
        assert_eq!(hash(one), hash(&copy));
        assert_eq!((copy.lines(), copy.offset()), (one.lines(), one.offset()));
        for (other_at, other) in others.iter().enumerate() {
            let same_place = (at, other_at) == (5, 6) || (at, other_at) == (6, 5);
            assert_eq!(one == other, at == other_at || same_place, "{one:?}, {other:?}");
            assert_eq!(hash(one) == hash(other), one == other, "{one:?}, {other:?}");
        }
    }
    let shown = format!("{:?}", others[3]);
    assert!(shown.contains("lines: 1") && shown.contains("unfinished: 1"), "{shown}");
}

#[test]
fn what_a_scanner_has_begun_its_clone_goes_on_with() {
    let (first, second) = SOUND.split_at(9);
    let mut scanner = Scanner::new();
    let mut visit = |_: Record<'_>| Ok::<(), ()>(());
    scanner.feed(first.as_bytes(), &mut visit).unwrap();
    let mut copy = scanner.clone();
    copy.feed(format!("{second}\n").as_bytes(), &mut visit).unwrap();
    assert_eq!((copy.lines(), copy.offset()), (1, SOUND.len() as u64 + 1));
    assert_eq!((scanner.lines(), scanner.finish().unwrap_err().kind), (0, DamageKind::TornTail));
    // Rewound, it stands at the end of the last line and has forgotten the rest.
    scanner.rewind();
    assert_eq!(scanner.finish(), Ok(()));
}

/// What a line left behind that ended in the middle of its brackets does not leak into the next.
#[test]
fn a_scanner_that_met_damage_reads_on_as_a_new_one_does() {
    for bad in ["{\"a\":[[[[{\n", "[[[[\n", "{\"type\":\"a\",\"b\":{\"c\":{\n"] {
        let mut scanner = Scanner::new();
        let mut visit = |_: Record<'_>| Ok::<(), ()>(());
        scanner.feed(bad.as_bytes(), &mut visit).unwrap_err();
        scanner.feed(format!("{SOUND}\n").as_bytes(), &mut visit).unwrap();
        assert_eq!(scanner.lines(), 1, "{bad}");
        let closing = "{\"type\":\"a\"}]}]}\n";
        assert!(scanner.feed(closing.as_bytes(), &mut visit).is_err(), "{bad}");
    }
}

fn hostile_string() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{0,6}",
        1 => "[ -~]{0,12}",
        1 => any::<String>(),
        1 => proptest::sample::select(vec![
            "\"", "\\", "\u{0}", "\u{1F}", "\u{7F}", "\u{85}", "\u{2028}", "\u{FEFF}", "\u{FFFF}",
            "\u{10FFFF}", "\u{E000}", "type", "\\u0041", "12345678\"", "1234567\u{1F}8",
        ]).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        hostile_string().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            proptest::collection::vec((hostile_string(), inner), 0..8)
                .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Escapes every character of a JSON text that stands inside a string, as `\uXXXX`, where `mask`
/// says so: the same value, written differently.
fn escape_more(text: &str, mask: &[bool]) -> String {
    let mut out = String::new();
    let mut quoted = false;
    // How many characters still belong to an escape that is there already.
    let mut escape = 0;
    for (index, character) in text.chars().enumerate() {
        if quoted
            && escape == 0
            && character != '"'
            && character != '\\'
            && mask[index % mask.len()]
        {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04X}"));
            }
            continue;
        }
        if escape > 0 {
            escape = if escape == 1 && character == 'u' { 5 } else { escape };
            escape -= 1;
        } else if character == '"' {
            quoted = !quoted;
        } else if quoted && character == '\\' {
            escape = 1;
        }
        out.push(character);
    }
    out
}

/// Whether `serde_json` refuses what we read on purpose.
fn is_refused_on_purpose(fault: &serde_json::Error) -> bool {
    let sentence = fault.to_string();
    ["number out of range", "lone leading surrogate", "unexpected end of hex escape", "recursion"]
        .iter()
        .any(|purpose| sentence.starts_with(purpose))
}

fn agrees_with_serde(text: &[u8]) -> Result<(), TestCaseError> {
    match (serde_json::from_slice::<serde_json::Value>(text), read_value(text)) {
        (Ok(theirs), Ok(ours) | Err(ReadFault::DuplicateKey { value: ours })) => {
            let written = serde_json::to_vec(&ours).unwrap();
            let back: serde_json::Value = serde_json::from_slice(&written).unwrap();
            // Negative zero and the last digit of a double are not what is compared here.
            prop_assert_eq!(&back, &theirs);
            let mut stringified = Vec::new();
            ours.write(&mut stringified);
            if !holds_lone_surrogate(&ours) {
                prop_assert_eq!(stringified, written);
            }
        }
        (Err(fault), Ok(_)) => prop_assert!(is_refused_on_purpose(&fault), "{}", fault),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(ours)) => prop_assert!(false, "only we refuse: {}", ours),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn what_serde_json_reads_is_read_alike(
        value in value(),
        pretty in any::<bool>(),
        mask in proptest::collection::vec(any::<bool>(), 1..8),
    ) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            serde_json::to_string(&value).unwrap()
        };
        prop_assert!(read_value(text.as_bytes()).is_ok());
        agrees_with_serde(text.as_bytes())?;
        agrees_with_serde(escape_more(&text, &mask).as_bytes())?;
    }

    #[test]
    fn what_serde_json_refuses_is_refused(
        value in value(),
        edits in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0..3_u8, proptest::sample::select(
                b"{}[]:,\"\\u0dD8-+.eE1tfn \t\n\0\x1f\x80\xff".to_vec()
            )),
            1..4,
        ),
    ) {
        let mut text = serde_json::to_vec(&value).unwrap();
        for (place, edit, byte) in edits {
            let place = place.index(text.len() + 1);
            match edit {
                0 => text.insert(place, byte),
                1 if place < text.len() => text[place] = byte,
                _ if place < text.len() => { text.remove(place); }
                _ => {}
            }
        }
        agrees_with_serde(&text)?;
    }

    #[test]
    fn any_bytes_at_all_are_read_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        agrees_with_serde(&bytes)?;
        scan(&bytes);
    }

    #[test]
    fn the_canonical_length_is_that_of_what_is_written(
        value in value(),
        mask in proptest::collection::vec(any::<bool>(), 1..8),
        lone in any::<bool>(),
    ) {
        let lone = if lone { r"cut \ud83d\n\u0007" } else { "" };
        let value = escape_more(&value.to_string(), &mask);
        let line = format!("{{\"type\":\"a{lone}\",\"x\":[{value}, 1e999 ]}}\n");
        let mut lengths = Vec::new();
        Scanner::new().feed(line.as_bytes(), &mut |record: Record<'_>| {
            for value in [record.value(), record.get("x").unwrap()] {
                let mut written = Vec::new();
                value.to_json().write(&mut written);
                lengths.push((value.canonical_bytes(), written.len() as u64));
            }
            Ok::<(), ()>(())
        }).unwrap();
        prop_assert_eq!(lengths.len(), 2);
        for (ours, theirs) in lengths {
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn where_chunks_are_cut_never_shows(
        lines in proptest::collection::vec(
            prop_oneof![
                6 => value()
                    .prop_map(|value| format!("{{\"type\":\"a\",\"x\":{value}}}\n").into_bytes()),
                1 => proptest::sample::select(vec![
                    &b"{\"type\":\"a\"}\r\n"[..], b"\n", b"{}\n", b"\xE2\x82\n", b"{\"type\":",
                    b"\0\0\n",
                    b"{\"type\":\"\\ud83d\\ude00\xF0\x9F\x98\x80\"}\n", b"[]\n",
                ]).prop_map(<[u8]>::to_vec),
            ],
            0..6,
        ),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = lines.concat();
        let whole = scan(&bytes);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(&scan_with(Scanner::new(), chunks), &whole);
        prop_assert_eq!(&scan_with(Scanner::new(), bytes.chunks(1)), &whole);
        // The records are the lines up to the damage, verbatim.
        let mut read: Vec<u8> = Vec::new();
        for (_, span, object, line) in &whole.records {
            prop_assert_eq!(span.offset, read.len() as u64);
            read.extend_from_slice(line);
            read.push(b'\n');
            let back = read_value(&object.to_line()).unwrap();
            prop_assert_eq!(back, Json::Object(object.clone()));
        }
        prop_assert_eq!(&bytes[..read.len()], &read[..]);
        prop_assert_eq!(whole.damage.is_none(), read.len() == bytes.len());
    }
}
