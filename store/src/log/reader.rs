//! The strict JSON reader: one pass over a line, onto a flat tape, without recursion.
//!
//! Contract. A text is read when RFC 8259 says that it is JSON, and then verbatim: any number
//! passes as written (`1e999` too), and a lone surrogate escape is kept. It is refused, in this
//! order, when it is not JSON ([`ReadFault::NotJson`]), when it nests deeper than [`DEPTH_MAX`]
//! ([`ReadFault::TooDeep`]; the rest is still read, so that "otherwise JSON" is known), or when an
//! object at any depth holds a key twice, compared decoded ([`ReadFault::DuplicateKey`]).
//!
//! The tape holds eight bytes a value. It and the two stacks are reused from line to line, so that
//! a line of the usual kind costs no allocation at all.
//!
//! Absent: recursion over input (open containers are a stack; below the limit only one bit each),
//! conversion of numbers, and any tolerance. `tests/log.rs` guards it, against `serde_json` too.

use std::borrow::Cow;

use gaia_bus_model::json::{DEPTH_MAX, Json, Number, Object};
use gaia_bus_model::text::{CodePoint, Text};

/// The longest text that can be read, in bytes: 256 MiB. A tape node keeps a position in 28 bits.
pub const TEXT_BYTES_MAX: usize = 1 << START_BITS;

const START_BITS: u32 = 28;

/// Objects of more keys than this are searched for a doubled key by sorting.
const FEW_KEYS_MAX: usize = 64;

/// A reader that once met a long text gives its memory back above this many tape nodes.
const NODES_KEPT_MAX: usize = 1 << 16;

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ReadFault {
    /// The bytes are not UTF-8.
    #[error("the bytes are not UTF-8")]
    NotUtf8,
    /// The text is not one JSON value.
    #[error("the text is not one JSON value")]
    NotJson,
    /// More than [`DEPTH_MAX`] levels of arrays and objects.
    #[error("the value nests deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// A key stands twice in one object. The value is what ECMAScript's `JSON.parse` makes of it:
    /// the last one wins, in the place of the first.
    #[error("a key is given twice")]
    DuplicateKey {
        /// What was read.
        value: Json,
    },
    /// More than [`TEXT_BYTES_MAX`] bytes.
    #[error("the text is longer than {TEXT_BYTES_MAX} bytes")]
    TooLong,
}

/// Reads one value with nothing but white space around it.
///
/// # Errors
///
/// See [`ReadFault`].
pub fn read_value(bytes: &[u8]) -> Result<Json, ReadFault> {
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(ReadFault::TooLong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ReadFault::NotUtf8)?;
    let mut tape = Tape::default();
    match tape.read(text) {
        Ok(()) => tape.root(text).map(Value::to_json).ok_or(ReadFault::NotJson),
        Err(TapeFault::NotJson) => Err(ReadFault::NotJson),
        Err(TapeFault::TooDeep) => Err(ReadFault::TooDeep),
        Err(TapeFault::DuplicateKey) => match tape.root(text) {
            Some(root) => Err(ReadFault::DuplicateKey { value: without_doubles(root.to_json()) }),
            None => Err(ReadFault::NotJson),
        },
    }
}

/// Whether a string or a key anywhere in the value holds a lone surrogate, which strict readers do
/// not take.
#[must_use]
pub fn holds_lone_surrogate(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
        Json::String(text) => text.as_str().is_none(),
        Json::Array(items) => items.iter().any(holds_lone_surrogate),
        Json::Object(object) => {
            object.iter().any(|(key, value)| key.as_str().is_none() || holds_lone_surrogate(value))
        }
    }
}

/// Makes keys unique again, as `JSON.parse` does. The depth is bounded by the reader.
fn without_doubles(value: Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.into_iter().map(without_doubles).collect()),
        Json::Object(object) => {
            let mut places = std::collections::HashMap::new();
            let mut pairs: Vec<(Text, Json)> = Vec::with_capacity(object.len());
            for (key, value) in object.iter() {
                let value = without_doubles(value.clone());
                let place = *places.entry(key.clone()).or_insert(pairs.len());
                match pairs.get_mut(place) {
                    Some((_, slot)) => *slot = value,
                    None => pairs.push((key.clone(), value)),
                }
            }
            Json::Object(pairs.into_iter().collect())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value,
    }
}

/// What [`Tape::read`] may find wrong, in the order in which it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TapeFault {
    NotJson,
    TooDeep,
    DuplicateKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    False,
    True,
    Number,
    /// A string whose bytes are its text.
    Plain,
    /// A string with at least one escape.
    Escaped,
    Array,
    Object,
}

/// One value or key. `head` holds the kind above the position of its first byte. `link` is the
/// position behind its last byte for a leaf, and the tape index behind its last child for a
/// container: of those two only one is ever asked for.
#[derive(Clone, Copy, Debug)]
struct Node {
    head: u32,
    link: u32,
}

impl Node {
    fn new(kind: Kind, start: usize, link: usize) -> Node {
        Node { head: ((kind as u32) << START_BITS) | narrow(start), link: narrow(link) }
    }

    fn kind(self) -> Kind {
        match self.head >> START_BITS {
            0 => Kind::Null,
            1 => Kind::False,
            2 => Kind::True,
            3 => Kind::Number,
            4 => Kind::Plain,
            5 => Kind::Escaped,
            6 => Kind::Array,
            _ => Kind::Object,
        }
    }

    fn start(self) -> usize {
        widen(self.head & ((1 << START_BITS) - 1))
    }

    fn link(self) -> usize {
        widen(self.link)
    }

    /// The tape index behind the value that stands at `index`.
    fn next(self, index: usize) -> usize {
        match self.kind() {
            Kind::Array | Kind::Object => self.link(),
            Kind::Null | Kind::False | Kind::True | Kind::Number | Kind::Plain | Kind::Escaped => {
                index + 1
            }
        }
    }
}

/// Positions and tape indices fit: a text has at most 2^28 bytes, and a value takes at least one.
fn narrow(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

fn widen(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Which of the open containers are objects: one bit a level, so that a line of nothing but opening
/// brackets costs an eighth of a byte each.
#[derive(Default)]
struct Nesting {
    words: Vec<u64>,
    depth: usize,
}

impl Nesting {
    fn clear(&mut self) {
        self.words.clear();
        self.depth = 0;
    }

    fn push(&mut self, is_object: bool) {
        let bit = self.depth % 64;
        if bit == 0 {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word = (*word & !(1 << bit)) | (u64::from(is_object) << bit);
        }
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth.is_multiple_of(64) {
            self.words.pop();
        }
    }

    /// Whether the innermost open container is an object; nothing at the top level.
    fn innermost_is_object(&self) -> Option<bool> {
        let word = self.words.last()?;
        Some((word >> ((self.depth - 1) % 64)) & 1 == 1)
    }
}

/// The flat tape, and the scratch that making it takes.
#[derive(Default)]
pub(super) struct Tape {
    nodes: Vec<Node>,
    /// The nodes of the open containers, while there are at most [`DEPTH_MAX`].
    open: Vec<u32>,
    nesting: Nesting,
    too_deep: bool,
    duplicate: bool,
}

impl Tape {
    /// Reads one value with nothing but white space around it. After [`TapeFault::DuplicateKey`]
    /// the tape holds all that was read, doubled keys too.
    pub(super) fn read(&mut self, text: &str) -> Result<(), TapeFault> {
        if self.nodes.capacity() > NODES_KEPT_MAX {
            self.nodes = Vec::new();
        }
        self.nodes.clear();
        self.open.clear();
        self.nesting.clear();
        self.too_deep = false;
        self.duplicate = false;
        if text.len() > TEXT_BYTES_MAX || self.values(text).is_none() {
            return Err(TapeFault::NotJson);
        }
        if self.too_deep {
            return Err(TapeFault::TooDeep);
        }
        if self.duplicate {
            return Err(TapeFault::DuplicateKey);
        }
        Ok(())
    }

    /// The value that was read.
    pub(super) fn root<'a>(&'a self, text: &'a str) -> Option<Value<'a>> {
        (!self.nodes.is_empty()).then_some(Value { text, nodes: &self.nodes, index: 0 })
    }

    /// The whole text; nothing where it is not JSON.
    fn values(&mut self, text: &str) -> Option<()> {
        let mut at = Cursor { bytes: text.as_bytes(), position: 0 };
        loop {
            at.skip_space();
            match at.peek()? {
                b'{' => {
                    self.enter(Kind::Object, &mut at);
                    at.skip_space();
                    if at.peek()? != b'}' {
                        self.key(&mut at)?;
                        continue;
                    }
                    at.position += 1;
                    self.leave(text);
                }
                b'[' => {
                    self.enter(Kind::Array, &mut at);
                    at.skip_space();
                    if at.peek()? != b']' {
                        continue;
                    }
                    at.position += 1;
                    self.leave(text);
                }
                first => {
                    let start = at.position;
                    let kind = at.leaf(first)?;
                    self.record(kind, start, at.position);
                }
            }
            if self.behind_value(text, &mut at)? == Next::End {
                at.skip_space();
                return at.peek().is_none().then_some(());
            }
        }
    }

    /// What stands behind a value: any number of closing brackets, then a comma or the end.
    fn behind_value(&mut self, text: &str, at: &mut Cursor<'_>) -> Option<Next> {
        loop {
            let Some(in_object) = self.nesting.innermost_is_object() else {
                return Some(Next::End);
            };
            at.skip_space();
            match (at.peek()?, in_object) {
                (b',', true) => {
                    at.position += 1;
                    at.skip_space();
                    self.key(at)?;
                    return Some(Next::Value);
                }
                (b',', false) => {
                    at.position += 1;
                    return Some(Next::Value);
                }
                (b'}', true) | (b']', false) => {
                    at.position += 1;
                    self.leave(text);
                }
                _ => return None,
            }
        }
    }

    /// A key and its colon.
    fn key(&mut self, at: &mut Cursor<'_>) -> Option<()> {
        let start = at.position;
        if at.peek()? != b'"' {
            return None;
        }
        let kind = at.string()?;
        self.record(kind, start, at.position);
        at.skip_space();
        if at.peek()? != b':' {
            return None;
        }
        at.position += 1;
        Some(())
    }

    fn record(&mut self, kind: Kind, start: usize, link: usize) {
        if !self.too_deep {
            self.nodes.push(Node::new(kind, start, link));
        }
    }

    /// Opens a container. One that is too deep dooms the text, so nothing is recorded from there
    /// on: what remains is to learn whether the rest is JSON.
    fn enter(&mut self, kind: Kind, at: &mut Cursor<'_>) {
        self.nesting.push(kind == Kind::Object);
        if self.nesting.depth > DEPTH_MAX {
            self.too_deep = true;
        } else if !self.too_deep {
            self.open.push(narrow(self.nodes.len()));
            self.record(kind, at.position, 0);
        }
        at.position += 1;
    }

    fn leave(&mut self, text: &str) {
        self.nesting.pop();
        if self.too_deep {
            return;
        }
        let Some(index) = self.open.pop().map(widen) else { return };
        let end = self.nodes.len();
        if let Some(node) = self.nodes.get_mut(index) {
            node.link = narrow(end);
            if node.kind() == Kind::Object && !self.duplicate {
                let keys = Keys { nodes: &self.nodes, index: index + 1, end };
                self.duplicate = holds_twins(text, keys);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    End,
}

/// The key nodes of one object.
#[derive(Clone)]
struct Keys<'a> {
    nodes: &'a [Node],
    index: usize,
    end: usize,
}

impl Iterator for Keys<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        if self.index >= self.end {
            return None;
        }
        let key = *self.nodes.get(self.index)?;
        let value = *self.nodes.get(self.index + 1)?;
        self.index = value.next(self.index + 1);
        Some(key)
    }
}

/// Whether a key stands twice in an object. A filter of 64 bits spares nearly every comparison
/// among few plain keys; many keys, or escaped ones, are decoded and sorted, so that 100,000 keys
/// cost no more than n log n.
fn holds_twins(text: &str, keys: Keys<'_>) -> bool {
    let mut filter = 0_u64;
    for (count, key) in keys.clone().enumerate() {
        if count >= FEW_KEYS_MAX || key.kind() != Kind::Plain {
            return holds_twins_sorted(text, keys);
        }
        let bytes = plain(text, key).as_bytes();
        let mark = 1_u64 << (fingerprint(bytes) % 64);
        if filter & mark != 0
            && keys.clone().take(count).any(|earlier| plain(text, earlier).as_bytes() == bytes)
        {
            return true;
        }
        filter |= mark;
    }
    false
}

fn holds_twins_sorted(text: &str, keys: Keys<'_>) -> bool {
    let mut decoded: Vec<Str<'_>> = keys.map(|key| string(text, key)).collect();
    decoded.sort_unstable_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    !decoded.is_sorted_by(|a, b| a.as_bytes() != b.as_bytes())
}

/// Length, first and last byte tell the keys of our records apart.
fn fingerprint(bytes: &[u8]) -> usize {
    let first = bytes.first().copied().map_or(0, usize::from);
    let last = bytes.last().copied().map_or(0, usize::from);
    bytes.len().wrapping_mul(7) ^ first ^ last.wrapping_mul(5)
}

/// What stands between the quotes of a string node.
fn plain(text: &str, node: Node) -> &str {
    text.get(node.start() + 1..node.link().saturating_sub(1)).unwrap_or_default()
}

fn string(text: &str, node: Node) -> Str<'_> {
    let inner = plain(text, node);
    if node.kind() == Kind::Escaped { Str::Decoded(decode(inner)) } else { Str::Plain(inner) }
}

/// A position in the text. Every method returns nothing where the text is not JSON.
struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.position += 1;
        }
    }

    /// A string, number or word.
    fn leaf(&mut self, first: u8) -> Option<Kind> {
        match first {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true", Kind::True),
            b'f' => self.word(b"false", Kind::False),
            b'n' => self.word(b"null", Kind::Null),
            _ => None,
        }
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Option<Kind> {
        self.bytes.get(self.position..)?.starts_with(word).then(|| {
            self.position += word.len();
            kind
        })
    }

    fn number(&mut self) -> Option<Kind> {
        if self.peek() == Some(b'-') {
            self.position += 1;
        }
        match self.peek()? {
            b'0' => self.position += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return None,
        }
        if self.peek() == Some(b'.') {
            self.position += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.position += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.position += 1;
            }
            self.digits()?;
        }
        Some(Kind::Number)
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let start = self.position;
        while let Some(b'0'..=b'9') = self.peek() {
            self.position += 1;
        }
        (self.position > start).then_some(())
    }

    /// A string from its opening quote to behind its closing one.
    fn string(&mut self) -> Option<Kind> {
        let mut kind = Kind::Plain;
        self.position += 1;
        loop {
            self.position += ordinary_bytes(self.bytes.get(self.position..)?);
            match self.peek()? {
                b'"' => {
                    self.position += 1;
                    return Some(kind);
                }
                b'\\' => {
                    self.position += 1;
                    self.escape()?;
                    kind = Kind::Escaped;
                }
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let escape = self.peek()?;
        self.position += 1;
        match escape {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.bytes.get(self.position..self.position + 4)?;
                self.position += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }
}

/// How many bytes pass before a quote, a backslash or a C0 control: eight at a time.
fn ordinary_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut passed = 0;
    for chunk in words {
        let word = u64::from_le_bytes(*chunk);
        let special = zeros(word ^ (ONES * u64::from(b'"')))
            | zeros(word ^ (ONES * u64::from(b'\\')))
            | (word.wrapping_sub(ONES * 0x20) & !word & HIGH);
        if special != 0 {
            // Borrows only run upwards, so the lowest mark is a true one.
            return passed + usize::try_from(special.trailing_zeros() / 8).unwrap_or(0);
        }
        passed += 8;
    }
    passed
        + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F)).unwrap_or(rest.len())
}

/// A string that was read: borrowed as it stands where it has no escape.
#[derive(Clone, Debug)]
pub enum Str<'a> {
    /// Its text is its bytes.
    Plain(&'a str),
    /// It had escapes.
    Decoded(Text),
}

impl<'a> Str<'a> {
    /// The WTF-8 bytes, as [`Text::as_bytes`] gives them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Str::Plain(text) => text.as_bytes(),
            Str::Decoded(text) => text.as_bytes(),
        }
    }

    /// As a text of its own.
    #[must_use]
    pub fn into_text(self) -> Text {
        match self {
            Str::Plain(text) => text.into(),
            Str::Decoded(text) => text,
        }
    }

    /// As ordinary text, with every lone surrogate as U+FFFD.
    #[must_use]
    pub fn into_str_lossy(self) -> Cow<'a, str> {
        match self {
            Str::Plain(text) => Cow::Borrowed(text),
            Str::Decoded(text) => Cow::Owned(text.to_str_lossy().into_owned()),
        }
    }
}

impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Str<'_> {}

impl PartialEq<str> for Str<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

/// A piece of a string literal: a run of ordinary characters, or what an escape means.
enum Piece<'a> {
    Run(&'a str),
    Point(CodePoint),
}

/// The pieces of what stands between two quotes. Escapes were checked when the tape was made.
struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        match memchr::memchr(b'\\', self.rest.as_bytes()) {
            None if self.rest.is_empty() => None,
            None => Some(Piece::Run(std::mem::take(&mut self.rest))),
            Some(0) => {
                let escape = *self.rest.as_bytes().get(1)?;
                if escape == b'u' {
                    return Some(Piece::Point(self.unicode()?));
                }
                self.rest = self.rest.get(2..)?;
                Some(Piece::Point(CodePoint::Char(match escape {
                    b'b' => '\u{8}',
                    b'f' => '\u{C}',
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    other => char::from(other),
                })))
            }
            Some(run) => {
                let (head, tail) = self.rest.split_at_checked(run)?;
                self.rest = tail;
                Some(Piece::Run(head))
            }
        }
    }
}

impl Pieces<'_> {
    /// A `\u` escape; a pair of them where they make one character.
    fn unicode(&mut self) -> Option<CodePoint> {
        let unit = self.unit()?;
        self.rest = self.rest.get(6..)?;
        if let (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) = (unit, self.unit()) {
            self.rest = self.rest.get(6..)?;
            let scalar = 0x1_0000 + ((u32::from(unit) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
            return char::from_u32(scalar).map(CodePoint::Char);
        }
        Some(match char::from_u32(u32::from(unit)) {
            Some(character) => CodePoint::Char(character),
            None => CodePoint::Surrogate(unit),
        })
    }

    /// The code unit of the `\u` escape that comes next, if one does.
    fn unit(&self) -> Option<u16> {
        let digits = self.rest.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    }
}

fn decode(inner: &str) -> Text {
    let mut text = Text::new();
    for piece in (Pieces { rest: inner }) {
        match piece {
            Piece::Run(run) => text.push_str(run),
            Piece::Point(point) => text.push(point),
        }
    }
    text
}

/// The bytes that a string takes in canonical JSON, quotes and escapes included.
fn canonical_bytes_escaped(inner: &str) -> usize {
    let inside: usize = Pieces { rest: inner }
        .map(|piece| match piece {
            Piece::Run(run) => run.len(),
            Piece::Point(CodePoint::Char('"' | '\\' | '\u{8}'..='\n' | '\u{C}' | '\r')) => 2,
            Piece::Point(CodePoint::Char('\0'..='\u{1F}')) => 6,
            Piece::Point(CodePoint::Char(character)) => character.len_utf8(),
            Piece::Point(CodePoint::Surrogate(_)) => "\\udfff".len(),
        })
        .sum();
    inside + 2
}

/// A value on the tape, borrowed.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    text: &'a str,
    nodes: &'a [Node],
    index: usize,
}

impl<'a> Value<'a> {
    fn node(self) -> Node {
        // An index into the tape is always one of its nodes.
        self.nodes.get(self.index).copied().unwrap_or(Node { head: 0, link: 0 })
    }

    fn at(self, index: usize) -> Value<'a> {
        Value { index, ..self }
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.node().kind() == Kind::Null
    }

    /// The string, when this is one.
    #[must_use]
    pub fn as_text(self) -> Option<Str<'a>> {
        let node = self.node();
        matches!(node.kind(), Kind::Plain | Kind::Escaped).then(|| string(self.text, node))
    }

    /// Whether this is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.node().kind() == Kind::Object
    }

    /// The elements, when this is an array.
    #[must_use]
    pub fn items(self) -> Option<impl Iterator<Item = Value<'a>> + Clone> {
        let node = self.node();
        (node.kind() == Kind::Array).then(|| {
            let mut index = self.index + 1;
            let end = node.link();
            std::iter::from_fn(move || {
                let item = (index < end).then(|| self.at(index))?;
                index = item.node().next(index);
                Some(item)
            })
        })
    }

    /// Keys and values in order, when this is an object.
    #[must_use]
    pub fn members(self) -> Option<impl Iterator<Item = (Str<'a>, Value<'a>)>> {
        let members = self.raw_members()?;
        Some(members.map(move |(key, value)| (string(self.text, key), value)))
    }

    /// The value of a key; nothing when it is missing or when this is no object.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        self.raw_members()?
            .find(|(node, _)| match node.kind() {
                Kind::Plain => plain(self.text, *node) == key,
                _ => string(self.text, *node) == *key,
            })
            .map(|(_, value)| value)
    }

    fn raw_members(self) -> Option<impl Iterator<Item = (Node, Value<'a>)>> {
        let node = self.node();
        (node.kind() == Kind::Object).then(|| {
            let mut index = self.index + 1;
            let end = node.link();
            std::iter::from_fn(move || {
                let key = (index < end).then(|| self.at(index).node())?;
                let value = self.at(index + 1);
                index = value.node().next(index + 1);
                Some((key, value))
            })
        })
    }

    /// As a value of its own, verbatim. Recurses over at most [`DEPTH_MAX`] levels: a tape has no
    /// more.
    #[must_use]
    pub fn to_json(self) -> Json {
        let node = self.node();
        match node.kind() {
            Kind::Null => Json::Null,
            Kind::False => Json::Bool(false),
            Kind::True => Json::Bool(true),
            Kind::Number => Json::Number(Number::from_literal(self.literal(node))),
            Kind::Plain | Kind::Escaped => Json::String(string(self.text, node).into_text()),
            Kind::Array => {
                Json::Array(self.items().into_iter().flatten().map(Value::to_json).collect())
            }
            Kind::Object => Json::Object(self.to_object().unwrap_or_default()),
        }
    }

    /// As an object of its own, verbatim, when this is one.
    #[must_use]
    pub fn to_object(self) -> Option<Object> {
        Some(self.members()?.map(|(key, value)| (key.into_text(), value.to_json())).collect())
    }

    fn literal(self, node: Node) -> &'a str {
        self.text.get(node.start()..node.link()).unwrap_or_default()
    }

    /// The bytes of the value's canonical JSON ([`Json::write`]), without writing it. A leaf takes
    /// its own bytes, a container two brackets, and every node but the outermost and the first of a
    /// container has one comma or colon before it.
    #[must_use]
    pub fn canonical_bytes(self) -> u64 {
        let root = self.node();
        let end = root.next(self.index);
        let mut bytes = 0;
        for (index, node) in self.nodes.iter().enumerate().take(end).skip(self.index) {
            bytes += match node.kind() {
                Kind::Null | Kind::True => 4,
                Kind::False => 5,
                Kind::Number | Kind::Plain => node.link().saturating_sub(node.start()),
                Kind::Escaped => canonical_bytes_escaped(plain(self.text, *node)),
                Kind::Array | Kind::Object if node.link() == index + 1 => 2,
                Kind::Array | Kind::Object => 1,
            };
            bytes += 1;
        }
        u64::try_from(bytes.saturating_sub(1)).unwrap_or(u64::MAX)
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.to_json(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tape is scratch from one line to the next: that of a usual line is kept, that of a huge
    /// one given back before the next is read.
    #[test]
    fn the_memory_of_a_huge_line_is_given_back_and_that_of_a_usual_one_kept() {
        let next = |nodes: usize| {
            let mut tape = Tape { nodes: Vec::with_capacity(nodes), ..Tape::default() };
            tape.read("1").unwrap();
            tape.nodes.capacity()
        };
        assert_eq!(next(NODES_KEPT_MAX), NODES_KEPT_MAX);
        assert!(next(NODES_KEPT_MAX + 1) < 100);
        assert_eq!(next(1_000), 1_000);
    }
}
