//! `lanes`: the lane policy and its evidence, from the one place where both stand.

use clap::Command;
use serde::Serialize;

use super::{Call, Console, Usage, after_help, flag, switch};
use crate::report::lanes::{LANE_EVIDENCE, LaneEvidence, SUPPORTED_MAX_LIVE_LANES, judge};

pub(super) fn define() -> Command {
    Command::new("lanes")
        .about("Show how many live lanes are supported and on what evidence, or judge a number")
        .long_about(
            "Show how many live lanes one workspace is supported with, and on what evidence. With \
             --check, judge a number: exit code 1 when it is refused. --experimental-lanes labels \
             the run and changes no evidence.",
        )
        .args([
            flag("check", "N", "Judge this number of live lanes"),
            switch("experimental-lanes", "Accept lanes whose validation is still ahead"),
        ])
        .after_help(after_help(&[
            "gaia-bus lanes",
            "gaia-bus lanes --check 6 --experimental-lanes",
        ]))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Lanes {
    ok: bool,
    command: &'static str,
    error: Option<String>,
    supported_max_live_lanes: u32,
    lane_evidence: LaneEvidence,
    result: Option<Judged>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Judged {
    lanes: u32,
    experimental: bool,
    allowed: bool,
    ruling: &'static str,
    sentence: String,
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let experimental = call.matches.get_flag("experimental-lanes");
    let wanted = call.matches.get_one::<String>("check").map(|text| {
        let number = text.parse::<u32>().ok().filter(|lanes| *lanes > 0);
        number.ok_or_else(|| Usage(format!("--check: {text:?} is no number of lanes from 1")))
    });
    let result = wanted.transpose()?.map(|lanes| {
        let ruling = judge(lanes, experimental);
        let sentence = ruling.sentence(lanes);
        let (allowed, ruling) = (ruling.is_allowed(), ruling.as_str());
        Judged { lanes, experimental, allowed, ruling, sentence }
    });
    let ok = result.as_ref().is_none_or(|judged| judged.allowed);
    let error = result.as_ref().filter(|_| !ok).map(|judged| judged.sentence.clone());
    let lanes = Lanes {
        ok,
        command: "lanes",
        error,
        supported_max_live_lanes: SUPPORTED_MAX_LIVE_LANES,
        lane_evidence: LANE_EVIDENCE,
        result,
    };
    match &lanes.result {
        Some(result) => console.show(&lanes, result),
        None => console.show(&lanes, &lanes.lane_evidence),
    }
    console.warn(lanes.error.as_deref());
    Ok(u8::from(!ok))
}
