//! From a yes to the run, if it is still the call that people saw; and the ends of questions that
//! nobody answered.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::evaluate::{Approved, Decision};
use orion_domain::{CallRequest, Caller, DeviceId, ErrorCode, Observation, ToolError, UserName};
use serde_json::Value;

use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::Proof;
use crate::pipeline::audit::{self, Incoming, OfPlan};
use crate::pipeline::{Reply, count, route, validate};
use crate::store::{ApprovalRow, StoreError};

/// How long an approved call waits for its device after a restart of this backend.
const RETURN: Duration = Duration::from_secs(30);

/// The person that a call is made for, with the role that they have by now.
///
/// # Errors
/// The record cannot be read; inside, what the caller is told where the person is gone.
pub(in crate::pipeline) async fn requester(
    backend: &Backend,
    caller: &Caller,
) -> Result<Result<Caller, ToolError>, StoreError> {
    let user = match backend.store.user(&caller.user).await {
        Ok(user) if user.disabled_at.is_none() => user,
        Ok(_) | Err(StoreError::NotFound) => {
            let message =
                format!("The account of {} is disabled, so its calls are not made.", caller.user);
            return Ok(Err(ToolError::new(ErrorCode::PermissionDenied, message)));
        }
        Err(error) => return Err(error),
    };
    Ok(Ok(Caller { role: user.role, ..caller.clone() }))
}

/// Runs a call that enough people approved, if it is still the call that they saw. Of
/// a plan's step, `observed` is what its preview saw.
///
/// # Errors
/// The record cannot be kept.
pub(in crate::pipeline) async fn run_approved(
    backend: &Arc<Backend>,
    approval: &ApprovalRow,
    observed: Vec<Observation>,
) -> Result<Reply, StoreError> {
    let row = backend.store.call(&approval.call.to_string()).await?;
    let arguments = match serde_json::from_slice(&row.arguments) {
        Ok(Value::Object(object)) => object,
        Ok(_) | Err(_) => return Err(StoreError::Corrupt),
    };
    let caller = match requester(backend, &row.caller).await? {
        Ok(caller) => caller,
        Err(error) => return audit::close(backend, Reply::from(row), error).await,
    };
    let timeout = u64::try_from(row.deadline_at - row.created_at).ok();
    let incoming = Incoming {
        id: row.id,
        caller,
        request: CallRequest {
            tool: row.tool.clone(),
            device: row.device.as_ref().map(|(id, _)| id.to_string()),
            arguments: arguments.clone(),
            dry_run: row.dry_run,
            timeout_ms: timeout,
            idempotency_key: None,
            recovered: row.recovered,
        },
        created_at: row.created_at,
        strangers: approval.card.strangers.clone(),
        plan: approval.plan.map(|id| OfPlan { id, observe: false, observed }),
    };
    let reply = Reply::from(row);
    let found = validate::target(backend, &incoming.request).and_then(|target| {
        let parsed = validate::arguments(&target, arguments)?;
        Ok((target, parsed))
    });
    let judged = match found {
        Ok((target, parsed)) => count::judge(backend, incoming, target, parsed).await?,
        Err(error) => return audit::close(backend, reply, error).await,
    };
    if judged.decision() == Decision::Deny {
        let error = judged.refusal();
        return audit::close(backend, reply, error).await;
    }
    if judged.binding() != approval.binding {
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "What was approved is not what would run: the device's permissions or places, or the role of whoever asked, have changed since. Make the call again to be asked again.",
        );
        return audit::close(backend, reply, error).await;
    }
    // From here on the yes is spent, whatever becomes of the call.
    if !backend.store.consume_approval(approval.id, now_ms()).await? {
        return backend.store.call(&reply.call.to_string()).await.map(Reply::from);
    }
    let permit = match judged.permit(Some(Approved(approval.id))) {
        Ok(permit) => permit,
        Err(error) => return audit::close(backend, reply, *error).await,
    };
    let proof = Proof {
        id: approval.id,
        binding: approval.binding,
        approved_by: approval.decided_by.as_ref().map(UserName::to_string).unwrap_or_default(),
    };
    route::resume(backend, &judged, permit, reply, proof).await
}

/// Ends the call that a question was about.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn close_asked(
    backend: &Backend,
    approval: &ApprovalRow,
    error: ToolError,
) -> Result<(), StoreError> {
    let row = backend.store.call(&approval.call.to_string()).await?;
    audit::close(backend, Reply::from(row), error).await.map(drop)
}

/// Ends the questions that ran out, and the calls that waited on them.
///
/// # Errors
/// The record cannot be kept.
pub async fn expire(backend: &Backend) -> Result<(), StoreError> {
    for approval in backend.store.expire_approvals(now_ms()).await? {
        backend.bus.publish(Change::Approval(approval.id));
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "Nobody answered in time. Make the call again to be asked again; `orion approvals watch` shows questions as they come.",
        );
        // One that cannot be ended must not keep the others waiting; a restart ends it.
        if let Err(error) = close_asked(backend, &approval, error).await {
            tracing::error!(call = %approval.call, %error, "a call whose question ran out could not be ended");
        }
    }
    Ok(())
}

/// Takes up what was approved and not yet started when the backend stopped, each when its device is
/// back. A yes does not outlive the time in which it could be given.
///
/// # Errors
/// The record cannot be read.
pub async fn resume_approved(backend: &Arc<Backend>) -> Result<(), StoreError> {
    for approval in backend.store.approved_and_unused().await? {
        let task = Arc::clone(backend);
        backend.calls.spawn(async move {
            if let Err(error) = resume(&task, &approval).await {
                tracing::error!(call = %approval.call, %error, "an approved call could not be taken up again");
            }
        });
    }
    Ok(())
}

async fn resume(backend: &Arc<Backend>, approval: &ApprovalRow) -> Result<(), StoreError> {
    wait_for(backend, approval.device.0).await;
    if backend.shutdown.is_cancelled() {
        return Ok(());
    }
    if approval.expires_at <= now_ms() {
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "The backend was away until the approval's time was over, so the call was not made. Make it again to be asked again.",
        );
        return close_asked(backend, approval, error).await;
    }
    run_approved(backend, approval, Vec::new()).await.map(drop)
}

/// Waits until the device is connected, for a while.
async fn wait_for(backend: &Backend, device: DeviceId) {
    let mut changes = backend.bus.subscribe();
    let deadline = tokio::time::Instant::now() + RETURN;
    while !backend.fleet.is_online(device) {
        tokio::select! {
            () = backend.shutdown.cancelled() => return,
            () = tokio::time::sleep_until(deadline) => return,
            _ = changes.recv() => {}
        }
    }
}
