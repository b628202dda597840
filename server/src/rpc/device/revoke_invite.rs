//! `RevokeInvite`: withdraws an enrolment token.

use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Withdraws a token: no device can use it from then on. Devices that used it stay, also those that wait for approval.
pub(super) async fn revoke_invite(
    api: &DeviceApi,
    request: Signed<v1::RevokeInviteRequest>,
) -> Result<v1::RevokeInviteResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RevokeInviteRequest { invite_id } = message;
    let store = &api.devices.store;
    let revoked = store.revoke_invite(&invite_id, &identity.caller.user, now_ms()).await;
    let invite = to_proto::invite(revoked.map_err(status::invite)?);
    Ok(v1::RevokeInviteResponse { invite: Some(invite) })
}
