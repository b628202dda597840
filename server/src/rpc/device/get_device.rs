//! `GetDevice`: one device.

use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::rpc::status;

/// Returns a device by its name, or by its id or the beginning of it.
pub(super) async fn get_device(
    api: &DeviceApi,
    message: v1::GetDeviceRequest,
) -> Result<v1::GetDeviceResponse, Status> {
    let v1::GetDeviceRequest { device } = message;
    let row = api.devices.store.device(&device).await.map_err(status::device)?;
    Ok(v1::GetDeviceResponse { device: Some(to_proto::device(&api.devices.fleet, row)) })
}
