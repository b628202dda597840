//! `GetChat`: the messages of a chat.

use orion_wire::v1;
use prost::Message as _;
use tonic::Status;

use super::{ChatApi, to_proto};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// The most bytes of one answer.
const MAX_BYTES: usize = 3 * 1024 * 1024;

/// How many messages are returned.
const MAX_MESSAGES: u32 = 500;

/// Returns the newest 500 messages of one of the caller's chats, oldest first.
pub(super) async fn get_chat(
    api: &ChatApi,
    request: Signed<v1::GetChatRequest>,
) -> Result<v1::GetChatResponse, Status> {
    let Signed { identity, message } = request;
    let (store, user) = (&api.chat.pipeline.store, &identity.caller.user);
    let id = store.find_chat(user, &message.conversation_id).await.map_err(status::store)?;
    let messages = store.messages(id, user, MAX_MESSAGES).await.map_err(status::store)?;
    let can_go_on = messages.last().is_some_and(|last| !to_proto::is_answer(last));
    let turns = store.turns(id).await.map_err(status::store)?;
    let turns = turns.into_iter().map(to_proto::turn).collect();
    let mut room = MAX_BYTES;
    let fits = |message: &v1::ChatMessage| {
        let left = room.checked_sub(message.encoded_len());
        room = left.unwrap_or(0);
        left.is_some()
    };
    let newest = messages.into_iter().rev().filter_map(to_proto::message).take_while(fits);
    let mut messages: Vec<_> = newest.collect();
    messages.reverse();
    Ok(v1::GetChatResponse { conversation_id: id.to_string(), messages, turns, can_go_on })
}
