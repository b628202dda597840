//! A call as tests inspect it.

use orion_domain::{CallState, Envelope, ErrorCode, ToolError};
use orion_wire::{call_state_from, v1};
use serde_json::Value;

/// A recorded call, in domain types.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The call's id.
    pub id: String,
    /// The call's state.
    pub state: CallState,
    /// The result. `None` until the call ends.
    pub envelope: Option<Envelope>,
    /// The approval request that the call waits for. `None` where there is none.
    pub approval: Option<String>,
    /// The canonical arguments.
    pub arguments: Value,
}

impl Call {
    /// Returns the outcome: the state, and the code of a failure.
    #[must_use]
    pub fn end(&self) -> (CallState, Option<ErrorCode>) {
        let error = self.envelope.as_ref().and_then(|envelope| envelope.error.as_ref());
        (self.state, error.map(|error| error.code))
    }

    /// Returns the error.
    ///
    /// # Panics
    /// The call has no error.
    #[must_use]
    pub fn error(&self) -> &ToolError {
        let error = self.envelope.as_ref().and_then(|envelope| envelope.error.as_ref());
        error.unwrap_or_else(|| panic!("this call has no error: {self:?}"))
    }

    /// Returns the data.
    ///
    /// # Panics
    /// The call did not succeed.
    #[must_use]
    pub fn data(&self) -> &Value {
        assert_eq!(self.end(), (CallState::Succeeded, None), "{self:?}");
        self.envelope.as_ref().and_then(|envelope| envelope.data.as_ref()).unwrap()
    }

    /// Returns the id of the approval request.
    ///
    /// # Panics
    /// The call does not wait for one.
    #[must_use]
    pub fn approval_id(&self) -> &str {
        assert_eq!(self.state, CallState::AwaitingApproval, "{self:?}");
        self.approval.as_deref().unwrap()
    }
}

impl From<v1::Call> for Call {
    fn from(call: v1::Call) -> Self {
        let envelope = (!call.result.is_empty())
            .then(|| serde_json::from_slice(&call.result).expect("a result is an envelope"));
        Self {
            id: call.call_id,
            state: call_state_from(call.state).unwrap(),
            envelope,
            approval: (!call.approval_id.is_empty()).then_some(call.approval_id),
            arguments: serde_json::from_slice(&call.arguments).unwrap(),
        }
    }
}
