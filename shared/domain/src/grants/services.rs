//! The services that tools may read and change.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::services::{Service, ServiceKind};
use crate::touches::ServiceTouch;

/// A granted service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct ServiceGrant {
    /// The service.
    pub service: Service,
    /// Whether the service may be read and not changed.
    pub read_only: bool,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a service such as \"nginx.service\", { compose: homelab/grafana } or { container: pihole }"
)]
pub(super) enum Form {
    Short(String),
    Long(Long),
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Long {
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compose: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    read_only: bool,
}

/// An entry that names no service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a service has one plain name, as unit, container or compose")]
pub struct BadService;

impl Form {
    /// Returns the service that the entry names, and whether it may only be read.
    pub(super) fn named(self) -> Result<(Service, bool), BadService> {
        let (service, read_only) = match self {
            Self::Short(text) => (Service::parse(&text), false),
            Self::Long(Long { unit, container, compose, read_only }) => {
                let service = match (unit, container, compose) {
                    (Some(unit), None, None) => Service::unit(&unit),
                    (None, Some(container), None) => Service::container(&container),
                    (None, None, Some(compose)) => Service::compose(&compose),
                    (_, _, _) => None,
                };
                (service, read_only)
            }
        };
        Ok((service.ok_or(BadService)?, read_only))
    }
}

impl TryFrom<Form> for ServiceGrant {
    type Error = BadService;

    fn try_from(form: Form) -> Result<Self, BadService> {
        let (service, read_only) = form.named()?;
        Ok(Self { service, read_only })
    }
}

impl From<ServiceGrant> for Form {
    fn from(ServiceGrant { service, read_only }: ServiceGrant) -> Self {
        if !read_only {
            return Self::Short(service.to_string());
        }
        let name = Some(service.name().to_owned());
        let long = Long { read_only, ..Long::default() };
        Self::Long(match service.kind() {
            ServiceKind::Unit => Long { unit: name, ..long },
            ServiceKind::Container => Long { container: name, ..long },
            ServiceKind::Compose => Long { compose: name, ..long },
        })
    }
}

/// Formats the grant for people.
impl fmt::Display for ServiceGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, read_only } = self;
        write!(f, "{service}{}", if *read_only { " (read only)" } else { "" })
    }
}

/// Returns whether a service may be touched so. Nothing is, unless it is listed.
pub(super) fn lists(granted: &BTreeSet<ServiceGrant>, touch: &ServiceTouch) -> bool {
    granted
        .iter()
        .any(|grant| grant.service == touch.service && !(touch.changes && grant.read_only))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_is_touched_where_its_entry_allows_that() {
        let granted: BTreeSet<ServiceGrant> = serde_json::from_value(json!([
            "nginx",
            "compose:homelab/grafana",
            {"container": "pihole"},
            {"unit": "postgresql.service", "read_only": true},
            {"container": "registry", "read_only": true},
            {"compose": "homelab/mimir", "read_only": true},
        ]))
        .unwrap();
        for (service, reads, changes) in [
            ("nginx.service", true, true),
            ("nginx", true, true),
            ("nginx.socket", false, false),
            ("compose:homelab/grafana", true, true),
            ("compose:homelab/loki", false, false),
            ("container:pihole", true, true),
            ("container:nginx", false, false),
            ("pihole", false, false),
            ("postgresql", true, false),
            ("container:registry", true, false),
            ("compose:homelab/mimir", true, false),
        ] {
            let touch = |changes| {
                let service = Service::parse(service).unwrap();
                lists(&granted, &ServiceTouch { service, changes })
            };
            assert_eq!((touch(false), touch(true)), (reads, changes), "{service}");
        }
        let written = serde_json::to_value(&granted).unwrap();
        assert_eq!(serde_json::from_value::<BTreeSet<ServiceGrant>>(written).unwrap(), granted);
    }

    #[test]
    fn an_entry_that_names_none_or_several_is_refused() {
        for entry in [
            json!(1),
            json!("--all"),
            json!({}),
            json!({"read_only": true}),
            json!({"unit": "a", "container": "b"}),
            json!({"compose": "a"}),
            json!({"service": "a"}),
        ] {
            assert!(serde_json::from_value::<ServiceGrant>(entry.clone()).is_err(), "{entry}");
        }
    }
}
