//! `MemoryService`: lists and deletes what people keep for later chats.

mod forget_memory;
mod list_memories;
mod to_proto;

use orion_wire::v1;
use orion_wire::v1::memory_service_server::MemoryService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::store::Store;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct MemoryApi {
    pub(super) store: Store,
}

#[tonic::async_trait]
impl MemoryService for MemoryApi {
    async fn list_memories(
        &self,
        request: Request<v1::ListMemoriesRequest>,
    ) -> RpcResult<v1::ListMemoriesResponse> {
        list_memories::list_memories(self, request.try_into()?).await.map(Response::new)
    }

    async fn forget_memory(
        &self,
        request: Request<v1::ForgetMemoryRequest>,
    ) -> RpcResult<v1::ForgetMemoryResponse> {
        forget_memory::forget_memory(self, request.try_into()?).await.map(Response::new)
    }
}
