//! Histories: who asked what when, who was answered what when, and whether one order explains it
//! all.
//!
//! Strict serialisability of the bus: there is one order of all commands in which each is decided
//! as if it ran alone, every answer is the model's answer at its place, the log is what they append
//! in that order, and a command that was answered before another was asked stands before it.
//! Unknown outcomes (a killed process, an unconfirmed write) may be in or out; fail-closed ones
//! must be out.
//!
//! [`judge`] has the log as its witness: the log *is* the order, so orders are not searched. At
//! each place it finds the commands that append exactly these records and were answered exactly
//! this, and sweeps the order of real time: no command may stand behind one that was asked after it
//! had returned. Processes are sequential, so only the next of each can stand at a place. Where
//! several fit (two refusals may read alike) every way is carried on, and of two that took the same
//! commands the one that leaves more time: so it is exact, and as good as linear when commands can
//! be told apart.
//!
//! [`search`] knows none of that: it tries every order. It is only fit for small histories, and is
//! the check of the checker: [`cross_check`] has both judge the same histories, half of them made
//! illegal.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::RangeInclusive;

use gaia_bus_model::command::{Command, Limits, Verb};
use gaia_bus_model::decide::{Decision, decide};
use gaia_bus_model::json::Object;
use gaia_bus_model::state::State;
use gaia_bus_model::text::Text;

use crate::chance::Chance;
use crate::report::{Draft, Report};
use crate::strategy::instant;

/// What the caller of a command knows of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was answered: the result, or the refusal's code.
    Answered(Result<Object, String>),
    /// It failed closed: nothing was written.
    FailedClosed,
    /// Nobody knows.
    Unknown,
}

/// One command, from asking to knowing.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Which process was asked. Processes are sequential.
    pub process: usize,
    /// When it was asked, on a clock that all callers share.
    pub invoked: u64,
    /// When its outcome was known; for one that was killed, when it was surely dead.
    pub returned: u64,
    /// The verb.
    pub verb: Verb,
    /// The arguments.
    pub arguments: Object,
    /// What came of it.
    pub outcome: Outcome,
}

impl Operation {
    /// The decision, had it been made here and then.
    fn decided(&self, state: &State, at: &Text) -> Decision {
        let arguments = self.arguments.clone();
        let command = Command { verb: self.verb, at: at.clone(), arguments };
        decide(state, &command, &Limits::default())
    }

    /// How many records at the beginning of `log` this command may have appended: none, all that it
    /// decided, or fewer when a kill inside the write may have cut the batch at a line end.
    fn explains(&self, state: &State, log: &[Object]) -> RangeInclusive<usize> {
        let none = RangeInclusive::new(1, 0);
        let Some(at) = log.first().and_then(|record| record.get_text("at")) else { return none };
        let decision = self.decided(state, at);
        if !self.was_answered(&decision) {
            return none;
        }
        let same = decision.events.iter().zip(log).take_while(|(a, b)| a == b).count();
        match self.outcome {
            Outcome::Unknown => 1..=same,
            Outcome::Answered(_) if same == decision.events.len() => same..=same,
            Outcome::Answered(_) | Outcome::FailedClosed => none,
        }
    }

    fn told(&self) -> String {
        format!("{} {}", self.verb, shown(&self.arguments))
    }

    fn was_answered(&self, decision: &Decision) -> bool {
        match (&self.outcome, &decision.answer) {
            (Outcome::Answered(Ok(result)), Ok(decided)) => result == decided,
            (Outcome::Answered(Err(code)), Err(refusal)) => code == refusal.code.as_str(),
            (Outcome::Unknown, _) => true,
            (Outcome::Answered(_) | Outcome::FailedClosed, _) => false,
        }
    }
}

/// What a legal history came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Commands that were answered.
    pub answered: u64,
    /// Commands of unknown outcome whose records are in the log.
    pub unknown_in: u64,
    /// Those whose records are not.
    pub unknown_out: u64,
    /// Commands that failed closed.
    pub failed_closed: u64,
}

/// Why no order explains a history. A checker's controls look at which of these it is: to be
/// refused for another reason is not to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unexplained {
    /// A record, counted from 0, is what nobody was answered who is not in front of it.
    Record {
        /// Which.
        place: usize,
        /// It, as a line.
        record: String,
    },
    /// A record is what somebody was answered, but real time forbids that it stands here.
    OutOfTime {
        /// Which, counted from 0.
        place: usize,
        /// Whose it is.
        command: String,
    },
    /// A command was answered and is not in the log.
    Missing {
        /// Which.
        command: String,
    },
    /// A record does not fold.
    Unfoldable {
        /// Which, counted from 0.
        place: usize,
        /// What it lacks.
        why: String,
    },
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unexplained::Record { place, record } => {
                write!(
                    f,
                    "record {} is no answer to anybody who can still come: {record}",
                    place + 1
                )
            }
            Unexplained::OutOfTime { place, command } => write!(
                f,
                "record {} is out of the order of real time: it is of {command}, which was asked \
                 after, or had returned before, another that stands on the other side of it",
                place + 1
            ),
            Unexplained::Missing { command } => {
                write!(f, "{command} was answered and is not in the log")
            }
            Unexplained::Unfoldable { place, why } => {
                write!(f, "record {} does not fold: {why}", place + 1)
            }
        }
    }
}

/// Judges a history by its log.
///
/// # Errors
///
/// Why no order explains it.
pub fn judge(log: &[Object], history: &[Operation]) -> Result<Tally, Unexplained> {
    let queues = queues(history);
    let mut state = State::default();
    let mut reached: BTreeMap<usize, Ways> = BTreeMap::new();
    reached.entry(0).or_default().insert(vec![0; queues.len()], Way::default());
    for (place, record) in log.iter().enumerate() {
        let ways = reached.remove(&place).unwrap_or_default();
        let here = Place { history, queues: &queues, state: &state, log: &log[place..] };
        for (length, taken, way) in here.steps(&ways) {
            let known = reached.entry(place + length).or_default().entry(taken).or_insert(way);
            // The earliest leaves the most room for what follows.
            *known = if way.now < known.now { way } else { *known };
        }
        if reached.is_empty() {
            return Err(here.why_none(place, &ways));
        }
        state
            .apply(record)
            .map_err(|why| Unexplained::Unfoldable { place, why: why.to_string() })?;
    }
    conclude(history, &queues, &reached.remove(&log.len()).unwrap_or_default())
}

/// Behind the last record: nobody who was answered may be left over.
fn conclude(
    history: &[Operation],
    queues: &[Vec<usize>],
    ends: &Ways,
) -> Result<Tally, Unexplained> {
    let left_of = |taken: &[usize]| {
        let left = queues.iter().zip(taken).flat_map(|(queue, taken)| &queue[*taken..]);
        left.copied().find(|at| history[*at].outcome != Outcome::Unknown)
    };
    let mut missing = None;
    for (taken, way) in ends {
        match left_of(taken) {
            None => return Ok(tally(history, way)),
            Some(at) => missing = Some(at),
        }
    }
    let command = missing.map_or_else(|| "a command".into(), |at| history[at].told());
    Err(Unexplained::Missing { command })
}

/// A place in the log, and what is known there.
struct Place<'a> {
    history: &'a [Operation],
    queues: &'a [Vec<usize>],
    /// The state in front of it.
    state: &'a State,
    /// The records from it on.
    log: &'a [Object],
}

impl Place<'_> {
    /// Every way on: over how many records, with how many of each queue taken.
    fn steps(&self, ways: &Ways) -> Vec<(usize, Vec<usize>, Way)> {
        let mut explained = HashMap::new();
        let mut steps = Vec::new();
        for (taken, way) in ways {
            let closing = closing(self.history, self.queues, taken);
            for (queue, waiting) in self.queues.iter().enumerate() {
                for (skipped, at) in next(self.history, &waiting[taken[queue]..]) {
                    let operation = &self.history[at];
                    let Some(way) = way.with(operation).filter(|_| operation.invoked <= closing)
                    else {
                        continue;
                    };
                    let lengths = explained
                        .entry(at)
                        .or_insert_with(|| operation.explains(self.state, self.log));
                    let mut taken = taken.clone();
                    taken[queue] += skipped + 1;
                    steps.extend(lengths.clone().map(|length| (length, taken.clone(), way)));
                }
            }
        }
        steps
    }

    /// Why there is no way on: whether anybody who is left would explain it at another time.
    fn why_none(&self, place: usize, ways: &Ways) -> Unexplained {
        let left: BTreeSet<usize> = ways
            .keys()
            .flat_map(|taken| self.queues.iter().zip(taken))
            .flat_map(|(queue, taken)| queue[*taken..].iter().copied())
            .collect();
        let explains = |at: &usize| !self.history[*at].explains(self.state, self.log).is_empty();
        match left.into_iter().find(explains) {
            Some(at) => Unexplained::OutOfTime { place, command: self.history[at].told() },
            None => {
                let record = self.log.first().map(shown).unwrap_or_default();
                Unexplained::Record { place, record }
            }
        }
    }
}

/// The ways in which the log up to a place can be explained: by how many of each queue are taken.
type Ways = HashMap<Vec<usize>, Way>;

/// One of them.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// The earliest time that it can be by now.
    now: u64,
    /// How many of unknown outcome it has taken.
    unknown_in: u64,
}

impl Way {
    /// The same with one more command, unless that had returned already.
    fn with(mut self, operation: &Operation) -> Option<Way> {
        self.now = self.now.max(operation.invoked);
        self.unknown_in += u64::from(operation.outcome == Outcome::Unknown);
        (self.now <= operation.returned).then_some(self)
    }
}

fn tally(history: &[Operation], way: &Way) -> Tally {
    let count = |wanted: fn(&Outcome) -> bool| {
        let of = history.iter().filter(|operation| wanted(&operation.outcome)).count();
        u64::try_from(of).expect("few")
    };
    Tally {
        answered: count(|outcome| matches!(outcome, Outcome::Answered(_))),
        unknown_in: way.unknown_in,
        unknown_out: count(|outcome| *outcome == Outcome::Unknown) - way.unknown_in,
        failed_closed: count(|outcome| *outcome == Outcome::FailedClosed),
    }
}

/// What may be in the log, by process and in the order in which it was asked.
fn queues(history: &[Operation]) -> Vec<Vec<usize>> {
    let processes: BTreeSet<_> = history.iter().map(|operation| operation.process).collect();
    let of = |process| {
        let mut of: Vec<_> = (0..history.len())
            .filter(|at| history[*at].process == process)
            .filter(|at| history[*at].outcome != Outcome::FailedClosed)
            .collect();
        of.sort_by_key(|at| history[*at].invoked);
        of
    };
    processes.into_iter().map(of).collect()
}

/// When the first of the answered commands that are still to come had returned: whoever was asked
/// later cannot come before it. Few processes live at a time, so few commands have to be decided at
/// a place.
fn closing(history: &[Operation], queues: &[Vec<usize>], taken: &[usize]) -> u64 {
    let is_answered = |at: &&usize| history[**at].outcome != Outcome::Unknown;
    let heads = queues.iter().zip(taken);
    let answered = heads.filter_map(|(queue, taken)| queue[*taken..].iter().find(is_answered));
    answered.map(|at| history[*at].returned).min().unwrap_or(u64::MAX)
}

/// Which commands of a process can come next, and how many are left out before each: up to the
/// first that was answered.
fn next(history: &[Operation], waiting: &[usize]) -> Vec<(usize, usize)> {
    let unknown = waiting.iter().take_while(|at| history[**at].outcome == Outcome::Unknown);
    let candidates = unknown.count() + 1;
    waiting.iter().copied().take(candidates).enumerate().collect()
}

fn shown(object: &Object) -> String {
    String::from_utf8_lossy(&object.to_line()).into_owned()
}

/// Judges a small history by trying every order.
#[must_use]
pub fn search(log: &[Object], history: &[Operation]) -> bool {
    let left: Vec<&Operation> =
        history.iter().filter(|it| it.outcome != Outcome::FailedClosed).collect();
    step(&State::default(), log, &left)
}

fn step(state: &State, log: &[Object], left: &[&Operation]) -> bool {
    let done = log.is_empty() && left.iter().all(|it| it.outcome == Outcome::Unknown);
    let at = log.first().and_then(|record| record.get_text("at"));
    done || (0..left.len()).any(|next| {
        let chosen = left[next];
        // Nobody who has to come, or may, had returned before this one was asked.
        let others = || left.iter().enumerate().filter(|(at, _)| *at != next).map(|(_, it)| *it);
        if others().any(|other| {
            other.returned < chosen.invoked && !matches!(other.outcome, Outcome::Unknown)
        }) {
            return false;
        }
        // An unknown one that had returned before is out from now on.
        let rest: Vec<_> = others().filter(|other| other.returned >= chosen.invoked).collect();
        let Some(at) = at else { return false };
        let decision = chosen.decided(state, at);
        if !chosen.was_answered(&decision) {
            return false;
        }
        let unknown = chosen.outcome == Outcome::Unknown;
        let shortest = if unknown { 1 } else { decision.events.len() };
        (shortest..=decision.events.len()).any(|length| {
            if !log.starts_with(&decision.events[..length]) {
                return false;
            }
            let mut then = state.clone();
            let folds = log[..length].iter().all(|record| then.apply(record).is_ok());
            folds && step(&then, &log[length..], &rest)
        })
    })
}

/// A legal history of a few commands by a few processes, and its log.
#[must_use]
pub fn small(chance: &mut Chance) -> (Vec<Object>, Vec<Operation>) {
    const PROCESSES: usize = 3;
    let mut state = State::default();
    let (mut log, mut history) = (Vec::new(), Vec::<Operation>::new());
    let mut free_from = [0; PROCESSES];
    for turn in 0..chance.below(5) + 3 {
        let process = chance.below(PROCESSES);
        let point = u64::try_from(turn + 1).expect("few") * 10;
        let (verb, arguments) = ask(chance, process, turn);
        let early = u64::try_from(chance.below(25)).expect("small");
        let late = u64::try_from(chance.below(25)).expect("small");
        let invoked = point.saturating_sub(early).max(free_from[process]);
        if invoked > point {
            continue;
        }
        let mut operation = Operation {
            process,
            invoked,
            returned: point + late,
            verb,
            arguments,
            outcome: Outcome::Unknown,
        };
        free_from[process] = operation.returned + 1;
        let decision = operation.decided(&state, &instant(i64::try_from(point).expect("small")));
        let fate = chance.below(8);
        if fate == 0 {
            operation.outcome = Outcome::FailedClosed;
        } else if fate > 1 {
            let answer = decision.answer.map_err(|refusal| refusal.code.as_str().to_owned());
            operation.outcome = Outcome::Answered(answer);
        }
        // Of an unknown one the records are there, or not, or some of them.
        let length = match fate {
            0 => 0,
            1 => chance.below(decision.events.len() + 1),
            _ => decision.events.len(),
        };
        for event in &decision.events[..length] {
            state.apply(event).expect("own records fold");
            log.push(event.clone());
        }
        history.push(operation);
    }
    (log, history)
}

/// What a process asks for: whatever it appends bears its own name.
fn ask(chance: &mut Chance, process: usize, turn: usize) -> (Verb, Object) {
    let own = format!("p{process}");
    let tag = format!("p{process} {turn}");
    let to = format!("act-{:04}", chance.below(3) + 1);
    let sent = || Object::new().with("from", own.clone()).with("to", to.clone());
    match chance.below(7) {
        0 | 1 => {
            (Verb::Register, Object::new().with("actorId", own).with("capabilities", vec![tag]))
        }
        2 => (Verb::Send, sent().with("text", tag)),
        3 => {
            let asked = vec!["approve"];
            (Verb::Send, sent().with("text", tag).with("requestedAuthority", asked))
        }
        4 => (Verb::Handoff, sent().with("summary", tag)),
        5 => (Verb::Heartbeat, Object::new().with("actorId", own).with("note", tag)),
        _ => {
            let id = format!("msg-{:04}", chance.below(3) + 1);
            let ack = Object::new().with("actorId", own).with("messageId", id).with("note", tag);
            (Verb::Ack, ack)
        }
    }
}

/// One small wrong done to a history or its log. It may still be legal afterwards.
pub fn spoil(chance: &mut Chance, log: &mut Vec<Object>, history: &mut [Operation]) {
    let at = chance.below(history.len().max(1));
    match (chance.below(7), log.len()) {
        (0, 2..) => {
            let at = chance.below(log.len() - 1);
            log.swap(at, at + 1);
        }
        (1, 1..) => {
            log.remove(chance.below(log.len()));
        }
        (2, 1..) => {
            let again = log[chance.below(log.len())].clone();
            log.insert(chance.below(log.len() + 1), again);
        }
        (3, _) if !history.is_empty() => {
            // It says that it returned before it was possible, or was asked later.
            let by = u64::try_from(chance.below(40) + 5).expect("small");
            history[at].returned = history[at].returned.saturating_sub(by);
            history[at].invoked = history[at].invoked.min(history[at].returned);
        }
        (4, _) if !history.is_empty() => {
            let by = u64::try_from(chance.below(40) + 5).expect("small");
            history[at].invoked += by;
            history[at].returned = history[at].returned.max(history[at].invoked);
        }
        (5, _) if !history.is_empty() => history[at].outcome = Outcome::FailedClosed,
        _ if !history.is_empty() => match &mut history[at].outcome {
            Outcome::Answered(answer) => {
                *answer = match answer {
                    Ok(_) => Err("unknown-actor".into()),
                    Err(_) => Ok(Object::new().with("messageId", "msg-0001")),
                }
            }
            Outcome::FailedClosed | Outcome::Unknown => {
                history[at].outcome = Outcome::Answered(Err("bad-limit".into()));
            }
        },
        _ => {}
    }
}

/// Whether the processes are still sequential, which is what [`judge`] relies on.
fn is_sequential(history: &[Operation]) -> bool {
    history.iter().enumerate().all(|(at, one)| {
        history[..at].iter().all(|other| {
            one.process != other.process
                || one.returned < other.invoked
                || other.returned < one.invoked
        })
    })
}

/// How many histories the gate and the test suite try, and how many the gate with `--full`.
pub const HISTORIES: u64 = 20_000;
/// See [`HISTORIES`].
pub const HISTORIES_FULL: u64 = 200_000;

/// How far [`cross_check`] looks.
#[must_use]
pub fn bound(histories: u64) -> String {
    format!("{histories} histories of 3 processes, half of them made illegal")
}

/// Has both judges judge so many small histories, every second one made illegal.
#[must_use]
pub fn cross_check(histories: u64) -> Report {
    let mut draft = Draft::new("witness-checker", bound(histories));
    let mut chance = Chance::new(5);
    let (mut legal, mut illegal, mut refusals) = (0_u64, 0_u64, 0_u64);
    while legal + illegal < histories {
        let (mut log, mut history) = small(&mut chance);
        let spoiled = legal > illegal;
        if spoiled {
            spoil(&mut chance, &mut log, &mut history);
            if !is_sequential(&history) || !folds(&log) {
                continue;
            }
        }
        let is_legal = search(&log, &history);
        if spoiled && is_legal {
            continue;
        }
        if !spoiled && !is_legal {
            draft.violation(format!("the search refuses a legal history: {history:?}"));
        }
        let judged = judge(&log, &history);
        refusals += u64::from(judged.is_err());
        draft.case(if judged.is_ok() == is_legal {
            Ok(())
        } else {
            let judged = judged.err().map_or_else(|| "it is legal".into(), |why| why.to_string());
            let records: Vec<_> = log.iter().map(shown).collect();
            Err(format!("search says {is_legal}, witness says {judged}: {records:?} {history:#?}"))
        });
        if is_legal { legal += 1 } else { illegal += 1 }
    }
    draft.note(format!("{legal} legal, {illegal} illegal, {refusals} refused by the witness"));
    // Judges that are blind to one thing each must be told apart by the same histories.
    for (name, blind) in BLIND {
        draft.control(name, blind_is_found(histories.min(4_000), blind));
    }
    draft.finish()
}

fn folds(log: &[Object]) -> bool {
    gaia_bus_model::state::replay(log).is_ok()
}

type Blinder = fn(&mut Vec<Object>, &mut [Operation]);

/// A judge that does not see the order of real time, one that does not see answers, and one that
/// takes what failed closed for what may have been written.
const BLIND: [(&str, Blinder); 3] = [
    ("a judge that is blind to real time", |_, history| {
        for operation in history {
            (operation.invoked, operation.returned) = (0, u64::MAX);
        }
    }),
    ("a judge that is blind to answers", |_, history| {
        for operation in history.iter_mut().filter(|it| it.outcome != Outcome::FailedClosed) {
            operation.outcome = Outcome::Unknown;
        }
    }),
    ("a judge that is blind to failing closed", |_, history| {
        for operation in history.iter_mut().filter(|it| it.outcome == Outcome::FailedClosed) {
            operation.outcome = Outcome::Unknown;
        }
    }),
];

/// Whether a judge that only sees the blinded history disagrees with the search somewhere.
fn blind_is_found(histories: u64, blind: Blinder) -> bool {
    let mut chance = Chance::new(6);
    (0..histories).any(|_| {
        let (mut log, mut history) = small(&mut chance);
        spoil(&mut chance, &mut log, &mut history);
        if !is_sequential(&history) || !folds(&log) {
            return false;
        }
        let is_legal = search(&log, &history);
        // Blinded times are no longer sequential: the order of asking is kept by the sort's
        // stability.
        blind(&mut log, &mut history);
        judge(&log, &history).is_ok() != is_legal
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_outcomes_may_be_in_or_out_and_answered_ones_must_be_in() {
        let ask = Object::new().with("actorId", "p0");
        let operation = |outcome| Operation {
            process: 0,
            invoked: 1,
            returned: 2,
            verb: Verb::Register,
            arguments: ask.clone(),
            outcome,
        };
        let at = instant(1);
        let decision = operation(Outcome::Unknown).decided(&State::default(), &at);
        let answer = decision.answer.clone().map_err(|refusal| refusal.code.as_str().to_owned());
        let answered = operation(Outcome::Answered(answer));
        let (unknown, failed) = (operation(Outcome::Unknown), operation(Outcome::FailedClosed));
        for (log, operation, legal) in [
            (&decision.events[..], &answered, true),
            (&decision.events[..], &unknown, true),
            (&decision.events[..], &failed, false),
            (&[][..], &answered, false),
            (&[][..], &unknown, true),
            (&[][..], &failed, true),
        ] {
            let history = [operation.clone()];
            assert_eq!(judge(log, &history).is_ok(), legal, "{operation:?}");
            assert_eq!(search(log, &history), legal, "{operation:?}");
        }
    }
}
