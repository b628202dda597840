//! `ListStandingRules`: the rules that approvals made.

use orion_wire::v1;
use tonic::Status;

use super::{ApprovalApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::status;

/// Lists the rules that approvals made and that have not ended.
pub(super) async fn list_standing_rules(
    api: &ApprovalApi,
) -> Result<v1::ListStandingRulesResponse, Status> {
    let rules = api.pipeline.store.standing_rules(now_ms()).await.map_err(status::store)?;
    Ok(v1::ListStandingRulesResponse { rules: rules.into_iter().map(to_proto::rule).collect() })
}
