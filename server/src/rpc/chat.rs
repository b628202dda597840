//! `ChatService`: chats in which a model calls tools on the fleet.

mod list_models;
mod send_message;
mod to_proto;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::chat_service_server::ChatService;
use tonic::{Request, Response};

use super::RpcResult;
use crate::chat::Chat;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct ChatApi {
    pub(super) chat: Arc<Chat>,
}

#[tonic::async_trait]
impl ChatService for ChatApi {
    type SendMessageStream = send_message::Events;

    async fn send_message(
        &self,
        request: Request<v1::SendMessageRequest>,
    ) -> RpcResult<Self::SendMessageStream> {
        send_message::send_message(self, request.try_into()?).map(Response::new)
    }

    async fn list_models(
        &self,
        _: Request<v1::ListModelsRequest>,
    ) -> RpcResult<v1::ListModelsResponse> {
        Ok(Response::new(list_models::list_models(self)))
    }
}
