//! `EndAccessRequest`: withdraws a request, or ends what was granted.

use orion_wire::v1;
use tonic::Status;

use super::{AccessRequestApi, to_proto};
use crate::pipeline::access_requests;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Ends one of the caller's requests, or for an admin any. From then on nothing is granted by it.
pub(super) async fn end_access_request(
    api: &AccessRequestApi,
    request: Signed<v1::EndAccessRequestRequest>,
) -> Result<v1::EndAccessRequestResponse, Status> {
    let Signed { identity, message } = request;
    let v1::EndAccessRequestRequest { request_id } = message;
    let row = access_requests::end(&api.pipeline, &identity.caller, &request_id).await;
    let row = row.map_err(status::access_request)?;
    Ok(v1::EndAccessRequestResponse { request: Some(to_proto::request(row)) })
}
