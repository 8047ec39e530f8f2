//! What random callers do: verbs with arguments that are biased towards the edges.
//!
//! Uniformly random arguments would be refused at the first check, and nothing behind it would ever
//! run. So an argument is drawn from what the state knows (refs, names, message ids, keys), from
//! what almost fits (padded, of another actor, one beyond a limit), and from what no bus should be
//! asked: hostile Unicode, wrong types, fields of other verbs. `conform.rs` demands that every
//! outcome that there is was really met.

use gaia_bus_model::command::Verb;
use gaia_bus_model::json::{Json, Number, Object};
use gaia_bus_model::text::{CodePoint, Text};
use gaia_bus_model::vocabulary::{CLAIM_WINDOW, CORRELATION_CEILING};
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::sample::{Index, select};

/// The most bytes of a text argument in these runs: small, so that the limit is met often.
pub const TEXT_BYTES_MAX: usize = 200;

/// What a caller can know of a state.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Registered refs.
    pub refs: Vec<Text>,
    /// Names that somebody bears.
    pub names: Vec<Text>,
    /// Who can acknowledge which message.
    pub pending: Vec<(Text, Text)>,
    /// Ids of messages.
    pub messages: Vec<Text>,
    /// Idempotency keys with their sender.
    pub keys: Vec<(Text, Text)>,
    /// Where the correlation issuer stands.
    pub issuer_at: u64,
}

/// A verb, with all sorts of arguments.
pub fn command(known: &Known) -> BoxedStrategy<(Verb, Object)> {
    // Without actors everything is refused at its first check.
    let few = known.refs.len() < 3;
    let weighted = [
        (if few { 30 } else { 2 }, Verb::Register),
        (8, Verb::Send),
        (4, Verb::Inbox),
        (3, Verb::Ack),
        (2, Verb::Heartbeat),
        (3, Verb::Handoff),
    ];
    let known = known.clone();
    let verbs = weighted.into_iter().map(|(weight, verb)| (weight, Just(verb)));
    proptest::strategy::Union::new_weighted(verbs.collect())
        .prop_flat_map(move |verb| (Just(verb), arguments(verb, &known)))
        .boxed()
}

fn arguments(verb: Verb, known: &Known) -> BoxedStrategy<Object> {
    let fields: Vec<_> =
        verb.fields().iter().map(|field| (Just(*field), value(verb, field, known))).collect();
    let stray = weighted(vec![
        (40, Just(None).boxed()),
        (
            1,
            (select(vec!["corelationId", "actorId", "from", ""]), anything())
                .prop_map(Some)
                .boxed(),
        ),
    ]);
    let pair = weighted(vec![(3, Just(false).boxed()), (1, Just(true).boxed())]);
    (fields, stray, pair, any::<Index>(), Just(known.clone()))
        .prop_map(move |(fields, stray, pair, at, known)| {
            let mut object: Object = fields
                .into_iter()
                .filter_map(|(field, value)| Some((Text::from(field), value?)))
                .collect();
            // An acknowledgement succeeds only with the two that belong together.
            if verb == Verb::Ack && pair && !known.pending.is_empty() {
                let (actor, message) = &known.pending[at.index(known.pending.len())];
                object.set("actorId", actor);
                object.set("messageId", message);
            }
            // A repeat needs the sender of a key that was used.
            if matches!(verb, Verb::Send | Verb::Handoff) && pair && !known.keys.is_empty() {
                let (sender, key) = &known.keys[at.index(known.keys.len())];
                object.set("from", sender);
                object.set("idempotencyKey", key);
            }
            if let Some((key, value)) = stray {
                object.set(key, value);
            }
            object
        })
        .boxed()
}

type Value = BoxedStrategy<Option<Json>>;

fn value(verb: Verb, field: &str, known: &Known) -> Value {
    match field {
        "actorId" if verb == Verb::Register => with_strays(20, name(known)),
        "actorId" | "from" | "to" => with_strays(25, address(known)),
        "ref" => optional(6, weighted(vec![(4, from(&known.refs)), (1, unknown_ref())])),
        "messageId" => with_strays(
            20,
            weighted(vec![(8, from(&known.messages)), (1, texts(vec!["msg-9999", "cor-0001"]))]),
        ),
        "text" | "summary" => with_strays(25, body()),
        "note" | "kind" => {
            optional(3, weighted(vec![(3, short()), (2, hostile()), (1, anything())]))
        }
        "capabilities" | "requestedAuthority" => optional(2, list()),
        "correlationId" => optional(3, correlation(known)),
        "replyTo" => optional(4, weighted(vec![(2, from(&known.messages)), (1, anything())])),
        "expectsReply" => optional(
            3,
            weighted(vec![(2, any::<bool>().prop_map(Json::Bool).boxed()), (1, anything())]),
        ),
        "idempotencyKey" => {
            optional(3, weighted(vec![(6, texts(vec!["k1", "k2", " k1 "])), (1, anything())]))
        }
        "limit" => optional(2, limit()),
        other => unreachable!("no strategy for {other}"),
    }
}

/// Mostly the value; now and then nothing, or something of another kind.
fn with_strays(weight: u32, value: BoxedStrategy<Json>) -> Value {
    weighted(vec![
        (weight, value.prop_map(Some).boxed()),
        (1, Just(None).boxed()),
        (1, anything().prop_map(Some).boxed()),
    ])
}

/// Absent but for one time in so many.
fn optional(one_in: u32, value: BoxedStrategy<Json>) -> Value {
    weighted(vec![(one_in - 1, Just(None).boxed()), (1, value.prop_map(Some).boxed())])
}

fn weighted<T: std::fmt::Debug + 'static>(
    options: Vec<(u32, BoxedStrategy<T>)>,
) -> BoxedStrategy<T> {
    proptest::strategy::Union::new_weighted(options).boxed()
}

fn texts(options: Vec<&'static str>) -> BoxedStrategy<Json> {
    select(options).prop_map(Json::from).boxed()
}

/// One of these; something short when there is none.
fn from(options: &[Text]) -> BoxedStrategy<Json> {
    if options.is_empty() {
        return short();
    }
    select(options.to_vec()).prop_map(Json::from).boxed()
}

fn short() -> BoxedStrategy<Json> {
    texts(vec!["builder", "reviewer", "done", "please review", " looking ", "x"])
}

fn name(known: &Known) -> BoxedStrategy<Json> {
    weighted(vec![
        (6, texts(vec!["gaia", "builder", "reviewer", "caf\u{e9}", " builder\u{FEFF}"])),
        (2, from(&known.names)),
        (1, texts(vec!["act-0001", "act-", "ACT-7", "act-99999999999999999999"])),
        (1, hostile()),
    ])
}

fn address(known: &Known) -> BoxedStrategy<Json> {
    if known.refs.is_empty() {
        return short();
    }
    let padded = from(&known.refs).prop_map(|value| {
        let mut text = Text::from("\u{A0} ");
        text.push_text(value.as_text().expect("refs are texts"));
        Json::from(text)
    });
    weighted(vec![
        (20, from(&known.refs)),
        (8, from(&known.names)),
        (1, padded.boxed()),
        (1, unknown_ref()),
        (1, hostile()),
    ])
}

fn unknown_ref() -> BoxedStrategy<Json> {
    texts(vec!["act-0099", "act-1", "nobody", "msg-0001"])
}

fn body() -> BoxedStrategy<Json> {
    weighted(vec![
        (5, short()),
        (2, texts(vec!["please approve and merge", "you have my permission to push"])),
        (2, hostile()),
        (1, sized()),
    ])
}

/// At the limit, one below, one beyond, in characters of one to four bytes.
fn sized() -> BoxedStrategy<Json> {
    let unit = select(vec!["a", "\u{e9}", "\u{2028}", "\u{1F469}"]);
    (unit, -1_i32..=1)
        .prop_map(|(unit, beyond)| {
            let bytes = TEXT_BYTES_MAX.checked_add_signed(beyond as isize).expect("small");
            let units = unit.repeat(bytes / unit.len());
            Json::from(format!("{units}{}", "b".repeat(bytes % unit.len())))
        })
        .boxed()
}

fn hostile() -> BoxedStrategy<Json> {
    let mut high = Text::from("cut ");
    high.push(CodePoint::Surrogate(0xD83D));
    let mut low = Text::new();
    low.push(CodePoint::Surrogate(0xDC69));
    low.push_str("\u{1b}[31m");
    let texts = [
        "",
        " \u{FEFF}\u{3000}",
        "\u{85}",
        "a\0b",
        "\u{202e}gnp.exe",
        "line\nline\r\nline",
        "\"\\\u{8}\u{c}\u{7f}",
        "\u{2028}\u{2029}",
        "cafe\u{301}",
        "\u{1F469}\u{200D}\u{1F4BB}",
        "{\"type\":\"actor.registered\"}\n",
        "\u{FFFF}\u{10FFFF}",
    ];
    let all: Vec<Text> = texts.iter().map(|text| Text::from(*text)).chain([high, low]).collect();
    select(all).prop_map(Json::from).boxed()
}

fn list() -> BoxedStrategy<Json> {
    let entry = weighted(vec![
        (6, texts(vec!["read", "observe", "approve", "merge", " report ", "READ", "fly"])),
        (1, hostile()),
        (1, anything()),
    ]);
    weighted(vec![
        (6, proptest::collection::vec(entry, 0..4).prop_map(Json::Array).boxed()),
        (1, proptest::collection::vec(short(), 40..60).prop_map(Json::Array).boxed()),
        (1, anything()),
    ])
}

fn correlation(known: &Known) -> BoxedStrategy<Json> {
    let at = known.issuer_at;
    let numeric = [at, at + 1, at + CLAIM_WINDOW, at + CLAIM_WINDOW + 1, CORRELATION_CEILING - 1]
        .map(|ordinal| Text::from(format!("cor-{ordinal:04}")));
    weighted(vec![
        (5, select(numeric.to_vec()).prop_map(Json::from).boxed()),
        (2, texts(vec!["cor-9007199254740991", "cor-99999999999999999", "cor-0000", "cor-x"])),
        (2, texts(vec!["thread-a", " thread-a"])),
        (1, anything()),
    ])
}

fn limit() -> BoxedStrategy<Json> {
    let literals = vec!["1", "2", "1.0", "1e0", "0", "-1", "1.5", "1e999", "9007199254740993"];
    weighted(vec![
        (6, select(literals).prop_map(|it| Json::Number(Number::from_literal(it))).boxed()),
        (1, anything()),
    ])
}

/// A value of any type.
fn anything() -> BoxedStrategy<Json> {
    select(vec![
        Json::Null,
        Json::Bool(true),
        Json::Bool(false),
        Json::Number(Number::from_literal("7")),
        Json::Number(Number::from_literal("-0.0")),
        Json::Array(Vec::new()),
        Json::Array(vec![Json::Null, Json::from("approve")]),
        Json::Object(Object::new().with("a", 1)),
        Json::from(""),
        Json::from("anything"),
    ])
    .boxed()
}

/// A record that some other program appended: sound JSON that folds, and no build of ours wrote it.
#[derive(Clone, Debug)]
pub struct Foreign {
    /// The record.
    pub record: Object,
    /// How its line is spelled.
    pub spelling: Spelling,
}

/// How a line is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As we do.
    Plain,
    /// With a carriage return before the newline.
    CarriageReturn,
    /// With spaces around the record.
    Spaced,
    /// With an escape where none is needed.
    Escaped,
}

impl Foreign {
    /// The line, with its newline.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        let mut line = self.record.to_line();
        match self.spelling {
            Spelling::Plain => {}
            Spelling::CarriageReturn => line.push(b'\r'),
            Spelling::Spaced => line = [b" \t", line.as_slice(), b"  "].concat(),
            Spelling::Escaped => {
                let spelled = b"{\"\\u0074ype\"";
                assert!(line.starts_with(b"{\"type\""), "every record begins with its type");
                line = [spelled, &line[7..]].concat();
            }
        }
        line.push(b'\n');
        line
    }
}

/// What others may append, given the record that the bus itself would have.
pub fn foreign(known: &Known, own: Object) -> BoxedStrategy<Foreign> {
    let at = "2026-09-15T12:00:00.000Z";
    let record = |kind: &str| Object::new().with("type", kind).with("at", at);
    let message = |id: String, from: &str, to: &str, correlation: String| {
        Object::new()
            .with("messageId", id)
            .with("from", from)
            .with("to", to)
            .with("correlationId", correlation)
            .with("text", "older build")
    };
    let next = format!("msg-{:04}", known.messages.len() + 1);
    let sent = |message: Object| record("message.sent").with("message", message);
    let to = known.refs.first().map_or("ghost".into(), ToString::to_string);
    let mut cut = Text::from("cut ");
    cut.push(CodePoint::Surrogate(0xD83D));
    let ceiling = format!("cor-{CORRELATION_CEILING}");
    let records = vec![
        own.clone().with("addedByANewerBuild", Json::Array(vec![Json::Null])),
        record("weather.seen").with("at", Json::Null).with("cut", cut),
        sent(message(next.clone(), "nobody", &to, "thread-b".into())),
        sent(message(next.clone(), &to, "ghost", "cor-0042".into())),
        sent(message(next, &to, &to, ceiling)),
        record("actor.registered").with("ref", "act-0777").with("name", "twin"),
        record("inbox.polled").with("actorId", "ghost").with("messageIds", vec!["msg-0001"]),
        record("message.acked").with("actorId", "ghost").with("messageId", "msg-0404"),
        Object::new().with("type", "actor.heartbeat").with("at", "not a time").with("actorId", to),
    ];
    let spellings =
        vec![Spelling::Plain, Spelling::CarriageReturn, Spelling::Spaced, Spelling::Escaped];
    weighted(vec![(1, Just(own).boxed()), (3, select(records).boxed())])
        .prop_flat_map(move |record| (Just(record), select(spellings.clone())))
        .prop_map(|(record, spelling)| Foreign { record, spelling })
        .boxed()
}

/// Records that read well and do not fold.
pub fn unreplayable() -> BoxedStrategy<Object> {
    let record = |kind: &str| Object::new().with("type", kind);
    let message = Object::new().with("messageId", "msg-0001").with("from", 1);
    select(vec![
        record("actor.registered"),
        record("actor.registered").with("ref", "act-0001").with("name", Json::Null),
        record("message.sent").with("message", Object::new()),
        record("message.sent").with("message", message),
        record("message.sent").with("message", "msg-0001"),
    ])
    .boxed()
}

/// An instant of one day, as it is recorded.
#[must_use]
pub fn instant(ms: i64) -> Text {
    let ms = ms.rem_euclid(86_400_000);
    let (s, m, h) = (ms / 1_000 % 60, ms / 60_000 % 60, ms / 3_600_000);
    format!("2026-09-15T{h:02}:{m:02}:{s:02}.{:03}Z", ms % 1_000).into()
}
