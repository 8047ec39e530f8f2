//! `verify`: is this bus built as it claims, and is this log worth citing? What it asks is in
//! [`verify`](crate::verify).

use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;
use clap::builder::ValueParser;

use super::{Call, Console, Usage, after_help, flag, switch, this_program};
use crate::bus::Bus;
use crate::failure::Failure;
use crate::regular::{self, NotOpened};
use crate::settings::Settings;
use crate::verify::product::{Product, look_at_server};
use crate::verify::{Claim, Records, Report, read_evidence};

pub(super) fn define() -> Command {
    Command::new("verify")
        .about("Verify what ships and what the log shows")
        .long_about(
            "Verify what ships (manifests, sources, templates, lanes, verdicts, a spawned server) \
             and what the log shows. Five checks of how rich a log is, and one for a batch that a \
             power cut left half, are advice unless the log is claimed as evidence; all others \
             gate. Read-only. It attests shape, not provenance.",
        )
        .args([
            flag("evidence", "PATH", "Judge this log instead, as evidence, without a lock")
                .value_parser(ValueParser::path_buf()),
            switch("require-evidence", "Judge the log of the data directory as evidence"),
        ])
        .after_help(after_help(&[
            "gaia-bus verify --pretty",
            "gaia-bus verify --evidence copy-of-events.jsonl",
        ]))
}

pub(super) fn run(call: &Call<'_>, console: &mut Console<'_>) -> Result<u8, Usage> {
    let settings = call.settings()?;
    let binary = this_program()?;
    let evidence = call.matches.get_one::<PathBuf>("evidence");
    let is_claimed = evidence.is_some() || call.matches.get_flag("require-evidence");
    let claim = if is_claimed { Claim::Evidence } else { Claim::None };
    let lock_timeout = settings.lock_timeout;
    let data_dir = settings.paths.data_dir.clone();
    let mut paths = settings.paths.clone();
    if let Some(path) = evidence {
        path.clone_into(&mut paths.log);
    }
    let (records, warning) = match read(settings, evidence.map(PathBuf::as_path)) {
        Ok(read) => read,
        Err(failure) => return Ok(console.fail(&failure, &paths)),
    };
    let product = Product { server: look_at_server(&binary, &data_dir), lock_timeout };
    let source = paths.log.display().to_string();
    let mut report = Report::of(product.sections(), records.as_slice(), source, claim);
    report.lock_released = warning.as_ref().map(|_| false);
    console.show(&report, &report.sections);
    console.warn(warning.as_deref());
    for section in &report.sections {
        for check in section.checks.iter().filter(|check| !check.ok && check.gates(claim)) {
            console.say(&format!("red: {}: {}: {}", section.section, check.name, check.detail));
        }
    }
    Ok(report.exit_code())
}

/// The records, and a warning where the lock could not be released behind them.
fn read(settings: Settings, evidence: Option<&Path>) -> Result<(Records, Option<String>), Failure> {
    match evidence {
        Some(path) => open(path).and_then(read_evidence).map(|records| (records, None)),
        None => {
            let reading = Bus::new(settings).read(Records::default())?;
            Ok((reading.fold, reading.warning))
        }
    }
}

fn open(path: &Path) -> Result<fs::File, Failure> {
    regular::open(path).map_err(|not_opened| match not_opened {
        NotOpened::NotAFile(found) => Failure::NotAFile { found },
        NotOpened::Io(error) => Failure::Io { doing: "opening the evidence", error: error.into() },
    })
}
