//! `SendMessage`: a person's message in a chat, and everything that follows from it.

use std::pin::Pin;
use std::sync::Arc;

use orion_wire::v1;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::Status;

use super::{ChatApi, to_proto};
use crate::chat;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::StoreError;

/// Maximum length of a person's message, in bytes.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// The stream of a chat turn.
pub(super) type Events =
    Pin<Box<dyn Stream<Item = Result<v1::SendMessageResponse, Status>> + Send>>;

/// Sends a message to a model, in a new chat or one of the caller's, and streams the model's text, its calls,
/// approval requests and results until the turn is over. The turn ends when the client disconnects; calls in
/// flight continue.
pub(super) fn send_message(
    api: &ChatApi,
    request: Signed<v1::SendMessageRequest>,
) -> Result<Events, Status> {
    let Signed { identity: by, message } = request;
    let tasks = &api.chat.pipeline.tasks;
    status::not_stopping(tasks)?;
    let v1::SendMessageRequest { conversation_id, text, model, assistant, resume } = message;
    if resume && (!text.is_empty() || conversation_id.is_empty()) {
        return Err(status::invalid("to resume a turn, name its chat and say nothing"));
    }
    if !resume && (text.trim().is_empty() || text.len() > MAX_MESSAGE_BYTES) {
        return Err(status::invalid(format!("a message has 1 to {MAX_MESSAGE_BYTES} bytes")));
    }
    let conversation = (!conversation_id.is_empty())
        .then(|| conversation_id.parse())
        .transpose()
        .map_err(status::invalid)?;
    let said = chat::Said { conversation, context: Vec::new(), text, model, assistant, resume };
    let chat = Arc::clone(&api.chat);
    let (events, shown) = mpsc::channel(64);
    let answering =
        tasks.background.spawn(async move { chat::answer(&chat, by, &said, &events).await });
    let shown = ReceiverStream::new(shown)
        .map(|event| Ok(v1::SendMessageResponse { event: Some(to_proto::event(event)) }));
    // The chat turn has dropped its sender by then, so this does not wait.
    let failure = futures_util::stream::once(async move {
        match answering.await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Err(status::chat(error))),
            Err(_) => Some(Err(status::store(StoreError::Unavailable))),
        }
    });
    Ok(Box::pin(shown.chain(failure.filter_map(|failed| failed))))
}
