//! `GetAccessRequest`: one request, and whether it can be granted now.

use orion_wire::v1;
use tonic::Status;

use super::{AccessRequestApi, to_proto};
use crate::clock::now_ms;
use crate::pipeline::access_requests;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::AccessRequestState;

/// Returns one of the caller's requests, or for an admin any, by its id or the beginning of it.
pub(super) async fn get_access_request(
    api: &AccessRequestApi,
    request: Signed<v1::GetAccessRequestRequest>,
) -> Result<v1::GetAccessRequestResponse, Status> {
    let Signed { identity, message } = request;
    let row = access_requests::visible(&api.pipeline, &identity.caller, &message.request_id).await;
    let row = row.map_err(status::access_request)?;
    let obstacle = if row.state_at(now_ms()) == AccessRequestState::Open {
        access_requests::obstacle(&api.pipeline, &row).await.map_err(status::store)?
    } else {
        None
    };
    let obstacle = obstacle.map(|error| serde_json::to_vec(&error).unwrap_or_default());
    Ok(v1::GetAccessRequestResponse {
        request: Some(to_proto::request(row)),
        obstacle: obstacle.unwrap_or_default().into(),
    })
}
