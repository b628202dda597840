//! `AccessRequestService`: requests for access that a device's grants deny, and their answers.

mod decide_access_request;
mod end_access_request;
mod get_access_request;
mod list_access_requests;
mod request_access;
mod to_proto;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::access_request_service_server::AccessRequestService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::pipeline::Pipeline;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct AccessRequestApi {
    pub(super) pipeline: Arc<Pipeline>,
}

#[tonic::async_trait]
impl AccessRequestService for AccessRequestApi {
    async fn request_access(
        &self,
        request: Request<v1::RequestAccessRequest>,
    ) -> RpcResult<v1::RequestAccessResponse> {
        request_access::request_access(self, request.try_into()?).await.map(Response::new)
    }

    async fn get_access_request(
        &self,
        request: Request<v1::GetAccessRequestRequest>,
    ) -> RpcResult<v1::GetAccessRequestResponse> {
        get_access_request::get_access_request(self, request.try_into()?).await.map(Response::new)
    }

    async fn list_access_requests(
        &self,
        request: Request<v1::ListAccessRequestsRequest>,
    ) -> RpcResult<v1::ListAccessRequestsResponse> {
        list_access_requests::list_access_requests(self, request.try_into()?)
            .await
            .map(Response::new)
    }

    async fn decide_access_request(
        &self,
        request: Request<v1::DecideAccessRequestRequest>,
    ) -> RpcResult<v1::DecideAccessRequestResponse> {
        decide_access_request::decide_access_request(self, request.try_into()?)
            .await
            .map(Response::new)
    }

    async fn end_access_request(
        &self,
        request: Request<v1::EndAccessRequestRequest>,
    ) -> RpcResult<v1::EndAccessRequestResponse> {
        end_access_request::end_access_request(self, request.try_into()?).await.map(Response::new)
    }
}
