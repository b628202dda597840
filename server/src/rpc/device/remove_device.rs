//! `RemoveDevice`: a device that is listed no more.

use orion_domain::{DeviceId, Hint};
use orion_wire::v1;
use tonic::Status;

use super::DeviceApi;
use crate::clock::now_ms;
use crate::fleet::enrollment::set_state;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::DeviceState;

/// Removes a device: its identity ends, if it has not ended, and it leaves the list. The audit log and its calls
/// keep its name, and its certificates stay revoked.
pub(super) async fn remove_device(
    api: &DeviceApi,
    request: Signed<v1::RemoveDeviceRequest>,
) -> Result<v1::RemoveDeviceResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RemoveDeviceRequest { device, reason } = message;
    let row = api.devices.store.device(&device).await.map_err(status::device)?;
    if row.id == DeviceId::BACKEND {
        return Err(status::managed_elsewhere(
            "this is the backend itself, which is not removed",
            Hint::run("list the devices", "orion devices list"),
        ));
    }
    let id = row.id.to_string();
    let ends_as = match row.state {
        DeviceState::Pending => Some(DeviceState::Rejected),
        DeviceState::Approved | DeviceState::Quarantined => Some(DeviceState::Revoked),
        DeviceState::Rejected | DeviceState::Revoked => None,
    };
    if let Some(to) = ends_as {
        let ended = set_state(&api.devices, &id, &[row.state], to, &identity.caller, &reason).await;
        ended.map_err(status::device)?;
    }
    let by = &identity.caller.user;
    api.devices.store.remove_device(row.id, by, now_ms()).await.map_err(status::device)?;
    api.devices.fleet.forget(row.id);
    Ok(v1::RemoveDeviceResponse {})
}
