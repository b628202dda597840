//! `CallTool`: runs a call, or explains what would become of it.

use orion_wire::{call_request, v1};
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::people::Identity;
use crate::pipeline::call::CallContext;
use crate::pipeline::explain::explain;
use crate::pipeline::names::resolve;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::Provenance;

/// Maximum size of the arguments that are parsed before the caller's permission is checked, in bytes.
const MAX_UNREAD_BYTES: usize = 64 * 1024;

/// Calls a tool. Answers when the call has ended or waits for an approval or its device; with `background`,
/// as soon as the call is stored; with `explain`, what would be decided, and nothing runs. A denied or failed
/// call is an answer, not an error of the RPC.
pub(super) async fn call_tool(
    api: &ToolApi,
    request: Signed<v1::CallToolRequest>,
) -> Result<v1::CallToolResponse, Status> {
    let Signed { identity: Identity { caller, token, .. }, mut message } = request;
    let (background, moves_content) = (message.background, message.moves_content);
    let in_context =
        |context| CallContext { background, moves_content, token: Some(token), ..context };
    if message.arguments.len() > MAX_UNREAD_BYTES && !message.explain {
        // Large arguments are parsed only when the caller may call the tool at all.
        let arguments = std::mem::take(&mut message.arguments);
        let (mut unread, _) = call_request(message.clone()).map_err(status::wire)?;
        let alias = resolve(&api.pipeline, &caller, &mut unread).await.map_err(status::store)?;
        let unread = CallContext { alias, ..CallContext::new(caller.clone(), unread) };
        let unread = in_context(unread);
        if let Some(denied) = api.pipeline.deny_unread(unread).await.map_err(status::store)? {
            return Ok(to_proto::call_tool_response(denied));
        }
        message.arguments = arguments;
    }
    let (mut request, asks_why) = call_request(message).map_err(status::wire)?;
    let alias = resolve(&api.pipeline, &caller, &mut request).await.map_err(status::store)?;
    if asks_why {
        let why = explain(&api.pipeline, caller, request, None, Provenance::default()).await;
        return Ok(to_proto::explanation(why.map_err(status::store)?));
    }
    status::not_stopping(&api.pipeline.tasks)?;
    let context = in_context(CallContext { alias, ..CallContext::new(caller, request) });
    let view = if background {
        api.pipeline.start(context).await
    } else {
        api.pipeline.run(context).await
    };
    view.map(to_proto::call_tool_response).map_err(status::store)
}
