//! `ListInvites`: the enrolment tokens that devices can still use.

use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::status;

/// Lists the tokens that devices can still use. Their secrets are not stored, so a token cannot be shown again.
pub(super) async fn list_invites(api: &DeviceApi) -> Result<v1::ListInvitesResponse, Status> {
    let open = api.devices.store.open_invites(now_ms()).await;
    let (invites, has_more) = open.map_err(status::store)?;
    let invites = invites.into_iter().map(to_proto::invite).collect();
    Ok(v1::ListInvitesResponse { invites, has_more })
}
