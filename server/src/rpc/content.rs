//! `ContentService`: the streams on which devices move the content of calls.

mod move_content;

use std::pin::Pin;
use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::content_service_server::ContentService;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

use super::RpcResult;
use crate::backend::Backend;

type Outgoing = Pin<Box<dyn Stream<Item = Result<v1::MoveContentResponse, Status>> + Send>>;

/// What the service uses.
#[derive(Debug)]
pub(super) struct ContentApi {
    pub(super) backend: Arc<Backend>,
}

#[tonic::async_trait]
impl ContentService for ContentApi {
    type MoveContentStream = Outgoing;

    async fn move_content(
        &self,
        request: Request<Streaming<v1::MoveContentRequest>>,
    ) -> RpcResult<Self::MoveContentStream> {
        move_content::move_content(self, request).await.map(Response::new)
    }
}
