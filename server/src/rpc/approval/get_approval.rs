//! `GetApproval`: one approval request.

use orion_wire::v1;
use tonic::Status;

use super::{ApprovalApi, to_proto};
use crate::rpc::status;

/// Returns one approval request with its whole card, by its id or the beginning of it.
pub(super) async fn get_approval(
    api: &ApprovalApi,
    message: v1::GetApprovalRequest,
) -> Result<v1::GetApprovalResponse, Status> {
    let v1::GetApprovalRequest { approval_id } = message;
    let row = api.pipeline.store.find_approval(&approval_id).await.map_err(status::store)?;
    Ok(v1::GetApprovalResponse { approval: Some(to_proto::approval(row)) })
}
