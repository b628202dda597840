//! An approver who wants something else than what was asked: the call ends, and the one that the
//! approver wrote is made for the same person, judged anew.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::{CallRequest, Caller, ErrorCode, ToolError};
use serde_json::{Map, Value};

use super::answer::{Answered, Unanswered, vote};
use super::{ask, run};
use crate::backend::Backend;
use crate::pipeline::audit::{self, Incoming};
use crate::pipeline::authorize::Judged;
use crate::pipeline::{Reply, count, route, validate};
use crate::store::{ApprovalRow, ApprovalState, CallRow, Lasting};

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
) -> Result<Answered, Unanswered> {
    if row.state != ApprovalState::Open {
        return Err(Unanswered::AlreadyDecided(row.state));
    }
    // What may not be approved may not be changed into something that runs.
    if by.role < row.approvers.role {
        return Err(Unanswered::Role { risk: row.risk, needed: row.approvers.role });
    }
    let call = backend.store.call(&row.call.to_string()).await?;
    let refused = |error| Unanswered::Changed(Box::new(error));
    let caller = run::requester(backend, &call.caller).await?.map_err(refused)?;
    let judged = judge(backend, caller, &row, &call, arguments).await?;
    if judged.decision() == Decision::Deny {
        return Err(refused(judged.refusal()));
    }
    if judged.parsed.arguments.as_bytes() == row.arguments {
        return Err(refused(ToolError::new(
            ErrorCode::InvalidArgument,
            "These are the arguments that the call has already. Approve it as it is.",
        )));
    }
    let new = judged.incoming.id;
    let words = format!("Changed into another call, {new}. {reason}").trim_end().to_owned();
    let decided = vote(backend, by, &row, false, words, Lasting::Once).await?;
    let error = ToolError::new(
        ErrorCode::ApprovalRejected,
        format!("{} changed this call into another, which was made instead: {new}.", by.user),
    )
    .with("changed_to", new.to_string());

    let made = make(backend, by, &judged, reason).await;
    run::close_asked(backend, &decided, error).await.map_err(|_| Unanswered::Store)?;
    Ok(Answered { row: decided, changed: Some(made?) })
}

async fn judge(
    backend: &Arc<Backend>,
    caller: Caller,
    row: &ApprovalRow,
    call: &CallRow,
    arguments: Map<String, Value>,
) -> Result<Judged, Unanswered> {
    let request = CallRequest {
        tool: call.tool.clone(),
        device: Some(row.device.0.to_string()),
        arguments: arguments.clone(),
        dry_run: false,
        timeout_ms: u64::try_from(call.deadline_at - call.created_at).ok(),
        idempotency_key: None,
        recovered: false,
    };
    let strangers = row.card.strangers.clone();
    let incoming = Incoming { strangers, ..Incoming::new(caller, request) };
    let refused = |error| Unanswered::Changed(Box::new(error));
    let target = validate::target(backend, &incoming.request).map_err(refused)?;
    let parsed = validate::arguments(&target, arguments).map_err(refused)?;
    count::judge(backend, incoming, target, parsed).await.map_err(|_| Unanswered::Store)
}

async fn make(
    backend: &Arc<Backend>,
    by: &Caller,
    judged: &Judged,
    reason: String,
) -> Result<Reply, Unanswered> {
    let store = |_| Unanswered::Store;
    if judged.decision() == Decision::Allow {
        return match judged.permit(None) {
            Ok(permit) => route::route(backend, judged, permit).await.map_err(store),
            Err(error) => audit::deny_judged(backend, judged, *error).await.map_err(store),
        };
    }
    let mut reply = ask(backend, judged).await.map_err(store)?;
    // A preview that has to be seen first was not seen by whoever wrote the call.
    let (Some(id), false) = (reply.approval, judged.preview_first()) else { return Ok(reply) };
    let asked = backend.store.approval(&id.to_string()).await?;
    match vote(backend, by, &asked, true, reason, Lasting::Once).await {
        Ok(decided) if decided.state == ApprovalState::Approved => {
            run::run_approved(backend, &decided, Vec::new()).await.map_err(store)?;
            reply = backend.store.call(&reply.call.to_string()).await.map(Reply::from)?;
            Ok(reply)
        }
        Err(Unanswered::Store) => Err(Unanswered::Store),
        // It asks for more than this person may give, and waits for that.
        Ok(_) | Err(_) => Ok(reply),
    }
}
