//! The errors of programs that did not run to a good end, for every tool that starts one.

use std::path::Path;

use orion_domain::{ErrorCode, ToolError};

use super::{MAX_MEMORY, MAX_PROCESSES};
use crate::call::ProgramEnd;
use crate::process::{Ended, Ending, LaunchError};

/// Returns the error of a program that did not run, or was lost.
pub(crate) fn not_run(program: &Path, error: LaunchError) -> ToolError {
    let program = program.display();
    let (code, message) = match error {
        LaunchError::Program(why) => {
            (ErrorCode::ExecutionFailed, format!("{program} cannot be run: {why}."))
        }
        LaunchError::Sandbox(why) => (
            ErrorCode::ExecutionFailed,
            format!("{program} was not run, because it could not be confined: {why}."),
        ),
        LaunchError::Lost(why) => (
            ErrorCode::OutcomeUnknown,
            format!("What {program} did is not known, because it was lost: {why}."),
        ),
    };
    ToolError::new(code, message)
}

/// Returns the error of a program that did not end by itself.
pub(crate) fn ended_early(text: &str, ended: &Ended, end: ProgramEnd) -> Option<ToolError> {
    let (code, message) = match ended.ending {
        Ending::Itself => return None,
        Ending::Deadline => (
            ErrorCode::Timeout,
            format!("`{text}` took too long and was ended, with all that it started."),
        ),
        Ending::Cancelled => (
            ErrorCode::Cancelled,
            format!("`{text}` was cancelled and ended, with all that it started."),
        ),
        Ending::Memory => (
            ErrorCode::ResourceExhausted,
            format!("`{text}` took more than {MAX_MEMORY} bytes of memory and was ended."),
        ),
        Ending::Processes => (
            ErrorCode::ResourceExhausted,
            format!("`{text}` started more than {MAX_PROCESSES} processes and was ended."),
        ),
    };
    Some(failed(code, message, ended.exit_code, end))
}

/// Returns the error of a command that ended by itself and failed.
pub(crate) fn failed_command(
    text: &str,
    exit_code: Option<i32>,
    signal: Option<i32>,
    end: ProgramEnd,
) -> ToolError {
    let how = match (exit_code, signal) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    };
    failed(ErrorCode::ExecutionFailed, format!("`{text}` {how}."), exit_code, end)
}

fn failed(code: ErrorCode, message: String, exit_code: Option<i32>, end: ProgramEnd) -> ToolError {
    ToolError::new(code, message)
        .with("exit_code", exit_code)
        .with("stdout_tail", end.stdout_tail)
        .with("stderr_tail", end.stderr_tail)
}
