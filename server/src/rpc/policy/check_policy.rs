//! `CheckPolicy`: what a policy file would change.

use orion_wire::v1;
use tonic::Status;

use super::checked::checked;
use super::{PolicyApi, to_proto};
use crate::policy::Checked;

/// Checks a policy file without applying it. Returns its findings, and what would change for each device.
pub(super) async fn check_policy(
    api: &PolicyApi,
    message: v1::CheckPolicyRequest,
) -> Result<v1::CheckPolicyResponse, Status> {
    let v1::CheckPolicyRequest { text } = message;
    let active_version = api.devices.policies.active().version();
    let Checked { file, findings, changes } = checked(api, text).await?;
    Ok(v1::CheckPolicyResponse {
        is_valid: file.is_some(),
        findings: findings.iter().map(to_proto::finding).collect(),
        changes: changes.into_iter().map(to_proto::change).collect(),
        active_version,
    })
}
