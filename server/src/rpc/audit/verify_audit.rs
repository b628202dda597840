//! `VerifyAudit`: checks the whole audit log.

use orion_wire::v1;
use tonic::Status;

use super::AuditApi;
use super::last_check::WholeLog;
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::AuditVerdict;

/// Verifies every row of the audit log, its signed checkpoints, and what the devices reported of their own
/// chains. Names the first row that is not as it was written. With `max_age_ms`, a check that is no older answers
/// if it found the log whole.
pub(super) async fn verify_audit(
    api: &AuditApi,
    request: Signed<v1::VerifyAuditRequest>,
) -> Result<v1::VerifyAuditResponse, Status> {
    let Signed { identity, message: v1::VerifyAuditRequest { max_age_ms } } = request;
    let response = v1::VerifyAuditResponse {
        key: api.notary.signer().key().to_string(),
        device_problems: device_problems(api),
        ..v1::VerifyAuditResponse::default()
    };
    if let Some(check) = api.last_check.of_at_most(max_age_ms, now_ms()) {
        return Ok(whole(response, check));
    }
    let _slot = api.heavy.begin(&identity.caller.user).map_err(status::tool_error)?;
    let held = api.notary.held_to().map_err(|error| {
        tracing::error!(%error, "what was signed last of the audit cannot be read");
        Status::internal("What was signed last cannot be read. The backend's log says why.")
    })?;
    let verdict = api.store.verify_audit(Some(&held)).await.map_err(status::store)?;
    let checked_at = now_ms();
    let (check, answer) = match verdict {
        AuditVerdict::Whole { rows, head, checkpoints } => {
            let check = WholeLog { checked_at, rows, head, checkpoints };
            (Some(check), whole(response, check))
        }
        AuditVerdict::Broken { rows, broken } => {
            let (broken_seq, problem) = (broken.seq(), broken.to_string());
            let answer =
                v1::VerifyAuditResponse { rows, broken_seq, problem, checked_at, ..response };
            (None, answer)
        }
    };
    api.last_check.keep(check);
    Ok(answer)
}

fn whole(response: v1::VerifyAuditResponse, check: WholeLog) -> v1::VerifyAuditResponse {
    let WholeLog { checked_at, rows, head, checkpoints } = check;
    let head = head.hash.as_bytes().to_vec().into();
    v1::VerifyAuditResponse { whole: true, rows, head, checkpoints, checked_at, ..response }
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
