//! `GetApproval`: one approval request.

use orion_domain::Caller;
use orion_wire::v1;
use tonic::Status;

use super::{ApprovalApi, to_proto};
use crate::pipeline::confirm;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::{ApprovalRow, ApprovalState};

/// Returns one approval request with its whole card, by its id or the beginning of it.
pub(super) async fn get_approval(
    api: &ApprovalApi,
    request: Signed<v1::GetApprovalRequest>,
) -> Result<v1::GetApprovalResponse, Status> {
    let Signed { identity, message: v1::GetApprovalRequest { approval_id } } = request;
    let store = &api.pipeline.store;
    let row = store.find_approval(&approval_id).await.map_err(status::store)?;
    let refused = if row.state == ApprovalState::Open {
        store.approver_refusal(&row, &identity.caller).await.map_err(status::store)?
    } else {
        None
    };
    let refused = refused.map(|refused| refused.to_string()).unwrap_or_default();
    let rule = coverage(api, &row, &identity.caller, false).await;
    let folder_rule = coverage(api, &row, &identity.caller, true).await;
    let approval = Some(to_proto::approval(row));
    Ok(v1::GetApprovalResponse { approval, refused, rule, folder_rule })
}

async fn coverage(
    api: &ApprovalApi,
    row: &ApprovalRow,
    by: &Caller,
    folder: bool,
) -> Option<v1::RuleCoverage> {
    if row.state != ApprovalState::Open || !row.may_stand {
        return None;
    }
    let covered = confirm::coverage(&api.pipeline, row, by, folder).await;
    let (paths, refused) = match covered {
        Ok(paths) => (paths, String::new()),
        Err(error) => (Vec::new(), error.to_string()),
    };
    Some(v1::RuleCoverage { paths, refused })
}
