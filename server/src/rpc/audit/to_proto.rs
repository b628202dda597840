//! Converts rows of the audit log to their wire form.

use orion_domain::audit::AuditRow;
use orion_wire::v1;

use crate::store::FoundRow;

/// Converts a row.
pub(super) fn row(found: FoundRow) -> v1::AuditRow {
    let FoundRow { row, user, device, tool, result, .. } = found;
    let AuditRow { seq, at, kind, call_id, body, prev_hash, hash } = row;
    v1::AuditRow {
        seq,
        at,
        kind,
        call_id,
        body,
        prev_hash: prev_hash.as_bytes().to_vec().into(),
        hash: hash.as_bytes().to_vec().into(),
        user,
        device,
        tool,
        result,
    }
}
