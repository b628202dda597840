//! `RequestAccess`: asks for what the grants of a device lack for a denied call.

use orion_wire::v1;
use tonic::Status;

use super::{AccessRequestApi, to_proto};
use crate::pipeline::access_requests;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Stores a request for the smallest temporary grant that would have let a denied call of the caller run.
pub(super) async fn request_access(
    api: &AccessRequestApi,
    request: Signed<v1::RequestAccessRequest>,
) -> Result<v1::RequestAccessResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RequestAccessRequest { call_id, reason, seconds } = message;
    let caller = &identity.caller;
    let row = access_requests::create(&api.pipeline, caller, &call_id, &reason, seconds).await;
    let row = row.map_err(status::access_request)?;
    Ok(v1::RequestAccessResponse { request: Some(to_proto::request(row)) })
}
