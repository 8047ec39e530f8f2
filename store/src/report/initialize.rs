//! `initialize`: a dry run of the first start, unless `--apply` is given.
//!
//! It only ever creates a directory and appends one registration, and the decision is the same in
//! both modes: the dry run makes it over what it read, the application under the lock. Guarded by
//! `tests/initialize.rs`.

use gaia_bus_model::json::Object;
use gaia_bus_model::text::Text;
use serde::Serialize;

use crate::bus::{Bus, Initialized};
use crate::failure::Failure;
use crate::settings::Settings;

/// Who is registered when nobody else is named.
pub const COORDINATOR: &str = "gaia";

const NOTE: &str = "initialize only ever creates the data directory and appends one registration; \
                    it never changes or removes anything";

/// What `initialize` would do, or has done.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialize {
    /// Whether a coordinator of that name is, or would be, registered.
    pub ok: bool,
    /// `initialize`
    pub command: &'static str,
    /// `dry-run` or `applied`.
    pub mode: &'static str,
    /// Why not.
    pub error: Option<String>,
    /// The refusal's stable code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// Where the log lives.
    pub data_dir: String,
    /// Whether the directory is still to be created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub will_create_data_dir: Option<bool>,
    /// Whether there was a log before.
    pub existing_log: bool,
    /// The name that would be registered; null when nothing would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub will_register_coordinator: Option<Option<String>>,
    /// Whether an actor bears the name already.
    pub already_registered: bool,
    /// Who bears the name.
    pub candidates: Vec<Text>,
    /// The answer of the registration.
    pub result: Option<Object>,
    /// The records that were appended.
    pub events_appended: Vec<&'static str>,
    /// Present and false when the lock could not be released after all was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_released: Option<bool>,
    /// False.
    pub destructive: bool,
    /// How to do it for real.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<&'static str>,
    /// What this can do at most.
    pub note: &'static str,
    /// What to say on stderr beside it.
    #[serde(skip)]
    pub warning: Option<String>,
    /// The exit code.
    #[serde(skip)]
    pub exit_code: u8,
}

impl Initialize {
    /// Says what would be done; reads, and creates nothing.
    ///
    /// # Errors
    ///
    /// When the bus fails closed.
    pub fn dry_run(settings: Settings, name: &str) -> Result<Self, Failure> {
        let mut report = Initialize::on_entry(&settings, "dry-run");
        report.will_create_data_dir = Some(!settings.paths.data_dir.exists());
        report.required = Some("--apply");
        let (outcome, warning) = Bus::new(settings).would_initialize(name)?;
        let would_register = matches!(outcome, Initialized::Registered(_));
        report.will_register_coordinator = Some(would_register.then(|| name.to_owned()));
        report.fill(outcome, name, warning);
        report.result = None;
        report.events_appended.clear();
        Ok(report)
    }

    /// Does it.
    ///
    /// # Errors
    ///
    /// When the bus fails closed.
    pub fn apply(settings: Settings, name: &str) -> Result<Self, Failure> {
        let mut report = Initialize::on_entry(&settings, "applied");
        let (outcome, warning) = Bus::new(settings).initialize(name)?;
        report.fill(outcome, name, warning);
        Ok(report)
    }

    fn on_entry(settings: &Settings, mode: &'static str) -> Self {
        Initialize {
            ok: true,
            command: "initialize",
            mode,
            error: None,
            code: None,
            data_dir: settings.paths.data_dir.to_string_lossy().into_owned(),
            will_create_data_dir: None,
            existing_log: settings.paths.log.symlink_metadata().is_ok(),
            will_register_coordinator: None,
            already_registered: false,
            candidates: Vec::new(),
            result: None,
            events_appended: Vec::new(),
            lock_released: None,
            destructive: false,
            required: None,
            note: NOTE,
            warning: None,
            exit_code: 0,
        }
    }

    fn fill(&mut self, outcome: Initialized, name: &str, warning: Option<String>) {
        self.lock_released = warning.as_ref().map(|_| false);
        self.warning = warning;
        match outcome {
            Initialized::Registered(answer) => {
                self.result = Some(answer);
                self.events_appended.push("actor.registered");
            }
            Initialized::AlreadyRegistered(bearer) => {
                self.already_registered = true;
                self.candidates.push(bearer);
            }
            Initialized::Ambiguous(bearers) => {
                let refs: Vec<_> = bearers.iter().map(Text::to_str_lossy).collect();
                let error = format!(
                    "actor: ambiguous actor name \"{name}\" \u{2014} {} actors share it; address \
                     by ref: {}",
                    bearers.len(),
                    refs.join(", ")
                );
                self.already_registered = true;
                self.refuse("ambiguous-name", error);
                self.candidates = bearers;
            }
            Initialized::Refused(code, sentence) => {
                self.events_appended.push("command.rejected");
                self.refuse(code, sentence);
            }
        }
    }

    fn refuse(&mut self, code: &'static str, sentence: String) {
        self.ok = false;
        self.exit_code = 1;
        self.code = Some(code);
        self.error = Some(sentence);
    }
}
