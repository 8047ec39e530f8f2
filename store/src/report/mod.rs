//! Reports: what an operator is told about a data directory. They read, under the lock like
//! everyone else, and repair nothing.
//!
//! | room | what it answers |
//! | --- | --- |
//! | [`doctor`] | is this log sound, and where it is not, what is a person to do? |
//! | [`status`] | who is here, what is pending, who works in the same tree? |
//! | [`initialize`] | what would a first start do? (It can append one registration.) |
//! | [`collision`] | which online actors declare the same working tree |
//! | [`recovery`] | the manual steps for each kind of trouble, in one place |
//! | [`filesystem`] | whether a local mkdir is a lock there |
//! | [`uninstall`] | what an uninstall would remove, and what survives |
//! | [`lanes`] | how many live lanes are supported, and on what evidence |
//!
//! Absent on purpose: any code that acts on what a report says.

pub mod collision;
pub mod doctor;
pub mod filesystem;
pub mod initialize;
pub mod lanes;
pub mod recovery;
pub mod status;
pub mod uninstall;
