//! The audit events of a call: opened and closed.

use orion_domain::evaluate::Note;
use orion_domain::{
    CallId, CallState, ConversationId, DeviceId, DeviceName, Digest, ErrorCode, PlanId, Risk, Role,
    Undo, UserName,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{CloseCall, NewCall, Parent, StateChange, Witness};
use crate::store::StoreError;
use crate::store::db::AuditEvent;

/// Arguments of more bytes than this are recorded by digest, length and their beginning.
const WHOLE_ARGUMENTS: usize = 8 * 1024;
/// How many bytes of the beginning are recorded.
const BEGINNING: usize = 1024;
/// How many touches are recorded, and how many bytes of each.
const TOUCHES: usize = 64;
const TOUCH_BYTES: usize = 4 * 1024;
/// How many notes of rules are recorded.
const NOTES: usize = 32;
/// How many bytes of a requested name are recorded.
const NAME_BYTES: usize = 256;
/// The beginning of arguments that are too long to record.
#[derive(Serialize)]
struct Cut<'a> {
    length_bytes: usize,
    beginning: &'a str,
}

/// The body of `call.opened`.
#[derive(Serialize)]
struct Opened<'a> {
    user: &'a UserName,
    role: Role,
    conversation: Option<ConversationId>,
    device: Option<&'a DeviceName>,
    device_id: Option<DeviceId>,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_cut: Option<Cut<'a>>,
    arguments_digest: Digest,
    touches: Vec<&'a str>,
    touches_count: usize,
    decision: &'a str,
    rule: &'a str,
    policy_version: &'a str,
    risk: Option<Risk>,
    #[serde(skip_serializing_if = "<[Note]>::is_empty")]
    notes: &'a [Note],
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<&'a Undo>,
    has_effects: bool,
    dry_run: bool,
    recovered: bool,
    idempotency_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaces: Option<CallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Parent>,
    deadline_at: i64,
}

impl<'a> Opened<'a> {
    fn of(call: &'a NewCall) -> Self {
        let text = std::str::from_utf8(&call.arguments).unwrap_or_default();
        let arguments = (text.len() <= WHOLE_ARGUMENTS)
            .then(|| serde_json::from_str::<&RawValue>(text).ok())
            .flatten();
        let arguments_cut = arguments
            .is_none()
            .then(|| Cut { length_bytes: call.arguments.len(), beginning: cut(text, BEGINNING) });
        Self {
            user: &call.caller.user,
            role: call.caller.role,
            conversation: call.conversation.or(call.caller.conversation),
            device: call.device.as_ref().map(|(_, name)| name),
            device_id: call.device.as_ref().map(|(id, _)| *id),
            tool: cut(&call.tool, NAME_BYTES),
            alias: call.alias.as_deref(),
            arguments,
            arguments_cut,
            arguments_digest: call.arguments_digest,
            touches: call.touches.iter().take(TOUCHES).map(|line| cut(line, TOUCH_BYTES)).collect(),
            touches_count: call.touches.len(),
            decision: &call.decision,
            rule: &call.rule,
            policy_version: &call.policy_version,
            risk: call.risk,
            notes: call.notes.get(..call.notes.len().min(NOTES)).unwrap_or_default(),
            definition: call.definition,
            undo: call.undo.as_ref(),
            has_effects: call.has_effects,
            dry_run: call.dry_run,
            recovered: call.recovered,
            idempotency_key: call.idempotency_key.as_deref().map(|key| cut(key, NAME_BYTES)),
            replaces: call.replaces,
            plan: call.plan,
            parent: call.parent,
            deadline_at: call.deadline_at,
        }
    }
}

/// Returns the beginning of a text, at most this many bytes, whole characters only.
fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

/// The audit event of a call's end.
#[derive(Serialize)]
struct Closed<'a> {
    state: CallState,
    code: Option<ErrorCode>,
    result_digest: Digest,
    result_bytes: usize,
    duration_us: u64,
    history: &'a [StateChange],
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<Witness>,
}

/// Returns the audit event of a new call.
pub(super) fn opened(call: &NewCall) -> Result<AuditEvent, StoreError> {
    AuditEvent::new(call.created_at, "call.opened", call.id.to_string(), &Opened::of(call))
}

/// Returns the audit event of a closed call, with its whole history.
pub(super) fn closed(close: &CloseCall, history: &[StateChange]) -> Result<AuditEvent, StoreError> {
    let before = history.len().checked_sub(2).and_then(|index| history.get(index));
    let kind = match before {
        Some(StateChange { state: CallState::Unknown, .. }) => "call.reconciled",
        _ => "call.closed",
    };
    let body = Closed {
        state: close.state,
        code: close.code,
        result_digest: Digest::of(&close.result),
        result_bytes: close.result.len(),
        duration_us: close.duration_us,
        history,
        witness: close.witness,
    };
    AuditEvent::new(close.at, kind, close.id.to_string(), &body)
}
