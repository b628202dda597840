//! `GetTurn`: the calls of a turn of a chat.

use orion_wire::v1;
use tonic::Status;

use super::ChatApi;
use crate::pipeline::CallView;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::rpc::tool::to_proto::call;

/// Returns the calls of one turn of the caller's chats, oldest first and without results.
pub(super) async fn get_turn(
    api: &ChatApi,
    request: Signed<v1::GetTurnRequest>,
) -> Result<v1::GetTurnResponse, Status> {
    let Signed { identity, message } = request;
    let store = &api.chat.pipeline.store;
    let rows = store.calls_of_turn(&identity.caller.user, &message.turn_id).await;
    let rows = rows.map_err(status::store)?;
    let turn = rows.first().and_then(|row| row.turn);
    let view = |row| CallView { result: Vec::new(), ..CallView::from(row) };
    Ok(v1::GetTurnResponse {
        turn_id: turn.map(|turn| turn.to_string()).unwrap_or_default(),
        calls: rows.into_iter().map(view).map(call).collect(),
    })
}
