//! A call as a test looks at it.

use orion_domain::{CallState, Envelope, ErrorCode, ToolError};
use orion_wire::{call_state_from, v1};
use serde_json::Value;

/// A call as it is recorded, in types.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub state: CallState,
    /// Its result; none while there is none.
    pub envelope: Option<Envelope>,
    /// The question that it waits for.
    pub approval: Option<String>,
    /// Its canonical arguments.
    pub arguments: Value,
}

impl Call {
    /// How it ended: its state, and the code where it did not succeed.
    #[must_use]
    pub fn end(&self) -> (CallState, Option<ErrorCode>) {
        let error = self.envelope.as_ref().and_then(|envelope| envelope.error.as_ref());
        (self.state, error.map(|error| error.code))
    }

    /// What went wrong.
    ///
    /// # Panics
    /// Nothing did.
    #[must_use]
    pub fn error(&self) -> &ToolError {
        let error = self.envelope.as_ref().and_then(|envelope| envelope.error.as_ref());
        error.unwrap_or_else(|| panic!("this call has no error: {self:?}"))
    }

    /// What it returned.
    ///
    /// # Panics
    /// It did not succeed.
    #[must_use]
    pub fn data(&self) -> &Value {
        assert_eq!(self.end(), (CallState::Succeeded, None), "{self:?}");
        self.envelope.as_ref().and_then(|envelope| envelope.data.as_ref()).unwrap()
    }

    /// The question that it waits for.
    ///
    /// # Panics
    /// It does not wait.
    #[must_use]
    pub fn question(&self) -> &str {
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
