//! `ApplyPolicy`: a new version of the policy file.

use orion_domain::Digest;
use orion_wire::v1;
use serde_json::json;
use tonic::Status;

use super::checked::fits;
use super::{PolicyApi, to_proto};
use crate::clock::now_ms;
use crate::policy::{self, ApplyResult};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Applies a policy file, unless it has errors. With `expected_version`, only if that version is still active.
/// A refused file is in the audit log.
pub(super) async fn apply_policy(
    api: &PolicyApi,
    request: Signed<v1::ApplyPolicyRequest>,
) -> Result<v1::ApplyPolicyResponse, Status> {
    let Signed { identity, message } = request;
    let by = identity.caller;
    let v1::ApplyPolicyRequest { text, expected_version, note } = message;
    if let Err(refusal) = fits(&text) {
        let body = json!({
            "by": by.user,
            "sha256": Digest::of(text.as_bytes()),
            "size_bytes": text.len(),
            "errors": 1,
            "findings": [refusal.message()],
        });
        let audited = api.devices.store.audit_event("policy.refused", body, now_ms()).await;
        audited.map_err(status::store)?;
        return Err(refusal);
    }
    let expected = (expected_version >= 0).then_some(expected_version);
    let applied = policy::apply(&api.devices, &by, text, expected, &note).await;
    let ApplyResult { row, findings, changes } = applied.map_err(status::policy)?;
    let active = api.devices.policies.active();
    Ok(v1::ApplyPolicyResponse {
        is_applied: row.is_some(),
        findings: findings.iter().map(to_proto::finding).collect(),
        changes: changes.into_iter().map(to_proto::change).collect(),
        version: to_proto::held(row, &active),
    })
}
