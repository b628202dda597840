//! The error for a call that is stopped.

use jiff::Timestamp;
use orion_domain::{Actor, ErrorCode, Hint, ToolError};

use crate::store::StopRow;

/// Returns the error for a call that a stop covers.
pub(super) fn refusal(stop: &StopRow) -> ToolError {
    let error = ToolError::new(ErrorCode::PermissionDenied, format!("{}.", sentence(stop)))
        .with("stopped_by", stop.by.to_string())
        .with("stopped_at", stop.at);
    let error = if stop.reason.is_empty() { error } else { error.with("reason", &*stop.reason) };
    let resume = match &stop.device_name {
        Some(device) => format!("orion resume {device}"),
        None => "orion resume --all".to_owned(),
    };
    error.hint(match &stop.scope.user {
        Some(_) if stop.is_own() => Hint::run("let the calls run again", resume),
        Some(user) => {
            Hint::run("let the calls run again", format!("{resume} --user {user}")).by(Actor::Admin)
        }
        None => Hint::run("let the calls run again", resume).by(Actor::Admin),
    })
}

/// Returns who stopped what and when, as a sentence without its full stop.
pub(super) fn sentence(stop: &StopRow) -> String {
    let whose = match &stop.scope.user {
        Some(user) => format!("the calls of {user}"),
        None => "all calls".to_owned(),
    };
    let place = match &stop.device_name {
        Some(device) => format!(" on {device}"),
        None => String::new(),
    };
    let at = Timestamp::from_millisecond(stop.at).map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC"));
    let at = at.map(|at| at.to_string()).unwrap_or_default();
    format!("{} stopped {whose}{place} at {at}", stop.by)
}
