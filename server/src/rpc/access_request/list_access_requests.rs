//! `ListAccessRequests`: the requests for access.

use orion_domain::Role;
use orion_wire::v1;
use tonic::Status;

use super::{AccessRequestApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::AccessRequestState;

/// Lists the caller's requests, or for an admin everybody's: those that are open or granted, with `all` every
/// one; newest first, at most 500.
pub(super) async fn list_access_requests(
    api: &AccessRequestApi,
    request: Signed<v1::ListAccessRequestsRequest>,
) -> Result<v1::ListAccessRequestsResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ListAccessRequestsRequest { all } = message;
    let caller = &identity.caller;
    let of = (caller.role != Role::Admin).then_some(&caller.user);
    let rows = api.pipeline.store.access_requests(of, all).await.map_err(status::store)?;
    let now = now_ms();
    let is_current =
        |state| matches!(state, AccessRequestState::Open | AccessRequestState::Granted);
    let rows = rows.into_iter().filter(|row| all || is_current(row.state_at(now)));
    Ok(v1::ListAccessRequestsResponse { requests: rows.map(to_proto::request).collect() })
}
