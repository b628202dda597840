//! `GetDevicePermissions`: the grants of a device.

use orion_wire::v1;
use tonic::Status;

use super::PolicyApi;
use crate::rpc::status;

/// Returns the grants of a device, from the policy file or its own, with the version of its policy, the version
/// that it acknowledged, and its ceiling.
pub(super) async fn get_device_permissions(
    api: &PolicyApi,
    message: v1::GetDevicePermissionsRequest,
) -> Result<v1::GetDevicePermissionsResponse, Status> {
    let v1::GetDevicePermissionsRequest { device } = message;
    let row = api.devices.store.device(&device).await.map_err(status::device)?;
    let known = api.devices.fleet.known(row.id);
    let grants = known.as_ref().and_then(|known| serde_json::to_string(&known.grants).ok());
    Ok(v1::GetDevicePermissionsResponse {
        grants: grants.unwrap_or(row.grants),
        version: known.as_ref().map(|it| it.policy.version.clone()).unwrap_or_default(),
        acknowledged_version: row.acknowledged_version.unwrap_or_default(),
        ceiling: row.ceiling.unwrap_or_default(),
        policy_source: known.map(|known| known.policy_source()).unwrap_or_default(),
    })
}
