//! Names of services: units of systemd, containers, and services of a compose project.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest name of a service, in bytes.
pub const MAX_SERVICE_BYTES: usize = 200;

/// The suffixes of units. A name without one of them is a service.
const SUFFIXES: &[&str] = &[
    ".service",
    ".socket",
    ".timer",
    ".target",
    ".path",
    ".mount",
    ".automount",
    ".swap",
    ".slice",
    ".scope",
    ".device",
];

const CONTAINER: &str = "container:";
const COMPOSE: &str = "compose:";

/// What manages a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServiceKind {
    /// systemd manages a unit.
    Unit,
    /// Docker or Podman runs a container.
    Container,
    /// A container belongs to a service of a compose project. The name is `PROJECT/SERVICE`.
    Compose,
}

/// A service that has a plain name: letters, digits and `@._:-`, and no dash in front.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Service {
    kind: ServiceKind,
    name: String,
}

impl Service {
    /// Parses the name of a unit; without a suffix it is that of a service.
    #[must_use]
    pub fn unit(name: &str) -> Option<Self> {
        let is_other = name.starts_with(CONTAINER) || name.starts_with(COMPOSE);
        if is_other || !is_plain(name, b"@._:-") {
            return None;
        }
        let has_suffix = SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
        let name = if has_suffix { name.to_owned() } else { format!("{name}.service") };
        Some(Self { kind: ServiceKind::Unit, name })
    }

    /// Parses the name of a container.
    #[must_use]
    pub fn container(name: &str) -> Option<Self> {
        is_plain(name, b"._-").then(|| Self { kind: ServiceKind::Container, name: name.to_owned() })
    }

    /// Parses the name of a service of a compose project: `homelab/grafana`.
    #[must_use]
    pub fn compose(name: &str) -> Option<Self> {
        let (project, service) = name.split_once('/')?;
        let fits = is_plain(project, b"._-") && is_plain(service, b"._-");
        fits.then(|| Self { kind: ServiceKind::Compose, name: name.to_owned() })
    }

    /// Parses a service as calls name it: `nginx.service`, `container:pihole`, `compose:homelab/grafana`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_prefix(CONTAINER) {
            Self::container(name)
        } else if let Some(name) = text.strip_prefix(COMPOSE) {
            Self::compose(name)
        } else {
            Self::unit(text)
        }
    }

    /// Returns what manages the service.
    #[must_use]
    pub const fn kind(&self) -> ServiceKind {
        self.kind
    }

    /// Returns the name without its kind.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn is_plain(name: &str, others: &[u8]) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_');
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || others.contains(&byte);
    starts && name.len() <= MAX_SERVICE_BYTES && name.bytes().all(fits)
}

/// Formats the service as calls name it.
impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ServiceKind::Unit => "",
            ServiceKind::Container => CONTAINER,
            ServiceKind::Compose => COMPOSE,
        })?;
        f.write_str(&self.name)
    }
}

/// Serializes the service as calls name it.
impl Serialize for Service {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Service {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("it is no plain name of a service"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_a_plain_name_that_no_program_takes_for_an_option() {
        for (text, expected) in [
            ("nginx", Some("nginx.service")),
            ("nginx.service", Some("nginx.service")),
            ("php8.2-fpm", Some("php8.2-fpm.service")),
            ("getty@tty1.service", Some("getty@tty1.service")),
            ("backup.timer", Some("backup.timer")),
            ("container:pihole", Some("container:pihole")),
            ("compose:homelab/grafana", Some("compose:homelab/grafana")),
            ("", None),
            ("-H", None),
            ("--host=evil", None),
            (".hidden", None),
            ("a b", None),
            ("a/b", None),
            ("a\n", None),
            ("a;b", None),
            ("n\u{430}me", None),
            ("container:", None),
            ("container:-a", None),
            ("container:a@b", None),
            ("container:container:a", None),
            ("compose:homelab", None),
            ("compose:homelab/", None),
            ("compose:homelab/a/b", None),
            ("compose:homelab/-a", None),
            ("../nginx", None),
        ] {
            let service = Service::parse(text);
            assert_eq!(service.map(|it| it.to_string()).as_deref(), expected, "{text}");
        }
        assert_eq!(Service::unit("container:a"), None);
        assert_eq!(Service::parse(&"a".repeat(MAX_SERVICE_BYTES + 1)), None);
    }
}
