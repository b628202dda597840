//! The result of a call as MCP has it: the envelope as structured content and as text.

use orion_domain::Envelope;
use rmcp::model::{
    CallToolResult, ContentBlock, ElicitRequestParams, ElicitationSchema, InputRequest,
    InputRequests, InputRequiredResult, Request, Resource,
};
use serde_json::{Value, json};

use super::resources::call_uri;
use crate::pipeline::CallView;
use crate::secret_values;

/// The name of the question about an approval.
pub(super) const APPROVAL: &str = "approval";

/// Returns the result of a call that has ended.
pub(super) fn ended(view: &CallView, limit: usize) -> CallToolResult {
    let envelope: Option<Envelope> = serde_json::from_slice(&view.result).ok();
    let succeeded = envelope.as_ref().is_some_and(|envelope| envelope.success);
    let structured = match envelope.map(serde_json::to_value) {
        Some(Ok(mut envelope)) => {
            // Which call it is of, the backend says itself: a device may name another.
            envelope["meta"]["call_id"] = json!(view.call);
            envelope["meta"]["tool"] = json!(view.tool);
            envelope["meta"]["device"] = json!(view.device);
            secret_values::hide_in(&mut envelope);
            envelope
        }
        Some(Err(_)) | None => json!({"success": false, "message": "There is no result."}),
    };
    of(structured, succeeded, limit)
}

/// Returns the result of a call that waits, for a client that cannot wait with it.
pub(super) fn waits(view: &CallView) -> CallToolResult {
    let message = waiting(view);
    let structured = json!({
        "success": false,
        "message": message,
        "data": {"call_id": view.call, "state": view.state.as_str(), "approval_id": view.approval},
        "error": null,
        "dry_run": view.dry_run,
    });
    let mut result = of(structured, false, usize::MAX);
    let uri = call_uri(view.call);
    let link = Resource::new(uri, "call").with_description("The call, with its result at its end.");
    result.content.push(ContentBlock::resource_link(link));
    result
}

/// Returns what a client that can ask its person is asked for: to approve elsewhere. The answer approves nothing; the
/// client sends its request again, with this state.
pub(super) fn input_required(view: &CallView, state: String) -> InputRequiredResult {
    let message = format!(
        "{} Accept once it is approved or denied; decline to cancel the call. Neither approves it.",
        waiting(view)
    );
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: ElicitationSchema::new(std::collections::BTreeMap::new()),
    };
    let asked = InputRequest::Elicitation(Request::new(params));
    let asked = InputRequests::from([(APPROVAL.to_owned(), asked)]);
    InputRequiredResult::new(Some(asked), Some(state))
}

fn waiting(view: &CallView) -> String {
    let device = view.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let call = format!("`{}` on {device}", view.tool);
    match view.approval {
        Some(approval) => format!(
            "{call} waits for a person's approval, and has not run: `orion approvals show {approval}`."
        ),
        None => format!(
            "{call} waits for its device, and has not run: `orion calls show {}`.",
            view.call
        ),
    }
}

fn of(structured: Value, succeeded: bool, limit: usize) -> CallToolResult {
    let text = structured.to_string();
    let shown = text.get(..text.floor_char_boundary(limit)).unwrap_or_default();
    let shown = if shown.len() < text.len() {
        format!("{shown}\n[cut: {} of {} bytes shown]", shown.len(), text.len())
    } else {
        text
    };
    let content = vec![ContentBlock::text(shown)];
    let mut result =
        if succeeded { CallToolResult::success(content) } else { CallToolResult::error(content) };
    result.structured_content = Some(structured);
    result
}
