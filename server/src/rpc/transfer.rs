//! `TransferService`: moves the content of a person's calls in parts.

mod download_part;
mod upload_part;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::transfer_service_server::TransferService;
use tonic::{Request, Response, Status};

use super::{RpcResult, status};
use crate::pipeline::Pipeline;
use crate::pipeline::content::ContentError;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct TransferApi {
    pub(super) pipeline: Arc<Pipeline>,
}

#[tonic::async_trait]
impl TransferService for TransferApi {
    async fn upload_part(
        &self,
        request: Request<v1::UploadPartRequest>,
    ) -> RpcResult<v1::UploadPartResponse> {
        upload_part::upload_part(self, request.try_into()?).await.map(Response::new)
    }

    async fn download_part(
        &self,
        request: Request<v1::DownloadPartRequest>,
    ) -> RpcResult<v1::DownloadPartResponse> {
        download_part::download_part(self, request.try_into()?).await.map(Response::new)
    }
}

/// The status for a part that did not move.
fn failed(error: ContentError) -> Status {
    match error {
        ContentError::Refused(error) | ContentError::Denied(error) => status::tool_error(*error),
        ContentError::Store(error) => status::store(error),
    }
}
