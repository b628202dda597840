//! `ChatService`: chats in which a model calls tools on the fleet.

mod get_chat;
mod get_turn;
mod list_chats;
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

    async fn list_chats(
        &self,
        request: Request<v1::ListChatsRequest>,
    ) -> RpcResult<v1::ListChatsResponse> {
        list_chats::list_chats(self, request.try_into()?).await.map(Response::new)
    }

    async fn get_chat(
        &self,
        request: Request<v1::GetChatRequest>,
    ) -> RpcResult<v1::GetChatResponse> {
        get_chat::get_chat(self, request.try_into()?).await.map(Response::new)
    }

    async fn get_turn(
        &self,
        request: Request<v1::GetTurnRequest>,
    ) -> RpcResult<v1::GetTurnResponse> {
        get_turn::get_turn(self, request.try_into()?).await.map(Response::new)
    }
}
