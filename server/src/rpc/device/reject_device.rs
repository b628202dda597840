//! `RejectDevice`: turns away a device that asks.

use orion_wire::v1;
use tonic::Status;

use super::DeviceApi;
use super::change_state::change_state;
use crate::rpc::signed::Signed;
use crate::store::DeviceState;

/// Rejects a device that waits for approval. It receives no certificate.
pub(super) async fn reject_device(
    api: &DeviceApi,
    request: Signed<v1::RejectDeviceRequest>,
) -> Result<v1::RejectDeviceResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RejectDeviceRequest { device } = message;
    let from = [DeviceState::Pending];
    let (by, to) = (&identity.caller, DeviceState::Rejected);
    let device = change_state(api, by, &device, &from, to, "").await?;
    Ok(v1::RejectDeviceResponse { device: Some(device) })
}
