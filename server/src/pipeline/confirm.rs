//! The approval step: a call that needs approval gets an approval request. Enough approvals become a permit
//! for exactly that call, once.

mod answer;
mod change;
pub(super) mod run;
mod standing;

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::{
    ApprovalBasis, ApprovalId, CallState, ErrorCode, Observation, RiskRaise, ToolError, UserName,
};

use super::authorize::EvaluatedCall;
use super::preview::{Preview, PreviewResult, no_preview, not_asked, run};
use super::result::DeviceReport;
use super::{CallView, audit, queue, raise};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::{new_uuid, now_ms};
use crate::store::{
    AskError, Card, CommittedWith, NewApproval, NewCall, StandingApproval, StoreError,
};

pub use answer::{AnswerError, AnswerResult, AnswerScope, ApprovalAnswer, decide};
pub use run::{expire, resume_approved};
pub use standing::{LONGEST_RULE_MS, revoke_rule};

/// Stores the call as waiting, with an approval request that the view names. If a standing approval covers
/// the call, it runs and nobody is asked. `written_by` is the approver who wrote this call as a change of
/// another.
///
/// # Errors
/// The database cannot be written.
pub async fn ask(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    written_by: Option<&UserName>,
) -> Result<CallView, StoreError> {
    if written_by.is_none()
        && let Some(standing) = standing::find(backend, evaluated).await?
    {
        let (view, call) = entering(backend, evaluated);
        // Risks that only the device's disk shows were not covered, and need an approval.
        let run = run_standing(backend, evaluated, (view, Some(call)), standing);
        return Box::pin(raise::attempt(backend, evaluated, run)).await;
    }
    let (seen, report) = match seen(backend, evaluated).await {
        Ok(seen) => seen,
        // Nobody is asked without a preview: the call waits until the device is back.
        Err(error) if queue::may_wait(backend, evaluated, &error) => {
            return queue::wait(backend, evaluated).await;
        }
        Err(error) => return audit::deny_judged(backend, evaluated, error).await,
    };
    // The risk raises that the device reports are evaluated before anybody is asked.
    let raised = evaluated.raised(seen.preview.raises());
    if raised.decision() == Decision::Deny {
        DeviceReport::record_any(report, backend).await?;
        return audit::deny_judged(backend, &raised, raised.refusal()).await;
    }
    let (view, call) = entering(backend, &raised);
    let asked = put(backend, &raised, (view, Some(call)), (seen, report), written_by).await;
    evaluated.release();
    asked
}

/// Requests approval for a call that waited for its device, after the device is back.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn ask_waiting(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    view: CallView,
) -> Result<CallView, StoreError> {
    if let Some(standing) = standing::find(backend, evaluated).await? {
        let run = run_standing(backend, evaluated, (view, None), standing);
        return Box::pin(raise::attempt(backend, evaluated, run)).await;
    }
    evaluated.release();
    match seen(backend, evaluated).await {
        Ok((seen, report)) => {
            let raised = evaluated.raised(seen.preview.raises());
            if raised.decision() == Decision::Deny {
                DeviceReport::record_any(report, backend).await?;
                return audit::close(backend, view, raised.refusal()).await;
            }
            put(backend, &raised, (view, None), (seen, report), None).await
        }
        // The device disconnected again, and the call keeps waiting.
        Err(error) if queue::is_away(backend, evaluated.target.device.id, &error) => Ok(view),
        Err(error) => audit::close(backend, view, error).await,
    }
}

/// Returns a call that is not stored yet, and its row.
fn entering(backend: &Backend, evaluated: &EvaluatedCall) -> (CallView, NewCall) {
    let row = audit::row(backend, evaluated, CallState::Received);
    (CallView::of_new(&row), row)
}

/// Returns what the approval request shows. For a call with effects, that is a preview with an observation
/// of each path that it touches: the approval is bound to both. The device report is stored with the
/// approval request.
///
/// # Errors
/// Why nobody is asked.
async fn seen(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
) -> Result<(PreviewResult, Option<DeviceReport>), ToolError> {
    let (seen, report) = match &evaluated.preview {
        Some(preview) => {
            (PreviewResult { preview: preview.clone(), observed: evaluated.observed.clone() }, None)
        }
        None => run(backend, evaluated).await.unwrap_or_else(|error| (error.into(), None)),
    };
    match enough(evaluated, seen) {
        Ok(seen) => Ok((seen, report)),
        Err(error) => {
            DeviceReport::record_any(report, backend).await.map_err(not_asked)?;
            Err(error)
        }
    }
}

/// Returns what is shown if it is enough to ask a person.
fn enough(evaluated: &EvaluatedCall, seen: PreviewResult) -> Result<PreviewResult, ToolError> {
    match &seen.preview {
        // Nobody is asked about a call that would fail.
        Preview::WouldFail(error) => return Err(error.clone()),
        Preview::Missing if evaluated.target.spec.has_effects => return Err(no_preview()),
        Preview::Missing if evaluated.preview_first() => {
            return Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                "A preview has to be shown first, and a call that changes nothing has none. Nobody is asked: the rule that wants one has to be changed.",
            ));
        }
        Preview::Missing | Preview::Shown(_) => {}
    }
    seen.comparable()
}

/// Stores the approval request of a call, with the row of the call if it is not stored yet.
async fn put(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    entry: (CallView, Option<NewCall>),
    (PreviewResult { preview, observed }, report): (PreviewResult, Option<DeviceReport>),
    written_by: Option<&UserName>,
) -> Result<CallView, StoreError> {
    let quantity = preview.quantity().unwrap_or_default();
    let card = Card { entries: quantity.entries, bytes: quantity.bytes, ..card(evaluated) };
    let question = NewApproval {
        preview: preview.kept(),
        card,
        written_by: written_by.cloned(),
        ..question(backend, evaluated, ApprovalBasis::Preview, observed, now_ms())
    };
    let (id, expires_at) = (question.id, question.expires_at);
    let mut view = match enter(backend, evaluated, entry, question, report).await? {
        Ok(view) => view,
        Err(ended) => return Ok(ended),
    };
    tracing::info!(call = %view.call, approval = %id, tool = %view.tool, "a person is asked");

    let error =
        evaluated.refusal().with("approval_id", id.to_string()).with("expires_at", expires_at);
    let waiting = audit::closing(&view, error);
    view.state = CallState::AwaitingApproval;
    view.result = waiting.result;
    view.approval = Some(id);
    Ok(view)
}

/// Stores an approval request with what is committed in the same transaction. If the limit of open requests
/// is reached, the call ends and the inner error is its final view.
async fn enter(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    (view, call): (CallView, Option<NewCall>),
    question: NewApproval,
    report: Option<DeviceReport>,
) -> Result<Result<CallView, CallView>, StoreError> {
    let (id, is_new) = (question.id, call.is_some());
    let along = CommittedWith { call, preview: report.as_ref().map(DeviceReport::end) };
    let refused = match backend.store.ask(question, along).await {
        Ok(is_end) => {
            if let Some(report) = report
                && let Err(error) = report.recorded(backend, is_end).await
            {
                tracing::error!(call = %view.call, %error, "what a device told late of a preview could not be recorded");
            }
            backend.bus.publish(Change::Approval(id, view.call));
            return Ok(Ok(view));
        }
        Err(refused) => refused,
    };
    let full = match refused {
        AskError::Store(error) => {
            if !is_new {
                run::break_off(backend, &view).await;
            }
            DeviceReport::record_any(report, backend).await?;
            return Err(error);
        }
        full @ (AskError::TooManyOfPerson | AskError::TooMany) => full,
    };
    DeviceReport::record_any(report, backend).await?;
    let error = ToolError::new(
        ErrorCode::ResourceExhausted,
        format!(
            "A person has to approve this call, and nobody is asked: {full}. `orion approvals list` shows them; answer or cancel some and try again."
        ),
    );
    let ended = if is_new {
        audit::deny_judged(backend, evaluated, error).await
    } else {
        audit::close(backend, view, error).await
    };
    ended.map(Err)
}

/// Runs a call on a standing approval of its chat. The call still gets an approval of its own.
async fn run_standing(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
    entry: (CallView, Option<NewCall>),
    standing: StandingApproval,
) -> Result<CallView, StoreError> {
    let question = NewApproval {
        card: card(evaluated),
        standing: Some(standing),
        ..question(backend, evaluated, ApprovalBasis::Standing, Vec::new(), now_ms())
    };
    let id = question.id;
    let entered = enter(backend, evaluated, entry, question, None).await;
    evaluated.release();
    let view = match entered? {
        Ok(view) => view,
        Err(ended) => return Ok(ended),
    };
    match backend.store.approval(&id.to_string()).await {
        Ok(approval) => run::run_approved(backend, &approval, None).await?,
        Err(error) => {
            run::break_off(backend, &view).await;
            return Err(error);
        }
    };
    let ended = backend.store.call(&view.call.to_string()).await.map(CallView::from)?;
    Ok(CallView { approval: None, ..ended })
}

/// Returns the approval request of a call, made at `now`, Unix milliseconds.
pub(super) fn question(
    backend: &Backend,
    evaluated: &EvaluatedCall,
    basis: ApprovalBasis,
    observed: Vec<Observation>,
    now: i64,
) -> NewApproval {
    let expires_at = expires_at(backend, now);
    NewApproval {
        id: ApprovalId::new(new_uuid()),
        call: evaluated.incoming.id,
        binding: evaluated.binding(basis, &observed, expires_at).digest(),
        tool: evaluated.target.spec.name.to_owned(),
        device: (evaluated.target.device.id, evaluated.target.device.name.clone()),
        arguments: evaluated.parsed.arguments.as_bytes().to_vec(),
        risk: evaluated.risk(),
        touches: evaluated.touches(),
        rule: evaluated.rule(),
        requester: evaluated.incoming.caller.user.clone(),
        conversation: evaluated.incoming.caller.conversation,
        approvers: evaluated.approvers(),
        may_stand: evaluated.may_stand() && evaluated.decision() == Decision::Ask,
        preview: None,
        observed,
        card: Card::default(),
        standing: None,
        written_by: None,
        plan: evaluated.incoming.plan,
        created_at: now,
        expires_at,
    }
}

/// Returns when an approval request made at `now` expires, Unix milliseconds.
pub(super) fn expires_at(backend: &Backend, now: i64) -> i64 {
    now + i64::from(backend.config.approvals.expire_seconds) * 1000
}

/// Returns what the approval card of a call shows, before a preview.
pub(super) fn card(evaluated: &EvaluatedCall) -> Card {
    Card {
        risk_because: evaluated.risk_because(),
        can_undo: evaluated.target.spec.undo
            && !evaluated.raises().contains(&RiskRaise::CannotBeUndone),
        strangers: evaluated.incoming.strangers.clone(),
        entries: None,
        bytes: None,
        raises: evaluated.raises().to_vec(),
    }
}
