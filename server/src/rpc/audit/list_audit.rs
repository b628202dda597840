//! `ListAudit`: the newest rows of the audit log.

use orion_wire::v1;
use tonic::Status;

use super::{AuditApi, to_proto};
use crate::rpc::status;

/// Lists rows of the audit log, the newest first: of one call or all, before a row or from the end. `limit` 0
/// stands for 50; at most 1,000 are listed.
pub(super) async fn list_audit(
    api: &AuditApi,
    message: v1::ListAuditRequest,
) -> Result<v1::ListAuditResponse, Status> {
    let v1::ListAuditRequest { limit, before_seq, call_id } = message;
    let limit = if limit == 0 { 50 } else { limit.min(1000) };
    let before = (before_seq > 0).then_some(before_seq);
    let call = (!call_id.is_empty()).then_some(call_id.as_str());
    let rows = api.store.audit_rows(limit, before, call).await.map_err(status::store)?;
    Ok(v1::ListAuditResponse { rows: rows.into_iter().map(to_proto::row).collect() })
}
