//! Conversions of calls, their states and risks.

use orion_domain::call::{MAX_ARGUMENT_BYTES, MAX_ARGUMENT_VALUES, has_few_values};
use orion_domain::{CallRequest, CallState, Risk, RiskRaise, json};

use crate::error::WireError;
use crate::v1;

/// Converts a risk to the wire.
#[must_use]
pub const fn risk(risk: Risk) -> v1::Risk {
    match risk {
        Risk::Low => v1::Risk::Low,
        Risk::Medium => v1::Risk::Medium,
        Risk::High => v1::Risk::High,
        Risk::Critical => v1::Risk::Critical,
    }
}

/// Converts a risk from the wire.
///
/// # Errors
/// Unspecified, or a value of a newer peer.
pub fn risk_from(value: i32) -> Result<Risk, WireError> {
    match v1::Risk::try_from(value) {
        Ok(v1::Risk::Low) => Ok(Risk::Low),
        Ok(v1::Risk::Medium) => Ok(Risk::Medium),
        Ok(v1::Risk::High) => Ok(Risk::High),
        Ok(v1::Risk::Critical) => Ok(Risk::Critical),
        Ok(v1::Risk::Unspecified) | Err(_) => Err(WireError::Field { field: "risk" }),
    }
}

/// Converts a reason for a higher risk to the wire.
#[must_use]
pub const fn risk_raise(raise: RiskRaise) -> v1::RiskRaise {
    match raise {
        RiskRaise::StartsPrograms => v1::RiskRaise::StartsPrograms,
        RiskRaise::CannotBeUndone => v1::RiskRaise::CannotBeUndone,
        RiskRaise::ReachesDenied => v1::RiskRaise::ReachesDenied,
    }
}

/// Converts a reason for a higher risk from the wire.
///
/// # Errors
/// Unspecified, or a value of a newer peer.
pub fn risk_raise_from(value: i32) -> Result<RiskRaise, WireError> {
    let error = WireError::Field { field: "raises" };
    let raise = v1::RiskRaise::try_from(value).map_err(|_| error.clone())?;
    RiskRaise::ALL.into_iter().find(|known| risk_raise(*known) == raise).ok_or(error)
}

/// Converts a state to the wire.
#[must_use]
pub const fn call_state(state: CallState) -> v1::CallState {
    match state {
        CallState::Received => v1::CallState::Received,
        CallState::Denied => v1::CallState::Denied,
        CallState::AwaitingApproval => v1::CallState::AwaitingApproval,
        CallState::Queued => v1::CallState::Queued,
        CallState::Dispatched => v1::CallState::Dispatched,
        CallState::Running => v1::CallState::Running,
        CallState::Succeeded => v1::CallState::Succeeded,
        CallState::Failed => v1::CallState::Failed,
        CallState::Refused => v1::CallState::Refused,
        CallState::TimedOut => v1::CallState::TimedOut,
        CallState::Cancelled => v1::CallState::Cancelled,
        CallState::Unknown => v1::CallState::Unknown,
    }
}

/// Converts a state from the wire.
///
/// # Errors
/// Unspecified, or a value of a newer peer.
pub fn call_state_from(value: i32) -> Result<CallState, WireError> {
    let error = WireError::Field { field: "state" };
    let state = v1::CallState::try_from(value).map_err(|_| error.clone())?;
    CallState::ALL.into_iter().find(|known| call_state(*known) == state).ok_or(error)
}

/// Converts a person's or a program's request for a call.
///
/// # Errors
/// Arguments that are too large, not JSON, not an object, or have a duplicate name.
pub fn call_request(request: v1::CallToolRequest) -> Result<(CallRequest, bool), WireError> {
    let v1::CallToolRequest {
        tool,
        device,
        arguments,
        dry_run,
        timeout_ms,
        idempotency_key,
        explain,
        queue,
        queue_ms,
        background: _,
        moves_content: _,
    } = request;
    if arguments.len() > MAX_ARGUMENT_BYTES {
        return Err(WireError::TooLarge { field: "arguments", limit: MAX_ARGUMENT_BYTES });
    }
    if !has_few_values(&arguments) {
        return Err(WireError::TooMany { field: "arguments", limit: MAX_ARGUMENT_VALUES });
    }
    let arguments = if arguments.is_empty() {
        serde_json::Map::new()
    } else {
        json::parse_object(&arguments).map_err(|why| WireError::Json { field: "arguments", why })?
    };
    let request = CallRequest {
        tool,
        device: (!device.is_empty()).then_some(device),
        arguments,
        dry_run,
        timeout_ms: (timeout_ms > 0).then_some(timeout_ms),
        idempotency_key: (!idempotency_key.is_empty()).then_some(idempotency_key),
        queue: (queue || queue_ms > 0).then_some(true),
        queue_ms: (queue_ms > 0).then_some(queue_ms),
        recovered: false,
    };
    Ok((request, explain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_survives_the_wire() {
        for state in CallState::ALL {
            assert_eq!(call_state_from(call_state(state) as i32), Ok(state));
        }
        assert!(call_state_from(0).is_err());
        assert!(call_state_from(99).is_err());
    }

    #[test]
    fn arguments_must_be_an_object() {
        let request = |arguments: &'static [u8]| v1::CallToolRequest {
            tool: "t".to_owned(),
            arguments: arguments.into(),
            ..v1::CallToolRequest::default()
        };
        assert!(call_request(request(b"")).is_ok());
        assert!(call_request(request(b"{}")).is_ok());
        for bad in [&b"[]"[..], b"{", b"nope"] {
            assert!(call_request(request(bad)).is_err());
        }
        let twice = call_request(request(br#"{"a":{"path":"x","path":"y"}}"#)).unwrap_err();
        assert!(twice.to_string().contains("\"path\" is twice"), "{twice}");
    }
}
