//! A new call and the end of a call, as they are stored.

use orion_domain::evaluate::Note;
use orion_domain::{
    CallId, CallState, Caller, ContentRaise, ConversationId, DeviceId, DeviceName, Digest,
    ErrorCode, PlanId, Risk, Secret, TurnId, Undo,
};
use serde::Serialize;

/// What made a call in the place of its person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Parent {
    /// The task with this id, at a time of it.
    Schedule(CallId),
    /// The call with this id, which runs a macro or saves what it made.
    Call(CallId),
}

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
    /// The caller's own name for the call, for the audit log. None if it was made by the name of its tool.
    pub alias: Option<String>,
    /// Canonical JSON, with digests in the places of secrets.
    pub arguments: Vec<u8>,
    /// The secrets by the names of their arguments, JSON. Stored until the call ends. None if there are none.
    pub secrets: Option<Secret>,
    /// SHA-256 of the arguments with their secrets.
    pub arguments_digest: Digest,
    /// Whether only a preview is requested.
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
    /// What rules report of the call without deciding it, for the audit log.
    pub notes: Vec<Note>,
    /// SHA-256 of the definition of a custom tool. None for a tool of the catalogue.
    pub definition: Option<Digest>,
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
    /// What made the call in the place of its person, for the audit log. None for a call that was requested.
    pub parent: Option<Parent>,
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
