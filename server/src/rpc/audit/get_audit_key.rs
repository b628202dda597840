//! `GetAuditKey`: the key that signs the audit log.

use orion_wire::v1;

use super::AuditApi;

/// Returns the public key that signs the audit log's checkpoints.
pub(super) fn get_audit_key(api: &AuditApi) -> v1::GetAuditKeyResponse {
    v1::GetAuditKeyResponse { key: api.notary.signer().key().to_string() }
}
