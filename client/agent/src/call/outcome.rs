//! What a tool returns.

use orion_domain::{ErrorCode, Observation, RiskRaise, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// The largest result, in bytes of JSON.
pub const MAX_RESULT_BYTES: usize = 2 * 1024 * 1024;
/// The most lines of a program's output in a result.
const MAX_TAIL_LINES: usize = 50;
/// The most bytes of a program's output in a result.
const MAX_TAIL_BYTES: usize = 4 * 1024;

/// The result of a call that succeeded. The data of a call that has ended is JSON text, as it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome<D = Box<RawValue>> {
    /// One sentence for a person.
    pub message: String,
    /// The tool's return value.
    pub data: D,
    /// Whether data was cut at a limit.
    pub truncated: bool,
    /// How the program of the call ended. `None` for a tool that runs none.
    pub program: Option<ProgramEnd>,
    /// The observations of the paths before the call. `None` if not requested.
    pub observed: Option<Vec<Observation>>,
    /// In a preview: why the call's risk is higher than its tool's.
    pub raises: Vec<RiskRaise>,
}

/// How a program ended that a tool ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramEnd {
    /// The program and its arguments, as text for people.
    pub command: String,
    /// The exit code. `None` if a signal ended the program.
    pub exit_code: Option<i32>,
    /// The last lines of standard output.
    pub stdout_tail: String,
    /// The last lines of standard error.
    pub stderr_tail: String,
}

impl ProgramEnd {
    /// Returns the end of a program, with the last lines of what it wrote.
    #[must_use]
    pub fn new(command: String, exit_code: Option<i32>, stdout: &[u8], stderr: &[u8]) -> Self {
        Self { command, exit_code, stdout_tail: tail(stdout), stderr_tail: tail(stderr) }
    }
}

impl<D> Outcome<D> {
    /// Returns an outcome without cut data.
    pub fn new(message: impl Into<String>, data: D) -> Self {
        Self {
            message: message.into(),
            data,
            truncated: false,
            program: None,
            observed: None,
            raises: Vec::new(),
        }
    }

    /// Sets whether data was cut.
    #[must_use]
    pub fn cut(self, truncated: bool) -> Self {
        Self { truncated, ..self }
    }

    /// Sets how the program of the call ended.
    #[must_use]
    pub fn of_program(self, program: ProgramEnd) -> Self {
        Self { program: Some(program), ..self }
    }

    fn with_data<T>(self, convert: impl FnOnce(D) -> T) -> Outcome<T> {
        let Self { message, data, truncated, program, observed, raises } = self;
        Outcome { message, data: convert(data), truncated, program, observed, raises }
    }
}

impl<D: Serialize> Outcome<D> {
    /// Writes the data of this tool's call as JSON.
    ///
    /// # Errors
    /// The data is nothing that JSON can hold.
    pub fn encoded(self, tool: &str) -> Result<Outcome, ToolError> {
        let data = to_raw_value(&self.data).map_err(|_| {
            let message = format!("The result of {tool} cannot be written as JSON.");
            ToolError::new(ErrorCode::Internal, message)
        })?;
        Ok(self.with_data(|_| data))
    }
}

#[cfg(test)]
impl Outcome {
    /// Reads the data.
    pub(crate) fn decoded(self) -> Outcome<serde_json::Value> {
        self.with_data(|data| serde_json::from_str(data.get()).unwrap())
    }
}

/// Returns the last lines of an output, within the limits, as text.
fn tail(output: &[u8]) -> String {
    let start = output.len().saturating_sub(MAX_TAIL_BYTES);
    let text = String::from_utf8_lossy(output.get(start..).unwrap_or_default());
    // Each byte that is not text takes three.
    let mut from = text.len().saturating_sub(MAX_TAIL_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let text = text.get(from..).unwrap_or_default();
    let ends = text.strip_suffix('\n').unwrap_or(text).rmatch_indices('\n');
    let lines = ends.take(MAX_TAIL_LINES).nth(MAX_TAIL_LINES - 1);
    text.get(lines.map_or(0, |(at, _)| at + 1)..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_output_the_last_lines_are_kept_within_both_limits() {
        assert_eq!(tail(b""), "");
        assert_eq!(tail(b"one\ntwo"), "one\ntwo");
        let lines: String = (1..=120).map(|line| format!("{line}\n")).collect();
        let kept = tail(lines.as_bytes());
        assert_eq!((kept.lines().count(), kept.lines().next()), (MAX_TAIL_LINES, Some("71")));
        assert!(kept.ends_with("120\n"));
        assert_eq!(tail(&[b'x'; 10_000]).len(), MAX_TAIL_BYTES);
        assert!(tail("\u{e9}".repeat(10_000).as_bytes()).len() <= MAX_TAIL_BYTES);
        assert!(tail(&[0xff; 10_000]).len() <= MAX_TAIL_BYTES);
    }
}
