//! An approver who wants something else than what was asked: the call ends, and the one that the
//! approver wrote is made for the same person, judged anew.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::rule::Approvers;
use orion_domain::{CallRequest, Caller, ErrorCode, ToolError};
use serde_json::{Map, Value};

use super::answer::{AnswerError, AnswerResult, record_refused, vote};
use super::{ask, run};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::pipeline::audit::{self, CallContext};
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::{CallView, raise, rate_limit, reauthorize, route, validate};
use crate::store::{ApprovalRow, ApprovalScope, ApprovalState, CallRow};

/// Ends the call that was asked about and makes the other one. Where that needs no more than this
/// person may give, this answer is the yes to it; where it needs more, it is asked about like any.
///
/// # Errors
/// See [`Unanswered`]; then the question still stands.
pub(super) async fn change(
    backend: &Arc<Backend>,
    by: &Caller,
    row: ApprovalRow,
    arguments: Map<String, Value>,
    reason: String,
) -> Result<AnswerResult, AnswerError> {
    if row.state != ApprovalState::Open {
        return Err(AnswerError::AlreadyDecided(row.state));
    }
    may_change(backend, by, &row).await?;
    let call = backend.store.call(&row.call.to_string()).await?;
    let refused = |error| AnswerError::Changed(Box::new(error));
    let asker = reauthorize::person(backend, &call.caller, call.token).await?.map_err(refused)?;
    // Nobody reaches through another's name what they could not reach in their own. Judged first and
    // let go, so that two who change each other's calls do not wait for each other.
    let author = Caller { conversation: asker.conversation, ..by.clone() };
    let own = Asks::of(&judge(backend, author, &row, &call, arguments.clone()).await?);
    let judged = judge(backend, asker, &row, &call, arguments).await?;
    own.allows(&judged).map_err(refused)?;
    if judged.parsed.arguments.as_bytes() == row.arguments {
        return Err(refused(ToolError::new(
            ErrorCode::InvalidArgument,
            "These are the arguments that the call has already. Approve it as it is.",
        )));
    }
    // To judge takes a while.
    may_change(backend, by, &row).await?;
    let new = judged.incoming.id;
    let words = format!("Changed into another call, {new}. {reason}").trim_end().to_owned();
    let decided = vote(backend, by, &row, false, words, ApprovalScope::Once).await?;
    let error = ToolError::new(
        ErrorCode::ApprovalRejected,
        format!("{} changed this call into another, which was made instead: {new}.", by.user),
    )
    .with("changed_to", new.to_string());
    // Whoever waits for the call that was asked about is not kept until the other one has run.
    run::close_asked(backend, &decided, error).await.map_err(|_| AnswerError::Store)?;
    let made = make(backend, by, &judged, reason).await?;
    Ok(AnswerResult { row: decided, changed: Some(made) })
}

/// What may not be approved may not be changed into something that runs.
async fn may_change(backend: &Backend, by: &Caller, row: &ApprovalRow) -> Result<(), AnswerError> {
    let needed = row.approvers.role;
    let held = reauthorize::person(backend, by, None).await?.map(|person| person.role.min(by.role));
    if held.is_ok_and(|role| role >= needed) {
        return Ok(());
    }
    record_refused(backend, by, row).await?;
    Err(AnswerError::Role { risk: row.risk, needed })
}

/// What the changed call would need if its author made it.
struct Asks {
    decision: Decision,
    approvers: Approvers,
    preview_first: bool,
    refusal: ToolError,
}

impl Asks {
    fn of(judged: &EvaluatedCall) -> Self {
        Self {
            decision: judged.decision(),
            approvers: judged.approvers(),
            preview_first: judged.preview_first(),
            refusal: judged.refusal(),
        }
    }

    /// Whether the call needs no less when it is made for the one who asked.
    fn allows(self, judged: &EvaluatedCall) -> Result<(), ToolError> {
        if judged.decision() == Decision::Deny {
            return Err(judged.refusal());
        }
        let is_no_stricter = match self.decision {
            Decision::Deny => return Err(self.refusal),
            Decision::Allow => true,
            Decision::DryRunFirst | Decision::Ask => {
                judged.decision() != Decision::Allow
                    && judged.approvers().and(self.approvers) == judged.approvers()
                    && (judged.preview_first() || !self.preview_first)
            }
        };
        if is_no_stricter {
            return Ok(());
        }
        Err(ToolError::new(
            self.refusal.code,
            "This call needs more when you make it than when the one who asked does. Say no to theirs, and make yours yourself.",
        ))
    }
}

async fn judge(
    backend: &Arc<Backend>,
    caller: Caller,
    row: &ApprovalRow,
    call: &CallRow,
    arguments: Map<String, Value>,
) -> Result<EvaluatedCall, AnswerError> {
    let created_at = now_ms();
    let left = call.queued_until.map(|until| until - created_at).filter(|left| *left > 0);
    let left = left.and_then(|left| u64::try_from(left).ok());
    let request = CallRequest {
        tool: call.tool.clone(),
        device: Some(row.device.0.to_string()),
        arguments: arguments.clone(),
        dry_run: false,
        timeout_ms: u64::try_from(call.deadline_at - call.created_at).ok(),
        idempotency_key: None,
        // It waits for its device no longer than the call that was asked for would have.
        queue: Some(left.is_some()),
        queue_ms: left,
        recovered: false,
    };
    let strangers = row.card.strangers.clone();
    let incoming = CallContext {
        strangers,
        token: call.token,
        created_at,
        ..CallContext::new(caller, request)
    };
    let refused = |error| AnswerError::Changed(Box::new(error));
    let target = validate::target(backend, &incoming.request).map_err(refused)?;
    let fits = validate::arguments(backend, &incoming.caller, &target, arguments).await?;
    let parsed = fits.map_err(refused)?;
    rate_limit::judge(backend, incoming, target, parsed).await.map_err(|_| AnswerError::Store)
}

async fn make(
    backend: &Arc<Backend>,
    by: &Caller,
    judged: &EvaluatedCall,
    reason: String,
) -> Result<CallView, AnswerError> {
    let store = |_| AnswerError::Store;
    if judged.decision() == Decision::Allow {
        return match judged.permit(None) {
            Ok(permit) => {
                let sent = route::route(backend, judged, permit);
                raise::attempt(backend, judged, sent).await.map_err(store)
            }
            Err(error) => audit::deny_judged(backend, judged, *error).await.map_err(store),
        };
    }
    let mut reply = ask(backend, judged, Some(&by.user)).await.map_err(store)?;
    // A preview that has to be seen first was not seen by whoever wrote the call; and where a second
    // person has to look, whoever wrote it is not that person.
    let Approvers { not_requester, second_if_any, .. } = judged.approvers();
    if judged.preview_first() || not_requester || second_if_any {
        return Ok(reply);
    }
    let Some(id) = reply.approval else { return Ok(reply) };
    let asked = backend.store.approval(&id.to_string()).await?;
    // Nor did they see what only the device's disk shows.
    if asked.card.raises.iter().any(|raise| !judged.raises().contains(raise)) {
        return Ok(reply);
    }
    match vote(backend, by, &asked, true, reason, ApprovalScope::Once).await {
        Ok(decided) if decided.state == ApprovalState::Approved => {
            run::run_approved(backend, &decided, None).await.map_err(store)?;
            reply = backend.store.call(&reply.call.to_string()).await.map(CallView::from)?;
            Ok(reply)
        }
        Err(AnswerError::Store) => Err(AnswerError::Store),
        // It asks for more than this person may give, and waits for that.
        Ok(_) | Err(_) => Ok(reply),
    }
}
