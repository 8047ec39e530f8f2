//! Exploration: every sequence of moves within a budget, by explicit-state search (stateright).
//!
//! The states hold the commit machine that ships; see [`scene`](crate::scene) for what can happen
//! in one and for the reductions. Besides the one property "no invariant is broken" there are
//! *sometimes* properties: a run that never saw a time-out or a torn log refused has proven little,
//! and says so.
//!
//! stateright 0.31 finds a violation and goes on to the end of its block of states, so the story it
//! reports is not the shortest; [`shortest`] searches again below the depth of each story found,
//! until there is none. Its properties are plain fn pointers, so what is broken is written into the
//! state.
//!
//! Guarded by `tests/explore.rs` (pinned numbers of states) and `tests/mutants.rs` (planted
//! faults).

use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::disk::OwnerNote;
use crate::scene::{Move, Person, Scene, Setup};
use crate::small::Tag;
use crate::story::Story;
use crate::worker::Verdict;

const NOTHING_BROKEN: &str = "no invariant is broken";

/// Something that a run is expected to have seen.
#[derive(Clone, Copy)]
pub struct Sight {
    /// What it is.
    pub name: &'static str,
    seen: fn(&Exploration, &Scene) -> bool,
}

/// Everything that can be expected of a run.
pub const SIGHTS: [Sight; 13] = [
    Sight { name: "a commit is answered", seen: |_, scene| saw(scene, Verdict::Answered) },
    Sight { name: "a reader shows the log", seen: |_, scene| saw(scene, Verdict::Shown) },
    Sight { name: "a waiter times out", seen: |_, scene| saw(scene, Verdict::TimedOut) },
    Sight { name: "a torn log is refused", seen: |_, scene| saw(scene, Verdict::Damaged) },
    Sight { name: "a rewritten log is refused", seen: |_, scene| saw(scene, Verdict::Rewritten) },
    Sight {
        name: "a failure is taken back",
        // An append was short or an fsync failed, of the log since no directory was synced, and no
        // other call.
        seen: |explored, scene| {
            let Setup { budget, log, .. } = &explored.setup;
            let failed_fsync = scene.left.sync_failures < budget.sync_failures && log.is_some();
            let was_short = scene.left.short_writes < budget.short_writes;
            let only_these = scene.left.io_errors == budget.io_errors
                && scene.left.foreign_appends == budget.foreign_appends;
            (failed_fsync || was_short) && only_these && saw(scene, Verdict::Io)
        },
    },
    Sight { name: "a write is unconfirmed", seen: |_, scene| saw(scene, Verdict::Unconfirmed) },
    Sight {
        name: "an unacknowledged record survives",
        seen: |_, scene| {
            let sound_bytes = scene.world.reading().sound_bytes;
            sound_bytes > scene.history.answered.len()
                && scene.world.on_disk().len() >= sound_bytes
                && is_free(scene)
        },
    },
    Sight {
        name: "an unacknowledged record is lost",
        // A part of it, so that what is left shows it: the rest is refused.
        seen: |explored, scene| {
            scene.left.power_cuts < explored.setup.budget.power_cuts
                && scene.world.reading().is_damaged
        },
    },
    Sight {
        name: "a lock outlives its owner",
        seen: |_, scene| scene.world.lock.is_some_and(|lock| scene.world.is_dead(lock.maker)),
    },
    Sight {
        name: "a lock is marked unconfirmed",
        seen: |_, scene| scene.world.lock.is_some_and(|lock| lock.owner == OwnerNote::Unconfirmed),
    },
    Sight {
        name: "a person cuts a torn tail",
        seen: |_, scene| scene.people.contains(&Person::Cut),
    },
    Sight {
        name: "a commit follows a repair",
        // Whoever holds the lock behind a repair has begun after it, since nobody lived before.
        seen: |explored, scene| {
            scene.left.repairs < explored.setup.budget.repairs
                && scene.people.iter().all(|person| *person == Person::Idle)
                && scene
                    .workers
                    .iter()
                    .any(|worker| worker.holds && is_durable(scene, worker.tag()))
        },
    },
];

fn saw(scene: &Scene, verdict: Verdict) -> bool {
    scene.workers.iter().any(|worker| worker.verdicts.contains(&verdict))
}

/// Whether a record of this command has reached the disk.
fn is_durable(scene: &Scene, tag: Tag) -> bool {
    scene.world.dirty_bytes() == 0
        && scene.world.reading().entries.iter().any(|entry| entry.is_of(tag))
}

fn is_free(scene: &Scene) -> bool {
    scene.world.lock.is_none()
}

/// A setup as a model to search.
#[derive(Clone, Debug)]
pub struct Exploration {
    setup: Setup,
}

impl Model for Exploration {
    type State = Scene;
    type Action = Move;

    fn init_states(&self) -> Vec<Scene> {
        vec![self.setup.scene()]
    }

    fn actions(&self, scene: &Scene, moves: &mut Vec<Move>) {
        scene.moves(&self.setup, moves);
    }

    fn next_state(&self, scene: &Scene, made: Move) -> Option<Scene> {
        scene.play(&self.setup, made)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let holds =
            Property::always(NOTHING_BROKEN, |_: &Self, scene: &Scene| scene.broken.is_empty());
        let sights = SIGHTS.iter().map(|sight| Property::sometimes(sight.name, sight.seen));
        std::iter::once(holds).chain(sights).collect()
    }
}

/// What a run found.
#[derive(Debug)]
pub struct Explored {
    /// How many different states there are.
    pub states: usize,
    /// What it saw of [`SIGHTS`].
    pub sights: Vec<&'static str>,
    /// A way to break an invariant, if there is one; not the shortest.
    pub violation: Option<Story>,
    /// How long it took.
    pub took: Duration,
}

/// A named run: what is explored, how many states there are, and what must be seen on the way.
#[derive(Clone, Debug)]
pub struct Run {
    /// In words.
    pub name: &'static str,
    /// What is explored.
    pub setup: Setup,
    /// How many states there are: another number means that the protocol, the fault model or the
    /// scene has changed, on purpose or not.
    pub states: usize,
    /// What must be seen: see [`SIGHTS`].
    pub sights: Vec<&'static str>,
}

impl Run {
    /// Explores, and says what is wrong with the outcome; nothing when all is well.
    #[must_use]
    pub fn judge(&self) -> (Explored, Vec<String>) {
        let explored = explore(&self.setup);
        let mut wrong = Vec::new();
        if let Some(story) = &explored.violation {
            wrong.push(format!("{} [{}] is broken:\n{story}", self.name, self.setup.budget));
        } else if explored.states != self.states {
            let (is, was) = (explored.states, self.states);
            wrong.push(format!("{}: {is} states where there were {was}", self.name));
        }
        for sight in &self.sights {
            if !explored.sights.contains(sight) {
                wrong.push(format!("{}: never seen: {sight}", self.name));
            }
        }
        (explored, wrong)
    }
}

/// Searches everything, or until an invariant is broken.
#[must_use]
pub fn explore(setup: &Setup) -> Explored {
    search(setup, None)
}

/// The shortest way to break an invariant.
#[must_use]
pub fn shortest(setup: &Setup) -> Option<Story> {
    let mut found = search(setup, None).violation?;
    // A state at depth `n + 1` is `n` moves from the start; those at the depth given are not looked
    // at.
    while let Some(shorter) = search(setup, Some(found.moves.len() + 1)).violation {
        found = shorter;
    }
    Some(found)
}

fn search(setup: &Setup, depth_max: Option<usize>) -> Explored {
    let began = Instant::now();
    let mut checker = Exploration { setup: setup.clone() }
        .checker()
        .threads(1)
        .finish_when(HasDiscoveries::AnyFailures);
    if let Some(depth_max) = depth_max {
        checker = checker.target_max_depth(depth_max);
    }
    let checker = checker.spawn_bfs().join();
    let discoveries = checker.discoveries();
    let violation = discoveries.get(NOTHING_BROKEN).map(|path| {
        let moves: Vec<Move> = path.clone().into_actions();
        Story::of(setup, moves)
    });
    let mut sights: Vec<&'static str> = discoveries.keys().copied().collect();
    sights.retain(|name| *name != NOTHING_BROKEN);
    sights.sort_unstable();
    Explored { states: checker.unique_state_count(), sights, violation, took: began.elapsed() }
}
