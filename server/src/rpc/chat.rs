//! `ChatService`: chats in which a model calls tools on the fleet.

use std::pin::Pin;
use std::sync::Arc;

use orion_domain::envelope::sentence;
use orion_domain::{ErrorCode, ToolError};
use orion_wire::v1::chat_service_server::ChatService;
use orion_wire::v1::send_message_response::Event as Wire;
use orion_wire::{call_state, status_from, v1};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status};

use super::approval::approval;
use super::tool::call;
use super::{Api, identity, status};
use crate::chat::{self, ChatError, Event, ToolUse};
use crate::model::Model;
use crate::store::StoreError;

/// Maximum length of a person's message, in bytes.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

type Chatting = Pin<Box<dyn Stream<Item = Result<v1::SendMessageResponse, Status>> + Send>>;

#[tonic::async_trait]
impl ChatService for Api {
    type SendMessageStream = Chatting;

    async fn send_message(
        &self,
        request: Request<v1::SendMessageRequest>,
    ) -> Result<Response<Chatting>, Status> {
        self.not_stopping()?;
        let by = identity(&request)?;
        let v1::SendMessageRequest { conversation_id, text, model } = request.into_inner();
        if text.trim().is_empty() || text.len() > MAX_MESSAGE_BYTES {
            return Err(status::invalid(format!("a message has 1 to {MAX_MESSAGE_BYTES} bytes")));
        }
        let conversation = (!conversation_id.is_empty())
            .then(|| conversation_id.parse())
            .transpose()
            .map_err(status::invalid)?;
        let backend = Arc::clone(&self.0);
        let (events, shown) = mpsc::channel(64);
        let answering = self.0.tasks.background.spawn(async move {
            chat::answer(&backend, by, conversation, &text, &model, &events).await
        });
        let shown = ReceiverStream::new(shown)
            .map(|event| Ok(v1::SendMessageResponse { event: Some(wire(event)) }));
        // The chat turn has dropped its sender by then, so this does not wait.
        let failure = futures_util::stream::once(async move {
            match answering.await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(Err(chat_status(error))),
                Err(_) => Some(Err(status::store(StoreError::Unavailable))),
            }
        });
        Ok(Response::new(Box::pin(shown.chain(failure.filter_map(|failed| failed)))))
    }

    async fn list_models(
        &self,
        _: Request<v1::ListModelsRequest>,
    ) -> Result<Response<v1::ListModelsResponse>, Status> {
        let models = self
            .0
            .models
            .iter()
            .map(|(name, model)| v1::Model {
                name: name.clone(),
                kind: match model {
                    Model::OpenAi(_) => "openai".to_owned(),
                    Model::Planner => "planner".to_owned(),
                },
                is_language_model: match model {
                    Model::OpenAi(_) => true,
                    Model::Planner => false,
                },
            })
            .collect();
        Ok(Response::new(v1::ListModelsResponse { models }))
    }
}

fn chat_status(error: ChatError) -> Status {
    match error {
        ChatError::Store(error) => status::store(error),
        ChatError::NoModel(_) => status::hinted(
            ErrorCode::NotFound,
            error,
            "name a model of `[[models]]` in orion-server.toml, or none for the first",
        ),
        ChatError::NoConversation => {
            status_from(&ToolError::new(ErrorCode::NotFound, sentence(&error.to_string())))
        }
        ChatError::Model(_) => {
            status_from(&ToolError::new(ErrorCode::ExecutionFailed, error.to_string()))
        }
        ChatError::Left => Status::cancelled("The conversation was left."),
        ChatError::Ended(ending) => status::ended(ending),
    }
}

fn wire(event: Event) -> Wire {
    match event {
        Event::Began { conversation, model } => {
            Wire::Began(v1::Began { conversation_id: conversation.to_string(), model })
        }
        Event::Text(text) => Wire::TextDelta(v1::TextDelta { text }),
        Event::CallBegan { call, written, quoted } => Wire::CallBegan(v1::CallBegan {
            call_id: call.to_string(),
            tool: written.tool,
            device: written.device.unwrap_or_default(),
            arguments: serde_json::Value::Object(written.arguments).to_string().into(),
            recovered: written.recovered,
            quoted,
        }),
        Event::ApprovalNeeded(row) => Wire::ApprovalNeeded(approval(*row)),
        Event::CallEnded(reply) => Wire::CallEnded(v1::CallEnded { call: Some(call(*reply)) }),
        Event::Note(text) => Wire::Note(v1::Note { text }),
        Event::Done { text, calls } => {
            Wire::Done(v1::Done { text, tools_used: calls.into_iter().map(tool_use).collect() })
        }
    }
}

fn tool_use(used: ToolUse) -> v1::ToolUse {
    let ToolUse { call, tool, device, state, code } = used;
    v1::ToolUse {
        call_id: call.to_string(),
        tool,
        device,
        state: call_state(state).into(),
        code: code.map(|code| code.as_str().to_owned()).unwrap_or_default(),
    }
}
