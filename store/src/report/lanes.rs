//! The lane policy: how many live agents one workspace is supported with, and on what evidence. The
//! number and its evidence stand here together and are shown together.

use serde::Serialize;

/// What is known about numbers of live lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneEvidence {
    /// Supported.
    pub supported: u32,
    /// Being validated next; only as explicitly experimental.
    pub next_validation_target: u32,
    /// Not yet seen to work with real clients. Above this, always refused.
    pub unproven_with_real_clients: u32,
}

/// The evidence.
pub const LANE_EVIDENCE: LaneEvidence =
    LaneEvidence { supported: 4, next_validation_target: 6, unproven_with_real_clients: 8 };

/// The most live lanes that are supported.
pub const SUPPORTED_MAX_LIVE_LANES: u32 = LANE_EVIDENCE.supported;
