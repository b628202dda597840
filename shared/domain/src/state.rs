//! The life cycle of a call, as a state machine that only goes forward.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// In the store, not yet evaluated.
    Received,
    /// Denied by the backend. Final.
    Denied,
    /// A person's approval is pending.
    AwaitingApproval,
    /// The device is offline; the call waits until its deadline.
    Queued,
    /// Sent to the device's session.
    Dispatched,
    /// The device reported that the call began.
    Running,
    /// The call succeeded. Final.
    Succeeded,
    /// The call ran and failed. Final.
    Failed,
    /// The device denied the call. Final.
    Refused,
    /// The deadline passed. Final.
    TimedOut,
    /// A person cancelled the call. Final.
    Cancelled,
    /// The connection or the device failed, and the outcome is unknown. A later report of the device
    /// makes it final.
    Unknown,
}

impl CallState {
    /// Every state, in the order of the reference.
    pub const ALL: [Self; 12] = [
        Self::Received,
        Self::Denied,
        Self::AwaitingApproval,
        Self::Queued,
        Self::Dispatched,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Refused,
        Self::TimedOut,
        Self::Cancelled,
        Self::Unknown,
    ];

    /// Returns the name that people, wire and database use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Denied => "denied",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Queued => "queued",
            Self::Dispatched => "dispatched",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether the audit of the call is closed in this state.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(
            self,
            Self::Denied
                | Self::Succeeded
                | Self::Failed
                | Self::Refused
                | Self::TimedOut
                | Self::Cancelled
                | Self::Unknown
        )
    }

    /// Returns whether a call may go from here to `next`. Every state change in the database is guarded
    /// by this function, so that a late or repeated message changes nothing.
    #[must_use]
    pub const fn can_become(self, next: Self) -> bool {
        match self {
            Self::Received => matches!(
                next,
                Self::Denied
                    | Self::AwaitingApproval
                    | Self::Queued
                    | Self::Dispatched
                    | Self::Failed
                    | Self::Cancelled
            ),
            Self::AwaitingApproval => matches!(
                next,
                Self::Denied | Self::Queued | Self::Dispatched | Self::Failed | Self::Cancelled
            ),
            Self::Queued => matches!(
                next,
                // An approval that needs the device's preview is requested when the device reconnects.
                Self::AwaitingApproval
                    | Self::Dispatched
                    | Self::Denied
                    | Self::TimedOut
                    | Self::Cancelled
                    | Self::Failed
            ),
            // A call that was sent and never arrived may be denied when it is evaluated again.
            Self::Dispatched | Self::Running => matches!(
                (self, next),
                (Self::Dispatched, Self::Running | Self::Denied)
                    | (
                        _,
                        Self::Succeeded
                            | Self::Failed
                            | Self::Refused
                            | Self::TimedOut
                            | Self::Cancelled
                            | Self::Unknown
                    )
            ),
            // The device reconnects and reports the outcome.
            Self::Unknown => matches!(
                next,
                Self::Succeeded | Self::Failed | Self::Refused | Self::TimedOut | Self::Cancelled
            ),
            Self::Denied
            | Self::Succeeded
            | Self::Failed
            | Self::Refused
            | Self::TimedOut
            | Self::Cancelled => false,
        }
    }
}

impl fmt::Display for CallState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not the name of a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a call state")]
pub struct NotAState(String);

impl FromStr for CallState {
    type Err = NotAState;

    fn from_str(text: &str) -> Result<Self, NotAState> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| NotAState(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unknown_leaves_a_closed_state() {
        for from in CallState::ALL.into_iter().filter(|s| s.is_closed()) {
            for to in CallState::ALL {
                let expected = from == CallState::Unknown
                    && to.is_closed()
                    && !matches!(to, CallState::Unknown | CallState::Denied);
                assert_eq!(from.can_become(to), expected, "{from} -> {to}");
            }
        }
    }

    #[test]
    fn nothing_returns_to_received_and_every_open_state_can_end() {
        for state in CallState::ALL {
            assert!(!state.can_become(CallState::Received));
            if !state.is_closed() {
                assert!(CallState::ALL.into_iter().any(|n| n.is_closed() && state.can_become(n)));
            }
            assert_eq!(state.to_string().parse(), Ok(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }
}
