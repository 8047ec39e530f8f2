//! JSON values as the log holds them: key order kept, strings verbatim, numbers as they were
//! written.
//!
//! There is no reader here (the store's `log` has the one strict reader) and one writer,
//! [`Json::write`], which writes as ECMAScript's `JSON.stringify` does. `serde::Serialize` is
//! implemented too, for answers: the same, but lone surrogates leave as U+FFFD.
//!
//! Nesting is at most [`DEPTH_MAX`] in anything that the strict reader let in, so recursion over a
//! value is bounded.

use std::hash::{Hash, Hasher};

use serde::ser::{SerializeMap, SerializeSeq};

use crate::text::{CodePoint, Text};

/// The deepest nesting of arrays and objects that is read: an object is level 1.
pub const DEPTH_MAX: usize = 128;

/// Any JSON value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(Number),
    /// A string, verbatim.
    String(Text),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

/// A JSON number: the literal as it was written. Two numbers are equal when they have the same
/// value as an IEEE 754 double, which is how every ECMAScript reader sees them.
#[derive(Clone, Debug)]
pub struct Number(Box<str>);

impl Number {
    /// From a literal that a JSON reader has accepted.
    #[must_use]
    pub fn from_literal(literal: &str) -> Self {
        Number(literal.into())
    }

    /// The literal as written.
    #[must_use]
    pub fn literal(&self) -> &str {
        &self.0
    }

    /// The value; beyond the range of a double it is infinite, as in ECMAScript.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }

    fn bits(&self) -> u64 {
        (self.value() + 0.0).to_bits()
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Number(value.to_string().into())
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

/// A JSON object: keys unique, in the order written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Object(Vec<(Text, Json)>);

impl Object {
    /// An object without keys.
    #[must_use]
    pub const fn new() -> Self {
        Object(Vec::new())
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// The string value of a key; nothing when it is missing or of another type.
    #[must_use]
    pub fn get_text(&self, key: &str) -> Option<&Text> {
        self.get(key).and_then(Json::as_text)
    }

    /// Sets a key: in its place when it is there, else at the end.
    pub fn set(&mut self, key: impl Into<Text>, value: impl Into<Json>) {
        let key = key.into();
        let value = value.into();
        match self.0.iter_mut().find(|(k, _)| *k == key) {
            Some((_, slot)) => *slot = value,
            None => self.0.push((key, value)),
        }
    }

    /// The same object with one more key; for building records in order.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.set(key, value);
        self
    }

    /// The same object, with one more key when there is a value.
    #[must_use]
    pub fn with_some(self, key: &str, value: Option<impl Into<Json>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Json)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One compact line, without the newline, as `JSON.stringify` writes it.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_object(self, &mut out);
        out
    }
}

impl FromIterator<(Text, Json)> for Object {
    /// Takes the pairs as they are; a caller that may hold a key twice must have refused it before.
    fn from_iter<I: IntoIterator<Item = (Text, Json)>>(pairs: I) -> Self {
        Object(pairs.into_iter().collect())
    }
}

impl Json {
    /// The string, when this is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The array, when this is one.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The object, when this is one.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Json::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Writes the value as ECMAScript's `JSON.stringify` does: compact, only `"`, `\` and C0
    /// controls escaped, short escapes where they exist, lower-case hex, lone surrogates as
    /// `\udXXX`. Numbers are written as they were read.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(true) => out.extend_from_slice(b"true"),
            Json::Bool(false) => out.extend_from_slice(b"false"),
            Json::Number(number) => out.extend_from_slice(number.literal().as_bytes()),
            Json::String(text) => write_text(text, out),
            Json::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Json::Object(object) => write_object(object, out),
        }
    }
}

fn write_object(object: &Object, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (key, value)) in object.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text(key, out);
        out.push(b':');
        value.write(out);
    }
    out.push(b'}');
}

/// Writes a quoted JSON string.
fn write_text(text: &Text, out: &mut Vec<u8>) {
    out.push(b'"');
    if text.as_bytes().iter().all(|b| !matches!(b, 0..=0x1F | b'"' | b'\\' | 0xED)) {
        out.extend_from_slice(text.as_bytes());
    } else {
        for point in text.code_points() {
            write_code_point(point, out);
        }
    }
    out.push(b'"');
}

fn write_code_point(point: CodePoint, out: &mut Vec<u8>) {
    match point {
        CodePoint::Char('"') => out.extend_from_slice(b"\\\""),
        CodePoint::Char('\\') => out.extend_from_slice(b"\\\\"),
        CodePoint::Char('\u{8}') => out.extend_from_slice(b"\\b"),
        CodePoint::Char('\t') => out.extend_from_slice(b"\\t"),
        CodePoint::Char('\n') => out.extend_from_slice(b"\\n"),
        CodePoint::Char('\u{C}') => out.extend_from_slice(b"\\f"),
        CodePoint::Char('\r') => out.extend_from_slice(b"\\r"),
        CodePoint::Char(c @ '\0'..='\u{1F}') => {
            out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
        }
        CodePoint::Char(c) => {
            let mut buffer = [0; 4];
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
        CodePoint::Surrogate(unit) => {
            out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Json::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Json::Number(value.into())
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Json::String(value.into())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Json::String(value.into())
    }
}

impl From<Text> for Json {
    fn from(value: Text) -> Self {
        Json::String(value)
    }
}

impl From<&Text> for Json {
    fn from(value: &Text) -> Self {
        Json::String(value.clone())
    }
}

impl From<Object> for Json {
    fn from(value: Object) -> Self {
        Json::Object(value)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Self {
        Json::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Json::Null, Into::into)
    }
}

impl serde::Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => number.serialize(serializer),
            Json::String(text) => text.serialize(serializer),
            Json::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(item)?;
                }
                sequence.end()
            }
            Json::Object(object) => object.serialize(serializer),
        }
    }
}

impl serde::Serialize for Object {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl serde::Serialize for Number {
    /// As written, `1e999` too: a raw value passes `serde_json` untouched.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::value::RawValue::from_string(self.0.to_string()) {
            Ok(raw) => raw.serialize(serializer),
            Err(_) => serializer.serialize_f64(self.value()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Json) -> String {
        let mut out = Vec::new();
        value.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_are_written_as_json_stringify_writes_them() {
        for (text, expected) in [
            ("\"\\/", r#""\"\\/""#),
            ("\u{8}\t\n\u{C}\r", r#""\b\t\n\f\r""#),
            ("\0\u{1}\u{B}\u{1F}", r#""\u0000\u0001\u000b\u001f""#),
            ("\u{7F}\u{85}\u{2028}\u{D7FF}\u{1F469}", "\"\u{7F}\u{85}\u{2028}\u{D7FF}\u{1F469}\""),
        ] {
            assert_eq!(written(&text.into()), expected);
        }
        let mut lone = Text::from("x\u{D55C}");
        lone.push(CodePoint::Surrogate(0xDFAB));
        assert_eq!(written(&lone.into()), "\"x\u{D55C}\\udfab\"");
    }

    #[test]
    fn arrays_and_objects_are_written_with_commas_between_and_nowhere_else() {
        let items: Vec<Json> = vec![1_u64.into(), Json::Null, true.into()];
        assert_eq!(written(&Json::Array(items.clone())), "[1,null,true]");
        assert_eq!(written(&Json::Array(items[..1].to_vec())), "[1]");
        assert_eq!(written(&Json::Array(Vec::new())), "[]");
        let object = Object::new().with("a", 1).with("b", Object::new());
        assert_eq!(written(&object.into()), r#"{"a":1,"b":{}}"#);
    }

    #[test]
    fn an_object_counts_its_keys() {
        let none = Object::new();
        assert_eq!((none.len(), none.is_empty()), (0, true));
        let two = none.with("a", 1).with("b", 2).with("a", 3);
        assert_eq!((two.len(), two.is_empty()), (2, false));
    }

    #[test]
    fn numbers_that_are_equal_hash_alike_and_others_do_not() {
        use std::hash::DefaultHasher;
        let hash = |literal: &str| {
            let mut hasher = DefaultHasher::new();
            Number(literal.into()).hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash("1"), hash("1.0e0"));
        assert_eq!(hash("0"), hash("-0"));
        assert_ne!(hash("1"), hash("2"));
    }

    #[test]
    fn numbers_are_written_as_they_were_read_and_compare_by_value() {
        let number = Number::from_literal;
        for (one, other) in [("1", "1.0"), ("-0", "0"), ("1e2", "100"), ("1e999", "2e999")] {
            assert_eq!(number(one), number(other));
        }
        assert_ne!(number("1"), number("2"));
        assert_ne!(number("1e999"), number("-1e999"));
        for literal in ["1.0", "1E+2", "1e999", "-0", "9007199254740993"] {
            assert_eq!(written(&Json::Number(number(literal))), literal);
        }
    }

    #[test]
    fn objects_keep_their_order_and_it_matters() {
        let mut object = Object::new().with("b", 1).with("a", Json::Null);
        object.set("b", vec![true]);
        let object = object.with_some("c", None::<Json>).with_some("d", Some("x"));
        assert_eq!(written(&object.clone().into()), r#"{"b":[true],"a":null,"d":"x"}"#);
        assert_ne!(
            object,
            Object::new().with("a", Json::Null).with("b", vec![true]).with("d", "x")
        );
    }

    #[test]
    fn answers_leave_as_strict_json_with_numbers_untouched() {
        let mut lone = Text::new();
        lone.push(CodePoint::Surrogate(0xD83D));
        let number = Json::Number(Number::from_literal("1e999"));
        let object = Object::new().with("text", lone).with("n", number);
        let line = serde_json::to_string(&object).unwrap();
        assert_eq!(line, "{\"text\":\"\u{FFFD}\",\"n\":1e999}");
    }
}
