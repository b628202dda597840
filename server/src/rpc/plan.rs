//! `PlanService`: plans of several calls that are approved together.

mod create_plan;
mod decide_plan;
mod get_plan;
mod list_plans;
mod to_proto;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::plan_service_server::PlanService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::passkeys::Passkeys;
use crate::pipeline::Pipeline;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct PlanApi {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) passkeys: Arc<Passkeys>,
}

#[tonic::async_trait]
impl PlanService for PlanApi {
    async fn create_plan(
        &self,
        request: Request<v1::CreatePlanRequest>,
    ) -> RpcResult<v1::CreatePlanResponse> {
        create_plan::create_plan(self, request.try_into()?).await.map(Response::new)
    }

    async fn get_plan(
        &self,
        request: Request<v1::GetPlanRequest>,
    ) -> RpcResult<v1::GetPlanResponse> {
        get_plan::get_plan(self, request.try_into()?).await.map(Response::new)
    }

    async fn list_plans(
        &self,
        request: Request<v1::ListPlansRequest>,
    ) -> RpcResult<v1::ListPlansResponse> {
        list_plans::list_plans(self, request.try_into()?).await.map(Response::new)
    }

    async fn decide_plan(
        &self,
        request: Request<v1::DecidePlanRequest>,
    ) -> RpcResult<v1::DecidePlanResponse> {
        decide_plan::decide_plan(self, request.try_into()?).await.map(Response::new)
    }
}
