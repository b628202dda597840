//! `ReviewDevice`: which grants of a device are used.

use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::policy::{DAYS, Review, review};
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::StoreError;

/// Compares a device's grants with its recorded calls: what is used how often, what is not, and what could be
/// narrower.
pub(super) async fn review_device(
    api: &DeviceApi,
    request: Signed<v1::ReviewDeviceRequest>,
) -> Result<v1::ReviewDeviceResponse, Status> {
    let Signed { identity, message } = request;
    let slot = api.heavy.begin(&identity.caller.user).map_err(status::tool_error)?;
    let v1::ReviewDeviceRequest { device } = message;
    let row = api.devices.store.device(&device).await.map_err(status::device)?;
    let known = api.devices.fleet.known(row.id);
    let known = known.ok_or_else(|| status::device(StoreError::NotFound))?;
    let reviewed = review(&api.devices, &known, &slot).await.map_err(status::store)?;
    let Review { calls, looked_since, grants } = reviewed;
    Ok(v1::ReviewDeviceResponse {
        device: row.name.to_string(),
        days: DAYS,
        calls,
        looked_since: looked_since.unwrap_or_default(),
        grants: grants.into_iter().map(to_proto::grant_review).collect(),
    })
}
