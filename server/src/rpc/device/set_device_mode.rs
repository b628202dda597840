//! `SetDeviceMode`: the dangerous mode of a device.

use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::fleet::effective_policy::{begin_dangerous, end_dangerous};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Puts a device in the mode dangerous for some seconds, with a reason, or ends the mode.
pub(super) async fn set_device_mode(
    api: &DeviceApi,
    request: Signed<v1::SetDeviceModeRequest>,
) -> Result<v1::SetDeviceModeResponse, Status> {
    let Signed { identity, message } = request;
    let v1::SetDeviceModeRequest { device, dangerous, seconds, reason } = message;
    let (devices, by) = (&api.devices, &identity.caller);
    let row = devices.store.device(&device).await.map_err(status::device)?;
    if dangerous {
        let begun = begin_dangerous(devices, &row, seconds, by, &reason).await;
        begun.map_err(status::mode)?;
    } else {
        end_dangerous(devices, &row, by, &reason).await.map_err(status::store)?;
    }
    Ok(v1::SetDeviceModeResponse { device: Some(to_proto::device(&devices.fleet, row)) })
}
