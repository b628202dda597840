//! The human gate: a call that wants a person becomes a question, and enough yeses become a permit
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

/// Records the call as waiting and asks. The reply says where to answer. Where a yes that was given
/// for this chat holds, the call runs and nobody is asked. An approver who changed a call is named as
/// the one who wrote this one.
///
/// # Errors
/// The record cannot be kept.
pub async fn ask(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    written_by: Option<&UserName>,
) -> Result<CallView, StoreError> {
    if written_by.is_none()
        && let Some(standing) = standing::find(backend, judged).await?
    {
        let (reply, call) = entering(backend, judged);
        // What only its disk shows was not said before, and is asked about.
        let run = run_standing(backend, judged, (reply, Some(call)), standing);
        return Box::pin(raise::attempt(backend, judged, run)).await;
    }
    let (seen, told) = match seen(backend, judged).await {
        Ok(seen) => seen,
        // Nobody is asked about what nobody can be shown: that waits until the device is back.
        Err(error) if queue::may_wait(backend, judged, &error) => {
            return queue::wait(backend, judged).await;
        }
        Err(error) => return audit::deny_judged(backend, judged, error).await,
    };
    // What the device saw that raises the risk is judged before anybody is asked.
    let raised = judged.raised(seen.preview.raises());
    if raised.decision() == Decision::Deny {
        DeviceReport::record_any(told, backend).await?;
        return audit::deny_judged(backend, &raised, raised.refusal()).await;
    }
    let (reply, call) = entering(backend, &raised);
    let asked = put(backend, &raised, (reply, Some(call)), (seen, told), written_by).await;
    judged.release();
    asked
}

/// The same for a call that waited for its device, which is back.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn ask_waiting(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    reply: CallView,
) -> Result<CallView, StoreError> {
    if let Some(standing) = standing::find(backend, judged).await? {
        let run = run_standing(backend, judged, (reply, None), standing);
        return Box::pin(raise::attempt(backend, judged, run)).await;
    }
    judged.release();
    match seen(backend, judged).await {
        Ok((seen, told)) => {
            let raised = judged.raised(seen.preview.raises());
            if raised.decision() == Decision::Deny {
                DeviceReport::record_any(told, backend).await?;
                return audit::close(backend, reply, raised.refusal()).await;
            }
            put(backend, &raised, (reply, None), (seen, told), None).await
        }
        // It went away again, and the call waits on.
        Err(error) if queue::is_away(backend, judged.target.device.id, &error) => Ok(reply),
        Err(error) => audit::close(backend, reply, error).await,
    }
}

/// A call that is not on the record yet, and its row.
fn entering(backend: &Backend, judged: &EvaluatedCall) -> (CallView, NewCall) {
    let row = audit::row(backend, judged, CallState::Received);
    (CallView::of_new(&row), row)
}

/// What people are shown. Of a call that changes something, that is a preview, with an observation of
/// each path that it touches: the yes is bound to both. What the device told is recorded with the question.
///
/// # Errors
/// Why nobody is asked.
async fn seen(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
) -> Result<(PreviewResult, Option<DeviceReport>), ToolError> {
    let (seen, told) = match &judged.preview {
        Some(preview) => {
            (PreviewResult { preview: preview.clone(), observed: judged.observed.clone() }, None)
        }
        None => run(backend, judged).await.unwrap_or_else(|unseen| (unseen.into(), None)),
    };
    match enough(judged, seen) {
        Ok(seen) => Ok((seen, told)),
        Err(error) => {
            DeviceReport::record_any(told, backend).await.map_err(not_asked)?;
            Err(error)
        }
    }
}

/// Whether it is enough to ask a person by.
fn enough(judged: &EvaluatedCall, seen: PreviewResult) -> Result<PreviewResult, ToolError> {
    match &seen.preview {
        // Nobody is asked about what would come to nothing.
        Preview::WouldFail(error) => return Err(error.clone()),
        Preview::Missing if judged.target.spec.has_effects => return Err(no_preview()),
        Preview::Missing if judged.preview_first() => {
            return Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                "A preview has to be shown first, and a call that changes nothing has none. Nobody is asked: the rule that wants one has to be changed.",
            ));
        }
        Preview::Missing | Preview::Shown(_) => {}
    }
    seen.comparable()
}

/// Puts the question about a call, with the row of the call where that is not on the record yet.
async fn put(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    entry: (CallView, Option<NewCall>),
    (PreviewResult { preview, observed }, told): (PreviewResult, Option<DeviceReport>),
    written_by: Option<&UserName>,
) -> Result<CallView, StoreError> {
    let quantity = preview.quantity().unwrap_or_default();
    let card = Card { entries: quantity.entries, bytes: quantity.bytes, ..card(judged) };
    let question = NewApproval {
        preview: preview.kept(),
        card,
        written_by: written_by.cloned(),
        ..question(backend, judged, ApprovalBasis::Preview, observed, now_ms())
    };
    let (id, expires_at) = (question.id, question.expires_at);
    let mut reply = match enter(backend, judged, entry, question, told).await? {
        Ok(reply) => reply,
        Err(ended) => return Ok(ended),
    };
    tracing::info!(call = %reply.call, approval = %id, tool = %reply.tool, "a person is asked");

    let error = judged.refusal().with("approval_id", id.to_string()).with("expires_at", expires_at);
    let waiting = audit::closing(&reply, error);
    reply.state = CallState::AwaitingApproval;
    reply.result = waiting.result;
    reply.approval = Some(id);
    Ok(reply)
}

/// Records a question with what comes along. Where there are as many as may be, the call ends with that,
/// and its end is given inside.
async fn enter(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    (reply, call): (CallView, Option<NewCall>),
    question: NewApproval,
    told: Option<DeviceReport>,
) -> Result<Result<CallView, CallView>, StoreError> {
    let (id, is_new) = (question.id, call.is_some());
    let along = CommittedWith { call, preview: told.as_ref().map(DeviceReport::end) };
    let refused = match backend.store.ask(question, along).await {
        Ok(is_end) => {
            if let Some(told) = told
                && let Err(error) = told.recorded(backend, is_end).await
            {
                tracing::error!(call = %reply.call, %error, "what a device told late of a preview could not be recorded");
            }
            backend.bus.publish(Change::Approval(id, reply.call));
            return Ok(Ok(reply));
        }
        Err(refused) => refused,
    };
    let full = match refused {
        AskError::Store(error) => {
            if !is_new {
                run::break_off(backend, &reply).await;
            }
            DeviceReport::record_any(told, backend).await?;
            return Err(error);
        }
        full @ (AskError::TooManyOfPerson | AskError::TooMany) => full,
    };
    DeviceReport::record_any(told, backend).await?;
    let error = ToolError::new(
        ErrorCode::ResourceExhausted,
        format!(
            "A person has to approve this call, and nobody is asked: {full}. `orion approvals list` shows them; answer or cancel some and try again."
        ),
    );
    let ended = if is_new {
        audit::deny_judged(backend, judged, error).await
    } else {
        audit::close(backend, reply, error).await
    };
    ended.map(Err)
}

/// Runs a call on a yes that was given for its chat, with an approval of its own all the same.
async fn run_standing(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
    entry: (CallView, Option<NewCall>),
    standing: StandingApproval,
) -> Result<CallView, StoreError> {
    let question = NewApproval {
        card: card(judged),
        standing: Some(standing),
        ..question(backend, judged, ApprovalBasis::Standing, Vec::new(), now_ms())
    };
    let id = question.id;
    let entered = enter(backend, judged, entry, question, None).await;
    judged.release();
    let reply = match entered? {
        Ok(reply) => reply,
        Err(ended) => return Ok(ended),
    };
    match backend.store.approval(&id.to_string()).await {
        Ok(approval) => run::run_approved(backend, &approval, None).await?,
        Err(error) => {
            run::break_off(backend, &reply).await;
            return Err(error);
        }
    };
    let ended = backend.store.call(&reply.call.to_string()).await.map(CallView::from)?;
    // Nobody is asked any more.
    Ok(CallView { approval: None, ..ended })
}

/// The question about a call, asked at this moment (Unix milliseconds).
pub(super) fn question(
    backend: &Backend,
    judged: &EvaluatedCall,
    basis: ApprovalBasis,
    observed: Vec<Observation>,
    now: i64,
) -> NewApproval {
    let expires_at = expires_at(backend, now);
    NewApproval {
        id: ApprovalId::new(new_uuid()),
        call: judged.incoming.id,
        binding: judged.binding(basis, &observed, expires_at).digest(),
        tool: judged.target.spec.name.to_owned(),
        device: (judged.target.device.id, judged.target.device.name.clone()),
        arguments: judged.parsed.arguments.as_bytes().to_vec(),
        risk: judged.risk(),
        touches: judged.touches(),
        rule: judged.rule(),
        requester: judged.incoming.caller.user.clone(),
        conversation: judged.incoming.caller.conversation,
        approvers: judged.approvers(),
        may_stand: judged.may_stand() && judged.decision() == Decision::Ask,
        preview: None,
        observed,
        card: Card::default(),
        standing: None,
        written_by: None,
        plan: judged.incoming.plan,
        created_at: now,
        expires_at,
    }
}

/// When a question of this moment runs out.
pub(super) fn expires_at(backend: &Backend, now: i64) -> i64 {
    now + i64::from(backend.config.approvals.expire_seconds) * 1000
}

/// What the card of a call shows, before a preview.
pub(super) fn card(judged: &EvaluatedCall) -> Card {
    Card {
        risk_because: judged.risk_because(),
        can_undo: judged.target.spec.undo && !judged.raises().contains(&RiskRaise::CannotBeUndone),
        strangers: judged.incoming.strangers.clone(),
        entries: None,
        bytes: None,
        raises: judged.raises().to_vec(),
    }
}
