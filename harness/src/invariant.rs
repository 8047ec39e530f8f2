//! The promises about processes and disks, as data: what every checker here looks at after every
//! step.
//!
//! What a log alone can show is in `gaia_bus_model::invariant`; three of those have a part here
//! that takes a disk to see, on the [small](crate::small) log. An [`Invariant`] is a name, a
//! sentence and a predicate over a [`Witness`]: the disk before and after a step, what the step
//! did, and what has been answered so far. Nothing here asks the machine what it thinks of itself.

use gaia_bus_model::invariant::{BATCH_WHOLE, named};

use crate::disk::{Maker, World};
use crate::reading::Reading;
use crate::shared::Shared;
use crate::small::{LINE_BYTES, Tag};
use crate::worker::{Ending, Facts, Verdict};

/// What has been promised to callers so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct History {
    /// The longest log that an answer rests on.
    pub answered: Shared<Vec<u8>>,
    /// The longest log that a command which only reads has shown.
    pub shown: Shared<Vec<u8>>,
    /// The commands that were told that nothing was written.
    pub failed: Vec<Tag>,
    /// Whether something happened that may cut a batch: a power cut, a short write.
    pub batches_may_be_cut: bool,
}

/// What an invariant looks at.
#[derive(Debug)]
pub struct Witness<'a> {
    /// The disk now.
    pub world: &'a World,
    /// The visible log now.
    pub reading: &'a Reading,
    /// The visible log before the step.
    pub before: &'a [u8],
    /// What has been promised, this step's answer included.
    pub history: &'a History,
    /// What has been promised before this step.
    pub promised: &'a History,
    /// The process that took the step, if it was one.
    pub actor: Option<Tag>,
    /// What it did.
    pub facts: &'a Facts,
    /// How many live processes are between acquire and release.
    pub holders: usize,
}

/// A promise.
#[derive(Clone, Copy)]
pub struct Invariant {
    /// Its name, as in reports.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// Whether it holds.
    pub holds: fn(&Witness<'_>) -> bool,
}

/// All of them. Their position is their bit in a [`Broken`] set.
pub const INVARIANTS: [Invariant; 13] = [
    Invariant {
        name: named("ids_dense").name,
        about: "ids are 1, 2, 3, ... in log order, whoever writes when",
        holds: |seen| {
            seen.reading.counted().zip(1u32..).all(|(entry, expected)| entry.id == expected)
        },
    },
    Invariant {
        name: named("records_whole").name,
        about: "damage, if any, lies behind the last answered record",
        holds: |seen| {
            !seen.reading.is_damaged || seen.reading.sound_bytes >= seen.history.answered.len()
        },
    },
    Invariant {
        name: BATCH_WHOLE.name,
        about: "no batch is cut without a power cut or a short write",
        holds: |seen| {
            seen.history.batches_may_be_cut || seen.world.lock.is_some() || batches_are_whole(seen)
        },
    },
    Invariant {
        name: "one_writer",
        about: "at most one live process is between acquire and release",
        holds: |seen| seen.holders <= 1,
    },
    Invariant {
        name: "foreign_lock_kept",
        about: "no process removes a lock that it did not make",
        holds: |seen| match (seen.facts.removed_lock_of, seen.actor) {
            (Some(maker), Some(actor)) => maker == Maker::Process(actor),
            (Some(_), None) | (None, _) => true,
        },
    },
    Invariant {
        name: "log_extends",
        about: "every log answered from is a prefix of every later one; a process shortens the log \
                only by its own bytes",
        holds: |seen| {
            !seen.facts.cut_foreign_bytes && extends(seen.facts.ended.as_ref(), seen.promised)
        },
    },
    Invariant {
        name: "free_lock_is_durable",
        about: "while the lock is free, every whole line survives a power cut",
        holds: |seen| {
            seen.world.lock.is_some()
                || seen.world.survives(&seen.world.visible()[..seen.reading.sound_bytes])
        },
    },
    Invariant {
        name: "shown_survives",
        about: "what a read-only command showed survives a power cut",
        holds: |seen| seen.world.survives(&seen.history.shown),
    },
    Invariant {
        name: "acked_present",
        about: "what was answered is in the log, once",
        holds: |seen| {
            seen.world.visible().starts_with(&seen.history.answered) && nothing_twice(seen.reading)
        },
    },
    Invariant {
        name: "acked_durable",
        about: "what was answered survives a power cut",
        holds: |seen| seen.world.survives(&seen.history.answered),
    },
    Invariant {
        name: "answer_explained",
        about: "every answer is the model's answer at the log prefix it was decided on; damage is \
                only claimed where there is some",
        holds: |seen| {
            seen.facts.ended.as_ref().is_none_or(|ending| {
                is_explained(ending)
                    && (ending.verdict != Verdict::Damaged || seen.reading.is_damaged)
            })
        },
    },
    Invariant {
        name: "failclosed_writes_nothing",
        about: "a call that answered fail-closed, write-unconfirmed aside, added nothing, then or \
                after a later power cut",
        holds: |seen| {
            seen.facts.ended.as_ref().is_none_or(|ending| took_all_back(ending, seen.world))
                && seen.history.failed.iter().all(|tag| {
                    !holds_piece(seen.world.visible(), *tag)
                        && !holds_piece(seen.world.on_disk(), *tag)
                })
        },
    },
    Invariant {
        name: "damage_refused",
        about: "on a damaged log no call that changes the log is made",
        holds: |seen| {
            seen.facts.changed_log_behind.is_none_or(|behind| {
                seen.actor.is_none() || !Reading::of(&seen.before[..behind]).is_damaged
            })
        },
    },
];

/// Which invariants are broken, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Broken(pub u16);

impl Broken {
    /// All of them.
    pub const ALL: Broken = Broken((1 << INVARIANTS.len()) - 1);

    /// The set of those with these names.
    ///
    /// # Panics
    ///
    /// When there is none of such a name.
    #[must_use]
    pub fn named(names: &[&str]) -> Self {
        names.iter().fold(Broken(0), |set, name| {
            let at = INVARIANTS.iter().position(|invariant| invariant.name == *name);
            Broken(set.0 | 1 << at.unwrap_or_else(|| panic!("no invariant is named {name}")))
        })
    }

    /// Those of either set.
    #[must_use]
    pub fn or(self, other: Broken) -> Self {
        Broken(self.0 | other.0)
    }

    /// Whether none is broken.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let bits = INVARIANTS.iter().enumerate().filter(|(at, _)| self.0 & (1 << at) != 0);
        bits.map(|(_, invariant)| invariant.name).collect()
    }

    /// Looks at those of `watched`.
    #[must_use]
    pub fn look(watched: Broken, seen: &Witness<'_>) -> Self {
        let mut broken = Broken(0);
        for (at, invariant) in INVARIANTS.iter().enumerate() {
            if watched.0 & (1 << at) != 0 && !(invariant.holds)(seen) {
                broken.0 |= 1 << at;
            }
        }
        broken
    }
}

impl History {
    /// Nothing has been answered yet; `log` is there.
    #[must_use]
    pub fn new(log: &[u8]) -> Self {
        History {
            answered: Shared::new(log.to_vec()),
            shown: Shared::new(Vec::new()),
            failed: Vec::new(),
            batches_may_be_cut: false,
        }
    }

    /// A command has ended.
    pub fn take(&mut self, ending: &Ending) {
        match ending.verdict {
            Verdict::Answered => longer(&mut self.answered, &ending.basis),
            Verdict::Shown => longer(&mut self.shown, &ending.basis),
            verdict if verdict.is_fail_closed() => self.failed.push(ending.tag),
            _ => {}
        }
        self.failed.sort_unstable();
    }

    /// The log was replaced by an older one: promises reach no further.
    pub fn restored(&mut self, log: &[u8]) {
        for promise in [&mut self.answered, &mut self.shown] {
            if promise.len() > log.len() {
                *promise = Shared::new(log.to_vec());
            }
        }
    }
}

fn longer(promise: &mut Shared<Vec<u8>>, log: &[u8]) {
    if log.len() > promise.len() {
        *promise = Shared::new(log.to_vec());
    }
}

fn extends(ended: Option<&Ending>, promised: &History) -> bool {
    ended.is_none_or(|ending| match ending.verdict {
        Verdict::Answered | Verdict::Shown => {
            ending.basis.starts_with(&promised.answered)
                && ending.basis.starts_with(&promised.shown)
        }
        _ => true,
    })
}

fn is_explained(ending: &Ending) -> bool {
    let Some(number) = ending.number else { return true };
    let prefix = &ending.basis[..ending.basis.len() - ending.own_bytes];
    let records = Reading::of(prefix).counted().count();
    let expected = if ending.own_bytes > 0 { records + 1 } else { records };
    usize::try_from(number) == Ok(expected)
}

fn batches_are_whole(seen: &Witness<'_>) -> bool {
    let entries = &seen.reading.entries;
    let halves = entries.iter().filter(|entry| entry.part == b'<').count();
    let others = entries.iter().filter(|entry| entry.part == b'>').count();
    halves == others
}

fn nothing_twice(reading: &Reading) -> bool {
    let entries = &reading.entries;
    entries.iter().enumerate().all(|(at, entry)| {
        entry.who[0] == b'x'
            || !entries[..at].iter().any(|other| (other.who, other.part) == (entry.who, entry.part))
    })
}

/// Whether a command that failed closed left no byte, however few, where it had begun to write:
/// there is the end of the log, or a whole line of someone else's.
fn took_all_back(ending: &Ending, world: &World) -> bool {
    let Some(from) = ending.wrote_from.filter(|_| ending.verdict.is_fail_closed()) else {
        return true;
    };
    let left = world.visible().get(from..).unwrap_or_default();
    let line = left.split_inclusive(|byte| *byte == b'\n').next();
    line.is_none_or(|line| line.len() == LINE_BYTES && !holds_piece(line, ending.tag))
}

/// Whether any piece of a command's lines that can be told from others stands in these bytes.
fn holds_piece(bytes: &[u8], tag: Tag) -> bool {
    let prefix = tag.prefix();
    bytes.windows(prefix.len()).any(|window| window == prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invariant_has_its_own_name_and_says_something() {
        for (at, invariant) in INVARIANTS.iter().enumerate() {
            assert!(!invariant.about.is_empty());
            assert_eq!(Broken::named(&[invariant.name]).0, 1 << at);
        }
        assert_eq!(Broken::ALL.names().len(), INVARIANTS.len());
    }
}
