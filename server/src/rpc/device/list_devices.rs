//! `ListDevices`: the fleet.

use orion_domain::DeviceId;
use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::rpc::status;

/// Lists the devices, or with `pending_only` those that wait for approval. The backend itself is no device: it is
/// shown by its name.
pub(super) async fn list_devices(
    api: &DeviceApi,
    message: v1::ListDevicesRequest,
) -> Result<v1::ListDevicesResponse, Status> {
    let v1::ListDevicesRequest { pending_only } = message;
    let rows = api.devices.store.devices(pending_only).await.map_err(status::store)?;
    let fleet = &api.devices.fleet;
    let rows = rows.into_iter().filter(|row| row.id != DeviceId::BACKEND);
    let devices = rows.map(|row| to_proto::device(fleet, row)).collect();
    Ok(v1::ListDevicesResponse { devices })
}
