//! `check_service_health`: whether a service answers as it should.

use orion_domain::services::Service;
use orion_domain::touches::ServiceTouch;
use orion_domain::{Capability, Places, Risk, ToolError, ToolFacts, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::service_state::service;
use crate::spec::{Category, Tool};
use crate::web::WebAddress;

/// The `check_service_health` tool.
#[derive(Debug)]
pub struct CheckServiceHealth;

/// Which service, and where it tells its health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The service: docker, grafana, prometheus, pihole, a systemd unit, container:NAME or
    /// compose:PROJECT/SERVICE.
    #[schemars(length(max = 210))]
    pub service: String,
    /// A web address that answers with a status from 200 to 299 while the service is well. Its host and port
    /// must be granted. A path that is no usual one of a health check asks a person. When left out: where grafana, prometheus and pihole tell their health, and what the
    /// manager says of other services.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    pub endpoint: Option<String>,
}

/// A value of an answer that has to be as it is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The name of the field.
    pub field: &'static str,
    /// Its value as JSON.
    pub value: &'static str,
}

/// Where a known service tells its health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownService {
    /// The name in a call.
    pub name: &'static str,
    /// The address, on the device itself.
    pub endpoint: &'static str,
    /// What the answer holds while the service is well. `None` if its status says all.
    pub expected: Option<Expected>,
}

/// The daemon that is asked by its command line.
pub const DOCKER: &str = "docker";

/// The services that tell their health at a known address.
pub const KNOWN: &[KnownService] = &[
    KnownService {
        name: "grafana",
        endpoint: "http://localhost:3000/api/health",
        expected: Some(Expected { field: "database", value: "\"ok\"" }),
    },
    KnownService {
        name: "prometheus",
        endpoint: "http://localhost:9090/-/healthy",
        expected: None,
    },
    // Of Pi-hole 6, and the only part of its API that needs no password.
    KnownService {
        name: "pihole",
        endpoint: "http://localhost:80/api/info/login",
        expected: Some(Expected { field: "dns", value: "true" }),
    },
];

/// Paths at which services usually tell their health, and where a request changes nothing.
const HEALTH_PATHS: &[&str] = &[
    "/",
    "/-/healthy",
    "/-/ready",
    "/_health",
    "/api/health",
    "/health",
    "/health/live",
    "/health/ready",
    "/healthz",
    "/live",
    "/livez",
    "/ping",
    "/ready",
    "/readyz",
    "/status",
    "/up",
];

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What the manager is asked about.
    pub managed: Option<Managed>,
    /// The address that is requested.
    pub endpoint: Option<Endpoint>,
}

/// A requested address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub address: WebAddress,
    /// What its answer has to hold.
    pub expected: Option<Expected>,
    /// Whether its path is one of a health check. At any other path a request may change something.
    pub is_usual: bool,
}

/// What a manager is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Managed {
    /// Docker's daemon.
    Docker,
    /// A service.
    Service(Service),
}

impl Arguments {
    /// Returns what is looked at.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`.
    pub fn checked(&self) -> Result<Checked, ToolError> {
        let known = KNOWN.iter().find(|known| known.name == self.service);
        let endpoint = match (&self.endpoint, known) {
            (Some(endpoint), _) => Some(WebAddress::parse(endpoint)?),
            (None, Some(known)) => Some(WebAddress::parse(known.endpoint)?),
            (None, None) => None,
        };
        // An answer of another address has another form.
        let own = known.and_then(|known| Some((WebAddress::parse(known.endpoint).ok()?, known)));
        let endpoint = endpoint.map(|address| {
            let own = own.filter(|(own, _)| own.path() == address.path());
            let has_query = address.url.contains('?');
            let is_usual = own.is_some() || HEALTH_PATHS.contains(&address.path());
            Endpoint {
                is_usual: is_usual && !has_query,
                expected: own.and_then(|(_, known)| known.expected),
                address,
            }
        });
        let managed = match known {
            Some(_) => None,
            None if self.service == DOCKER => Some(Managed::Docker),
            None => Some(Managed::Service(service(&self.service)?)),
        };
        Ok(Checked { managed, endpoint })
    }

    /// Returns the requested address if its path is none of a health check. What cannot be read was refused before,
    /// by `touches`.
    fn unusual(&self) -> Option<Endpoint> {
        self.checked().ok()?.endpoint.filter(|endpoint| !endpoint.is_usual)
    }
}

/// How the service is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// Whether the service is well: everything that was looked at says so.
    pub healthy: bool,
    /// The status of the answer of the address; none without an address or an answer.
    pub status_code: Option<u16>,
    /// How long the answer took, in milliseconds; none without an answer.
    pub latency_ms: Option<f64>,
    /// What was looked at and what was found, in a sentence each.
    pub detail: String,
}

impl Tool for CheckServiceHealth {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "check_service_health";
    const CATEGORY: Category = Category::Service;
    const DESCRIPTION: &'static str = "Tells whether a service of a device is well: docker, grafana, \
        prometheus, pihole, or any granted service, by its web address or its manager. For the state alone, \
        use check_service.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::ServiceRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"check_service_health","device":"laptop-123","service":"nginx.service"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        let Checked { managed, endpoint } = arguments.checked()?;
        let services = match managed {
            Some(Managed::Service(service)) => vec![ServiceTouch::read(service)],
            Some(Managed::Docker) | None => Vec::new(),
        };
        let hosts = endpoint.into_iter().map(|endpoint| endpoint.address.address).collect();
        Ok(Touches { services, hosts, ..Touches::nothing() })
    }

    fn reasons(arguments: &Arguments) -> Vec<String> {
        let unusual = arguments.unusual();
        let reason = unusual.map(|endpoint| {
            format!(
                "It requests {}, which is no usual address of a health check: a request there may change something.",
                endpoint.address.shown()
            )
        });
        reason.into_iter().collect()
    }

    fn facts(arguments: &Arguments, facts: ToolFacts<'static>) -> ToolFacts<'static> {
        match arguments.unusual() {
            Some(_) => ToolFacts { risk: Risk::High, has_effects: true, ..facts },
            None => facts,
        }
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::{ErrorCode, PathStyle};

    use super::*;

    fn arguments(service: &str, endpoint: Option<&str>) -> Arguments {
        Arguments { service: service.to_owned(), endpoint: endpoint.map(ToOwned::to_owned) }
    }

    #[test]
    fn each_service_touches_what_is_looked_at() {
        let places = Places::bare(PathStyle::Posix);
        let touched = |service: &str, endpoint| {
            let touches = CheckServiceHealth::touches(&arguments(service, endpoint), &places);
            touches.map_err(|error| error.code).map(|it| {
                let services = it.services.iter().map(|touch| touch.service.to_string());
                services.chain(it.hosts.iter().map(ToString::to_string)).collect::<Vec<_>>()
            })
        };
        let own = Some("https://nas.example/up");
        for (service, endpoint, expected) in [
            ("docker", None, &[][..]),
            ("grafana", None, &["localhost:3000"]),
            ("prometheus", None, &["localhost:9090"]),
            ("pihole", None, &["localhost:80"]),
            ("grafana", own, &["nas.example:443"]),
            ("docker", own, &["nas.example:443"]),
            ("nginx", None, &["nginx.service"]),
            ("nginx", own, &["nginx.service", "nas.example:443"]),
            ("container:grafana", None, &["container:grafana"]),
        ] {
            let expected = expected.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(touched(service, endpoint), Ok(expected), "{service} {endpoint:?}");
        }
        for (service, endpoint) in
            [("-a", None), ("grafana", Some("file:///etc/passwd")), ("nginx", Some(""))]
        {
            assert_eq!(touched(service, endpoint), Err(ErrorCode::InvalidArgument), "{service}");
        }
    }

    #[test]
    fn what_an_answer_holds_counts_at_the_known_path_of_any_host() {
        let expected = |service: &str, endpoint| {
            let checked = arguments(service, endpoint).checked().unwrap();
            checked.endpoint.unwrap().expected.map(|expected| expected.field)
        };
        assert_eq!(expected("grafana", None), Some("database"));
        assert_eq!(expected("grafana", Some("http://a:1/api/health")), Some("database"));
        assert_eq!(expected("grafana", Some("http://a:1/up")), None);
        assert_eq!(expected("nginx", Some("http://a:1/api/health")), None);
        for known in KNOWN {
            let endpoint = WebAddress::parse(known.endpoint).unwrap();
            assert!(endpoint.address.is_loopback(), "{}", known.name);
            let value =
                known.expected.map(|it| serde_json::from_str::<serde_json::Value>(it.value));
            assert!(value.is_none_or(|value| value.is_ok()), "{}", known.name);
        }
    }
    #[test]
    fn a_path_that_is_none_of_a_health_check_is_of_high_risk() {
        let spec = crate::find(CheckServiceHealth::NAME).unwrap().0;
        for (service, endpoint, risk) in [
            ("grafana", None, Risk::Low),
            ("pihole", None, Risk::Low),
            ("nginx", None, Risk::Low),
            ("nginx", Some("https://nas.example/healthz"), Risk::Low),
            ("nginx", Some("https://nas.example"), Risk::Low),
            ("pihole", Some("http://pi.example/api/info/login"), Risk::Low),
            ("nginx", Some("http://pi.example/api/info/login"), Risk::High),
            ("nginx", Some("http://plug.example/relay/0?turn=off"), Risk::High),
            ("nginx", Some("http://plug.example/health?turn=off"), Risk::High),
            ("nginx", Some("http://plug.example/health/../off"), Risk::High),
            ("nginx", Some("http://plug.example/health%2f"), Risk::High),
            ("nginx", Some("http://plug.example/Health/"), Risk::High),
            ("grafana", Some("http://localhost:3000/api/health?x"), Risk::High),
        ] {
            let arguments = arguments(service, endpoint);
            let facts = CheckServiceHealth::facts(&arguments, spec.facts());
            let is_high = risk == Risk::High;
            assert_eq!((facts.risk, facts.has_effects), (risk, is_high), "{service} {endpoint:?}");
            assert_eq!(CheckServiceHealth::reasons(&arguments).len(), usize::from(is_high));
        }
    }
}
