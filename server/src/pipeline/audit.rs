//! The stored row of a call: opened before anything is sent, closed when the call ends. Denied calls are
//! stored too.

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

/// The most characters that are stored of the name of a tool that does not exist.
pub const NAMED: usize = 128;

/// A call as it was received, with the identity that it keeps.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The id of the call.
    pub id: CallId,
    /// The person that the call is made for.
    pub caller: Caller,
    /// The requested call.
    pub request: CallRequest,
    /// Unix milliseconds.
    pub created_at: i64,
    /// The untrusted content that may have influenced the call.
    pub strangers: Provenance,
    /// The plan that the call belongs to. None for a call of its own.
    pub plan: Option<PlanId>,
    /// Whether the device reports what it observes of the paths. Set for previews.
    pub observe: bool,
    /// What the preview observed. It must be unchanged when the call runs.
    pub observed: Vec<Observation>,
    /// Whether the requester continues at once and reads the result later.
    pub background: bool,
    /// Whether the backend makes the call for itself, to preview another call.
    pub is_internal: bool,
    /// Why the risk is higher than the tool's, as the device reported.
    pub raises: Vec<RiskRaise>,
    /// The ended call that this one replaces, because its device reported a higher risk. None otherwise.
    pub replaces: Option<CallId>,
    /// SHA-256 of the session or token of the request. None if the request did not come over the network.
    pub token: Option<Digest>,
}

impl CallContext {
    /// Creates the context of a request, with a new id and without untrusted content of a chat. A tool without
    /// effects has no preview: a dry run of it is evaluated, counted and stored like any call.
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

    /// Returns the arguments in the form that is stored.
    #[must_use]
    pub fn canonical(&self) -> CanonicalArguments {
        CanonicalArguments::from_value(&Value::Object(self.request.arguments.clone()))
    }
}

/// Returns the row of a call that passed the gate, in the state in which it is stored.
#[must_use]
pub fn row(backend: &Backend, evaluated: &EvaluatedCall, state: CallState) -> NewCall {
    let EvaluatedCall { incoming, target, parsed, .. } = evaluated;
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
        touches: evaluated.touches(),
        decision: evaluated.decision().as_str().to_owned(),
        rule: evaluated.rule(),
        policy_version: target.device.policy.version.clone(),
        risk: Some(evaluated.risk()),
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

/// Returns until when a call may wait for its device, Unix milliseconds.
fn queued_until(backend: &Backend, incoming: &CallContext) -> Option<i64> {
    let time = backend.config.queue_time(&incoming.request)?;
    Some(incoming.created_at + i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2))
}

fn unevaluated_row(backend: &Backend, incoming: &CallContext, target: Option<&Target>) -> NewCall {
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

/// Stores a call that did not pass the gate, opened and closed at once.
///
/// # Errors
/// The database cannot be written.
pub async fn deny(
    backend: &Arc<Backend>,
    incoming: CallContext,
    target: Option<&Target>,
    refusal: ToolError,
) -> Result<CallView, StoreError> {
    let mut row = unevaluated_row(backend, &incoming, target);
    row.rule = refusal
        .details
        .get("rule")
        .and_then(Value::as_str)
        .map_or_else(|| refusal.code.to_string(), str::to_owned);
    open_and_close(backend, row, refusal).await
}

/// Stores a denied call whose evaluation is complete, opened and closed at once.
///
/// # Errors
/// The database cannot be written.
pub async fn deny_judged(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    refusal: ToolError,
) -> Result<CallView, StoreError> {
    let row = row(backend, evaluated, CallState::Received);
    open_and_close(backend, row, refusal).await
}

async fn open_and_close(
    backend: &Arc<Backend>,
    row: NewCall,
    refusal: ToolError,
) -> Result<CallView, StoreError> {
    let view = CallView::of_new(&row);
    let mut close = closing(&view, refusal);
    // A call that was never sent cannot time out, even if a similar call before it did.
    if !CallState::Received.can_become(close.state) || !close.state.is_closed() {
        close.state = CallState::Denied;
    }
    let view = view.ended(close.state, close.result.clone(), close.at);
    tracing::info!(
        call = %view.call, user = %view.caller.user, tool = ?view.tool, code = ?close.code,
        "a call was denied"
    );
    backend.store.open_and_close_call(row, close).await?;
    backend.bus.publish(Change::CallClosed(view.call));
    Ok(view)
}

/// Returns how a call ends that the backend ends by itself.
#[must_use]
pub fn closing(view: &CallView, error: ToolError) -> CloseCall {
    let (state, code) = (error.code.final_state(), error.code);
    let meta = Meta {
        call_id: view.call.to_string(),
        device: view.device.as_ref().map(ToString::to_string).unwrap_or_default(),
        tool: view.tool.clone(),
        ..Meta::default()
    };
    let envelope = Envelope::failure(error, view.dry_run, meta);
    CloseCall {
        id: view.call,
        state,
        code: Some(code),
        result: serde_json::to_vec(&envelope).unwrap_or_default(),
        duration_us: 0,
        at: now_ms(),
        witness: None,
    }
}

/// Ends a stored call from the backend's side and wakes its waiters. A call that has ended already is not
/// changed.
///
/// # Errors
/// The database cannot be written.
pub async fn close(
    backend: &Backend,
    view: CallView,
    error: ToolError,
) -> Result<CallView, StoreError> {
    let close = closing(&view, error);
    let (state, result, at) = (close.state, close.result.clone(), close.at);
    if !backend.store.close_call(close, ClosedBy::Backend).await? {
        return backend.store.call(&view.call.to_string()).await.map(CallView::from);
    }
    backend.bus.publish(Change::CallClosed(view.call));
    Ok(view.ended(state, result, at))
}

impl CallView {
    /// Returns the same call with its end.
    #[must_use]
    pub fn ended(self, state: CallState, result: Vec<u8>, at: i64) -> Self {
        Self { state, result, closed_at: Some(at), approval: None, ..self }
    }

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
