//! The human gate: a call that wants a person becomes a question, and a yes becomes a permit for
//! exactly that call, once.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::evaluate::{Approved, Decision};
use orion_domain::{
    ApprovalId, CallRequest, CallState, Caller, DeviceId, Envelope, ErrorCode, Risk, Role,
    ToolError, UserName,
};
use serde_json::{Value, json};

use super::audit::{self, Incoming};
use super::authorize::{self, Judged};
use super::{Reply, route, validate};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::{new_uuid, now_ms};
use crate::fleet::Proof;
use crate::store::{ApprovalRow, ApprovalState, DecideError, NewApproval, StoreError};

/// How long the preview on the card may take.
const PREVIEW: Duration = Duration::from_secs(5);
/// The largest preview that is kept, in bytes. It is the device's own words, and a card is short.
const LARGEST_PREVIEW: usize = 64 * 1024;
/// How long an approved call waits for its device after a restart of this backend.
const RETURN: Duration = Duration::from_secs(30);

/// Records the call as waiting and asks. The reply says where to answer.
///
/// # Errors
/// The record cannot be kept.
pub async fn ask(backend: &Arc<Backend>, judged: &Judged) -> Result<Reply, StoreError> {
    let preview = match preview(backend, judged).await {
        Preview::Shown(preview) => Some(preview),
        // Nobody is asked about what would come to nothing.
        Preview::WouldFail(error) => return audit::deny_judged(backend, judged, error).await,
        Preview::Missing if judged.decision() == Decision::DryRunFirst => {
            let error = ToolError::new(
                ErrorCode::PreconditionFailed,
                "A preview has to be shown first, and the device gave none. Try again.",
            );
            return audit::deny_judged(backend, judged, error).await;
        }
        Preview::Missing => None,
    };
    let row = audit::row(backend, judged, CallState::Received);
    let mut reply = Reply::of_new(&row);
    backend.store.open_call(row).await?;

    let id = ApprovalId::new(new_uuid());
    let now = now_ms();
    let expires_at = now + i64::from(backend.config.approvals.expire_seconds) * 1000;
    let risk = judged.target.spec.risk;
    backend
        .store
        .ask(NewApproval {
            id,
            call: judged.incoming.id,
            binding: judged.binding(),
            tool: judged.target.spec.name.to_owned(),
            device: (judged.target.device.id, judged.target.device.name.clone()),
            arguments: judged.parsed.arguments.as_bytes().to_vec(),
            risk,
            touches: judged.touches(),
            rule: judged.rule(),
            requester: judged.incoming.caller.user.clone(),
            approver_role: judged.approvers().role,
            preview,
            created_at: now,
            expires_at,
        })
        .await?;
    backend.bus.publish(Change::Approval(id));
    tracing::info!(call = %reply.call, approval = %id, tool = %reply.tool, "a person is asked");

    let error = judged.refusal().with("approval_id", id.to_string()).with("expires_at", expires_at);
    let waiting = audit::closing(&reply, error);
    reply.state = CallState::AwaitingApproval;
    reply.result = waiting.result;
    reply.approval = Some(id);
    Ok(reply)
}

/// What the device says that a call would do.
enum Preview {
    /// An envelope, JSON.
    Shown(Vec<u8>),
    /// It would not do what it should.
    WouldFail(ToolError),
    /// It did not say, or not soon enough.
    Missing,
}

async fn preview(backend: &Arc<Backend>, judged: &Judged) -> Preview {
    let request = CallRequest {
        dry_run: true,
        idempotency_key: None,
        timeout_ms: Some(u64::try_from(PREVIEW.as_millis()).unwrap_or(5_000)),
        ..judged.incoming.request.clone()
    };
    let incoming = Incoming::new(judged.incoming.caller.clone(), request);
    let dry = authorize::call(incoming, judged.target.clone(), judged.parsed.clone());
    let Ok(permit) = dry.permit(None) else { return Preview::Missing };
    let Ok(reply) = route::route(backend, &dry, permit).await else { return Preview::Missing };
    let would_fail =
        matches!(reply.state, CallState::Failed | CallState::Refused | CallState::Denied);
    if would_fail
        && let Ok(Envelope { error: Some(error), .. }) = serde_json::from_slice(&reply.result)
    {
        return Preview::WouldFail(error);
    }
    if reply.state == CallState::Succeeded && reply.result.len() <= LARGEST_PREVIEW {
        return Preview::Shown(reply.result);
    }
    Preview::Missing
}

/// Why an answer to a question does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// There is no such question.
    #[error("there is no such approval; `orion approvals list` shows the open ones")]
    NotFound,
    /// A shortened id that fits several.
    #[error("several approvals begin so; give more of the id")]
    Ambiguous,
    /// It was answered before; an approval is used once.
    #[error("this approval is {} already; an approval counts once, for one call", .0.as_str())]
    AlreadyDecided(ApprovalState),
    /// It ran out.
    #[error("this approval has expired; make the call again to be asked again")]
    Expired,
    /// The role is too small.
    #[error("a call of {risk} risk needs the role {needed} to approve it")]
    Role {
        /// How risky the call is.
        risk: Risk,
        /// Who may say yes.
        needed: Role,
    },
    /// The record cannot be kept.
    #[error("the record could not be written; nothing was decided")]
    Store,
}

/// Takes a person's answer. A yes starts the call, which goes on by itself.
///
/// # Errors
/// See [`Unanswered`]; nothing was decided then.
pub async fn decide(
    backend: &Arc<Backend>,
    by: &Caller,
    approval: &str,
    yes: bool,
    reason: &str,
) -> Result<ApprovalRow, Unanswered> {
    let row = backend.store.approval(approval).await.map_err(|error| match error {
        StoreError::NotFound => Unanswered::NotFound,
        StoreError::Conflict => Unanswered::Ambiguous,
        StoreError::Unavailable
        | StoreError::Full
        | StoreError::OtherVersion
        | StoreError::Corrupt => Unanswered::Store,
    })?;
    if yes && by.role < row.approver_role {
        let body = json!({"approval_id": row.id, "by": by.user, "role": by.role});
        backend
            .store
            .audit_call_event("approval.refused", row.call, body, now_ms())
            .await
            .map_err(|_| Unanswered::Store)?;
        return Err(Unanswered::Role { risk: row.risk, needed: row.approver_role });
    }
    let reason: String = reason.chars().take(1000).collect();
    let decided =
        backend.store.decide_approval(row.id, yes, &by.user, &reason, now_ms()).await.map_err(
            |error| match error {
                DecideError::NotFound => Unanswered::NotFound,
                DecideError::AlreadyDecided(state) => Unanswered::AlreadyDecided(state),
                DecideError::Expired => Unanswered::Expired,
                DecideError::Store(_) => Unanswered::Store,
            },
        )?;
    backend.bus.publish(Change::Approval(decided.id));
    let (task, decided_row) = (Arc::clone(backend), decided.clone());
    if yes {
        backend.calls.spawn(async move {
            if let Err(error) = run_approved(&task, &decided_row).await {
                tracing::error!(call = %decided_row.call, %error, "an approved call could not be recorded");
            }
        });
    } else {
        let message = format!("{} did not approve this call: {reason}", by.user);
        let error = ToolError::new(
            ErrorCode::ApprovalRejected,
            message.trim_end_matches([':', ' ']).to_owned(),
        );
        close_asked(&task, &decided_row, error).await.map_err(|_| Unanswered::Store)?;
    }
    Ok(decided)
}

/// Runs a call that a person approved, if it is still the call that they saw.
async fn run_approved(backend: &Arc<Backend>, approval: &ApprovalRow) -> Result<(), StoreError> {
    let row = backend.store.call(&approval.call.to_string()).await?;
    let arguments = match serde_json::from_slice(&row.arguments) {
        Ok(Value::Object(object)) => object,
        Ok(_) | Err(_) => return Err(StoreError::Corrupt),
    };
    let timeout = u64::try_from(row.deadline_at - row.created_at).ok();
    let incoming = Incoming {
        id: row.id,
        caller: row.caller.clone(),
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
    };
    let reply = Reply::from(row);
    let judged = validate::target(backend, &incoming.request).and_then(|target| {
        let parsed = validate::arguments(&target, arguments)?;
        Ok(authorize::call(incoming, target, parsed))
    });
    let judged = match judged {
        Ok(judged) => judged,
        Err(error) => return audit::close(backend, reply, error).await.map(drop),
    };
    if judged.decision() == Decision::Deny {
        let error = judged.refusal();
        return audit::close(backend, reply, error).await.map(drop);
    }
    if judged.binding() != approval.binding {
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "What was approved is not what would run: the device's permissions or places have changed since. Make the call again to be asked again.",
        );
        return audit::close(backend, reply, error).await.map(drop);
    }
    // From here on the yes is spent, whatever becomes of the call.
    if !backend.store.consume_approval(approval.id, now_ms()).await? {
        return Ok(());
    }
    let permit = match judged.permit(Some(Approved(approval.id))) {
        Ok(permit) => permit,
        Err(error) => return audit::close(backend, reply, *error).await.map(drop),
    };
    let proof = Proof {
        id: approval.id,
        binding: approval.binding,
        approved_by: approval.decided_by.as_ref().map(UserName::to_string).unwrap_or_default(),
    };
    route::resume(backend, &judged, permit, reply, proof).await.map(drop)
}

async fn close_asked(
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
    run_approved(backend, approval).await
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
