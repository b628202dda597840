//! `RevokeStandingRule`: ends a rule that an approval made.

use orion_wire::v1;
use tonic::Status;

use super::{ApprovalApi, to_proto};
use crate::pipeline::confirm;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Ends the rule that an approval made. From then on the calls that it allowed are decided without it.
pub(super) async fn revoke_standing_rule(
    api: &ApprovalApi,
    request: Signed<v1::RevokeStandingRuleRequest>,
) -> Result<v1::RevokeStandingRuleResponse, Status> {
    let Signed { identity, message } = request;
    let v1::RevokeStandingRuleRequest { approval_id } = message;
    let revoked = confirm::revoke_rule(&api.pipeline, &approval_id, &identity.caller.user).await;
    let rule = to_proto::rule(revoked.map_err(status::store)?);
    Ok(v1::RevokeStandingRuleResponse { rule: Some(rule) })
}
