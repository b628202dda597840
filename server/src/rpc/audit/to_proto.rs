//! Converts rows of the audit log to their wire form.

use orion_domain::audit::AuditRow;
use orion_wire::v1;

/// Converts a row.
pub(super) fn row(row: AuditRow) -> v1::AuditRow {
    let AuditRow { seq, at, kind, call_id, body, prev_hash, hash } = row;
    v1::AuditRow {
        seq,
        at,
        kind,
        call_id,
        body,
        prev_hash: prev_hash.as_bytes().to_vec().into(),
        hash: hash.as_bytes().to_vec().into(),
    }
}
