//! The services whose logs tools may read. A log can hold secrets, so a granted service does not grant its log.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::services::{BadService, Form};
use crate::services::Service;

/// A service whose log is granted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "String")]
pub struct LogGrant(pub Service);

impl TryFrom<Form> for LogGrant {
    type Error = BadService;

    fn try_from(form: Form) -> Result<Self, BadService> {
        let (service, read_only) = form.named()?;
        // A log cannot be changed: who writes this expects another key.
        if read_only { Err(BadService) } else { Ok(Self(service)) }
    }
}

impl From<LogGrant> for String {
    fn from(LogGrant(service): LogGrant) -> Self {
        service.to_string()
    }
}

/// Formats the grant as calls name the service.
impl fmt::Display for LogGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns whether the log of a service may be read. None may, unless it is listed.
pub(super) fn lists(granted: &BTreeSet<LogGrant>, service: &Service) -> bool {
    granted.iter().any(|grant| grant.0 == *service)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_log_is_read_where_its_service_is_listed_among_the_logs() {
        let written = json!(["nginx", {"container": "pihole"}, {"compose": "homelab/grafana"}, {"unit": "db"}]);
        let granted: BTreeSet<LogGrant> = serde_json::from_value(written).unwrap();
        for (service, expected) in [
            ("nginx.service", true),
            ("nginx.socket", false),
            ("container:nginx", false),
            ("container:pihole", true),
            ("compose:homelab/grafana", true),
            ("compose:homelab/loki", false),
            ("db.service", true),
            ("system.slice", false),
        ] {
            let service = Service::parse(service).unwrap();
            assert_eq!(lists(&granted, &service), expected, "{service}");
        }
        let written = serde_json::to_value(&granted).unwrap();
        assert_eq!(serde_json::from_value::<BTreeSet<LogGrant>>(written).unwrap(), granted);
        for wrong in [
            json!(1),
            json!("--all"),
            json!("*"),
            json!({"unit": "db", "read_only": true}),
            json!({"unit": "a", "container": "b"}),
            json!({}),
        ] {
            assert!(serde_json::from_value::<LogGrant>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
