//! `DecideAccessRequest`: an admin's answer to a request for access.

use orion_domain::Digest;
use orion_wire::v1;
use tonic::Status;

use super::{AccessRequestApi, to_proto};
use crate::pipeline::access_requests;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Grants a request as it was shown, or refuses it: `digest` is of what the admin saw, and another one is
/// refused.
pub(super) async fn decide_access_request(
    api: &AccessRequestApi,
    request: Signed<v1::DecideAccessRequestRequest>,
) -> Result<v1::DecideAccessRequestResponse, Status> {
    let Signed { identity, message } = request;
    status::not_stopping(&api.pipeline.tasks)?;
    let v1::DecideAccessRequestRequest { request_id, grant, digest, seconds, reason } = message;
    let (pipeline, by) = (&api.pipeline, &identity.caller);
    let row = if grant {
        let digest = Digest::from_slice(&digest).ok_or_else(|| {
            status::invalid("the digest of the request as it was shown has 32 bytes")
        })?;
        access_requests::grant(pipeline, by, &request_id, digest, seconds, &reason).await
    } else {
        access_requests::refuse(pipeline, by, &request_id, &reason).await
    };
    let row = row.map_err(status::access_request)?;
    Ok(v1::DecideAccessRequestResponse { request: Some(to_proto::request(row)) })
}
