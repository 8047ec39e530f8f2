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

/// What the policy says of a number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Supported.
    Supported,
    /// Accepted as an experiment, which changes no evidence.
    Experimental,
    /// Refused, but could be asked for as an experiment.
    NeedsExperiment,
    /// Refused always.
    Refused,
}

/// Judges a number of live lanes.
#[must_use]
pub const fn judge(lanes: u32, is_experimental: bool) -> Ruling {
    if lanes <= LANE_EVIDENCE.supported {
        Ruling::Supported
    } else if lanes > LANE_EVIDENCE.unproven_with_real_clients {
        Ruling::Refused
    } else if is_experimental {
        Ruling::Experimental
    } else {
        Ruling::NeedsExperiment
    }
}

impl Ruling {
    /// Whether a run with so many lanes may go on.
    #[must_use]
    pub const fn is_allowed(self) -> bool {
        match self {
            Ruling::Supported | Ruling::Experimental => true,
            Ruling::NeedsExperiment | Ruling::Refused => false,
        }
    }

    /// The word for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Ruling::Supported => "supported",
            Ruling::Experimental => "experimental",
            Ruling::NeedsExperiment => "needs-experimental-lanes",
            Ruling::Refused => "refused",
        }
    }

    /// The sentence for people.
    #[must_use]
    pub fn sentence(self, lanes: u32) -> String {
        let LaneEvidence { supported, next_validation_target, unproven_with_real_clients } =
            LANE_EVIDENCE;
        match self {
            Ruling::Supported => format!("{lanes} live lanes are within the {supported} supported"),
            Ruling::Experimental => format!(
                "{lanes} live lanes are an experiment: {supported} are supported, \
                 {next_validation_target} is the next validation target. This changes no evidence"
            ),
            Ruling::NeedsExperiment => format!(
                "{lanes} live lanes are refused: {supported} are supported. Up to \
                 {unproven_with_real_clients} can be tried with --experimental-lanes"
            ),
            Ruling::Refused => format!(
                "{lanes} live lanes are refused: nothing is known above \
                 {unproven_with_real_clients}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_are_supported_eight_can_be_tried_and_nine_are_refused_always() {
        for (lanes, default, experimental) in [
            (1, Ruling::Supported, Ruling::Supported),
            (4, Ruling::Supported, Ruling::Supported),
            (5, Ruling::NeedsExperiment, Ruling::Experimental),
            (6, Ruling::NeedsExperiment, Ruling::Experimental),
            (8, Ruling::NeedsExperiment, Ruling::Experimental),
            (9, Ruling::Refused, Ruling::Refused),
            (u32::MAX, Ruling::Refused, Ruling::Refused),
        ] {
            assert_eq!(judge(lanes, false), default, "{lanes}");
            assert_eq!(judge(lanes, true), experimental, "{lanes}");
        }
    }
}
