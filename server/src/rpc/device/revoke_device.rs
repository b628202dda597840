//! `RevokeDevice`: ends a device for good.

use orion_wire::v1;
use tonic::Status;

use super::DeviceApi;
use super::change_state::change_state;
use crate::rpc::signed::Signed;
use crate::store::DeviceState;

/// Revokes a device: its certificate is not valid any more and its stream ends at once. It needs a new
/// enrollment to come back.
pub(super) async fn revoke_device(
    api: &DeviceApi,
    request: Signed<v1::RevokeDeviceRequest>,
) -> Result<v1::RevokeDeviceResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RevokeDeviceRequest { device, reason } = message;
    let from = [DeviceState::Pending, DeviceState::Approved, DeviceState::Quarantined];
    let (by, to) = (&identity.caller, DeviceState::Revoked);
    let device = change_state(api, by, &device, &from, to, &reason).await?;
    Ok(v1::RevokeDeviceResponse { device: Some(device) })
}
