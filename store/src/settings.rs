//! What the flags and the environment decide, read once at the edge.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files of one data directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Paths {
    /// The data directory.
    pub data_dir: PathBuf,
    /// The log: the whole durable state.
    pub log: PathBuf,
    /// The lock: a directory, and its existence is the lock.
    pub lock: PathBuf,
}

/// The name of the log in the data directory.
pub const LOG_NAME: &str = "events.jsonl";
/// The name of the lock in the data directory.
pub const LOCK_NAME: &str = "events.lock";
/// The name of the owner record in the lock.
pub const OWNER_NAME: &str = "owner.json";

impl Paths {
    /// The files of a data directory.
    #[must_use]
    pub fn of(data_dir: &Path) -> Self {
        Paths {
            log: data_dir.join(LOG_NAME),
            lock: data_dir.join(LOCK_NAME),
            data_dir: data_dir.to_owned(),
        }
    }

    /// The owner record in the lock.
    #[must_use]
    pub fn owner(&self) -> PathBuf {
        self.lock.join(OWNER_NAME)
    }
}

/// Shows a path in a document. One that is not UTF-8 shows with U+FFFD rather than not at all.
///
/// # Errors
/// Only those of the serializer.
pub fn show_path<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// The same where there may be none.
///
/// # Errors
/// Only those of the serializer.
pub fn show_path_if_any<S: serde::Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => show_path(path, serializer),
        None => serializer.serialize_none(),
    }
}

/// All settings of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where the log lives.
    pub paths: Paths,
    /// Whether neither a flag nor `GAIA_INTERAGENT_DATA_DIR` chose the data directory.
    pub data_dir_is_default: bool,
    /// How long to wait for the lock (`GAIA_INTERAGENT_LOCK_TIMEOUT_MS`, 10000).
    pub lock_timeout: Duration,
    /// From which age a lock is called probably abandoned (`GAIA_INTERAGENT_LOCK_STALE_MS`, 60000).
    /// It is never broken, however old.
    pub lock_stale: Duration,
    /// How often the release is tried again (`GAIA_INTERAGENT_LOCK_RELEASE_RETRIES`, 12).
    pub release_retries: u32,
    /// How long to wait between these tries (`GAIA_INTERAGENT_LOCK_RELEASE_RETRY_DELAY_MS`, 25).
    pub release_retry_delay: Duration,
    /// The most bytes of a string argument, or of an array argument as a whole
    /// (`GAIA_BUS_MAX_TEXT_BYTES`, 1048576).
    pub text_bytes_max: u64,
}

/// A setting that cannot be used. The command line exits with 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A number was expected.
    #[error("{name} must be a whole number of 0 or more, not {value:?}: mend it or unset it")]
    NotANumber {
        /// The environment variable.
        name: &'static str,
        /// What it holds.
        value: String,
    },
    /// No data directory can be derived.
    #[error(
        "there is no data directory: give --data-dir, or set GAIA_INTERAGENT_DATA_DIR or HOME to \
         an absolute path"
    )]
    NoDataDir,
}

impl Settings {
    /// The settings of a data directory, with every limit at its default.
    #[must_use]
    pub fn of_data_dir(data_dir: &Path) -> Self {
        Settings {
            paths: Paths::of(data_dir),
            data_dir_is_default: false,
            lock_timeout: Duration::from_secs(10),
            lock_stale: Duration::from_secs(60),
            release_retries: 12,
            release_retry_delay: Duration::from_millis(25),
            text_bytes_max: 1_048_576,
        }
    }

    /// The settings that a flag and the environment make.
    ///
    /// # Errors
    ///
    /// When a number is not one, or no data directory can be derived. Never a silent default.
    pub fn from_environment(
        data_dir_flag: Option<PathBuf>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SettingsError> {
        let chosen = data_dir_flag
            .or_else(|| non_empty(variable("GAIA_INTERAGENT_DATA_DIR")).map(PathBuf::from));
        let (data_dir, data_dir_is_default) = match chosen {
            Some(path) => (path, false),
            None => (default_data_dir(&variable).ok_or(SettingsError::NoDataDir)?, true),
        };
        let number = |name: &'static str, default: u64| match variable(name) {
            None => Ok(default),
            Some(value) => {
                value.to_str().and_then(|text| text.trim().parse().ok()).ok_or_else(|| {
                    SettingsError::NotANumber { name, value: value.to_string_lossy().into_owned() }
                })
            }
        };
        let milliseconds = |name, default| number(name, default).map(Duration::from_millis);
        Ok(Settings {
            paths: Paths::of(&data_dir),
            data_dir_is_default,
            lock_timeout: milliseconds("GAIA_INTERAGENT_LOCK_TIMEOUT_MS", 10_000)?,
            lock_stale: milliseconds("GAIA_INTERAGENT_LOCK_STALE_MS", 60_000)?,
            release_retries: u32::try_from(number("GAIA_INTERAGENT_LOCK_RELEASE_RETRIES", 12)?)
                .unwrap_or(u32::MAX),
            release_retry_delay: milliseconds("GAIA_INTERAGENT_LOCK_RELEASE_RETRY_DELAY_MS", 25)?,
            text_bytes_max: number("GAIA_BUS_MAX_TEXT_BYTES", 1_048_576)?,
        })
    }
}

fn default_data_dir(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let base =
        |name: &str| non_empty(variable(name)).map(PathBuf::from).filter(|path| path.is_absolute());
    base("LOCALAPPDATA")
        .or_else(|| base("XDG_DATA_HOME"))
        .or_else(|| base("HOME").map(|home| home.join(".local").join("share")))
        .map(|base| base.join("gaia-interagent").join("data"))
}

fn non_empty(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)], flag: Option<&str>) -> Result<Settings, SettingsError> {
        Settings::from_environment(flag.map(PathBuf::from), |name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_data_directory_is_the_flag_then_the_variable_then_the_first_base_there_is() {
        let all = [
            ("GAIA_INTERAGENT_DATA_DIR", "/v"),
            ("LOCALAPPDATA", "/l"),
            ("XDG_DATA_HOME", "/x"),
            ("HOME", "/h"),
        ];
        let dir = |skip: usize, flag| from(&all[skip..], flag).unwrap();
        assert_eq!(dir(0, Some("/f")).paths.data_dir, Path::new("/f"));
        assert_eq!(dir(0, None).paths.data_dir, Path::new("/v"));
        assert!(!dir(0, None).data_dir_is_default);
        assert_eq!(dir(1, None).paths.data_dir, Path::new("/l/gaia-interagent/data"));
        assert_eq!(dir(2, None).paths.data_dir, Path::new("/x/gaia-interagent/data"));
        assert_eq!(dir(3, None).paths.data_dir, Path::new("/h/.local/share/gaia-interagent/data"));
        assert!(dir(3, None).data_dir_is_default);
        assert_eq!(from(&[], None), Err(SettingsError::NoDataDir));
    }

    #[test]
    fn a_value_that_is_not_a_number_is_an_error_and_never_a_default() {
        for name in [
            "GAIA_INTERAGENT_LOCK_TIMEOUT_MS",
            "GAIA_INTERAGENT_LOCK_STALE_MS",
            "GAIA_INTERAGENT_LOCK_RELEASE_RETRIES",
            "GAIA_INTERAGENT_LOCK_RELEASE_RETRY_DELAY_MS",
            "GAIA_BUS_MAX_TEXT_BYTES",
        ] {
            for value in ["ten", "", "-1", "1.5", "1e3"] {
                let error = from(&[(name, value)], Some("/f")).unwrap_err();
                assert!(error.to_string().contains(name), "{error}");
            }
            assert!(from(&[(name, "7")], Some("/f")).is_ok());
        }
        let set = from(&[("GAIA_INTERAGENT_LOCK_TIMEOUT_MS", "7")], Some("/f")).unwrap();
        assert_eq!(set.lock_timeout, Duration::from_millis(7));
    }
}
