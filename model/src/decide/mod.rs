//! The six decisions, written once over [`View`]: one room a verb, and never a seventh.
//!
//! A decision reads a view and says which records to append and what to answer. It appends nothing
//! itself. A refused command yields exactly one `command.rejected`; the first check that fails is
//! the refusal, in the order of the contract. `tests/vectors_model.rs` and `tests/decisions.rs`
//! guard it.

mod ack;
mod arguments;
mod handoff;
mod heartbeat;
mod inbox;
mod message;
mod refusal;
mod register;
mod send;

pub use refusal::{Refusal, RefusalCode, quoted};

use crate::command::{Command, Limits, Verb};
use crate::event;
use crate::json::Object;
use crate::text::Text;
use crate::view::View;

/// What is to be appended, and what is to be answered once that is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The records to append, in order; never none, since refusals are recorded too.
    pub events: Vec<Object>,
    /// The answer, or why there is none.
    pub answer: Result<Object, Refusal>,
}

/// An accepted command.
struct Decided {
    events: Vec<Object>,
    answer: Object,
}

/// Decides a command on a view of the whole log.
#[must_use]
pub fn decide<V: View>(view: &V, command: &Command, limits: &Limits) -> Decision {
    let decided = arguments::check_all(command, limits).and_then(|()| match command.verb {
        Verb::Register => register::decide(view, command),
        Verb::Send => send::decide(view, command),
        Verb::Inbox => inbox::decide(view, command),
        Verb::Ack => ack::decide(view, command),
        Verb::Heartbeat => heartbeat::decide(view, command),
        Verb::Handoff => handoff::decide(view, command),
    });
    match decided {
        Ok(Decided { events, answer }) => Decision { events, answer: Ok(answer) },
        Err(refusal) => Decision {
            events: vec![event::command_rejected(
                &command.at,
                command.verb,
                &refusal.reason,
                refusal.code,
            )],
            answer: Err(refusal),
        },
    }
}

/// The ids whose [`View::message`] a decision will ask for, so that a fold which keeps no texts can
/// read them first: an inbox shows these, and a repeat compares with the holder of its key. A
/// decision asks for no others.
#[must_use]
pub fn bodies_needed<V: View>(view: &V, command: &Command, limits: &Limits) -> Vec<Text> {
    if arguments::check_all(command, limits).is_err() {
        return Vec::new();
    }
    match command.verb {
        Verb::Inbox => inbox::bodies_needed(view, &command.arguments),
        Verb::Send | Verb::Handoff => {
            message::body_needed(view, &command.arguments).into_iter().collect()
        }
        Verb::Register | Verb::Ack | Verb::Heartbeat => Vec::new(),
    }
}
