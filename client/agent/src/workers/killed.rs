//! The end of a call whose worker was killed: cleans up what it left, and says what happened.

use orion_domain::{ErrorCode, Hint, ToolError};

use super::{FileCall, MAX_RESIDENT};
use crate::changes::{Recovered, recover_now};

const MIB: u64 = 1024 * 1024;

/// Why a worker was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// It did not end at the deadline.
    Deadline,
    /// It did not end when the call was cancelled.
    Cancelled,
    /// It took more memory than it may.
    Memory,
    /// It ended by itself, or sent what is no message.
    Failed,
}

/// A call whose worker is gone.
pub(super) struct Killed<'a> {
    pub(super) cause: Cause,
    pub(super) call: &'a FileCall<'a>,
    /// Whether the worker may have removed the call's own record.
    pub(super) forgot: bool,
}

impl Killed<'_> {
    /// Cleans up, and returns the error for the caller. Its code says why the call ended, and `established`
    /// what it changed. Only where that cannot be known is the outcome unknown.
    pub(super) fn settle(self) -> ToolError {
        let (code, why) = self.why();
        let Self { call, .. } = self;
        if !call.has_effects {
            let error = ToolError::new(code, why);
            return match self.cause {
                Cause::Deadline | Cause::Memory => error.hint("ask for less at once"),
                Cause::Cancelled => error,
                Cause::Failed => error.hint("read the agent's log on the device"),
            };
        }
        match recover_now(call.trash, call.roots, call.call) {
            Ok(Recovered::Unchanged) if !self.forgot => {
                ToolError::new(code, format!("{why} Nothing was changed."))
                    .with("established", "unchanged")
            }
            Ok(Recovered::Changed) => {
                let message = format!(
                    "{why} What it had changed by then stays: each file is entirely the old or the new one."
                );
                ToolError::new(code, message)
                    .hint(Hint::run("undo the change", "orion undo"))
                    .with("established", "changed")
            }
            Ok(Recovered::Unchanged) => unknown(&why),
            Err(error) => {
                tracing::warn!(call = %call.call, code = error.code.as_str(), "a killed call cannot be cleaned up after yet");
                unknown(&why)
            }
        }
    }

    fn why(&self) -> (ErrorCode, String) {
        let tool = self.call.tool;
        match self.cause {
            Cause::Deadline => {
                (ErrorCode::Timeout, format!("{tool} did not stop at its deadline and was ended."))
            }
            Cause::Cancelled => (
                ErrorCode::Cancelled,
                format!("{tool} did not stop when it was cancelled and was ended."),
            ),
            Cause::Memory => (
                ErrorCode::ResourceExhausted,
                format!(
                    "{tool} took more than the maximum of {} MiB of memory and was ended.",
                    MAX_RESIDENT / MIB
                ),
            ),
            Cause::Failed => {
                (ErrorCode::Internal, format!("{tool} failed inside its worker process."))
            }
        }
    }
}

fn unknown(why: &str) -> ToolError {
    ToolError::new(ErrorCode::OutcomeUnknown, format!("{why} It is not known what it changed."))
        .hint("look at the device before you make the call again")
}
