//! What a call of a custom tool returns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a call of a custom tool ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CustomReturns {
    /// The program that ran, or would run.
    pub program: String,
    /// Its arguments, each as the program gets it.
    pub arguments: Vec<String>,
    /// The folder that it starts in.
    pub folder: String,
    /// The SHA-256 of the tool's definition.
    pub definition: String,
    /// The exit code; none in a preview, and of a tool of a server.
    pub exit_code: Option<i32>,
    /// Standard output, or the texts that the server returned, without the middle of long output.
    pub stdout: String,
    /// Standard error, without the middle of long output.
    pub stderr: String,
    /// The structured result of a tool of a server.
    #[serde(default)]
    pub structured: Option<Value>,
    /// Milliseconds that the call took on the device.
    pub duration: u64,
}
