//! `SetDevicePermissions`: the grants of a device outside the policy file.

use orion_domain::{Grants, UserName};
use orion_wire::v1;
use tonic::Status;

use super::PolicyApi;
use crate::clock::now_ms;
use crate::fleet::effective_policy::refresh;
use crate::fleet::{DeviceSnapshot, Devices};
use crate::rpc::device::parse_grants::parse_grants;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::rpc::to_its_end::to_its_end;
use crate::store::StoreError;

/// Sets the grants of a device that the policy file does not name. With `expected_version`, only if nothing
/// changed since that version was read.
pub(super) async fn set_device_permissions(
    api: &PolicyApi,
    request: Signed<v1::SetDevicePermissionsRequest>,
) -> Result<v1::SetDevicePermissionsResponse, Status> {
    let Signed { identity, message } = request;
    let v1::SetDevicePermissionsRequest { device, grants, expected_version } = message;
    let grants = parse_grants(&grants)?;
    let by = identity.caller.user;
    to_its_end(&api.devices, |devices| async move {
        set(&devices, &device, &grants, &expected_version, &by).await
    })
    .await
}

async fn set(
    devices: &Devices,
    device: &str,
    grants: &Grants,
    expected_version: &str,
    by: &UserName,
) -> Result<v1::SetDevicePermissionsResponse, Status> {
    // No policy is applied, and no device renamed, between the comparison and the change.
    let _guard = devices.policies.apply_lock.write().await;
    let row = devices.store.device(device).await.map_err(status::device)?;
    let before = devices.fleet.known(row.id).ok_or_else(|| status::store(StoreError::NotFound))?;
    if let Some(line) = before.policy_line() {
        let version = devices.policies.active().version();
        return Err(status::managed_elsewhere(
            format!("these permissions are part of the policy, version {version}, line {line}"),
            format!(
                "write the policy to a file with `orion policy show > policy.yaml`, change line {line} there, and run `orion policy apply policy.yaml`"
            ),
        ));
    }
    if !expected_version.is_empty() && expected_version != before.policy.version {
        return Err(status::store(StoreError::Conflict));
    }
    let after = DeviceSnapshot::new(
        row.id,
        row.name.clone(),
        row.state,
        before.facts.clone(),
        grants.clone(),
        before.ceiling.clone(),
        before.terms.clone(),
    );
    if let Some(bad) = after.bad_grants.first() {
        return Err(status::invalid(format!("the grants were not changed: {bad}")));
    }
    let json = serde_json::to_string(grants).map_err(status::invalid)?;
    let version = after.policy.version.clone();
    // `expected_version` is a hash over more than the grants, so it was compared above. The store
    // compares the row's own version, in case other grants were set since the read.
    let expected = (!expected_version.is_empty()).then_some(row.policy_version).flatten();
    let (store, expected) = (&devices.store, expected.as_deref());
    let set = store.set_grants(row.id, &json, &version, expected, by, now_ms()).await;
    set.map_err(status::store)?;
    refresh(devices, row.id).await.map_err(status::store)?;
    Ok(v1::SetDevicePermissionsResponse { version })
}
