//! The proof: checkers for the bus, and the checks of the checkers.
//!
//! # Rooms
//!
//! | room | what belongs in it |
//! | --- | --- |
//! | [`small`] | the smallest bus that can be wrong: fold, digest and task for the shipped machine |
//! | [`disk`] | the simulated disk; its header is the fault model; [`disk::bend`] plants faults |
//! | [`worker`] | one simulated process: the shipped machine, one call at a time |
//! | [`invariant`] | the promises about processes and disks, as data |
//! | [`scene`] | disk, processes, people and history as one value, and every move it can make |
//! | [`explore`] | all sequences of moves, by stateright |
//! | [`interleave`] | every order in which threads get at one disk, by loom |
//! | [`crash`] | every call x every injury x what comes next, simulated |
//! | [`controls`] | planted faults x checkers x smallest bounds |
//! | [`runs`] | the explorations that are made, with their pinned numbers |
//! | [`conform`] | several real buses on one real directory against the reference; [`strategy`], [`damage`] |
//! | [`history`] | whether one order explains what callers were told; [`processes`] makes such histories |
//! | [`crash_real`] | kills, errnos and power cuts at every system call of the shipped [`program`] |
//! | [`fuzzing`] | what the fuzz targets do with bytes; [`corpus`] makes their named seeds |
//! | [`vectors`] | recorded behaviour; [`log_alone`]: the model's invariants and what is planted for them |
//! | [`checks`] | all checks as data; [`promises`]: which promise is looked at by which of them |
//! | [`report`] | what a check came to: one row of the gate's table |
//! | [`story`] | a sequence of moves, told in words |
//! | [`gate`] | all of it at once, as one table |
//!
//! # What never happens here
//!
//! The commit protocol is not written a second time: every checker drives
//! `gaia_bus::commit::Commit`. store and model know nothing of this crate, and hold no `cfg` for
//! it. A fault is planted from outside, between the machine and the disk, never in shipped code.
//!
//! This crate is the proof, not the product: it may panic where its own bookkeeping would be wrong.

pub mod chance;
pub mod checks;
pub mod conform;
pub mod controls;
pub mod corpus;
pub mod crash;
pub mod crash_real;
pub mod damage;
pub mod disk;
pub mod explore;
pub mod fuzzing;
pub mod gate;
pub mod history;
pub mod interleave;
pub mod invariant;
pub mod log_alone;
pub mod processes;
pub mod program;
pub mod promises;
pub mod reading;
pub mod report;
pub mod runs;
pub mod scene;
pub mod shared;
pub mod small;
pub mod story;
pub mod strategy;
pub mod vectors;
pub mod worker;
