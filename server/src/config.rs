//! `orion-server.toml`: one section for each concern, a default for every key. An unknown key is rejected
//! with the nearest name.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_domain::CallRequest;
use serde::{Deserialize, Serialize};

use crate::model::ModelConfig;
use crate::store::QueueLimits;

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
    /// Language models, the first being the default. The built-in planner is the default if there is none.
    pub models: Vec<ModelConfig>,
}

/// `[people]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeopleConfig {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// PEM file with the certificate chain; together with `key` turns TLS on.
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key.
    pub key: Option<PathBuf>,
    /// Whether to listen without TLS on an address that others can reach.
    pub insecure: bool,
    /// The most connections of one address on which nobody has signed in.
    pub max_connections_per_address: u32,
}

impl Default for PeopleConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7080),
            certificate: None,
            key: None,
            insecure: false,
            max_connections_per_address: 128,
        }
    }
}

/// `[devices]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Devices {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The addresses that enrolment tokens give to devices, `host:port`. The listening address if empty.
    pub addresses: Vec<String>,
    /// The lifetime of a device's certificate, in seconds.
    pub certificate_seconds: u32,
    /// The most connections of one address that have not shown a certificate yet.
    pub max_connections_per_address: u32,
}

impl Default for Devices {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 7443),
            addresses: Vec::new(),
            certificate_seconds: 24 * 3600,
            max_connections_per_address: 256,
        }
    }
}

/// `[calls]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Calls {
    /// The timeout of a call that requests none, in seconds.
    pub timeout_seconds: u32,
    /// The longest timeout of a call, in seconds.
    pub max_timeout_seconds: u32,
    /// Whether a call that does not say so waits for a device that is not connected.
    pub queue: bool,
    /// How long a call that does not say so waits for its device, in seconds.
    pub queue_seconds: u32,
    /// The longest time that a call may wait for its device, in seconds.
    pub max_queue_seconds: u32,
    /// The most calls that wait for one device.
    pub queued_per_device: u32,
    /// The most waiting calls of one person, for all devices together.
    pub queued_per_person: u32,
    /// The most calls in flight on one device.
    pub in_flight_per_device: u32,
    /// The most calls in flight of one person, on all devices together.
    pub in_flight_per_person: u32,
    /// The most calls of one person in a second.
    pub per_person_per_second: u32,
    /// The most calls of one person at once, after a while without any.
    pub burst_per_person: u32,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            timeout_seconds: 30,
            max_timeout_seconds: 600,
            queue: false,
            queue_seconds: 24 * 3600,
            max_queue_seconds: 7 * 24 * 3600,
            queued_per_device: 1_000,
            queued_per_person: 500,
            in_flight_per_device: 16,
            in_flight_per_person: 256,
            per_person_per_second: 50,
            burst_per_person: 200,
        }
    }
}

/// `[approvals]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Approvals {
    /// How long an approval request stays open, in seconds.
    pub expire_seconds: u32,
    /// The URL that is notified of approval requests by HTTP POST. None turns notifications off.
    pub webhook_url: Option<String>,
    /// File with the secret that signs notifications.
    pub webhook_secret_file: Option<PathBuf>,
    /// The address of the web page, for links. None is the listening address.
    pub page_url: Option<String>,
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            expire_seconds: 15 * 60,
            webhook_url: None,
            webhook_secret_file: None,
            page_url: None,
        }
    }
}

/// `[chat]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Chat {
    /// The most rounds of tool calls in one answer of a model.
    pub max_tool_rounds: u32,
    /// The most bytes of one result that the model is shown.
    pub result_limit: usize,
    /// Whether the model is offered tools at all.
    pub tools_enabled: bool,
    /// The text before everything else that the model gets.
    pub system_prompt: String,
}

impl Default for Chat {
    fn default() -> Self {
        Self {
            max_tool_rounds: 10,
            result_limit: 4096,
            tools_enabled: true,
            system_prompt: String::new(),
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: cannot be read: {error}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The file is not valid TOML, or has an unknown key or a wrong value.
    #[error("{path}: {message}{hint}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        message: String,
        /// The nearest key. Empty if none is near.
        hint: String,
    },
    /// Others could read the connection.
    #[error(
        "[people] listen = \"{0}\" can be reached from other machines, so it needs TLS: set `certificate` and `key`, or `insecure = true` if something in front of it does TLS"
    )]
    NeedsTls(SocketAddr),
    /// Only one of certificate and key is set.
    #[error("[people] `certificate` and `key` go together; one of them is missing")]
    HalfTls,
    /// A number is out of its range.
    #[error("[{section}] {key} must be between {least} and {most}")]
    OutOfRange {
        /// The section.
        section: &'static str,
        /// The key.
        key: &'static str,
        /// The smallest value.
        least: u32,
        /// The largest value.
        most: u32,
    },
}

impl Config {
    /// Reads a file and checks it.
    ///
    /// # Errors
    /// See [`ConfigError`]; the message names file, line and what to write.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Unreadable { path: path.to_owned(), error })?;
        let config: Self = toml::from_str(&text).map_err(|error| ConfigError::Invalid {
            path: path.to_owned(),
            hint: nearest_key(error.message()),
            message: error.to_string().trim_end().to_owned(),
        })?;
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
        let listen = self.people.listen;
        if !listen.ip().is_loopback() && self.people.key.is_none() && !self.people.insecure {
            return Err(ConfigError::NeedsTls(listen));
        }
        let (of_people, of_devices) =
            (self.people.max_connections_per_address, self.devices.max_connections_per_address);
        let ranges = [
            ("people", "max_connections_per_address", of_people, 1, 100_000),
            ("devices", "max_connections_per_address", of_devices, 1, 100_000),
            ("devices", "certificate_seconds", self.devices.certificate_seconds, 10, 365 * 86_400),
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

    /// Returns the timeout of a call, from the requested milliseconds. None requests the default.
    #[must_use]
    pub fn call_timeout(&self, asked_ms: Option<u64>) -> Duration {
        let most = Duration::from_secs(self.calls.max_timeout_seconds.into());
        asked_ms
            .map_or(Duration::from_secs(self.calls.timeout_seconds.into()), Duration::from_millis)
            .min(most)
    }

    /// Returns the limits of calls that wait for devices.
    #[must_use]
    pub const fn queue_limits(&self) -> QueueLimits {
        let Calls { queued_per_device: per_device, queued_per_person: per_person, .. } = self.calls;
        QueueLimits { per_device, per_person }
    }

    /// Returns how long a call waits for its device. None if it does not wait.
    #[must_use]
    pub fn queue_time(&self, request: &CallRequest) -> Option<Duration> {
        let waits = request.queue.unwrap_or(self.calls.queue) && !request.dry_run;
        let most = Duration::from_secs(self.calls.max_queue_seconds.into());
        let default = Duration::from_secs(self.calls.queue_seconds.into());
        waits.then(|| request.queue_ms.map_or(default, Duration::from_millis).min(most))
    }
}

/// Returns the key that was probably meant. The message quotes the unknown key first and then the known
/// ones.
fn nearest_key(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(unknown), true) = (quoted.next(), message.contains("unknown field")) else {
        return String::new();
    };
    quoted
        .map(|known| (strsim::jaro_winkler(unknown, known), known))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| format!("\nDid you mean `{known}`?"))
        .unwrap_or_default()
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
        assert!(error.ends_with("Did you mean `listen`?"), "{error}");
    }

    #[test]
    fn an_open_address_needs_tls_and_numbers_need_sense() {
        assert!(load("[people]\nlisten = \"0.0.0.0:7080\"\n").unwrap_err().contains("TLS"));
        assert!(load("[people]\nlisten = \"0.0.0.0:7080\"\ninsecure = true\n").is_ok());
        assert!(load("[people]\nkey = \"k.pem\"\n").unwrap_err().contains("go together"));
        assert!(load("[calls]\ntimeout_seconds = 0\n").unwrap_err().contains("between 1 and"));
    }
}
