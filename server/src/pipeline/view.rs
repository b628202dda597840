//! A call as its caller sees it.

use orion_domain::{ApprovalId, CallId, CallState, Caller, DeviceName, Envelope, Meta, ToolError};

use crate::clock::now_ms;
use crate::store::{CallRow, CloseCall, NewCall};

/// The state of a call, as its caller sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallView {
    /// The id of the call.
    pub call: CallId,
    /// The state: final, or waiting for a person or a device.
    pub state: CallState,
    /// The tool's name, without aliases. The requested name if there is no such tool.
    pub tool: String,
    /// The device. None if none was found.
    pub device: Option<DeviceName>,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// Whether it is a preview.
    pub dry_run: bool,
    /// The result envelope, JSON. Empty until there is one.
    pub result: Vec<u8>,
    /// The open approval request. None while no approval is needed.
    pub approval: Option<ApprovalId>,
    /// The person that the call is made for.
    pub caller: Caller,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Until when the call may wait for its device, Unix milliseconds. None if it may not wait.
    pub queued_until: Option<i64>,
    /// Unix milliseconds. None until the call ends.
    pub closed_at: Option<i64>,
}

impl CallView {
    /// Returns the view of a new call.
    #[must_use]
    pub fn of_new(row: &NewCall) -> Self {
        Self {
            call: row.id,
            state: row.state,
            tool: row.tool.clone(),
            device: row.device.as_ref().map(|(_, name)| name.clone()),
            arguments: row.arguments.clone(),
            dry_run: row.dry_run,
            result: Vec::new(),
            approval: None,
            caller: row.caller.clone(),
            created_at: row.created_at,
            queued_until: row.queued_until,
            closed_at: None,
        }
    }

    /// Returns the same call with its end.
    #[must_use]
    pub fn ended(self, state: CallState, result: Vec<u8>, at: i64) -> Self {
        Self { state, result, closed_at: Some(at), approval: None, ..self }
    }

    /// Returns how the call ends with an error of the backend.
    #[must_use]
    pub fn closing(&self, error: ToolError) -> CloseCall {
        let (state, code) = (error.code.final_state(), error.code);
        let meta = Meta {
            call_id: self.call.to_string(),
            device: self.device.as_ref().map(ToString::to_string).unwrap_or_default(),
            tool: self.tool.clone(),
            ..Meta::default()
        };
        let envelope = Envelope::failure(error, self.dry_run, meta);
        CloseCall {
            id: self.call,
            state,
            code: Some(code),
            result: serde_json::to_vec(&envelope).unwrap_or_default(),
            duration_us: 0,
            at: now_ms(),
            witness: None,
        }
    }
}

impl From<CallRow> for CallView {
    fn from(row: CallRow) -> Self {
        Self {
            call: row.id,
            state: row.state,
            tool: row.tool,
            device: row.device.map(|(_, name)| name),
            arguments: row.arguments,
            dry_run: row.dry_run,
            result: row.result.unwrap_or_default(),
            approval: row.approval,
            caller: row.caller,
            created_at: row.created_at,
            queued_until: row.queued_until,
            closed_at: row.closed_at,
        }
    }
}
