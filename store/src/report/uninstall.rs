//! `uninstall-preview`: what an uninstall would remove, and what survives.
//!
//! Contract. It removes nothing, and nothing in this program could: the log is evidence, and only a
//! person deletes it. What other programs hold (a client's configuration) is named for a person to
//! look at, because nobody here keeps a list of where `config` was told to write.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::{Client, SERVER_KEY};
use crate::settings::{Settings, show_path_if_any};

/// What an uninstall comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Uninstall {
    /// Always: looking cannot fail.
    pub ok: bool,
    /// `uninstall-preview`
    pub command: &'static str,
    /// What would go.
    pub would_remove: Vec<Item>,
    /// What a person has to look at.
    pub left_to_you: Vec<Item>,
    /// What stays.
    pub survives: Vec<Item>,
    /// Nothing.
    pub removed: Vec<Item>,
    /// False.
    pub destructive: bool,
}

/// One thing that is there, or may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// What it is.
    pub what: String,
    /// Where, when that is known.
    #[serde(serialize_with = "show_path_if_any")]
    pub path: Option<PathBuf>,
    /// Whether something is there now; null when the place is not known.
    pub exists: Option<bool>,
}

impl Item {
    fn at(what: &str, path: &Path) -> Self {
        let exists = Some(path.symlink_metadata().is_ok());
        Item { what: what.to_owned(), path: Some(path.to_owned()), exists }
    }
}

impl Uninstall {
    /// Looks, and touches nothing.
    #[must_use]
    pub fn preview(binary: &Path, settings: &Settings) -> Self {
        let paths = &settings.paths;
        let configured = Client::ALL.iter().map(|client| Item {
            what: format!(
                "the entry {SERVER_KEY} in a {} that you had written for {}",
                client.file_name(),
                client.name()
            ),
            path: None,
            exists: None,
        });
        Uninstall {
            ok: true,
            command: "uninstall-preview",
            would_remove: vec![Item::at("this program", binary)],
            left_to_you: configured.collect(),
            survives: vec![
                Item::at("the data directory", &paths.data_dir),
                Item::at("the log, which is evidence", &paths.log),
                Item::at("the lock, when a process holds it or left it behind", &paths.lock),
            ],
            removed: Vec::new(),
            destructive: false,
        }
    }
}
