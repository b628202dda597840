//! How a call ended, as it is reported: the result envelope, and the call's final state.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{CallId, CallState, Envelope, ErrorCode, Hint, Meta, ToolError};
use orion_wire::{Bytes, call_state, v1};
use serde::Serialize;

use crate::call::{MAX_RESULT_BYTES, Outcome, ProgramEnd};
use crate::changes::Recovered;
use crate::journal::{Ended, Interrupted};

/// Said in the preview of a call before which the person at the device is asked.
const ASKS_OWNER: &str = "The person at the device is asked before it runs.";

/// The call that is reported on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The call.
    pub call: CallId,
    /// The device's name.
    pub device: String,
    /// The tool's name.
    pub tool: String,
    /// Whether the call is only a preview.
    pub dry_run: bool,
    /// The sandbox of the call. None if not known.
    pub sandbox: Option<&'static str>,
    /// Whether this is a preview of a call before which the person at the device is asked.
    pub asks_owner: bool,
}

impl Subject {
    fn meta(&self, took: Duration) -> Meta {
        Meta {
            call_id: self.call.to_string(),
            device: self.device.clone(),
            tool: self.tool.clone(),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            sandbox: self.sandbox.map(str::to_owned),
            ..Meta::default()
        }
    }

    /// Returns the end of a call that succeeded.
    #[must_use]
    pub fn success(&self, outcome: Outcome, took: Duration) -> Ended {
        let Outcome { message, data, truncated, program, observed, raises } = outcome;
        let message = if self.asks_owner { format!("{message} {ASKS_OWNER}") } else { message };
        let mut meta = Meta { truncated, observed, raises, ..self.meta(took) };
        if let Some(ProgramEnd { command, exit_code, stdout_tail, stderr_tail }) = program {
            meta.command = Some(command);
            meta.exit_code = exit_code;
            (meta.stdout_tail, meta.stderr_tail) = (Some(stdout_tail), Some(stderr_tail));
        }
        let envelope = Envelope::success(message, data, self.dry_run, meta);
        let ended = ended(&envelope, took);
        if ended.result.len() <= MAX_RESULT_BYTES {
            return ended;
        }
        // An effect cannot be taken back, so only its details are dropped; a read can be repeated in parts.
        let changes = orion_catalog::find(&self.tool).is_none_or(|(spec, _)| spec.has_effects);
        if changes && !self.dry_run {
            let message = format!("{} (The details are too large to send.)", envelope.message);
            let meta = Meta { truncated: true, ..envelope.meta };
            return self::ended(&Envelope { message, data: None, meta, ..envelope }, took);
        }
        let error = ToolError::new(
            ErrorCode::ResourceExhausted,
            format!(
                "The result has {} bytes, and the maximum is {MAX_RESULT_BYTES}.",
                ended.result.len()
            ),
        )
        .hint("ask for less at once");
        self.failure(error, took)
    }

    /// Returns the end of a call that failed or was rejected.
    #[must_use]
    pub fn failure(&self, error: ToolError, took: Duration) -> Ended {
        let recovered = !error.suggestions().is_empty()
            && matches!(
                error.code,
                ErrorCode::FileNotFound | ErrorCode::DirectoryNotFound | ErrorCode::PathNotFound
            );
        let meta = Meta { auto_recovery: recovered, ..self.meta(took) };
        ended(&Envelope::failure(error, self.dry_run, meta), took)
    }
}

/// Returns the end of a call that was running when the agent died. `established` is what the call's record
/// on the device says. None if it has no record.
#[must_use]
pub fn interrupted(call: &Interrupted<'_>, device: &str, established: Option<Recovered>) -> Ended {
    let tool = call.tool;
    let error = if !call.has_effects {
        ToolError::new(
            ErrorCode::ExecutionFailed,
            format!("The agent stopped while {tool} ran. It changes nothing."),
        )
        .hint("make the call again")
    } else if established == Some(Recovered::Unchanged) {
        ToolError::new(
            ErrorCode::OutcomeUnknown,
            format!(
                "The agent stopped while {tool} ran. Its record on the device says that nothing was changed."
            ),
        )
        .with("established", "unchanged")
    } else if established == Some(Recovered::Changed) {
        ToolError::new(
            ErrorCode::OutcomeUnknown,
            format!(
                "The agent stopped while {tool} ran. Its record on the device says that it changed something."
            ),
        ).hint(Hint::run("undo the change", "orion undo"))
        .with("established", "changed")
    } else if call.idempotent {
        ToolError::new(
            ErrorCode::OutcomeUnknown,
            format!("The agent stopped while {tool} ran, so it may have happened."),
        )
        .hint("make the call again, which does no harm")
    } else {
        ToolError::new(
            ErrorCode::OutcomeUnknown,
            format!("The agent stopped while {tool} ran, so it may have happened."),
        )
        .hint("look at the device before you make the call again")
    };
    let subject = Subject {
        call: call.call,
        device: device.to_owned(),
        tool: tool.to_owned(),
        dry_run: false,
        sandbox: None,
        asks_owner: false,
    };
    subject.failure(error.with("idempotent", call.idempotent), Duration::ZERO)
}

/// Returns the answer to a call whose end is known only from the device's own audit log.
#[must_use]
pub fn noted_before(noted: CallState) -> ToolError {
    if noted == CallState::Refused {
        let message = "The device refused this call, and was restarted before that was acknowledged. Nothing was run.";
        return ToolError::new(ErrorCode::OutcomeUnknown, message)
            .with("established", "unchanged")
            .hint("make a new call where it is still wanted");
    }
    let message = format!(
        "The device's own audit says that this call came to its end, {noted}, and the result itself was lost when the agent stopped. It is not run again."
    );
    ToolError::new(ErrorCode::OutcomeUnknown, message)
        .hint("look at the device before you make a new call")
}

/// Returns the same for a call that the journal has as `unknown`.
#[must_use]
pub fn lost(call: CallId, device: &str, tool: &str, noted: CallState) -> Ended {
    let subject = Subject {
        call,
        device: device.to_owned(),
        tool: tool.to_owned(),
        dry_run: false,
        sandbox: None,
        asks_owner: false,
    };
    subject.failure(noted_before(noted), Duration::ZERO)
}

/// Converts the end to its wire message.
#[must_use]
pub fn to_wire(call: CallId, ended: &Ended) -> v1::CallResult {
    let Ended { state, code, result, duration_us } = ended;
    v1::CallResult {
        call_id: call.to_string(),
        state: call_state(*state).into(),
        code: code.clone(),
        result: Bytes::from_owner(Text(Arc::clone(result))),
        duration_us: *duration_us,
        chain: None,
        chain_entry: 0,
    }
}

/// The text of a result, as bytes that a message shares.
struct Text(Arc<str>);

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

fn ended<D: Serialize>(envelope: &Envelope<D>, took: Duration) -> Ended {
    let code = envelope.error.as_ref().map(|error| error.code);
    Ended {
        state: code.map_or(CallState::Succeeded, ErrorCode::reported_state),
        code: code.map(|code| code.as_str().to_owned()).unwrap_or_default(),
        // An envelope of strings, numbers and JSON always serialises.
        result: serde_json::to_string(envelope).unwrap_or_default().into(),
        duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use orion_wire::call_state_from;
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn subject(tool: &str) -> Subject {
        Subject {
            call: CallId::new(Uuid::from_u128(7)),
            device: "web-1".to_owned(),
            tool: tool.to_owned(),
            dry_run: false,
            sandbox: Some("handles"),
            asks_owner: false,
        }
    }

    fn envelope(ended: &Ended) -> Envelope {
        serde_json::from_str(&ended.result).unwrap()
    }

    #[test]
    fn a_success_says_where_what_and_how_long() {
        let outcome = Outcome::new("Done.", json!({"x": 1})).encoded("test").unwrap();
        let ended = subject("read_file").success(outcome, Duration::from_micros(2_500));
        assert_eq!((ended.state, ended.code.as_str()), (CallState::Succeeded, ""));
        assert_eq!(ended.duration_us, 2_500);
        let Envelope { success, message, data, error, dry_run, meta } = envelope(&ended);
        assert_eq!((success, message.as_str(), dry_run), (true, "Done.", false));
        assert_eq!((data, error), (Some(json!({"x": 1})), None));
        assert_eq!((meta.device.as_str(), meta.tool.as_str()), ("web-1", "read_file"));
        assert_eq!((meta.duration_ms, meta.sandbox.as_deref()), (2, Some("handles")));
    }

    #[test]
    fn how_the_program_of_a_call_ended_is_in_its_result() {
        let program = ProgramEnd::new("make test".to_owned(), Some(2), b"one\n", b"two\n");
        let outcome = Outcome::new("Ran.", json!({})).encoded("test").unwrap().of_program(program);
        let ended = subject("read_file").success(outcome, Duration::ZERO);
        let Meta { command, exit_code, stdout_tail, stderr_tail, .. } = envelope(&ended).meta;
        assert_eq!((command.as_deref(), exit_code), (Some("make test"), Some(2)));
        assert_eq!(
            (stdout_tail.as_deref(), stderr_tail.as_deref()),
            (Some("one\n"), Some("two\n"))
        );
        let none = subject("read_file")
            .success(Outcome::new("Read.", json!({})).encoded("test").unwrap(), Duration::ZERO);
        assert_eq!(envelope(&none).meta.exit_code, None);
    }

    #[test]
    fn every_code_ends_a_call_and_a_denial_is_a_refusal() {
        for &code in ErrorCode::ALL {
            let ended = subject("read_file").failure(ToolError::new(code, "No."), Duration::ZERO);
            assert!(ended.state.is_closed(), "{code}");
            assert_eq!(ended.code, code.as_str());
            assert_ne!(ended.state, CallState::Denied, "{code}");
            let refused = ended.state == CallState::Refused;
            assert_eq!(refused, code.is_denial() || code == ErrorCode::ApprovalRequired, "{code}");
        }
    }

    #[test]
    fn suggestions_for_what_is_not_there_are_a_recovery() {
        let error =
            ToolError::new(ErrorCode::FileNotFound, "No.").suggesting(vec!["/srv/x".to_owned()]);
        let found = subject("read_file").failure(error.clone(), Duration::ZERO);
        assert!(envelope(&found).meta.auto_recovery);
        let other = ToolError { code: ErrorCode::InvalidArgument, ..error };
        assert!(!envelope(&subject("read_file").failure(other, Duration::ZERO)).meta.auto_recovery);
    }

    #[test]
    fn a_result_that_is_too_large_fails_a_read_and_shortens_the_word_of_an_effect() {
        let large = || {
            Outcome::new("Done.", Value::from("x".repeat(MAX_RESULT_BYTES)))
                .encoded("test")
                .unwrap()
        };
        let read = subject("read_file").success(large(), Duration::ZERO);
        assert_eq!(read.code, ErrorCode::ResourceExhausted.as_str());
        let effect = subject("write_file").success(large(), Duration::ZERO);
        assert_eq!(effect.state, CallState::Succeeded);
        assert_eq!(envelope(&effect).data, None);
        assert!(envelope(&effect).meta.truncated);
    }

    #[test]
    fn what_was_interrupted_is_unknown_only_if_it_may_have_changed_something() {
        let mut call = Interrupted {
            call: subject("x").call,
            tool: "delete_directory",
            has_effects: true,
            idempotent: false,
        };
        let ended = interrupted(&call, "web-1", None);
        assert_eq!(ended.state, CallState::Unknown);
        assert!(envelope(&ended).message.contains("delete_directory"));
        assert!(envelope(&ended).message.contains("may have happened"));
        call.has_effects = false;
        assert_eq!(interrupted(&call, "web-1", None).state, CallState::Failed);
    }

    #[test]
    fn an_end_survives_the_wire() {
        let ended =
            subject("x").failure(ToolError::new(ErrorCode::Timeout, "Late."), Duration::ZERO);
        let wire = to_wire(subject("x").call, &ended);
        assert_eq!(call_state_from(wire.state), Ok(CallState::TimedOut));
        assert_eq!(wire.code, "TIMEOUT");
        assert_eq!(wire.result, ended.result.as_bytes());
    }
}
