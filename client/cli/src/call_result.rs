//! The result of a call, or what it waits for: the envelope, the exit code, and the text for people.

use std::io::IsTerminal as _;

use orion_catalog::Tool as _;
use orion_catalog::tools::run_macro::{self, RunMacro};
use orion_catalog::tools::undo_call::changed_nothing;
use orion_domain::{Actor, CallState, Envelope, ErrorCode, Meta, ToolError};
use orion_wire::{call_state_from, v1};
use serde::Deserialize as _;
use serde_json::Value;

use crate::failure::{Failure, Report, as_typed};
use crate::global::Format;
use crate::json;
use crate::output::{BAD, DIM, GOOD, Output};
use crate::show;
use crate::text;

/// A call's envelope with the call's state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallResult {
    /// The envelope as received, or a substitute while there is none.
    pub(crate) bytes: Vec<u8>,
    /// The parsed envelope.
    pub(crate) envelope: Envelope,
    /// The approval request that the call waits for. `None` where it does not wait for one.
    pub(crate) waits_for: Option<String>,
    /// Whether the call waits for its device.
    pub(crate) is_queued: bool,
    /// How many bytes of what the call's programs printed the person at the terminal saw. `None` where
    /// something was left out.
    pub(crate) shown_bytes: Option<usize>,
}

impl CallResult {
    /// Creates the result of a recorded call.
    ///
    /// # Errors
    /// The envelope cannot be parsed.
    pub(crate) fn of(call: v1::Call) -> Result<Self, Failure> {
        let v1::Call { call_id, state, tool, device, dry_run, result, approval_id, .. } = call;
        let state = call_state_from(state).unwrap_or(CallState::Unknown);
        let waits = state == CallState::AwaitingApproval && !approval_id.is_empty();
        let is_queued = state == CallState::Queued;
        if !result.is_empty() {
            let envelope = serde_json::from_slice(&result).map_err(|error| {
                Failure::Failed(format!("the result of {call_id} cannot be read: {error}"))
            })?;
            let waits_for = waits.then_some(approval_id);
            return Ok(Self {
                bytes: result.to_vec(),
                envelope,
                waits_for,
                is_queued,
                shown_bytes: None,
            });
        }
        let meta = Meta { call_id: call_id.clone(), device, tool, ..Meta::default() };
        if state == CallState::Succeeded {
            return Ok(Self::made(Envelope::success("Done.", Value::Null, dry_run, meta)));
        }
        let (code, message) = match state {
            CallState::AwaitingApproval => {
                (ErrorCode::ApprovalRequired, "A person must approve this call.")
            }
            CallState::Queued => (
                ErrorCode::DeviceOffline,
                "The device is not connected. The call is queued. It is evaluated again and sent when the device connects.",
            ),
            CallState::Denied => (ErrorCode::PermissionDenied, "The backend denied the call."),
            CallState::Refused => (ErrorCode::PermissionDenied, "The device refused the call."),
            CallState::Failed => (ErrorCode::ExecutionFailed, "The call failed."),
            CallState::TimedOut => (ErrorCode::Timeout, "The call took too long."),
            CallState::Cancelled => (ErrorCode::Cancelled, "The call was cancelled."),
            CallState::Succeeded
            | CallState::Unknown
            | CallState::Received
            | CallState::Dispatched
            | CallState::Running => {
                (ErrorCode::OutcomeUnknown, "How the call ends is not known yet.")
            }
        };
        let mut error = ToolError::new(code, message).with("call_id", call_id);
        if waits {
            error = error.with("approval_id", approval_id.clone());
        }
        let mut result = Self::made(Envelope::failure(error, dry_run, meta));
        result.waits_for = waits.then_some(approval_id);
        result.is_queued = is_queued;
        Ok(result)
    }

    /// Creates the result of a request that the backend rejected before it became a call.
    pub(crate) fn refused(error: ToolError, tool: &str, device: &str, dry_run: bool) -> Self {
        let (tool, device) = (tool.to_owned(), device.to_owned());
        Self::made(Envelope::failure(error, dry_run, Meta { tool, device, ..Meta::default() }))
    }

    fn made(envelope: Envelope) -> Self {
        // A struct of strings always serialises.
        let bytes = serde_json::to_vec(&envelope).unwrap_or_default();
        Self { bytes, envelope, waits_for: None, is_queued: false, shown_bytes: None }
    }

    /// Returns the program's exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match (&self.envelope.error, self.envelope.success) {
            (Some(error), _) => error.code.exit_code(),
            (None, true) => 0,
            (None, false) => 1,
        }
    }

    /// Returns whether a hint of the result already says how to approve it.
    pub(crate) fn says_how_to_approve(&self) -> bool {
        let mut hints = self.envelope.error.iter().flat_map(|error| &error.hints);
        hints.any(|hint| hint.who == Actor::Approver && hint.command.is_some())
    }

    /// Returns whether this ran a macro that has stopped at one of its calls. Its own call succeeded: it did what it is for.
    /// A preview runs none of them.
    pub(crate) fn has_stopped(&self) -> bool {
        if self.envelope.dry_run || self.envelope.meta.tool != RunMacro::NAME {
            return false;
        }
        let ran = self.envelope.data.as_ref().map(run_macro::Returns::deserialize);
        matches!(ran, Some(Ok(ran)) if ran.succeeded < ran.steps.len())
    }

    /// Returns what a message of success begins with.
    fn mark(&self) -> String {
        if self.has_stopped() { format!("{BAD}✗{BAD:#}") } else { format!("{GOOD}✓{GOOD:#}") }
    }

    /// Returns the call's id if it changed something that `orion undo` can undo.
    pub(crate) fn undoable(&self) -> Option<&str> {
        let call_id = self.envelope.meta.call_id.as_str();
        (can_be_undone(&self.envelope) && !call_id.is_empty()).then_some(call_id)
    }

    /// Says to people how the call is taken back, if it can be.
    pub(crate) fn say_how_to_undo(&self, out: &Output) {
        if let Some(call_id) = self.undoable().filter(|_| out.is_for_people()) {
            out.next(&format!("{DIM}undo:{DIM:#} orion undo {}", text::short_id(call_id)));
        }
    }

    /// Prints the envelope, or for people its data on standard output and its message on standard error.
    ///
    /// # Errors
    /// The output cannot be written.
    pub(crate) fn print(&self, out: &Output) -> Result<(), Failure> {
        if String::from_utf8_lossy(&self.bytes).contains(show::HIDDEN_SECRET) {
            show::note_hidden_secrets(out, &self.envelope.meta.call_id);
        }
        match out.format {
            Format::Json => out.line(&json::pretty(&self.bytes)?),
            Format::Yaml => out.line(&json::yaml(&self.bytes)?),
            Format::Table | Format::Wide => {
                if let Some(error) = &self.envelope.error {
                    let error = as_typed(error, &self.envelope.meta);
                    let report = Report::of(&error, &out.zone, &out.options);
                    if self.is_queued { out.waits(&report) } else { out.report(&report) }
                } else {
                    let preview = if self.envelope.dry_run { "Preview: " } else { "" };
                    let message = text::plain(&self.envelope.message);
                    out.note(&format!("{} {preview}{message}", self.mark()));
                }
                if out.is_wide() {
                    let meta = &self.envelope.meta;
                    out.note(&format!(
                        "{DIM}{} on {} in {} ms, call {}{DIM:#}",
                        text::one_line(&meta.tool, 80),
                        text::one_line(&meta.device, 80),
                        meta.duration_ms,
                        text::one_line(&meta.call_id, 80)
                    ));
                }
                match self.shown_data().as_ref().map(show::value) {
                    Some(data) if !data.is_empty() => out.line(&data),
                    Some(_) | None => Ok(()),
                }
            }
        }
    }

    /// Returns the data without the output that the person has seen already, all of it.
    fn shown_data(&self) -> Option<Value> {
        const OUTPUTS: [&str; 2] = ["stdout", "stderr"];
        let mut data = self.envelope.data.clone();
        if let Some(fields) = data.as_mut().and_then(Value::as_object_mut)
            && std::io::stdout().is_terminal()
        {
            let text = |name: &&str| fields.get(*name).and_then(Value::as_str).map(str::len);
            let length: usize = OUTPUTS.iter().filter_map(text).sum();
            if length > 0 && self.shown_bytes == Some(length) {
                fields.retain(|name, _| !OUTPUTS.contains(&name.as_str()));
            }
        }
        data
    }

    /// Returns the outcome of the call in one line, for chats.
    pub(crate) fn in_short(&self) -> String {
        let Envelope { message, error, dry_run, meta, .. } = &self.envelope;
        match error {
            Some(error) => {
                let message = text::one_line(message, 300);
                format!("{BAD}✗{BAD:#} {message} {DIM}({}){DIM:#}", error.code)
            }
            None => {
                let preview = if *dry_run { "Preview: " } else { "" };
                let message = text::one_line(message, 300);
                let mark = self.mark();
                format!("{mark} {preview}{message} {DIM}({} ms){DIM:#}", meta.duration_ms)
            }
        }
    }
}

/// Returns whether a call with this envelope changed something that can be undone.
pub(crate) fn can_be_undone(envelope: &Envelope) -> bool {
    let Envelope { success, dry_run, meta, data, .. } = envelope;
    let Some((spec, _)) = orion_catalog::find(&meta.tool) else { return false };
    let has_changed = data.as_ref().is_none_or(|data| !changed_nothing(spec.name, data));
    *success && !dry_run && spec.undo && has_changed
}

/// Returns a call with a fixed id, for tests.
#[cfg(test)]
pub(crate) fn example(tool: &str, state: CallState) -> v1::Call {
    v1::Call {
        call_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e".to_owned(),
        state: orion_wire::call_state(state) as i32,
        tool: tool.to_owned(),
        ..v1::Call::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::Hint;
    use serde_json::json;

    fn call(state: CallState) -> v1::Call {
        v1::Call { device: "demo-device".to_owned(), ..example("read_file", state) }
    }

    #[test]
    fn a_call_that_waits_says_for_which_approval() {
        let waiting =
            v1::Call { approval_id: "a-1".to_owned(), ..call(CallState::AwaitingApproval) };
        let result = CallResult::of(waiting).unwrap();
        assert_eq!(result.waits_for.as_deref(), Some("a-1"));
        assert_eq!(result.exit_code(), 6);
        let envelope: Value = serde_json::from_slice(&result.bytes).unwrap();
        assert_eq!(envelope["error"]["code"], "APPROVAL_REQUIRED");
        assert_eq!(envelope["error"]["details"]["approval_id"], "a-1");
    }

    #[test]
    fn only_a_queued_call_waits_for_its_device() {
        let queued = |state| CallResult::of(call(state)).unwrap().is_queued;
        let waiting: Vec<_> = CallState::ALL.into_iter().filter(|state| queued(*state)).collect();
        assert_eq!(waiting, [CallState::Queued]);
    }

    #[test]
    fn the_command_that_approves_a_call_is_said_where_no_hint_has_it() {
        let waiting =
            v1::Call { approval_id: "a-1".to_owned(), ..call(CallState::AwaitingApproval) };
        let plain = CallResult::of(waiting.clone()).unwrap();
        assert!(!plain.says_how_to_approve());
        let hint = Hint::run("approve it", "orion approvals approve a-1").by(Actor::Approver);
        let error = ToolError::new(ErrorCode::ApprovalRequired, "Waits.").hint(hint);
        let envelope = Envelope::failure(error, false, Meta::default());
        let result = serde_json::to_vec(&envelope).unwrap().into();
        assert!(CallResult::of(v1::Call { result, ..waiting }).unwrap().says_how_to_approve());
    }

    #[test]
    fn what_changed_something_that_can_be_taken_back_says_so() {
        let undoable = |tool: &str, dry_run, state| {
            let call = v1::Call { tool: tool.to_owned(), dry_run, ..call(state) };
            CallResult::of(call).unwrap().undoable().is_some()
        };
        assert!(undoable("write_file", false, CallState::Succeeded));
        assert!(!undoable("write_file", true, CallState::Succeeded));
        assert!(!undoable("write_file", false, CallState::Failed));
        assert!(!undoable("read_file", false, CallState::Succeeded));
        assert!(!undoable("undo_call", false, CallState::Succeeded));
        assert!(!undoable("a_tool_of_tomorrow", false, CallState::Succeeded));
    }

    #[test]
    fn a_macro_that_stopped_has_no_mark_of_success() {
        let has_stopped = |tool: &str, succeeded, dry_run| {
            let step = json!({"tool": "x", "device": null, "call_id": null, "state": "failed", "message": "", "result": null});
            let data = json!({"name": "m", "steps": [step], "succeeded": succeeded});
            let meta = Meta { tool: tool.to_owned(), ..Meta::default() };
            let envelope = Envelope::success("Ran.", Some(data), dry_run, meta);
            let result = serde_json::to_vec(&envelope).unwrap().into();
            let result = CallResult::of(v1::Call { result, ..call(CallState::Succeeded) }).unwrap();
            assert_eq!(result.mark().contains('✗'), result.has_stopped());
            result.has_stopped()
        };
        assert!(has_stopped("run_macro", 0, false));
        assert!(!has_stopped("run_macro", 1, false));
        assert!(!has_stopped("run_macro", 0, true), "a preview runs nothing");
        assert!(!has_stopped("write_file", 0, false));
    }

    #[test]
    fn a_folder_that_was_there_already_leaves_nothing_to_undo() {
        let undoable = |created: bool| {
            let meta = Meta {
                call_id: "c".to_owned(),
                tool: "create_directory".to_owned(),
                ..Meta::default()
            };
            let data = json!({"created_path": "/srv/x", "created": created});
            let envelope = Envelope::success("Done.", data, false, meta);
            CallResult::made(envelope).undoable().is_some()
        };
        assert!(undoable(true));
        assert!(!undoable(false));
    }

    #[test]
    fn every_state_without_an_envelope_has_its_exit_code() {
        let codes: Vec<_> = CallState::ALL
            .into_iter()
            .map(|state| CallResult::of(call(state)).unwrap().exit_code())
            .collect();
        assert_eq!(codes, [8, 5, 6, 7, 8, 8, 0, 1, 5, 8, 130, 8]);
    }

    #[test]
    fn the_envelope_decides_and_stays_as_it_was_sent() {
        let envelope = json!({
            "success": false, "message": "Outside.", "data": null, "dry_run": false,
            "error": {"code": "PATH_NOT_ALLOWED", "message": "Outside.", "recoverable": false},
            "meta": {"call_id": "c", "device": "d", "tool": "t", "duration_ms": 1, "newer": 1},
        });
        let sent = v1::Call {
            result: envelope.to_string().into_bytes().into(),
            ..call(CallState::Denied)
        };
        let result = CallResult::of(sent).unwrap();
        assert_eq!(result.exit_code(), 5);
        assert_eq!(serde_json::from_slice::<Value>(&result.bytes).unwrap(), envelope);
    }
}
