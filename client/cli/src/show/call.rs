//! Formats calls.

use orion_domain::CallState;
use orion_wire::{call_state_from, v1};
use serde::Serialize;
use serde_json::Value;

use super::short_arguments;
use crate::output::{Output, facts, table};
use crate::text;

/// What stands in the place of a secret begins so.
pub(crate) const HIDDEN_SECRET: &str = "[secret: ";

/// Says that secrets in the result of a call are hidden, and how they are seen.
pub(crate) fn note_hidden_secrets(out: &Output, call_id: &str) {
    let id = text::one_line(text::short_id(call_id), 40);
    out.next(&format!(
        "secrets in the result are hidden; `orion calls show {id} --reveal` shows them, and the audit log records it"
    ));
}

/// A call for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CallView {
    pub(crate) call_id: String,
    pub(crate) state: &'static str,
    pub(crate) tool: String,
    pub(crate) device: String,
    pub(crate) caller: String,
    pub(crate) dry_run: bool,
    pub(crate) arguments: Value,
    pub(crate) result: Value,
    pub(crate) approval_id: String,
    pub(crate) done: u64,
    pub(crate) total: u64,
    pub(crate) note: String,
    pub(crate) created_at: i64,
    pub(crate) queued_until: i64,
    pub(crate) closed_at: i64,
    /// Only lists tell this.
    pub(crate) touches: Vec<String>,
    /// Lists do not tell this.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) undone: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) undone_by: String,
}

impl From<v1::Call> for CallView {
    fn from(call: v1::Call) -> Self {
        let v1::Call {
            call_id,
            state,
            tool,
            device,
            arguments,
            dry_run,
            result,
            approval_id,
            created_at,
            closed_at,
            caller,
            advance,
            queued_until,
            touches,
            undone,
            undone_by,
        } = call;
        let v1::CallAdvance { done, total, note } = advance.unwrap_or_default();
        Self {
            call_id,
            state: call_state_from(state).unwrap_or(CallState::Unknown).as_str(),
            tool,
            device,
            caller,
            dry_run,
            arguments: serde_json::from_slice(&arguments).unwrap_or_default(),
            result: serde_json::from_slice(&result).unwrap_or_default(),
            approval_id,
            done,
            total,
            note,
            created_at,
            queued_until,
            closed_at,
            touches,
            undone,
            undone_by,
        }
    }
}

impl CallView {
    /// Returns the progress in one line; empty where the device has reported none.
    pub(crate) fn advance(&self) -> String {
        let note = text::one_line(&self.note, 80);
        let share = match (self.done, self.total) {
            (0, 0) => String::new(),
            (done, 0) => done.to_string(),
            (done, total) => format!("{done} of {total}"),
        };
        [share, note].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Returns whether a secret in the result is hidden.
    pub(crate) fn hides_secrets(&self) -> bool {
        self.result.to_string().contains(HIDDEN_SECRET)
    }

    /// Returns the state in words.
    pub(crate) fn words(&self) -> String {
        let state = self.state.replace('_', " ");
        // A preview did not do what its state says.
        let state = if self.dry_run { format!("preview {state}") } else { state };
        let state = if self.undone { format!("{state}, taken back") } else { state };
        let advance = self.advance();
        if advance.is_empty() { state } else { format!("{state}: {advance}") }
    }
}

/// Formats calls, a row each.
pub(crate) fn calls_table(out: &Output, calls: &[CallView]) -> String {
    let ids: Vec<_> = calls.iter().map(|call| &*call.call_id).collect();
    let rows = calls.iter().zip(text::listed_ids(&ids, out.is_wide())).map(|(call, id)| {
        let mut cells = vec![
            id.to_owned(),
            call.words(),
            text::one_line(&call.device, 40),
            text::one_line(&call.tool, 40),
            call.caller.clone(),
            text::when(&out.zone, call.created_at),
            text::when(&out.zone, call.queued_until),
        ];
        if out.is_wide() {
            cells.push(text::one_line(&text::distinct(&call.touches.join(", ")), 200));
        }
        cells
    });
    let mut header = vec!["ID", "STATE", "DEVICE", "TOOL", "CALLER", "MADE", "WAITS UNTIL"];
    if out.is_wide() {
        header.push("TOUCHES");
    }
    table(&header, rows)
}

/// Formats one call, one fact a line.
pub(crate) fn call_page(out: &Output, call: &CallView) -> String {
    let arguments = short_arguments(&call.tool, call.arguments.to_string().as_bytes());
    let message = call.result["message"].as_str().unwrap_or_default();
    let times = |ms| text::when(&out.zone, ms);
    let taken_back = match (call.undone, &*call.undone_by) {
        (false, _) => String::new(),
        (true, "") => "by somebody else".to_owned(),
        (true, by) => format!("by {by}"),
    };
    facts([
        ("call", call.call_id.clone()),
        ("state", call.words()),
        ("device", text::one_line(&call.device, 80)),
        ("tool", text::one_line(&call.tool, 80)),
        ("arguments", text::one_line(&arguments, 400)),
        ("caller", call.caller.clone()),
        ("made", times(call.created_at)),
        ("waits until", times(call.queued_until)),
        ("ended", times(call.closed_at)),
        ("result", text::one_line(message, 400)),
        ("taken back", taken_back),
    ])
}
