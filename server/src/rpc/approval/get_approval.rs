//! `GetApproval`: one approval request.

use orion_wire::{call_state, v1};
use tonic::Status;

use super::{ApprovalApi, to_proto};
use crate::pipeline::confirm::{self, Coverage};
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::ApprovalState;

/// Returns one approval request with its whole card, by its id or the beginning of it.
pub(super) async fn get_approval(
    api: &ApprovalApi,
    request: Signed<v1::GetApprovalRequest>,
) -> Result<v1::GetApprovalResponse, Status> {
    let Signed { identity, message: v1::GetApprovalRequest { approval_id, with_rules } } = request;
    let store = &api.pipeline.store;
    let row = store.find_approval(&approval_id).await.map_err(status::store)?;
    let refused = if row.state == ApprovalState::Open {
        store.approver_refusal(&row, &identity.caller).await.map_err(status::store)?
    } else {
        None
    };
    let refused = refused.map(|refused| refused.to_string()).unwrap_or_default();
    let is_more_possible = with_rules && row.state == ApprovalState::Open && row.may_stand;
    let (rule, folder_rule) = if is_more_possible {
        let covered = confirm::coverage(&api.pipeline, &row, &identity.caller).await;
        let [rule, folder_rule] = covered.map_err(status::store)?.map(coverage);
        (Some(rule), Some(folder_rule))
    } else {
        (None, None)
    };
    let call = match row.state {
        ApprovalState::Approved => Some(store.call(row.call).await.map_err(status::store)?),
        ApprovalState::Open
        | ApprovalState::Denied
        | ApprovalState::Expired
        | ApprovalState::Withdrawn => None,
    };
    // How it ended is no secret from who may approve it; what it returned is its caller's.
    let approval = Some(v1::Approval {
        call_state: call
            .as_ref()
            .map_or(v1::CallState::Unspecified, |it| call_state(it.state))
            .into(),
        call_code: call
            .and_then(|it| it.code)
            .map(|code| code.as_str().to_owned())
            .unwrap_or_default(),
        ..to_proto::approval(row)
    });
    Ok(v1::GetApprovalResponse { approval, refused, rule, folder_rule })
}

fn coverage(covered: Coverage) -> v1::RuleCoverage {
    match covered {
        Ok(paths) => v1::RuleCoverage { paths, refused: String::new() },
        Err(refused) => v1::RuleCoverage { paths: Vec::new(), refused },
    }
}
