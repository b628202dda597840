//! `SetDeviceLabels`: the labels that are stored with a device.

use orion_domain::{DeviceId, ErrorCode, UserName};
use orion_policy::LabelChange;
use orion_wire::v1;
use tonic::Status;

use super::labels::{invalid, outside_the_file};
use super::{DeviceApi, to_proto};
use crate::clock::now_ms;
use crate::fleet::Devices;
use crate::fleet::effective_policy::refresh;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::rpc::to_its_end::to_its_end;
use crate::store::{DeviceState, SetLabelsError};

/// Sets and removes labels of a device to which the policy file gives none. Rules that select by labels apply to the
/// device, or do no longer, as soon as this is answered.
pub(super) async fn set_device_labels(
    api: &DeviceApi,
    request: Signed<v1::SetDeviceLabelsRequest>,
) -> Result<v1::SetDeviceLabelsResponse, Status> {
    let Signed { identity, message } = request;
    let v1::SetDeviceLabelsRequest { device, set, remove } = message;
    let change = LabelChange::parse(&set, &remove).map_err(invalid)?;
    let by = identity.caller.user;
    to_its_end(&api.devices, |devices| async move { changed(&devices, &device, change, &by).await })
        .await
}

async fn changed(
    devices: &Devices,
    device: &str,
    change: LabelChange,
    by: &UserName,
) -> Result<v1::SetDeviceLabelsResponse, Status> {
    // No policy is applied, and no device renamed, between the comparison and the change.
    let _guard = devices.policies.apply_lock.write().await;
    let row = devices.store.device(device).await.map_err(status::device)?;
    if row.id == DeviceId::BACKEND {
        return Err(status::managed_elsewhere(
            "labels of the backend itself are written in the policy file",
            "write them there, with the device `backend`",
        ));
    }
    if matches!(row.state, DeviceState::Rejected | DeviceState::Revoked) {
        return Err(status::hinted(
            ErrorCode::PreconditionFailed,
            "the identity of this device has ended, so it has no labels",
            "label the device that was enrolled in its place",
        ));
    }
    outside_the_file(&devices.policies.active(), &row.name)?;
    let set = devices.store.set_labels(row.id, change, by, now_ms()).await;
    set.map_err(|error| match error {
        SetLabelsError::Labels(error) => invalid(error),
        SetLabelsError::Store(error) => status::device(error),
    })?;
    let after = refresh(devices, row.id).await.map_err(status::store)?;
    Ok(v1::SetDeviceLabelsResponse { device: Some(to_proto::device(&devices.fleet, after)) })
}
