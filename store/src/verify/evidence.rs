//! The fourteen checks of a log: five ask how rich it is, nine whether it may be trusted at all.
//!
//! Names and green details are a contract with scripts: `tests/verify.rs` holds them against the
//! recorded verdicts. Where a record holds the fact, the record is judged and not the state.

use std::collections::{BTreeSet, HashMap, HashSet};

use gaia_bus_model::authority::is_grantable;
use gaia_bus_model::correlation::{self, Health};
use gaia_bus_model::decide::quoted;
use gaia_bus_model::identifier::is_mint_shaped;
use gaia_bus_model::integrity::{self, FindingKind};
use gaia_bus_model::invariant::is_bus_authority;
use gaia_bus_model::json::{Json, Object};
use gaia_bus_model::text::Text;
use gaia_bus_model::vocabulary::{BUS_AUTHORITY, TRUST};

use super::ledger::Ledger;
use super::{Check, Verdict, refold};
use crate::archive::Archive;

/// A check of a log.
#[derive(Clone, Copy, Debug)]
pub struct EvidenceCheck {
    /// Its name.
    pub name: &'static str,
    /// Judges a log.
    pub judge: fn(&Ledger<'_>) -> Verdict,
}

/// Advisory.
pub const THREE_ACTORS: &str = "at least three actors";
/// Advisory.
pub const TWO_KINDS: &str = "more than one actor kind";
/// Advisory.
pub const THREAD: &str = "a correlated thread of three or more messages";
/// Advisory.
pub const ACKNOWLEDGED: &str = "at least one acknowledgement";
/// Advisory.
pub const HANDED_OFF: &str = "at least one handoff";
/// Gates.
pub const NOTHING_TRANSFERRED: &str = "no handoff transferred authority";
/// Gates.
pub const AUTHORITY_FROZEN: &str = "every actor.registered carries the frozen busAuthority";

/// All of them, in the order in which they are shown.
pub const CHECKS: [EvidenceCheck; 14] = [
    EvidenceCheck { name: "replayable", judge: replayable },
    EvidenceCheck { name: "deterministic replay", judge: deterministic },
    EvidenceCheck { name: THREE_ACTORS, judge: three_actors },
    EvidenceCheck { name: TWO_KINDS, judge: two_kinds },
    EvidenceCheck { name: THREAD, judge: thread },
    EvidenceCheck { name: ACKNOWLEDGED, judge: acknowledged },
    EvidenceCheck { name: HANDED_OFF, judge: handed_off },
    EvidenceCheck { name: NOTHING_TRANSFERRED, judge: nothing_transferred },
    EvidenceCheck {
        name: "no message was granted a privileged authority",
        judge: grants_inside_allowlist,
    },
    EvidenceCheck { name: "every body is labelled untrusted-text", judge: bodies_labelled },
    EvidenceCheck {
        name: "every address in the log belongs to an actor this bus minted",
        judge: addresses_minted,
    },
    EvidenceCheck {
        name: "every correlation id is inside the issuer range",
        judge: correlations_in_range,
    },
    EvidenceCheck { name: "the correlation issuer still has room to mint", judge: issuer_has_room },
    EvidenceCheck { name: AUTHORITY_FROZEN, judge: authority_frozen },
];

/// Makes checks on a log.
#[must_use]
pub fn judge(checks: &[EvidenceCheck], records: &[Object]) -> Vec<Check> {
    let ledger = Ledger::of(records);
    checks.iter().map(|check| Check::new(check.name, (check.judge)(&ledger))).collect()
}

fn folded(records: &[Object]) -> Result<Archive, String> {
    refold(records, Archive::new(), |_, _| Ok(()))
        .map_err(|(index, reason)| format!("line {} does not fold: {reason}", index + 1))
}

fn replayable(log: &Ledger<'_>) -> Verdict {
    folded(log.records).map(|_| format!("{} events", log.records.len()))
}

/// The state and what is shown of it, twice from the first byte.
fn deterministic(log: &Ledger<'_>) -> Verdict {
    let (once, again) = (folded(log.records)?, folded(log.records)?);
    if once == again && once.snapshot().to_line() == again.snapshot().to_line() {
        Ok("replay(events) == replay(events)".into())
    } else {
        Err("folding the log twice gives two different states".into())
    }
}

fn three_actors(log: &Ledger<'_>) -> Verdict {
    at_least(3, log.actors.len(), format!("{} actors", log.actors.len()))
}

fn at_least(wanted: usize, found: usize, detail: String) -> Verdict {
    if found >= wanted { Ok(detail) } else { Err(detail) }
}

fn two_kinds(log: &Ledger<'_>) -> Verdict {
    let mut kinds: Vec<&Text> = Vec::new();
    let mut seen = HashSet::new();
    for kind in log.actors.iter().filter_map(|(_, actor)| actor.get_text("kind")) {
        if seen.insert(kind) {
            kinds.push(kind);
        }
    }
    let names: Vec<_> = kinds.iter().map(|kind| kind.to_str_lossy()).collect();
    at_least(2, kinds.len(), format!("kinds: {}", names.join(", ")))
}

fn thread(log: &Ledger<'_>) -> Verdict {
    let mut sizes: HashMap<&Text, usize> = HashMap::new();
    let mut widest: Option<(&Text, usize)> = None;
    for id in log.messages().filter_map(|message| message.get_text("correlationId")) {
        let size = sizes.entry(id).or_default();
        *size += 1;
        if widest.is_none_or(|(_, most)| *size > most) {
            widest = Some((id, *size));
        }
    }
    match widest {
        Some((id, size)) => {
            let id = id.to_str_lossy();
            at_least(3, size, format!("widest thread {id} has {size} messages"))
        }
        None => Err("no message belongs to a thread".into()),
    }
}

fn acknowledged(log: &Ledger<'_>) -> Verdict {
    at_least(1, log.acked_count(), format!("{} acked", log.acked_count()))
}

fn handed_off(log: &Ledger<'_>) -> Verdict {
    at_least(1, log.handoffs.len(), format!("{} handoffs", log.handoffs.len()))
}

/// The count and the first of what is wrong.
fn none_of(bad: &[String], green: impl FnOnce() -> String) -> Verdict {
    match bad {
        [] => Ok(green()),
        [only] => Err(only.clone()),
        [first, rest @ ..] => Err(format!("{first}, and {} more", rest.len())),
    }
}

/// A value as found, for a sentence.
fn shown(value: Option<&Json>) -> String {
    value.map_or_else(
        || "nothing".into(),
        |value| {
            let mut bytes = Vec::new();
            value.write(&mut bytes);
            quoted(&String::from_utf8_lossy(&bytes).into_owned().into())
        },
    )
}

fn named(message: &Object) -> String {
    message.get_text("messageId").map_or_else(|| "a message".into(), quoted)
}

fn nothing_transferred(log: &Ledger<'_>) -> Verdict {
    let transferred = |handoff: &&&Object| {
        let transferred = handoff.get("authorityTransferred").and_then(Json::as_array);
        transferred.is_none_or(|entries| !entries.is_empty())
    };
    let bad: Vec<_> = log
        .handoffs
        .iter()
        .filter(transferred)
        .map(|handoff| {
            format!(
                "the handoff of {} has authorityTransferred {}",
                named(handoff),
                shown(handoff.get("authorityTransferred"))
            )
        })
        .collect();
    none_of(&bad, || "authorityTransferred is [] on every handoff".into())
}

fn granted(message: &Object) -> Option<&[Json]> {
    message.get("authority").and_then(Json::as_object)?.get("granted")?.as_array()
}

fn grants_inside_allowlist(log: &Ledger<'_>) -> Verdict {
    let inside = |message: &Object| {
        granted(message)
            .is_some_and(|list| list.iter().all(|entry| entry.as_text().is_some_and(is_grantable)))
    };
    let bad: Vec<_> = log
        .sent
        .iter()
        .filter(|message| !inside(message))
        .map(|message| {
            format!("{} has a grant that is no list inside the allowlist", named(message))
        })
        .collect();
    none_of(&bad, || "grants stay inside the allowlist".into())
}

fn bodies_labelled(log: &Ledger<'_>) -> Verdict {
    let labelled =
        |message: &Object| message.get_text("trust").is_some_and(|label| *label == TRUST);
    let bad: Vec<_> = log
        .sent
        .iter()
        .filter(|message| !labelled(message))
        .map(|message| format!("{} is labelled {}", named(message), shown(message.get("trust"))))
        .collect();
    none_of(&bad, || format!("{} messages", log.stored.len()))
}

/// Every finding that doctor makes on the state, and those that a later record covers up there:
/// messages that were overwritten, acknowledgements that were acknowledged over.
fn addresses_minted(log: &Ledger<'_>) -> Verdict {
    let registered: HashSet<&Text> = log.actors.iter().map(|(actor_ref, _)| *actor_ref).collect();
    let is_minted = |id: &Text| is_mint_shaped(id) && registered.contains(id);
    let findings = integrity::findings(
        is_minted,
        log.actors.iter().map(|(actor_ref, _)| *actor_ref),
        log.sent.iter().copied(),
        log.handoffs.iter().copied(),
        log.sent.iter().filter_map(|message| message.get_text("to")),
    );
    let told = |kind: FindingKind, subject: Option<&Json>| {
        format!("{}: {}", kind.as_str(), shown(subject))
    };
    let mut bad: Vec<_> =
        findings.iter().map(|finding| told(finding.kind, finding.subject.as_ref())).collect();
    for ack in &log.acks {
        if !ack.get_text("actorId").is_some_and(is_minted) {
            bad.push(told(FindingKind::UnmintedAckActor, ack.get("actorId")));
        }
    }
    none_of(&bad, || format!("{} actors, all minted", log.actors.len()))
}

fn correlations_in_range(log: &Ledger<'_>) -> Verdict {
    let in_range = |message: &Object| {
        message
            .get_text("correlationId")
            .is_some_and(|id| !correlation::is_numeric(id) || correlation::ordinal(id).is_some())
    };
    let bad: Vec<_> = log
        .sent
        .iter()
        .filter(|message| !in_range(message))
        .map(|message| {
            format!("{} has correlationId {}", named(message), shown(message.get("correlationId")))
        })
        .collect();
    let threads: HashSet<_> =
        log.messages().filter_map(|message| message.get_text("correlationId")).collect();
    none_of(&bad, || format!("{} threads, all within range", threads.len()))
}

fn issuer_has_room(log: &Ledger<'_>) -> Verdict {
    let health = Health { issuer_at: log.issuer_at(), findings: Vec::new() };
    let detail = format!(
        "the issuer is at {} with {} ids of runway left",
        health.issuer_at,
        health.headroom()
    );
    if health.is_ok() { Ok(detail) } else { Err(detail) }
}

fn authority_frozen(log: &Ledger<'_>) -> Verdict {
    let bad: Vec<_> = log
        .registrations
        .iter()
        .filter(|record| !is_bus_authority(record.get("busAuthority")))
        .map(|record| {
            let actor_ref = record.get("ref");
            format!(
                "{} was registered with {}",
                shown(actor_ref),
                shown(record.get("busAuthority"))
            )
        })
        .collect();
    let sorted: Vec<Json> = BTreeSet::from(BUS_AUTHORITY).into_iter().map(Json::from).collect();
    none_of(&bad, || {
        let mut all = Vec::new();
        Json::Array(sorted).write(&mut all);
        format!("{} registrations, all {}", log.registrations.len(), String::from_utf8_lossy(&all))
    })
}
