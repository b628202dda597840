//! The record of a call: opened before anything is sent, closed when it ends, denials included.

use std::sync::Arc;

use orion_catalog::find;
use orion_domain::{
    CallId, CallRequest, CallState, Caller, CanonicalArguments, Digest, Envelope, Meta,
    Observation, PlanId, Risk, RiskRaise, ToolError,
};
use serde_json::Value;

use super::CallView;
use super::authorize::EvaluatedCall;
use super::validate::Target;
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::{new_uuid, now_ms};
use crate::store::{CallRow, CloseCall, ClosedBy, NewCall, Provenance, StoreError};

/// How many characters of the name of a tool that does not exist are recorded.
pub const NAMED: usize = 128;

/// A call as it came in, with the identity it keeps.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Its id.
    pub id: CallId,
    /// For whom.
    pub caller: Caller,
    /// What was asked.
    pub request: CallRequest,
    /// When, Unix milliseconds.
    pub created_at: i64,
    /// What strangers may have had to do with it.
    pub strangers: Provenance,
    /// The plan that it belongs to.
    pub plan: Option<PlanId>,
    /// Whether the device is to report what it observes of the paths: of a preview.
    pub observe: bool,
    /// What the preview observed, which must still be so when the call runs.
    pub observed: Vec<Observation>,
    /// Whether the one who asked goes on at once and looks for the end later.
    pub background: bool,
    /// Whether the backend asks for itself, to show what another call would do.
    pub is_internal: bool,
    /// Why its risk is higher than its tool's, as its device said.
    pub raises: Vec<RiskRaise>,
    /// The call that ended so that this one is asked about: its device reported a higher risk.
    pub replaces: Option<CallId>,
    /// SHA-256 of the session or token that it was asked with; none where nobody asked over the wire.
    pub token: Option<Digest>,
}

impl CallContext {
    /// Gives a request its identity. It came from no chat with content of strangers. Of a tool that
    /// changes nothing there is no preview: it is a call like any, judged, counted and recorded so.
    #[must_use]
    pub fn new(caller: Caller, mut request: CallRequest) -> Self {
        let (id, created_at) = (CallId::new(new_uuid()), now_ms());
        request.dry_run &= find(&request.tool).is_none_or(|(spec, _)| spec.has_effects);
        let strangers = Provenance::default();
        Self {
            id,
            caller,
            request,
            created_at,
            strangers,
            plan: None,
            observe: false,
            observed: Vec::new(),
            background: false,
            is_internal: false,
            raises: Vec::new(),
            replaces: None,
            token: None,
        }
    }

    /// The arguments in the form that is recorded.
    #[must_use]
    pub fn canonical(&self) -> CanonicalArguments {
        CanonicalArguments::from_value(&Value::Object(self.request.arguments.clone()))
    }
}

/// The row of a call that passed the gate, in the state in which it enters the record.
#[must_use]
pub fn row(backend: &Backend, judged: &EvaluatedCall, state: CallState) -> NewCall {
    let EvaluatedCall { incoming, target, parsed, .. } = judged;
    let timeout = backend.config.call_timeout(incoming.request.timeout_ms);
    NewCall {
        id: incoming.id,
        conversation: incoming.caller.conversation,
        caller: incoming.caller.clone(),
        device: Some((target.device.id, target.device.name.clone())),
        tool: target.spec.name.to_owned(),
        arguments: parsed.arguments.as_bytes().to_vec(),
        arguments_digest: parsed.arguments.digest(),
        dry_run: incoming.request.dry_run,
        recovered: incoming.request.recovered,
        tainted: incoming.strangers.taint(),
        quoted: incoming.strangers.quoted,
        touches: judged.touches(),
        decision: judged.decision().as_str().to_owned(),
        rule: judged.rule(),
        policy_version: target.device.policy.version.clone(),
        risk: Some(judged.risk()),
        undo: parsed.undo.clone(),
        has_effects: target.spec.has_effects && !incoming.request.dry_run,
        state,
        idempotency_key: incoming.request.idempotency_key.clone(),
        replaces: incoming.replaces,
        plan: incoming.plan,
        is_own_preview: incoming.is_internal && incoming.request.dry_run,
        deadline_at: incoming.created_at
            + i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX / 2),
        queued_until: queued_until(backend, incoming),
        created_at: incoming.created_at,
        admitted_at: (state == CallState::Dispatched).then(now_ms),
        token: incoming.token,
    }
}

/// Until when a call may wait for its device, Unix milliseconds.
fn queued_until(backend: &Backend, incoming: &CallContext) -> Option<i64> {
    let time = backend.config.queue_time(&incoming.request)?;
    Some(incoming.created_at + i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2))
}

fn unjudged_row(backend: &Backend, incoming: &CallContext, target: Option<&Target>) -> NewCall {
    let canonical = incoming.canonical();
    let risk: Option<Risk> = target.map(|target| target.spec.risk);
    let timeout = backend.config.call_timeout(incoming.request.timeout_ms);
    NewCall {
        id: incoming.id,
        conversation: incoming.caller.conversation,
        caller: incoming.caller.clone(),
        device: target.map(|target| (target.device.id, target.device.name.clone())),
        tool: target.map_or_else(
            || incoming.request.tool.chars().take(NAMED).collect(),
            |target| target.spec.name.to_owned(),
        ),
        arguments: canonical.as_bytes().to_vec(),
        arguments_digest: canonical.digest(),
        dry_run: incoming.request.dry_run,
        recovered: incoming.request.recovered,
        tainted: incoming.strangers.taint(),
        quoted: incoming.strangers.quoted,
        touches: Vec::new(),
        decision: "deny".to_owned(),
        rule: String::new(),
        policy_version: target.map(|t| t.device.policy.version.clone()).unwrap_or_default(),
        risk,
        undo: None,
        has_effects: false,
        state: CallState::Received,
        idempotency_key: incoming.request.idempotency_key.clone(),
        replaces: incoming.replaces,
        plan: incoming.plan,
        is_own_preview: incoming.is_internal && incoming.request.dry_run,
        deadline_at: incoming.created_at
            + i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX / 2),
        queued_until: None,
        created_at: incoming.created_at,
        admitted_at: None,
        token: incoming.token,
    }
}

/// Records a call that did not pass the gate, opened and closed at once.
///
/// # Errors
/// The record cannot be kept.
pub async fn deny(
    backend: &Arc<Backend>,
    incoming: CallContext,
    target: Option<&Target>,
    refusal: ToolError,
) -> Result<CallView, StoreError> {
    let mut row = unjudged_row(backend, &incoming, target);
    row.rule = refusal
        .details
        .get("rule")
        .and_then(Value::as_str)
        .map_or_else(|| refusal.code.to_string(), str::to_owned);
    open_and_close(backend, row, refusal).await
}

/// The same for a call that was judged as a whole.
///
/// # Errors
/// The record cannot be kept.
pub async fn deny_judged(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    refusal: ToolError,
) -> Result<CallView, StoreError> {
    let row = row(backend, judged, CallState::Received);
    open_and_close(backend, row, refusal).await
}

async fn open_and_close(
    backend: &Arc<Backend>,
    row: NewCall,
    refusal: ToolError,
) -> Result<CallView, StoreError> {
    let reply = CallView::of_new(&row);
    let mut close = closing(&reply, refusal);
    // A call that never began cannot have timed out, whatever one like it came to before.
    if !CallState::Received.can_become(close.state) || !close.state.is_closed() {
        close.state = CallState::Denied;
    }
    let reply = reply.ended(close.state, close.result.clone(), close.at);
    tracing::info!(
        call = %reply.call, user = %reply.caller.user, tool = ?reply.tool, code = ?close.code,
        "a call was denied"
    );
    backend.store.open_and_close_call(row, close).await?;
    backend.bus.publish(Change::CallClosed(reply.call));
    Ok(reply)
}

/// How a call ends that the backend ends by itself.
#[must_use]
pub fn closing(reply: &CallView, error: ToolError) -> CloseCall {
    let (state, code) = (error.code.final_state(), error.code);
    let meta = Meta {
        call_id: reply.call.to_string(),
        device: reply.device.as_ref().map(ToString::to_string).unwrap_or_default(),
        tool: reply.tool.clone(),
        ..Meta::default()
    };
    let envelope = Envelope::failure(error, reply.dry_run, meta);
    CloseCall {
        id: reply.call,
        state,
        code: Some(code),
        result: serde_json::to_vec(&envelope).unwrap_or_default(),
        duration_us: 0,
        at: now_ms(),
        witness: None,
    }
}

/// Ends a recorded call from the backend's side and wakes those who wait for it. A call that has
/// ended meanwhile stays as it is.
///
/// # Errors
/// The record cannot be kept.
pub async fn close(
    backend: &Backend,
    reply: CallView,
    error: ToolError,
) -> Result<CallView, StoreError> {
    let close = closing(&reply, error);
    let (state, result, at) = (close.state, close.result.clone(), close.at);
    if !backend.store.close_call(close, ClosedBy::Backend).await? {
        return backend.store.call(&reply.call.to_string()).await.map(CallView::from);
    }
    backend.bus.publish(Change::CallClosed(reply.call));
    Ok(reply.ended(state, result, at))
}

impl CallView {
    /// The same call, ended.
    #[must_use]
    pub fn ended(self, state: CallState, result: Vec<u8>, at: i64) -> Self {
        Self { state, result, closed_at: Some(at), approval: None, ..self }
    }

    /// A call that has just entered the record.
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
