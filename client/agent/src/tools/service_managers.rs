//! Reads and changes services through their managers: systemd, and Docker or Podman.

pub(super) mod containers;
mod units;

use orion_catalog::service_state::ServiceState;
use orion_domain::services::{Service, ServiceKind};
use orion_domain::{ErrorCode, ToolError};

use super::CommandContext;
use crate::programs::Answer;

/// The state of a service that does not exist.
pub(super) const NOT_FOUND: &str = "not-found";
/// The longest state, in characters.
const MAX_STATE: usize = 32;

/// Returns the state of a service.
///
/// # Errors
/// `NOT_SUPPORTED` where the device has no such manager, `EXECUTION_FAILED` where it does not answer or
/// answers something else, and the errors of [`ask`](crate::programs::ask).
pub(super) fn state(
    service: &Service,
    context: &CommandContext<'_>,
) -> Result<ServiceState, ToolError> {
    match service.kind() {
        ServiceKind::Unit => units::state(service, context),
        ServiceKind::Container | ServiceKind::Compose => containers::state(service, context),
    }
}

/// Restarts a service and waits until its manager says that it is done.
///
/// # Errors
/// As [`state`].
pub(super) fn restart(service: &Service, context: &CommandContext<'_>) -> Result<(), ToolError> {
    match service.kind() {
        ServiceKind::Unit => units::restart(service, context),
        ServiceKind::Container | ServiceKind::Compose => containers::restart(service, context),
    }
}

/// Returns whether a service runs.
pub(super) fn is_healthy(state: &ServiceState) -> bool {
    matches!(state.state.as_str(), "active" | "running")
}

/// Returns a state without anything else.
fn only(service: &Service, state: &str) -> ServiceState {
    ServiceState {
        service: service.to_string(),
        state: state.to_owned(),
        since: None,
        pid: None,
        restarts: None,
        enabled: None,
    }
}

/// Returns a state if it is one word in lower case, as managers write them.
fn word(text: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    let is_word = (1..=MAX_STATE).contains(&text.len()) && text.bytes().all(fits);
    is_word.then(|| text.to_owned())
}

/// Returns the error for a manager that did not do what it was asked.
pub(super) fn failed(manager: &str, answer: &Answer) -> ToolError {
    let why = match answer.complaint.trim_end_matches('.') {
        "" => "it gave no reason",
        complaint => complaint,
    };
    let message = format!("{manager} does not do this: {why}.");
    ToolError::new(ErrorCode::ExecutionFailed, message).with("exit_code", answer.exit_code)
}

/// Returns the error for a manager that answers in another form than it is known for.
pub(super) fn unread(manager: &str) -> ToolError {
    let message = format!("{manager} answered in a form that cannot be read.");
    ToolError::new(ErrorCode::ExecutionFailed, message)
}
