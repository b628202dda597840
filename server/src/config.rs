//! `orion-server.toml`: one section a concern, unknown keys refused with the nearest name, a default
//! for everything.

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
    /// Where people and programs come in.
    pub people: PeopleConfig,
    /// Where devices come in.
    pub devices: Devices,
    /// How long and how many.
    pub calls: Calls,
    /// Questions to people.
    pub approvals: Approvals,
    /// The chat loop.
    pub chat: Chat,
    /// Language models, the first being the default. The built-in planner stands in where there is
    /// none.
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
    /// How many connections of one address there may be on which nobody has signed in.
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
    /// What enrolment tokens tell devices to dial, `host:port`; the listening address when empty.
    pub addresses: Vec<String>,
    /// How long a device's certificate is good, in seconds.
    pub certificate_seconds: u32,
    /// How many connections of one address there may be that have shown no certificate yet.
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
    /// How long a call may take when it does not say, in seconds.
    pub timeout_seconds: u32,
    /// How long a call may take at most, in seconds.
    pub max_timeout_seconds: u32,
    /// Whether a call to a device that is away waits for it when it does not say.
    pub queue: bool,
    /// How long a call waits for a device that is away when it does not say, in seconds.
    pub queue_seconds: u32,
    /// How long a call may wait for a device at most, in seconds.
    pub max_queue_seconds: u32,
    /// How many calls may wait for one device.
    pub queued_per_device: u32,
    /// How many calls of one person may wait, for all devices together.
    pub queued_per_person: u32,
    /// How many calls one device may have under way.
    pub in_flight_per_device: u32,
    /// How many calls one person may have under way, on all devices together.
    pub in_flight_per_person: u32,
    /// How many calls one person may make in a second.
    pub per_person_per_second: u32,
    /// How many calls one person may make at once, after a while without any.
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
    /// How long a question stands, in seconds.
    pub expire_seconds: u32,
    /// Who is told of questions, by HTTP POST; nobody when left out.
    pub webhook_url: Option<String>,
    /// File with the secret that signs what is told.
    pub webhook_secret_file: Option<PathBuf>,
    /// Where people find the page of this backend, for links; the listening address when left out.
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
    /// How often a model may call tools in one answer.
    pub max_tool_rounds: u32,
    /// How many bytes of one result the model is shown.
    pub result_limit: usize,
    /// Whether the model is offered tools at all.
    pub tools_enabled: bool,
    /// Said to the model before everything else.
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
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The text says something that has no meaning.
    #[error("{path}: {message}{hint}", path = path.display())]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// What, with line and column.
        message: String,
        /// The nearest key, where one is near.
        hint: String,
    },
    /// Others could listen in.
    #[error(
        "[people] listen = \"{0}\" can be reached from other machines, so it needs TLS: set `certificate` and `key`, or `insecure = true` if something in front of it does TLS"
    )]
    NeedsTls(SocketAddr),
    /// A certificate without its key, or the other way round.
    #[error("[people] `certificate` and `key` go together; one of them is missing")]
    HalfTls,
    /// A number that makes no sense.
    #[error("[{section}] {key} must be between {least} and {most}")]
    OutOfRange {
        /// Section.
        section: &'static str,
        /// Key.
        key: &'static str,
        /// Smallest.
        least: u32,
        /// Largest.
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

    /// How long a call may take that asked for this.
    #[must_use]
    pub fn call_timeout(&self, asked_ms: Option<u64>) -> Duration {
        let most = Duration::from_secs(self.calls.max_timeout_seconds.into());
        asked_ms
            .map_or(Duration::from_secs(self.calls.timeout_seconds.into()), Duration::from_millis)
            .min(most)
    }

    /// How many calls may wait for devices that are away.
    #[must_use]
    pub const fn queue_limits(&self) -> QueueLimits {
        let Calls { queued_per_device: per_device, queued_per_person: per_person, .. } = self.calls;
        QueueLimits { per_device, per_person }
    }

    /// How long a call waits for a device that is away; not at all where there is none.
    #[must_use]
    pub fn queue_time(&self, request: &CallRequest) -> Option<Duration> {
        let waits = request.queue.unwrap_or(self.calls.queue) && !request.dry_run;
        let most = Duration::from_secs(self.calls.max_queue_seconds.into());
        let default = Duration::from_secs(self.calls.queue_seconds.into());
        waits.then(|| request.queue_ms.map_or(default, Duration::from_millis).min(most))
    }
}

/// The key that was probably meant, from a message that quotes the unknown one and then the known.
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
