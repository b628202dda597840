//! `orion-server.toml`: one section for each concern, a default for every key. An unknown key is rejected
//! with the nearest name.

mod approvals;
mod artifacts;
mod assistants;
mod calls;
mod chat;
mod downloads;
mod error;
mod listeners;
mod spending;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::{ModelConfig, ModelKind};

pub use approvals::Approvals;
pub use artifacts::{Artifact, Artifacts};
pub use assistants::Assistant;
pub use calls::Calls;
pub use chat::Chat;
pub use downloads::DownloadsConfig;
pub use error::ConfigError;
pub use listeners::{Devices, PeopleConfig, PeopleTls};
pub use spending::Spending;

/// The whole configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The listener for people and programs.
    pub people: PeopleConfig,
    /// The listener for devices.
    pub devices: Devices,
    /// Timeouts and limits of calls.
    pub calls: Calls,
    /// Approval requests.
    pub approvals: Approvals,
    /// The chat loop.
    pub chat: Chat,
    /// The artifacts that calls install by their names.
    pub artifacts: Artifacts,
    /// The agents that devices download.
    pub downloads: DownloadsConfig,
    /// Language models, the first being the default. The built-in planner is the default if there is none.
    pub models: Vec<ModelConfig>,
    /// Named ways to chat.
    pub assistants: Vec<Assistant>,
    /// How much of the models may be used.
    pub spending: Spending,
}

impl Config {
    /// Reads a file and checks it.
    ///
    /// # Errors
    /// See [`ConfigError`]; the message names file, line and what to write.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Unreadable { path: path.to_owned(), error })?;
        let config: Self =
            toml::from_str(&text).map_err(|error| ConfigError::invalid(path, &text, &error))?;
        config.check()?;
        Ok(config)
    }

    /// Checks what types alone cannot.
    ///
    /// # Errors
    /// See [`ConfigError`].
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.people.certificate.is_some() != self.people.key.is_some() {
            return Err(ConfigError::HalfTls);
        }
        if self.people.tls.is_some() && self.people.key.is_some() {
            return Err(ConfigError::TwoCertificates);
        }
        artifacts::check(&self.artifacts)?;
        downloads::check(&self.downloads)?;
        self.check_models()?;
        let has_tls = self.people.key.is_some() || self.people.tls.is_some();
        let listen = self.people.listen;
        if !listen.ip().is_loopback() && !has_tls && !self.people.insecure {
            return Err(ConfigError::NeedsTls(listen));
        }
        let (of_people, of_devices) =
            (self.people.max_connections_per_address, self.devices.max_connections_per_address);
        let ranges = [
            ("people", "max_connections_per_address", of_people, 1, 100_000),
            ("devices", "max_connections_per_address", of_devices, 1, 100_000),
            ("people", "certificate_seconds", self.people.certificate_seconds, 10, 365 * 86_400),
            ("devices", "certificate_seconds", self.devices.certificate_seconds, 10, 365 * 86_400),
            ("devices", "renew_within_days", self.devices.renew_within_days, 0, 3650),
            ("devices", "enrollment_code_seconds", self.devices.enrollment_code_seconds, 0, 3600),
            ("calls", "timeout_seconds", self.calls.timeout_seconds, 1, 86_400),
            ("calls", "max_timeout_seconds", self.calls.max_timeout_seconds, 1, 86_400),
            ("calls", "queue_seconds", self.calls.queue_seconds, 1, 30 * 86_400),
            ("calls", "max_queue_seconds", self.calls.max_queue_seconds, 1, 30 * 86_400),
            ("calls", "queued_per_device", self.calls.queued_per_device, 1, 100_000),
            ("calls", "queued_per_person", self.calls.queued_per_person, 1, 100_000),
            ("calls", "in_flight_per_device", self.calls.in_flight_per_device, 1, 10_000),
            ("calls", "in_flight_per_person", self.calls.in_flight_per_person, 1, 100_000),
            ("calls", "per_person_per_second", self.calls.per_person_per_second, 1, 100_000),
            ("calls", "burst_per_person", self.calls.burst_per_person, 1, 100_000),
            ("approvals", "expire_seconds", self.approvals.expire_seconds, 1, 7 * 86_400),
            ("chat", "max_tool_rounds", self.chat.max_tool_rounds, 1, 100),
        ];
        for (section, key, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(ConfigError::OutOfRange { section, key, least, most });
            }
        }
        Ok(())
    }

    /// Checks what models, assistants and limits say of each other.
    fn check_models(&self) -> Result<(), ConfigError> {
        let names: Vec<&str> = self.models.iter().map(|model| model.name.as_str()).collect();
        for (at, model) in self.models.iter().enumerate() {
            if names.iter().take(at).any(|earlier| *earlier == model.name) {
                return Err(ConfigError::Chat(format!(
                    "two of [[models]] are named `{}`",
                    model.name
                )));
            }
            let is_missing =
                |name: &&String| name.as_str() != "planner" && !names.contains(&name.as_str());
            if let Some(missing) = model.fallback.iter().find(is_missing) {
                return Err(ConfigError::Chat(format!(
                    "[[models]] `{}`: `fallback` names `{missing}`, which is none of [[models]]",
                    model.name
                )));
            }
        }
        if let Some(problem) = assistants::problem(&self.assistants, &names) {
            return Err(ConfigError::Chat(format!("[[assistants]]: {problem}")));
        }
        if let Some(key) = self.spending.wrong_cost() {
            return Err(ConfigError::Chat(format!(
                "[spending] {key} is out of its range; write a number from 0 to 1000000"
            )));
        }
        let is_open = |model: &&ModelConfig| {
            model.kind != ModelKind::Planner && model.max_output_tokens.is_none()
        };
        match self.models.iter().find(is_open).filter(|_| self.spending.limits()) {
            Some(model) => Err(ConfigError::Chat(format!(
                "[[models]] `{}` needs `max_output_tokens`: [spending] reserves that much for each answer",
                model.name
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orion-server.toml");
        std::fs::write(&path, text).unwrap();
        Config::load(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_is_a_whole_configuration() {
        assert_eq!(load(""), Ok(Config::default()));
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest() {
        let error = load("[people]\nlisen = \"127.0.0.1:1\"\n").unwrap_err();
        assert!(error.contains("line 2"), "{error}");
        assert!(error.ends_with("; did you mean `listen`?"), "{error}");
    }

    #[test]
    fn an_open_address_needs_tls_and_numbers_need_sense() {
        assert!(load("[people]\nlisten = \"0.0.0.0:7080\"\n").unwrap_err().contains("TLS"));
        assert!(load("[people]\nlisten = \"0.0.0.0:7080\"\ninsecure = true\n").is_ok());
        assert!(load("[people]\nkey = \"k.pem\"\n").unwrap_err().contains("go together"));
        assert!(load("[calls]\ntimeout_seconds = 0\n").unwrap_err().contains("from 1 to"));
        assert!(load("[people]\nlisten = \"0.0.0.0:7080\"\ntls = \"own\"\n").is_ok());
        for (text, part) in [
            (
                "[[models]]\nname = \"a\"\nkind = \"planner\"\nfallback = [\"b\"]\n",
                "none of [[models]]",
            ),
            ("[[assistants]]\nname = \"a\"\nmodel = \"b\"\n", "names the model `b`"),
            ("[[assistants]]\nname = \"a\"\n[[assistants]]\nname = \"a\"\n", "two assistants"),
            ("[spending]\ncost_per_day = -1.0\n", "cost_per_day is out of its range"),
            (
                "[spending]\ncost_per_day = 1.0\n[[models]]\nname = \"a\"\nkind = \"gemini\"\nmodel = \"m\"\n",
                "`a` needs `max_output_tokens`",
            ),
        ] {
            let said = load(text).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
        let both = "[people]\ntls = \"own\"\nkey = \"k.pem\"\ncertificate = \"c.pem\"\n";
        assert!(load(both).unwrap_err().contains("one of the two"));
    }
}
