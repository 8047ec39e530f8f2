//! The verdict file that ships: which other systems may be integrated, and why.
//!
//! `verify` shows it and `config` obeys it; both ask here, so that they cannot disagree. What is
//! not in the file has no verdict, and a file that does not read has none at all.

use serde::Deserialize;

/// The file as it ships.
pub const SHIPPED: &str = include_str!("../../plugin/ecosystem.json");

/// What was decided of an integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Decision {
    /// Only through an adapter of its own; nothing is configured for it.
    AdapterOnly,
    /// Never.
    Reject,
    /// Not now.
    Defer,
}

impl Decision {
    /// As the file spells it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Decision::AdapterOnly => "ADAPTER_ONLY",
            Decision::Reject => "REJECT",
            Decision::Defer => "DEFER",
        }
    }
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ruling {
    /// Of which system.
    pub target: String,
    /// What was decided.
    pub verdict: Decision,
    /// Why.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    verdicts: Vec<Ruling>,
}

/// Reads a verdict file.
///
/// # Errors
/// A sentence: it is not what such a file is, a reason is missing, or a target is judged twice.
pub fn read(text: &str) -> Result<Vec<Ruling>, String> {
    let File { verdicts } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    for (index, ruling) in verdicts.iter().enumerate() {
        if ruling.reason.trim().is_empty() {
            return Err(format!("{} has no reason", ruling.target));
        }
        let is_same = |other: &&Ruling| other.target.eq_ignore_ascii_case(&ruling.target);
        if verdicts.iter().take(index).any(|other| is_same(&other)) {
            return Err(format!("{} is judged twice", ruling.target));
        }
    }
    Ok(verdicts)
}

/// The ruling on a target, in any ASCII case.
#[must_use]
pub fn ruling<'a>(rulings: &'a [Ruling], target: &str) -> Option<&'a Ruling> {
    rulings.iter().find(|ruling| ruling.target.eq_ignore_ascii_case(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_file_reads_and_judges_in_any_case() {
        let rulings = read(SHIPPED).unwrap();
        assert_eq!(ruling(&rulings, "hari").unwrap().verdict, Decision::Reject);
        assert_eq!(ruling(&rulings, "IX").unwrap().verdict, Decision::Defer);
        assert_eq!(ruling(&rulings, "claude"), None);
    }

    #[test]
    fn a_file_that_is_not_one_has_no_verdicts() {
        let of = |target: &str, verdict: &str, reason: &str| {
            format!(r#"{{"target":"{target}","verdict":"{verdict}","reason":"{reason}"}}"#)
        };
        let file = |rulings: &[String]| format!(r#"{{"verdicts":[{}]}}"#, rulings.join(","));
        assert!(read(&file(&[of("A", "REJECT", "r")])).is_ok());
        for bad in [
            "".to_owned(),
            "{}".to_owned(),
            file(&[of("A", "ACCEPT", "r")]),
            file(&[of("A", "REJECT", " ")]),
            file(&[of("A", "REJECT", "r"), of("a", "DEFER", "r")]),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
    }
}
