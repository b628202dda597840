//! `QuarantineDevice`: keeps a device from everything for a while.

use orion_wire::v1;
use tonic::Status;

use super::DeviceApi;
use super::change_state::change_state;
use crate::rpc::signed::Signed;
use crate::store::DeviceState;

/// Puts an approved device in quarantine: its stream ends, and no call is sent to it until it is approved
/// again.
pub(super) async fn quarantine_device(
    api: &DeviceApi,
    request: Signed<v1::QuarantineDeviceRequest>,
) -> Result<v1::QuarantineDeviceResponse, Status> {
    let Signed { identity, message } = request;
    let v1::QuarantineDeviceRequest { device, reason } = message;
    let from = [DeviceState::Approved];
    let (by, to) = (&identity.caller, DeviceState::Quarantined);
    let device = change_state(api, by, &device, &from, to, &reason).await?;
    Ok(v1::QuarantineDeviceResponse { device: Some(device) })
}
