//! The row of a call.

use orion_domain::{
    ApprovalId, CallId, CallState, Caller, ContentRaise, DeviceId, DeviceName, Digest, ErrorCode,
    PlanId, Risk, Secret, TurnId, Undo,
};

use super::StateChange;
use crate::store::columns::{
    digest, digest_option, error_code_option, json, json_option, parsed, parsed_option,
    risk_option, unsigned,
};
use crate::store::db::{DecodeError, FromRow, Row};

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
    /// Canonical JSON, with digests in the places of secrets.
    pub arguments: Vec<u8>,
    /// The secrets by the names of their arguments, JSON. None if there are none, or the call has ended.
    pub secrets: Option<Secret>,
    /// SHA-256 of the arguments with their secrets.
    pub arguments_digest: Digest,
    /// Whether only a preview was requested.
    pub dry_run: bool,
    /// Whether the call was parsed out of prose.
    pub recovered: bool,
    /// Whether untrusted content was in the chat.
    pub tainted: bool,
    /// Whether the call occurs in that content.
    pub quoted: bool,
    /// Why that content raises the call, as far as the call alone does not show it.
    pub content_raises: Vec<ContentRaise>,
    /// The turn of the chat. None outside a chat.
    pub turn: Option<TurnId>,
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
            secrets: row.get::<Option<String>>("secrets")?.map(Secret::new),
            arguments_digest: digest(row, "arguments_digest")?,
            dry_run: row.get("dry_run")?,
            recovered: row.get("recovered")?,
            tainted: row.get("tainted")?,
            quoted: row.get("quoted")?,
            content_raises: json_option(row, "content_raises")?.unwrap_or_default(),
            turn: parsed_option(row, "turn_id")?,
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
