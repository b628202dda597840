//! The state of a service, and the argument that names one.

use orion_domain::services::Service;
use orion_domain::{ErrorCode, ToolError, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A service and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceState {
    /// The service: a unit, container:NAME or compose:PROJECT/SERVICE.
    pub service: String,
    /// The state in the manager's own word, such as active, failed, running or exited; not-found if there is
    /// no such service, and unknown if its manager does not answer.
    pub state: String,
    /// Since when it is in that state, in UTC; none where the manager does not tell.
    pub since: Option<String>,
    /// The id of the main process; none where none runs.
    pub pid: Option<u32>,
    /// How often it was restarted; none where the manager does not count.
    pub restarts: Option<u64>,
    /// Whether it starts with the system; none where that does not apply.
    pub enabled: Option<bool>,
}

/// Parses an argument that names a service.
///
/// # Errors
/// `INVALID_ARGUMENT`.
pub fn service(text: &str) -> Result<Service, ToolError> {
    Service::parse(text).ok_or_else(|| {
        let shown = visible(&text.chars().take(64).collect::<String>());
        let message = format!("`{shown}` is no plain name of a service.");
        ToolError::new(ErrorCode::InvalidArgument, message)
            .hint("write nginx.service, container:pihole or compose:homelab/grafana")
    })
}
