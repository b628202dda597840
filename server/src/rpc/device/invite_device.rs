//! `InviteDevice`: a token that enrolls devices.

use orion_domain::{DeviceName, ErrorCode};
use orion_wire::v1;
use tonic::Status;

use super::DeviceApi;
use super::parse_grants::parse_grants;
use crate::fleet::enrollment::{Invitation, invite};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Makes an enrollment token for as many devices as `uses` says. With `preapproved`, a device that uses it
/// needs no approval and has these grants.
pub(super) async fn invite_device(
    api: &DeviceApi,
    request: Signed<v1::InviteDeviceRequest>,
) -> Result<v1::InviteDeviceResponse, Status> {
    let Signed { identity, message } = request;
    let v1::InviteDeviceRequest { name, valid_seconds, uses, preapproved, grants } = message;
    if DeviceName::is_reserved(&name) {
        return Err(status::hinted(
            ErrorCode::InvalidArgument,
            "`backend` is the name of the backend itself",
            "choose another name for the device",
        ));
    }
    let invitation = Invitation {
        name: (!name.is_empty()).then(|| name.parse()).transpose().map_err(status::invalid)?,
        valid_seconds,
        uses,
        preapproved,
        grants: parse_grants(&grants)?,
    };
    let token = invite(&api.enrollment, &identity.caller, invitation).await;
    let token = token.map_err(status::store)?;
    let text = token.to_string();
    Ok(v1::InviteDeviceResponse {
        command: format!("orion-agent enroll {text}"),
        token: text,
        invite_id: token.invite_id.to_string(),
        expires_at: token.expires_at,
    })
}
