//! `InsightService`: counts calls, and suggests aliases, macros and rules.

mod get_insights;

use orion_wire::v1;
use orion_wire::v1::insight_service_server::InsightService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::store::Store;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct InsightApi {
    pub(super) store: Store,
}

#[tonic::async_trait]
impl InsightService for InsightApi {
    async fn get_insights(
        &self,
        request: Request<v1::GetInsightsRequest>,
    ) -> RpcResult<v1::GetInsightsResponse> {
        get_insights::get_insights(self, request.try_into()?).await.map(Response::new)
    }
}
