//! What the bus *is*: a pure, total state machine.
//!
//! ```text
//! decide : (view of the state, command, limits) -> (events to append, answer or refusal)
//! apply  : (state, event) -> state
//! replay : events -> state            the fold of `apply`; this *is* the restart path
//! ```
//!
//! # Rooms
//!
//! | room | what belongs in it |
//! | --- | --- |
//! | [`vocabulary`] | the wire constants, spelled once |
//! | [`identifier`] | `act-`, `msg-`, `cor-`: what is minted, and what looks like it |
//! | [`text`], [`json`] | verbatim strings and values: what was written is what is read back |
//! | [`command`], [`event`] | what callers ask, and the records the log holds |
//! | [`view`], [`decide`] | the six decisions, written once over what any fold can answer |
//! | [`state`] | the reference fold, written to be obviously right |
//! | [`instant`] | which timestamps are readable, and ageing |
//! | [`authority`], [`correlation`] | authority language and grants; the correlation issuer |
//! | [`integrity`], [`snapshot`], [`invariant`] | what may be said about a state, or a log alone |
//!
//! # What is absent on purpose
//!
//! No file, clock, thread, randomness or environment: time and limits travel as values. No verb
//! approves, merges, pushes, executes or changes configuration: escalation is prevented by absence.
//! Nothing here panics, indexes a slice or recurses without a bound on input from outside; the
//! lints below and `tests/tidy.rs` guard it.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

pub mod authority;
pub mod command;
pub mod correlation;
pub mod decide;
pub mod event;
pub mod identifier;
pub mod instant;
pub mod integrity;
pub mod invariant;
pub mod json;
pub mod snapshot;
pub mod state;
pub mod text;
pub mod view;
pub mod vocabulary;
