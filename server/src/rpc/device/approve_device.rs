//! `ApproveDevice`: lets a device in.

use orion_wire::v1;
use tonic::Status;

use super::DeviceApi;
use super::change_state::change_state;
use crate::rpc::signed::Signed;
use crate::store::DeviceState;

/// Approves a device that waits for approval or is in quarantine. Calls can be sent to it from then on, as far
/// as its grants go.
pub(super) async fn approve_device(
    api: &DeviceApi,
    request: Signed<v1::ApproveDeviceRequest>,
) -> Result<v1::ApproveDeviceResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ApproveDeviceRequest { device } = message;
    let from = [DeviceState::Pending, DeviceState::Quarantined];
    let (by, to) = (&identity.caller, DeviceState::Approved);
    let device = change_state(api, by, &device, &from, to, "").await?;
    Ok(v1::ApproveDeviceResponse { device: Some(device) })
}
