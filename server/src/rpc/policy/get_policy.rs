//! `GetPolicy`: the policy file.

use std::sync::Arc;

use orion_catalog::RunsOn;
use orion_wire::v1;
use tonic::Status;

use super::{PolicyApi, to_proto};
use crate::fleet::DeviceSnapshot;
use crate::rpc::status;
use crate::store::PolicyMismatch;

/// Returns a version of the policy file, or with `version` 0 the active one, with the devices and the version
/// that each of them acknowledged.
pub(super) async fn get_policy(
    api: &PolicyApi,
    message: v1::GetPolicyRequest,
) -> Result<v1::GetPolicyResponse, Status> {
    let v1::GetPolicyRequest { version } = message;
    let active = api.devices.policies.active();
    if version != 0 && version != active.version() {
        let row = api.devices.store.policy(version).await.map_err(status::policy)?;
        return Ok(v1::GetPolicyResponse {
            text: row.text.clone(),
            version: Some(to_proto::version(&row, &active)),
            ..v1::GetPolicyResponse::default()
        });
    }
    let row = active.row.as_ref();
    Ok(v1::GetPolicyResponse {
        version: Some(row.map(|row| to_proto::version(row, &active)).unwrap_or_default()),
        text: row.map(|row| row.text.clone()).unwrap_or_default(),
        unreadable: if active.is_unreadable() {
            active.findings.iter().map(to_proto::finding).collect()
        } else {
            Vec::new()
        },
        devices: on_devices(api).await?,
    })
}

/// Returns the approved devices, each with its current and its acknowledged policy version.
async fn on_devices(api: &PolicyApi) -> Result<Vec<v1::PolicyOnDevice>, Status> {
    let rows = api.devices.store.devices(false).await.map_err(status::store)?;
    let shown = rows.into_iter().filter_map(|row| {
        // The backend's own tools are part of the policy only where the file names the backend.
        let is_shown = |known: &Arc<DeviceSnapshot>| {
            known.is_approved() && (known.runs() == RunsOn::Device || known.policy_line().is_some())
        };
        let known = api.devices.fleet.known(row.id).filter(is_shown)?;
        Some(v1::PolicyOnDevice {
            device: row.name.to_string(),
            online: api.devices.fleet.is_online(row.id),
            version: known.policy.version.clone(),
            acknowledged_version: row.acknowledged_version.unwrap_or_default(),
            line: known.policy_line().unwrap_or_default(),
            warnings: row.found.iter().map(PolicyMismatch::description).collect(),
        })
    });
    Ok(shown.collect())
}
