//! `EnrollmentService`: enrolls devices and issues their first certificates.

mod await_confirmation;
mod enroll;
mod get_enrollment;
mod request_enrollment;
mod to_proto;

use orion_wire::v1;
use orion_wire::v1::enrollment_service_server::EnrollmentService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::fleet::enrollment::Enrollment;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct EnrollmentApi {
    pub(super) enrollment: Enrollment,
}

#[tonic::async_trait]
impl EnrollmentService for EnrollmentApi {
    async fn enroll(&self, request: Request<v1::EnrollRequest>) -> RpcResult<v1::EnrollResponse> {
        enroll::enroll(self, request).await.map(Response::new)
    }

    async fn get_enrollment(
        &self,
        request: Request<v1::GetEnrollmentRequest>,
    ) -> RpcResult<v1::GetEnrollmentResponse> {
        get_enrollment::get_enrollment(self, request.into_inner()).await.map(Response::new)
    }

    async fn request_enrollment(
        &self,
        request: Request<v1::RequestEnrollmentRequest>,
    ) -> RpcResult<v1::RequestEnrollmentResponse> {
        request_enrollment::request_enrollment(self, request).map(Response::new)
    }

    async fn await_confirmation(
        &self,
        request: Request<v1::AwaitConfirmationRequest>,
    ) -> RpcResult<v1::AwaitConfirmationResponse> {
        await_confirmation::await_confirmation(self, request.into_inner()).map(Response::new)
    }
}
