//! Converts tools, calls and explanations to their wire form.

use orion_catalog::ToolSpec;
use orion_domain::DeviceName;
use orion_wire::{call_state, risk, v1};
use serde_json::Value;

use crate::fleet::{CallProgress, Fleet};
use crate::pipeline::CallView;
use crate::pipeline::explain::Explanation;
use crate::secret_values;
use crate::store::{AliasRow, AnnouncedTool, CustomToolRow, CustomToolState, ListedCall, StopRow};

/// Converts a tool.
pub(super) fn tool(spec: &ToolSpec) -> v1::Tool {
    v1::Tool {
        name: spec.name.to_owned(),
        aliases: spec.aliases.iter().map(|alias| alias.name.to_owned()).collect(),
        category: spec.category.as_str().to_owned(),
        description: spec.description.to_owned(),
        risk: risk(spec.risk).into(),
        permissions: spec.capabilities.iter().map(ToString::to_string).collect(),
        arguments_schema: spec.arguments_schema().to_string(),
        returns_schema: spec.returns_schema().to_string(),
        has_effects: spec.has_effects,
        undo: spec.undo,
        untrusted: spec.untrusted || spec.untrusted_preview,
        example: spec.example.to_owned(),
        allowed_devices: spec.allowed_devices.iter().map(ToString::to_string).collect(),
        definition: spec.definition().map(|(_, digest)| digest.to_string()).unwrap_or_default(),
    }
}

/// Converts a call that was made.
pub(super) fn call_tool_response(view: CallView) -> v1::CallToolResponse {
    v1::CallToolResponse { call: Some(call(view)), evidence: Vec::new() }
}

/// Converts the explanation of a call that was not made.
pub(super) fn explanation(explanation: Explanation) -> v1::CallToolResponse {
    let Explanation { decision, refusal, trace, .. } = explanation;
    let evidence = trace
        .into_iter()
        .map(|(line, name, deciding)| v1::Evidence {
            layer: line.layer.as_str().to_owned(),
            decision: line.decision.as_str().to_owned(),
            name,
            deciding,
        })
        .collect();
    let result = serde_json::json!({"decision": decision, "error": refusal});
    let call = v1::Call { result: result.to_string().into(), ..v1::Call::default() };
    v1::CallToolResponse { call: Some(call), evidence }
}

/// Converts a call, with its progress where its device reported one.
pub(super) fn call_in_progress(fleet: &Fleet, view: CallView) -> v1::Call {
    let advance = fleet.waiting().advance_of(view.call).map(|advance| {
        let CallProgress { done, total, note } = advance;
        v1::CallAdvance { done, total, note }
    });
    v1::Call { advance, ..call(view) }
}

/// Converts a call of a list, with what it would touch.
pub(super) fn listed(fleet: &Fleet, listed: ListedCall) -> v1::Call {
    let ListedCall { mut call, undone } = listed;
    let touches = std::mem::take(&mut call.touches);
    v1::Call { touches, undone, ..call_in_progress(fleet, CallView::from(call)) }
}

/// Converts a recorded call, with its progress and with the secrets in its result hidden.
pub(super) fn recorded_in_progress(fleet: &Fleet, view: CallView) -> v1::Call {
    without_secrets(call_in_progress(fleet, view))
}

/// Converts a recorded call, with the secrets in its result hidden.
pub(in crate::rpc) fn recorded(view: CallView) -> v1::Call {
    without_secrets(call(view))
}

fn without_secrets(call: v1::Call) -> v1::Call {
    match secret_values::hidden_in_json(&call.result) {
        Some(result) => v1::Call { result: result.into(), ..call },
        None => call,
    }
}

/// Converts a call, for the person who makes it.
pub(in crate::rpc) fn call(view: CallView) -> v1::Call {
    let CallView {
        call,
        state,
        tool,
        device,
        arguments,
        dry_run,
        result,
        approval,
        caller,
        created_at,
        queued_until,
        closed_at,
    } = view;
    v1::Call {
        call_id: call.to_string(),
        state: call_state(state).into(),
        tool,
        device: device.map(String::from).unwrap_or_default(),
        arguments: arguments.into(),
        dry_run,
        result: result.into(),
        approval_id: approval.map(|id| id.to_string()).unwrap_or_default(),
        created_at,
        closed_at: closed_at.unwrap_or_default(),
        caller: caller.user.to_string(),
        advance: None,
        queued_until: queued_until.unwrap_or_default(),
        touches: Vec::new(),
        undone: false,
        undone_by: String::new(),
    }
}

/// Converts a stop.
pub(super) fn stop(stop: StopRow) -> v1::Stop {
    let StopRow { scope, device_name, by, at, reason } = stop;
    v1::Stop {
        user: scope.user.map(|user| user.to_string()).unwrap_or_default(),
        device: device_name.map(String::from).unwrap_or_default(),
        stopped_by: by.to_string(),
        stopped_at: at,
        reason,
    }
}

/// Converts a custom tool of a device.
pub(super) fn custom_tool(device: &DeviceName, row: CustomToolRow) -> v1::CustomTool {
    let CustomToolRow {
        device: _,
        tool: AnnouncedTool { name, definition, digest },
        state,
        risk: given,
        is_announced,
        announced_at,
        decided_by,
        decided_at,
    } = row;
    let state = match state {
        CustomToolState::Pending => v1::CustomToolState::Pending,
        CustomToolState::Approved => v1::CustomToolState::Approved,
        CustomToolState::Rejected => v1::CustomToolState::Rejected,
    };
    v1::CustomTool {
        device: device.to_string(),
        name,
        state: state.into(),
        definition: definition.into(),
        digest: digest.to_string(),
        risk: given.map_or(v1::Risk::Unspecified, risk).into(),
        is_announced,
        announced_at,
        decided_by,
        decided_at,
    }
}

/// Converts an alias of a person.
pub(super) fn alias(alias: AliasRow) -> v1::Alias {
    let AliasRow { user: _, name, tool, arguments, set_at } = alias;
    let arguments = Value::Object(arguments).to_string().into_bytes().into();
    v1::Alias { name, tool, arguments, set_at }
}
