//! `status`: who is here, what is pending, and who works in the same tree. Guarded by
//! `tests/status.rs`.

use std::path::Path;

use gaia_bus_model::instant::{self, Status};
use gaia_bus_model::json::Object;
use gaia_bus_model::text::Text;
use serde::Serialize;

use super::collision::{self, Collision, Occupant};
use super::lanes::SUPPORTED_MAX_LIVE_LANES;
use crate::archive::Archive;
use crate::bus::Reading;
use crate::settings::Paths;

/// The state of a bus at a glance, in the order in which it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// True: what cannot be read is a failure, shown as one.
    pub ok: bool,
    /// `status`
    pub command: &'static str,
    /// Where the log lives.
    pub data_dir: String,
    /// The log.
    pub log_path: String,
    /// How many records it has.
    pub events: u64,
    /// How many actors are online as of [`as_of`](Self::as_of).
    pub live_actors: usize,
    /// How many are not.
    pub stale_actors: usize,
    /// How many live lanes are supported.
    pub supported_max_live_lanes: u32,
    /// Whether there are more.
    pub over_supported_lane_limit: bool,
    /// Online actors that declare the same working tree.
    pub workspace_collisions: Vec<Collision>,
    /// The newest event time. Liveness is judged at this time, not now: a quiet bus does not age.
    pub as_of: Option<Text>,
    /// How long ago that was, in milliseconds; 0 when the records are ahead of this clock, null
    /// without a readable time.
    pub quiet_for_ms: Option<i64>,
    /// Present and false when the lock could not be released after all was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_released: Option<bool>,
    /// The snapshot.
    pub result: Object,
}

impl StatusReport {
    /// The status of a log that was read. `now_ms` is in milliseconds since the Unix epoch.
    #[must_use]
    pub fn of(reading: &Reading<Archive>, paths: &Paths, now_ms: i64) -> Self {
        let fold = &reading.fold;
        let actors = occupants(fold);
        let live_actors = actors.iter().filter(|actor| is_online(actor)).count();
        let as_of = fold.last_event_at().cloned();
        let newest_ms = as_of.as_ref().and_then(instant::readable_ms);
        StatusReport {
            ok: true,
            command: "status",
            data_dir: shown(&paths.data_dir),
            log_path: shown(&paths.log),
            events: fold.counters().event,
            live_actors,
            stale_actors: actors.len() - live_actors,
            supported_max_live_lanes: SUPPORTED_MAX_LIVE_LANES,
            over_supported_lane_limit: u32::try_from(live_actors)
                .map_or(true, |live| live > SUPPORTED_MAX_LIVE_LANES),
            workspace_collisions: collision::find(&actors),
            quiet_for_ms: newest_ms.map(|newest| now_ms.saturating_sub(newest).max(0)),
            lock_released: reading.warning.as_ref().map(|_| false),
            as_of,
            result: fold.snapshot(),
        }
    }
}

fn occupants(fold: &Archive) -> Vec<Occupant> {
    fold.actors()
        .map(|actor| Occupant {
            actor_ref: actor.actor_ref.clone(),
            status: actor.status,
            last_seen_at: actor.last_seen_at.cloned(),
            declared_capabilities: actor.declared_capabilities.cloned(),
        })
        .collect()
}

fn is_online(actor: &Occupant) -> bool {
    actor.status == Status::Online
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
