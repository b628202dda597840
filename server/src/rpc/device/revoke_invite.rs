//! `RevokeInvite`: withdraws an enrolment token.

use orion_domain::{ErrorCode, Hint};
use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// The shortest beginning of an id that is taken, in bytes.
const MIN_ID_BYTES: usize = 8;

/// Withdraws a token: no device can use it from then on. Devices that used it stay, also those that wait for approval.
pub(super) async fn revoke_invite(
    api: &DeviceApi,
    request: Signed<v1::RevokeInviteRequest>,
) -> Result<v1::RevokeInviteResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RevokeInviteRequest { invite_id } = message;
    // Half a word that fits the only token that is left must not withdraw that one.
    if invite_id.len() < MIN_ID_BYTES {
        return Err(status::hinted(
            ErrorCode::InvalidArgument,
            format!("an id is given by {MIN_ID_BYTES} characters at least"),
            Hint::run("list them", "orion devices invites list"),
        ));
    }
    let store = &api.devices.store;
    let revoked = store.revoke_invite(&invite_id, &identity.caller.user, now_ms()).await;
    let (invite, used) = revoked.map_err(status::invite)?;
    Ok(v1::RevokeInviteResponse {
        invite: Some(to_proto::invite(invite)),
        devices: used.into_iter().map(String::from).collect(),
    })
}
