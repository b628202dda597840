//! The row of a call: as it is opened, closed and read.

use orion_domain::{
    ApprovalId, CallId, CallState, Caller, ConversationId, DeviceId, DeviceName, Digest, ErrorCode,
    PlanId, Risk, Undo,
};
use serde::{Deserialize, Serialize};

use crate::store::columns::{
    digest, digest_option, error_code_option, json, json_option, parsed, parsed_option,
    risk_option, unsigned,
};
use crate::store::db::{DecodeError, FromRow, Row};

/// A new call. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCall {
    /// Its id.
    pub id: CallId,
    /// The chat that it came from. None outside a chat.
    pub conversation: Option<ConversationId>,
    /// Who makes the call.
    pub caller: Caller,
    /// The device. None if no device was found.
    pub device: Option<(DeviceId, DeviceName)>,
    /// The tool's name, as requested; such a tool may not exist.
    pub tool: String,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// SHA-256 of the arguments.
    pub arguments_digest: Digest,
    /// Whether only a preview is requested.
    pub dry_run: bool,
    /// Whether the call was parsed out of prose.
    pub recovered: bool,
    /// Whether untrusted content was in the chat.
    pub tainted: bool,
    /// Whether the call occurs in that content.
    pub quoted: bool,
    /// What the call would touch, a line each.
    pub touches: Vec<String>,
    /// The decision.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// The version of the policy that was evaluated.
    pub policy_version: String,
    /// The tool's risk. None for an unknown tool.
    pub risk: Option<Risk>,
    /// The change that an evaluated call undoes or redoes. None for other calls.
    pub undo: Option<Undo>,
    /// Whether running it changes anything. If so, its row survives a power cut.
    pub has_effects: bool,
    /// The initial state.
    pub state: CallState,
    /// The client's own name for the call, unique for the person. None if the client gave none.
    pub idempotency_key: Option<String>,
    /// The closed call that this one replaces. Its idempotency key moves to this one.
    pub replaces: Option<CallId>,
    /// The plan of which the call is a step or a step's preview. None outside a plan.
    pub plan: Option<PlanId>,
    /// Whether the backend made the call itself, as a preview of another call.
    pub is_own_preview: bool,
    /// When it must have ended.
    pub deadline_at: i64,
    /// Until when it may wait for a disconnected device. None if it may not wait.
    pub queued_until: Option<i64>,
    /// When it was created.
    pub created_at: i64,
    /// When it was admitted. None if it is not admitted yet.
    pub admitted_at: Option<i64>,
    /// SHA-256 of the session or token that it was made with. None for a call that did not come over the
    /// wire.
    pub token: Option<Digest>,
}

/// The head of the device's own audit chain, as reported with the end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Witness {
    /// The device's audit row of the call; 0 if it has none.
    pub entry: i64,
    /// The sequence number of the chain's last row.
    pub seq: i64,
    /// The hash of that row.
    pub hash: Digest,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseCall {
    /// The call.
    pub id: CallId,
    /// A closed state.
    pub state: CallState,
    /// The stable code. None if the call succeeded.
    pub code: Option<ErrorCode>,
    /// The envelope, JSON.
    pub result: Vec<u8>,
    /// How long the device worked, in microseconds.
    pub duration_us: u64,
    /// Unix milliseconds.
    pub at: i64,
    /// The head of the device's audit chain. None if the device did not report the end.
    pub witness: Option<Witness>,
}

/// One change of a call's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The new state.
    pub state: CallState,
    /// Unix milliseconds.
    pub at: i64,
}

impl StateChange {
    /// Returns the history of a new call: received, and the state that it begins in.
    pub(super) fn of_new(call: &NewCall) -> Vec<Self> {
        let at = call.created_at;
        let mut history = vec![Self { state: CallState::Received, at }];
        if call.state != CallState::Received {
            history.push(Self { state: call.state, at });
        }
        history
    }

    /// Returns a history as it is stored: the inside of a JSON array, so that SQL can append to it without
    /// reading it.
    pub(super) fn text(history: &[Self]) -> String {
        let changes: Vec<_> = history
            .iter()
            .map(|Self { state, at }| format!(r#"{{"state":"{state}","at":{at}}}"#))
            .collect();
        changes.join(",")
    }

    /// Returns the change as an addition to a stored history.
    pub(super) fn next(self) -> String {
        format!(",{}", Self::text(&[self]))
    }

    /// Parses a history.
    pub(super) fn parse(history: &str) -> Result<Vec<Self>, serde_json::Error> {
        serde_json::from_str(&format!("[{history}]"))
    }
}

/// A stored call. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// Its id.
    pub id: CallId,
    /// Who made the call, and the chat that it came from.
    pub caller: Caller,
    /// The device. None if no device was found.
    pub device: Option<(DeviceId, DeviceName)>,
    /// The tool's name.
    pub tool: String,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// SHA-256 of the arguments.
    pub arguments_digest: Digest,
    /// Whether only a preview was requested.
    pub dry_run: bool,
    /// Whether the call was parsed out of prose.
    pub recovered: bool,
    /// Whether untrusted content was in the chat.
    pub tainted: bool,
    /// Whether the call occurs in that content.
    pub quoted: bool,
    /// What the call would touch, a line each.
    pub touches: Vec<String>,
    /// The decision.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// The version of the policy that was evaluated.
    pub policy_version: String,
    /// The tool's risk. None for an unknown tool.
    pub risk: Option<Risk>,
    /// The change that an evaluated call undoes or redoes. None for other calls.
    pub undo: Option<Undo>,
    /// Whether running it changes anything.
    pub has_effects: bool,
    /// The current state.
    pub state: CallState,
    /// The changes of state, oldest first.
    pub history: Vec<StateChange>,
    /// The client's own name for the call. None if the client gave none.
    pub idempotency_key: Option<String>,
    /// The plan of which the call is a step or a step's preview. None outside a plan.
    pub plan: Option<PlanId>,
    /// When it must have ended.
    pub deadline_at: i64,
    /// Until when it may wait for a disconnected device. None if it may not wait.
    pub queued_until: Option<i64>,
    /// When it was created.
    pub created_at: i64,
    /// The approval request. None if nobody was asked.
    pub approval: Option<ApprovalId>,
    /// The stable code. None unless it ended without success.
    pub code: Option<ErrorCode>,
    /// The envelope, JSON. None until the call ends.
    pub result: Option<Vec<u8>>,
    /// How long the device worked, in microseconds; 0 until the call ends.
    pub duration_us: u64,
    /// When it ended. None until then.
    pub closed_at: Option<i64>,
    /// SHA-256 of the session or token that it was made with. None for a call that did not come over the
    /// wire.
    pub token: Option<Digest>,
}

impl FromRow for CallRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        let device = parsed_option(row, "device_id")?.zip(parsed_option(row, "device_name")?);
        let history = StateChange::parse(row.get("history")?)
            .map_err(|error| DecodeError::new("history", error))?;
        let duration_us = match row.get::<Option<i64>>("duration_us")? {
            None => 0,
            Some(_) => unsigned(row, "duration_us")?,
        };
        Ok(Self {
            id: parsed(row, "id")?,
            caller: Caller {
                user: parsed(row, "user_name")?,
                role: parsed(row, "role")?,
                conversation: parsed_option(row, "conversation_id")?,
            },
            device,
            tool: row.get("tool")?,
            arguments: row.get::<Option<Vec<u8>>>("arguments")?.unwrap_or_default(),
            arguments_digest: digest(row, "arguments_digest")?,
            dry_run: row.get("dry_run")?,
            recovered: row.get("recovered")?,
            tainted: row.get("tainted")?,
            quoted: row.get("quoted")?,
            touches: json(row, "touches_json")?,
            decision: row.get("decision")?,
            rule: row.get("rule")?,
            policy_version: row.get("policy_version")?,
            risk: risk_option(row, "risk")?,
            undo: json_option(row, "undo_json")?,
            has_effects: row.get("has_effects")?,
            state: parsed(row, "state")?,
            history,
            idempotency_key: row.get("idempotency_key")?,
            plan: parsed_option(row, "plan_id")?,
            deadline_at: row.get("deadline_at")?,
            queued_until: row.get("queued_until")?,
            created_at: row.get("created_at")?,
            approval: parsed_option(row, "approval_id")?,
            code: error_code_option(row, "code")?,
            result: row.get("result")?,
            duration_us,
            closed_at: row.get("closed_at")?,
            token: digest_option(row, "token_hash")?,
        })
    }
}
