//! `ListPolicyVersions`: the history of the policy file.

use orion_wire::v1;
use tonic::Status;

use super::{PolicyApi, to_proto};
use crate::rpc::status;

/// Lists the versions of the policy file: who applied each, when and why.
pub(super) async fn list_policy_versions(
    api: &PolicyApi,
) -> Result<v1::ListPolicyVersionsResponse, Status> {
    let active = api.devices.policies.active();
    let rows = api.devices.store.policies().await.map_err(status::store)?;
    let versions = rows.iter().map(|row| to_proto::version(row, &active)).collect();
    Ok(v1::ListPolicyVersionsResponse { versions })
}
