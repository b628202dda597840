//! `ListAudit`: the newest rows of the audit log.

use orion_wire::v1;
use tonic::Status;

use super::{AuditApi, to_proto};
use crate::rpc::status;
use crate::store::AuditFilter;

/// The default number of rows.
const DEFAULT_ROWS: usize = 50;
/// The maximum number of rows.
const MAX_ROWS: usize = 1_000;

/// Lists rows of the audit log, the newest first: those that the filters want, before a row or from the end.
/// `limit` 0 stands for 50; at most 1,000 are listed.
pub(super) async fn list_audit(
    api: &AuditApi,
    message: v1::ListAuditRequest,
) -> Result<v1::ListAuditResponse, Status> {
    let v1::ListAuditRequest {
        limit,
        before_seq,
        call_id: call,
        user,
        device,
        tool,
        since,
        until,
        denied,
    } = message;
    let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(DEFAULT_ROWS);
    let given = |number: i64| (number > 0).then_some(number);
    let filter =
        AuditFilter { call, user, device, tool, since: given(since), until: given(until), denied };
    let found = api.store.search_audit(&filter, given(before_seq), limit.min(MAX_ROWS)).await;
    let found = found.map_err(status::store)?;
    Ok(v1::ListAuditResponse {
        rows: found.rows.into_iter().map(to_proto::row).collect(),
        searched_to: found.searched_to.unwrap_or_default(),
    })
}
