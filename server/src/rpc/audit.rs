//! `AuditService`: lists, exports and verifies the audit log.

mod export_audit;
mod get_audit_key;
mod last_check;
mod list_audit;
mod to_proto;
mod verify_audit;

pub(super) use last_check::LastCheck;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::audit_service_server::AuditService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::fleet::Fleet;
use crate::notary::Notary;
use crate::people::HeavyRequests;
use crate::store::Store;
use crate::tasks::Tasks;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct AuditApi {
    pub(super) store: Store,
    pub(super) notary: Arc<Notary>,
    pub(super) fleet: Arc<Fleet>,
    pub(super) heavy: HeavyRequests,
    pub(super) tasks: Tasks,
    pub(super) last_check: LastCheck,
}

#[tonic::async_trait]
impl AuditService for AuditApi {
    type ExportAuditStream = export_audit::Lines;

    async fn list_audit(
        &self,
        request: Request<v1::ListAuditRequest>,
    ) -> RpcResult<v1::ListAuditResponse> {
        list_audit::list_audit(self, request.into_inner()).await.map(Response::new)
    }

    async fn export_audit(
        &self,
        _: Request<v1::ExportAuditRequest>,
    ) -> RpcResult<Self::ExportAuditStream> {
        Ok(Response::new(export_audit::export_audit(self)))
    }

    async fn verify_audit(
        &self,
        request: Request<v1::VerifyAuditRequest>,
    ) -> RpcResult<v1::VerifyAuditResponse> {
        verify_audit::verify_audit(self, request.try_into()?).await.map(Response::new)
    }

    async fn get_audit_key(
        &self,
        _: Request<v1::GetAuditKeyRequest>,
    ) -> RpcResult<v1::GetAuditKeyResponse> {
        Ok(Response::new(get_audit_key::get_audit_key(self)))
    }
}
