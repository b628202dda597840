//! `StartPasskeyApproval`: asks the browser to sign what was shown.

use orion_domain::{Digest, ErrorCode};
use orion_wire::v1;
use orion_wire::v1::start_passkey_approval_request::Of;
use tonic::Status;

use super::{PasskeyApi, to_proto};
use crate::clock::now_ms;
use crate::pipeline::plan;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::webauthn::{approval_subject, plan_subject};
use orion_domain::{Caller, Role};

/// Returns what the browser needs to sign an approval. What was shown must be what there is: the signature covers it.
pub(super) async fn start_passkey_approval(
    api: &PasskeyApi,
    request: Signed<v1::StartPasskeyApprovalRequest>,
) -> Result<v1::StartPasskeyApprovalResponse, Status> {
    let Signed { identity: who, message } = request;
    let v1::StartPasskeyApprovalRequest { of, shown_digest } = message;
    let shown = Digest::from_slice(&shown_digest)
        .ok_or_else(|| status::invalid("the digest of what was shown has 32 bytes"))?;
    let (now_shown, subject) = of_request(api, &who.caller, of).await?;
    if shown != now_shown {
        return Err(status::hinted(
            ErrorCode::PreconditionFailed,
            "the request is not what was shown any more, so there is nothing to sign",
            "read it again, then approve it",
        ));
    }
    let store = &api.pipeline.store;
    let request = api.passkeys.start_approval(store, &who, subject, now_ms()).await;
    let request = request.map_err(|error| status::passkey(&error, api.passkeys.page()))?;
    Ok(v1::StartPasskeyApprovalResponse { request: Some(to_proto::request(request)) })
}

/// Returns the digest of what a request shows, and of what is signed for it.
async fn of_request(
    api: &PasskeyApi,
    by: &Caller,
    of: Option<Of>,
) -> Result<(Digest, Digest), Status> {
    match of {
        Some(Of::ApprovalId(id)) => {
            if by.role < Role::Operator {
                return Err(status::denied("only operators and admins approve a call"));
            }
            let row = api.pipeline.store.find_approval(&id).await.map_err(status::store)?;
            let shown = row.shown_digest();
            Ok((shown, approval_subject(row.id, shown)))
        }
        Some(Of::PlanId(id)) => {
            let plan = plan::visible(&api.pipeline, by, &id).await.map_err(status::store)?;
            Ok((plan.hash, plan_subject(plan.id, plan.hash)))
        }
        None => Err(status::invalid("say which approval request or plan is signed")),
    }
}
