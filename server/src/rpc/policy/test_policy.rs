//! `TestPolicy`: what a policy file would have decided.

use std::time::Instant;

use orion_wire::v1;
use tonic::Status;

use super::checked::checked;
use super::{PolicyApi, to_proto};
use crate::clock::now_ms;
use crate::policy::{self, Checked};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Replays recorded calls through a policy file that is not active, and compares the decisions with those of
/// the active one.
pub(super) async fn test_policy(
    api: &PolicyApi,
    request: Signed<v1::TestPolicyRequest>,
) -> Result<v1::TestPolicyResponse, Status> {
    let Signed { identity, message } = request;
    let slot = api.heavy.begin(&identity.caller.user).map_err(status::tool_error)?;
    let v1::TestPolicyRequest { text, since } = message;
    let Checked { file, findings, .. } = checked(api, text).await?;
    let Some(file) = file else {
        let findings = findings.iter().map(to_proto::finding).collect();
        let nothing = v1::TestPolicyResponse::default();
        return Ok(v1::TestPolicyResponse { findings, ..nothing });
    };
    let begun = Instant::now();
    let replayed = policy::replay(&api.devices, file, since, &slot).await.map_err(status::store)?;
    let took_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(to_proto::replayed(replayed, since, now_ms(), took_us))
}
