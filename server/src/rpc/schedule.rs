//! `ScheduleService`: lists and cancels tasks.

mod cancel_schedule;
mod list_schedules;
mod to_proto;

use orion_wire::v1;
use orion_wire::v1::schedule_service_server::ScheduleService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::store::Store;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct ScheduleApi {
    pub(super) store: Store,
}

#[tonic::async_trait]
impl ScheduleService for ScheduleApi {
    async fn list_schedules(
        &self,
        request: Request<v1::ListSchedulesRequest>,
    ) -> RpcResult<v1::ListSchedulesResponse> {
        list_schedules::list_schedules(self, request.try_into()?).await.map(Response::new)
    }

    async fn cancel_schedule(
        &self,
        request: Request<v1::CancelScheduleRequest>,
    ) -> RpcResult<v1::CancelScheduleResponse> {
        cancel_schedule::cancel_schedule(self, request.try_into()?).await.map(Response::new)
    }
}
