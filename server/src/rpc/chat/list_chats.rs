//! `ListChats`: the caller's chats.

use orion_wire::v1;
use tonic::Status;

use super::{ChatApi, to_proto};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// How many chats are listed for a caller who says no number.
const DEFAULT_LISTED: u32 = 50;
/// The longest text that is searched for, in bytes.
const MAX_TEXT_BYTES: usize = 1024;

/// Lists the caller's chats, the one with the newest message first; with `text` only those that hold it.
pub(super) async fn list_chats(
    api: &ChatApi,
    request: Signed<v1::ListChatsRequest>,
) -> Result<v1::ListChatsResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ListChatsRequest { text, limit } = message;
    if text.len() > MAX_TEXT_BYTES {
        let most = format!("a text to search for has {MAX_TEXT_BYTES} bytes at most");
        return Err(status::invalid(most));
    }
    let text = Some(text.as_str()).filter(|text| !text.is_empty());
    let limit = if limit == 0 { DEFAULT_LISTED } else { limit };
    let chats = api.chat.pipeline.store.chats(&identity.caller.user, text, limit).await;
    let chats = chats.map_err(status::store)?.into_iter().map(to_proto::summary).collect();
    Ok(v1::ListChatsResponse { chats })
}
