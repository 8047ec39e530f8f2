//! The six decisions, one file a verb.
