//! `RollbackPolicy`: an earlier version of the policy file.

use orion_wire::v1;
use tonic::Status;

use super::{PolicyApi, to_proto};
use crate::policy::{self, ApplyResult};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Applies an earlier version of the policy file again, as a new version.
pub(super) async fn rollback_policy(
    api: &PolicyApi,
    request: Signed<v1::RollbackPolicyRequest>,
) -> Result<v1::RollbackPolicyResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RollbackPolicyRequest { version, note } = message;
    let applied = policy::roll_back(&api.devices, &identity.caller, version, &note).await;
    let ApplyResult { row, findings, changes } = applied.map_err(status::policy)?;
    let active = api.devices.policies.active();
    Ok(v1::RollbackPolicyResponse {
        is_applied: row.is_some(),
        findings: findings.iter().map(to_proto::finding).collect(),
        changes: changes.into_iter().map(to_proto::change).collect(),
        version: to_proto::held(row, &active),
    })
}
