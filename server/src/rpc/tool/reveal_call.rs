//! `RevealCall`: a call with the secrets in its result.

use orion_wire::v1;
use serde::Serialize;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::clock::now_ms;
use crate::pipeline::{CallView, calls};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// The audit event of revealed secrets, without them.
#[derive(Serialize)]
struct Revealed<'a> {
    by: &'a str,
    caller: &'a str,
}

/// Returns one of the caller's calls, or for an admin any, with the secrets in its result. Nobody gets them before
/// the audit log has who does.
pub(super) async fn reveal_call(
    api: &ToolApi,
    request: Signed<v1::RevealCallRequest>,
) -> Result<v1::RevealCallResponse, Status> {
    let Signed { identity, message } = request;
    let (pipeline, by) = (&api.pipeline, &identity.caller);
    let row = calls::visible(pipeline, by, &message.call_id).await.map_err(status::store)?;
    let event = Revealed { by: by.user.as_str(), caller: row.caller.user.as_str() };
    let recorded = pipeline.store.audit_call_event("secret.revealed", row.id, event, now_ms());
    recorded.await.map_err(status::store)?;
    let call = to_proto::call_in_progress(&pipeline.fleet, CallView::from(row));
    Ok(v1::RevealCallResponse { call: Some(call) })
}
