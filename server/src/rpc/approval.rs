//! `ApprovalService`: lists, watches and decides approval requests.

mod decide_approval;
mod get_approval;
mod get_approval_stats;
mod list_approvals;
mod list_standing_rules;
mod revoke_standing_rule;
pub(super) mod to_proto;
mod watch_approvals;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::approval_service_server::ApprovalService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::passkeys::Passkeys;
use crate::pipeline::Pipeline;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct ApprovalApi {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) passkeys: Arc<Passkeys>,
}

#[tonic::async_trait]
impl ApprovalService for ApprovalApi {
    type WatchApprovalsStream = watch_approvals::Updates;

    async fn list_approvals(
        &self,
        request: Request<v1::ListApprovalsRequest>,
    ) -> RpcResult<v1::ListApprovalsResponse> {
        list_approvals::list_approvals(self, request.into_inner()).await.map(Response::new)
    }

    async fn get_approval(
        &self,
        request: Request<v1::GetApprovalRequest>,
    ) -> RpcResult<v1::GetApprovalResponse> {
        get_approval::get_approval(self, request.try_into()?).await.map(Response::new)
    }

    async fn get_approval_stats(
        &self,
        request: Request<v1::GetApprovalStatsRequest>,
    ) -> RpcResult<v1::GetApprovalStatsResponse> {
        get_approval_stats::get_approval_stats(self, request.into_inner()).await.map(Response::new)
    }

    async fn decide_approval(
        &self,
        request: Request<v1::DecideApprovalRequest>,
    ) -> RpcResult<v1::DecideApprovalResponse> {
        decide_approval::decide_approval(self, request.try_into()?).await.map(Response::new)
    }

    async fn list_standing_rules(
        &self,
        _: Request<v1::ListStandingRulesRequest>,
    ) -> RpcResult<v1::ListStandingRulesResponse> {
        list_standing_rules::list_standing_rules(self).await.map(Response::new)
    }

    async fn revoke_standing_rule(
        &self,
        request: Request<v1::RevokeStandingRuleRequest>,
    ) -> RpcResult<v1::RevokeStandingRuleResponse> {
        revoke_standing_rule::revoke_standing_rule(self, request.try_into()?)
            .await
            .map(Response::new)
    }

    async fn watch_approvals(
        &self,
        _: Request<v1::WatchApprovalsRequest>,
    ) -> RpcResult<Self::WatchApprovalsStream> {
        watch_approvals::watch_approvals(self).await.map(Response::new)
    }
}
