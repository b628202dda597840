//! `RenameDevice`: another name for a device, which stays the same device.

use orion_domain::{DeviceId, DeviceName, ErrorCode, Hint, UserName};
use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::active_policy::PolicyTerms;
use crate::clock::now_ms;
use crate::fleet::Devices;
use crate::fleet::effective_policy::refresh;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::rpc::to_its_end::to_its_end;
use crate::store::RenameError;

/// Renames a device. Its identity, grants, calls and approvals belong to its id and stay. The policy file speaks of
/// names: a rename that would change what the file says of the device is refused.
pub(super) async fn rename_device(
    api: &DeviceApi,
    request: Signed<v1::RenameDeviceRequest>,
) -> Result<v1::RenameDeviceResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RenameDeviceRequest { device, name } = message;
    let name: DeviceName = name.parse().map_err(status::invalid)?;
    let by = identity.caller.user;
    to_its_end(&api.devices, |devices| async move { renamed(&devices, &device, name, &by).await })
        .await
}

async fn renamed(
    devices: &Devices,
    device: &str,
    name: DeviceName,
    by: &UserName,
) -> Result<v1::RenameDeviceResponse, Status> {
    // No policy is applied, and no label changed, between the comparison and the rename.
    let _guard = devices.policies.apply_lock.write().await;
    let row = devices.store.device(device).await.map_err(status::device)?;
    if row.id == DeviceId::BACKEND || DeviceName::is_reserved(name.as_str()) {
        return Err(status::hinted(
            ErrorCode::PreconditionFailed,
            "`backend` is the name of the backend itself, and of nothing else",
            "choose another name for the device",
        ));
    }
    let holder = devices.fleet.find(name.as_str()).ok();
    if holder.is_some_and(|holder| holder.id != row.id && !holder.has_ended()) {
        return Err(status::rename(RenameError::Taken));
    }
    let active = devices.policies.active();
    let (of_old, of_new) = (active.terms(&row.name, &row.labels), active.terms(&name, &row.labels));
    if !is_said_of_both(&of_old, &of_new) {
        let old = &row.name;
        let why = if of_old.grants.is_some() && of_new.grants.is_none() {
            format!(
                "the policy file names {old} and not {name}, so under the new name the device would lose what the file grants it"
            )
        } else {
            format!(
                "the policy file says something else of {name} than of {old}, so a rename would change what the device may do"
            )
        };
        return Err(status::managed_elsewhere(
            why,
            Hint::run(
                format!(
                    "put {old} in quarantine, take {old} and {name} out of the policy file, with the rules for labels that only they have, and apply it, rename, write all of it back with {name}, apply it again and approve the device, beginning with"
                ),
                format!("orion devices quarantine {old}"),
            ),
        ));
    }
    let before = devices.store.rename_device(row.id, &name, by, now_ms()).await;
    let before = before.map_err(status::rename)?;
    let after = refresh(devices, row.id).await.map_err(status::store)?;
    if before.name != after.name {
        devices.fleet.renamed(row.id, &before.name);
        // A connected device learns its name when it connects.
        devices.fleet.disconnect(row.id);
    }
    Ok(v1::RenameDeviceResponse { device: Some(to_proto::device(&devices.fleet, after)) })
}

/// Returns whether the policy file says the same of two names, wherever in the file.
fn is_said_of_both(one: &PolicyTerms, other: &PolicyTerms) -> bool {
    let grants = |terms: &PolicyTerms| terms.grants.as_ref().map(|(grants, _)| grants.clone());
    grants(one) == grants(other) && one.labels == other.labels && one.rules == other.rules
}
