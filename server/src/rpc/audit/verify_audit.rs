//! `VerifyAudit`: checks the whole audit log.

use orion_wire::v1;
use tonic::Status;

use super::AuditApi;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::AuditVerdict;

/// Verifies every row of the audit log, its signed checkpoints, and what the devices reported of their own
/// chains. Names the first row that is not as it was written.
pub(super) async fn verify_audit(
    api: &AuditApi,
    request: Signed<v1::VerifyAuditRequest>,
) -> Result<v1::VerifyAuditResponse, Status> {
    let Signed { identity, message: v1::VerifyAuditRequest {} } = request;
    let _slot = api.heavy.begin(&identity.caller.user).map_err(status::tool_error)?;
    let held = api.notary.held_to().map_err(|error| {
        tracing::error!(%error, "what was signed last of the audit cannot be read");
        Status::internal("What was signed last cannot be read. The backend's log says why.")
    })?;
    let verdict = api.store.verify_audit(Some(&held)).await.map_err(status::store)?;
    let response = v1::VerifyAuditResponse {
        key: api.notary.signer().key().to_string(),
        device_problems: device_problems(api),
        ..v1::VerifyAuditResponse::default()
    };
    Ok(match verdict {
        AuditVerdict::Whole { rows, head, checkpoints } => v1::VerifyAuditResponse {
            whole: true,
            rows,
            head: head.hash.as_bytes().to_vec().into(),
            checkpoints,
            ..response
        },
        AuditVerdict::Broken { rows, broken } => v1::VerifyAuditResponse {
            whole: false,
            rows,
            broken_seq: broken.seq(),
            problem: broken.to_string(),
            ..response
        },
    })
}

/// Returns the devices whose own chain does not go on from what they reported before.
fn device_problems(api: &AuditApi) -> Vec<v1::DeviceChainProblem> {
    let name = |id| api.fleet.known(id).map(|known| known.name.to_string());
    let broken = api.fleet.witnesses().broken().into_iter();
    broken
        .map(|(device, chain)| v1::DeviceChainProblem {
            device: name(device).unwrap_or_else(|| device.to_string()),
            problem: chain.problem,
            at: chain.problem_at.unwrap_or_default(),
        })
        .collect()
}
