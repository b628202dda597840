//! A call as it enters the record, ends, and is read back.

use orion_domain::{
    ApprovalId, CallId, CallState, Caller, ConversationId, DeviceId, DeviceName, Digest, ErrorCode,
    PlanId, Risk, Undo,
};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use crate::store::row::{
    digest, digest_option, json, json_option, parsed, parsed_option, risk_option, unsigned,
};

/// A call that enters the record. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCall {
    /// Its id.
    pub id: CallId,
    /// The chat that it came from.
    pub conversation: Option<ConversationId>,
    /// For whom.
    pub caller: Caller,
    /// Where, once that is known.
    pub device: Option<(DeviceId, DeviceName)>,
    /// The tool, as it was asked for; there may be none of that name.
    pub tool: String,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// SHA-256 of the arguments.
    pub arguments_digest: Digest,
    /// Whether only a preview is wanted.
    pub dry_run: bool,
    /// Whether the call was picked out of prose.
    pub recovered: bool,
    /// Whether content that strangers may have written was in the chat.
    pub tainted: bool,
    /// Whether the call stands in that content.
    pub quoted: bool,
    /// What it would touch, a line each.
    pub touches: Vec<String>,
    /// What was decided.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// The policy that was judged by.
    pub policy_version: String,
    /// The tool's risk, where there is such a tool.
    pub risk: Option<Risk>,
    /// What it takes back or does again, of an undoing that was judged.
    pub undo: Option<Undo>,
    /// Whether running it changes anything; such a call's record survives a power cut.
    pub has_effects: bool,
    /// The state in which it enters the record.
    pub state: CallState,
    /// The client's own name for it, unique for the person.
    pub idempotency_key: Option<String>,
    /// The call whose place this one takes: that one has ended, and its idempotency key goes to this one.
    pub replaces: Option<CallId>,
    /// The plan that it is a step of, or a step's preview.
    pub plan: Option<PlanId>,
    /// Whether the backend made it for itself, as a preview of another call.
    pub is_own_preview: bool,
    /// When it must have ended.
    pub deadline_at: i64,
    /// Until when it may wait for a device that is away; not at all where there is none.
    pub queued_until: Option<i64>,
    /// When it was made.
    pub created_at: i64,
    /// When it was let through, for a call that enters the record so.
    pub admitted_at: Option<i64>,
    /// SHA-256 of the session or token that it was made with; none for what a person did not ask for
    /// over the wire.
    pub token: Option<Digest>,
}

/// What a device said of its own chain when it told how a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Witness {
    /// The entry that it made of the call; 0 where it made none.
    pub entry: i64,
    /// Where its chain ended.
    pub seq: i64,
    /// The hash there.
    pub hash: Digest,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseCall {
    /// The call.
    pub id: CallId,
    /// A state that closes it.
    pub state: CallState,
    /// The stable code, unless it succeeded.
    pub code: Option<ErrorCode>,
    /// The envelope, JSON.
    pub result: Vec<u8>,
    /// How long the device worked, in microseconds.
    pub duration_us: u64,
    /// When, Unix milliseconds.
    pub at: i64,
    /// What the device said of its own chain, where it is the device's word.
    pub witness: Option<Witness>,
}

/// One step of a call's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// What it became.
    pub state: CallState,
    /// When, Unix milliseconds.
    pub at: i64,
}

impl StateChange {
    /// As a history begins. A history is kept as the inside of a JSON array, so that SQL can add
    /// to it without reading it.
    pub(super) fn first(self) -> String {
        format!(r#"{{"state":"{}","at":{}}}"#, self.state, self.at)
    }

    /// As it is added to a history.
    pub(super) fn next(self) -> String {
        format!(",{}", self.first())
    }

    /// Reads a history.
    pub(super) fn parse(history: &str) -> Result<Vec<Self>, serde_json::Error> {
        serde_json::from_str(&format!("[{history}]"))
    }
}

/// A call as it stands on the record. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// Its id.
    pub id: CallId,
    /// For whom, from which chat.
    pub caller: Caller,
    /// Where.
    pub device: Option<(DeviceId, DeviceName)>,
    /// The tool.
    pub tool: String,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// SHA-256 of the arguments.
    pub arguments_digest: Digest,
    /// Whether only a preview was wanted.
    pub dry_run: bool,
    /// Whether the call was picked out of prose.
    pub recovered: bool,
    /// Whether content that strangers may have written was in the chat.
    pub tainted: bool,
    /// Whether the call stands in that content.
    pub quoted: bool,
    /// What it would touch, a line each.
    pub touches: Vec<String>,
    /// What was decided.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// The policy that was judged by.
    pub policy_version: String,
    /// The tool's risk, where there is such a tool.
    pub risk: Option<Risk>,
    /// What it takes back or does again, of an undoing that was judged.
    pub undo: Option<Undo>,
    /// Whether running it changes anything.
    pub has_effects: bool,
    /// Where it is in its life.
    pub state: CallState,
    /// How it came there.
    pub history: Vec<StateChange>,
    /// The client's own name for it.
    pub idempotency_key: Option<String>,
    /// The plan that it is a step of, or a step's preview.
    pub plan: Option<PlanId>,
    /// When it must have ended.
    pub deadline_at: i64,
    /// Until when it may wait for a device that is away; not at all where there is none.
    pub queued_until: Option<i64>,
    /// When it was made.
    pub created_at: i64,
    /// The question to a person, where one was asked.
    pub approval: Option<ApprovalId>,
    /// The stable code, when it ended other than well.
    pub code: Option<ErrorCode>,
    /// The envelope, JSON, when it has ended.
    pub result: Option<Vec<u8>>,
    /// How long the device worked, in microseconds; 0 until it has ended.
    pub duration_us: u64,
    /// When it ended.
    pub closed_at: Option<i64>,
    /// SHA-256 of the session or token that it was made with, where there was one.
    pub token: Option<Digest>,
}

impl FromRow<'_, SqliteRow> for CallRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let device = parsed_option(row, "device_id")?.zip(parsed_option(row, "device_name")?);
        let history = StateChange::parse(row.try_get("history")?)
            .map_err(|error| sqlx::Error::Decode(error.into()))?;
        let duration_us = match row.try_get::<Option<i64>, _>("duration_us")? {
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
            tool: row.try_get("tool")?,
            arguments: row.try_get("arguments")?,
            arguments_digest: digest(row, "arguments_digest")?,
            dry_run: row.try_get("dry_run")?,
            recovered: row.try_get("recovered")?,
            tainted: row.try_get("tainted")?,
            quoted: row.try_get("quoted")?,
            touches: json(row, "touches_json")?,
            decision: row.try_get("decision")?,
            rule: row.try_get("rule")?,
            policy_version: row.try_get("policy_version")?,
            risk: risk_option(row, "risk")?,
            undo: json_option(row, "undo_json")?,
            has_effects: row.try_get("has_effects")?,
            state: parsed(row, "state")?,
            history,
            idempotency_key: row.try_get("idempotency_key")?,
            plan: parsed_option(row, "plan_id")?,
            deadline_at: row.try_get("deadline_at")?,
            queued_until: row.try_get("queued_until")?,
            created_at: row.try_get("created_at")?,
            approval: parsed_option(row, "approval_id")?,
            code: row
                .try_get::<Option<&str>, _>("code")?
                .map(|text| {
                    ErrorCode::from_text(text)
                        .ok_or_else(|| sqlx::Error::Decode("not an error code".into()))
                })
                .transpose()?,
            result: row.try_get("result")?,
            duration_us,
            closed_at: row.try_get("closed_at")?,
            token: digest_option(row, "token_hash")?,
        })
    }
}
