//! An approver changes a call: the call ends, and the one that the approver wrote is made and evaluated for
//! the same person.

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

/// Ends the requested call and makes the changed one. If this person may approve the changed call alone,
/// this answer approves it. If it needs more, it gets an approval request like any call.
///
/// # Errors
/// See [`AnswerError`]; then the approval request stays open.
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
    // Nobody gets in another's name what they would not get in their own. This evaluation comes first and
    // its rate lock is released, so that two people who change each other's calls do not wait for each
    // other.
    let author = Caller { conversation: asker.conversation, ..by.clone() };
    let own = Asks::of(&judge(backend, author, &row, &call, arguments.clone()).await?);
    let evaluated = judge(backend, asker, &row, &call, arguments).await?;
    own.allows(&evaluated).map_err(refused)?;
    if evaluated.parsed.arguments.as_bytes() == row.arguments {
        return Err(refused(ToolError::new(
            ErrorCode::InvalidArgument,
            "These are the arguments that the call has already. Approve it as it is.",
        )));
    }
    // The evaluation takes a while.
    may_change(backend, by, &row).await?;
    let new = evaluated.incoming.id;
    let words = format!("Changed into another call, {new}. {reason}").trim_end().to_owned();
    let decided = vote(backend, by, &row, false, words, ApprovalScope::Once).await?;
    let error = ToolError::new(
        ErrorCode::ApprovalRejected,
        format!("{} changed this call into another, which was made instead: {new}.", by.user),
    )
    .with("changed_to", new.to_string());
    // Waiters for the original call must not wait until the new one has run.
    run::close_asked(backend, &decided, error).await.map_err(|_| AnswerError::Store)?;
    let made = make(backend, by, &evaluated, reason).await?;
    Ok(AnswerResult { row: decided, changed: Some(made) })
}

/// Checks that the person may approve the call: a call that they may not approve they may not change.
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
    fn of(evaluated: &EvaluatedCall) -> Self {
        Self {
            decision: evaluated.decision(),
            approvers: evaluated.approvers(),
            preview_first: evaluated.preview_first(),
            refusal: evaluated.refusal(),
        }
    }

    /// Checks that the call needs no less when it is made for the requester.
    fn allows(self, evaluated: &EvaluatedCall) -> Result<(), ToolError> {
        if evaluated.decision() == Decision::Deny {
            return Err(evaluated.refusal());
        }
        let is_no_stricter = match self.decision {
            Decision::Deny => return Err(self.refusal),
            Decision::Allow => true,
            Decision::DryRunFirst | Decision::Ask => {
                evaluated.decision() != Decision::Allow
                    && evaluated.approvers().and(self.approvers) == evaluated.approvers()
                    && (evaluated.preview_first() || !self.preview_first)
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
        // The new call waits for its device no longer than the original would have.
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
    evaluated: &EvaluatedCall,
    reason: String,
) -> Result<CallView, AnswerError> {
    let store = |_| AnswerError::Store;
    if evaluated.decision() == Decision::Allow {
        return match evaluated.permit(None) {
            Ok(permit) => {
                let sent = route::route(backend, evaluated, permit);
                raise::attempt(backend, evaluated, sent).await.map_err(store)
            }
            Err(error) => audit::deny_judged(backend, evaluated, *error).await.map_err(store),
        };
    }
    let mut view = ask(backend, evaluated, Some(&by.user)).await.map_err(store)?;
    // If a preview must be shown first, the author has not seen it. If a second person must approve, the
    // author is not that person.
    let Approvers { not_requester, second_if_any, .. } = evaluated.approvers();
    if evaluated.preview_first() || not_requester || second_if_any {
        return Ok(view);
    }
    let Some(id) = view.approval else { return Ok(view) };
    let asked = backend.store.approval(&id.to_string()).await?;
    // The author did not see the risks that only the device's disk shows.
    if asked.card.raises.iter().any(|raise| !evaluated.raises().contains(raise)) {
        return Ok(view);
    }
    match vote(backend, by, &asked, true, reason, ApprovalScope::Once).await {
        Ok(decided) if decided.state == ApprovalState::Approved => {
            run::run_approved(backend, &decided, None).await.map_err(store)?;
            view = backend.store.call(&view.call.to_string()).await.map(CallView::from)?;
            Ok(view)
        }
        Err(AnswerError::Store) => Err(AnswerError::Store),
        // The call needs more than this person may approve, and waits for that.
        Ok(_) | Err(_) => Ok(view),
    }
}
