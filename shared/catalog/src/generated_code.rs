//! The arguments and returns of the tools that write code from a template.

use orion_domain::{ErrorCode, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to write, and where to save it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// What the code is for, in the few words that the tool understands.
    #[schemars(length(min = 1, max = 400))]
    pub description: String,
    /// The device to save it on, together with `path`. When left out: it is saved nowhere.
    #[serde(default)]
    #[schemars(length(max = 63))]
    pub save_on: Option<String>,
    /// The file to save it as, which is written as by `write_file`.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    pub path: Option<String>,
}

impl Arguments {
    /// Checks that a device and a path are given together.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.save_on.is_some() == self.path.is_some() {
            return Ok(());
        }
        let message = "Code is saved on a device as a file: `save_on` and `path` go together.";
        Err(ToolError::new(ErrorCode::InvalidArgument, message).hint("give both, or neither"))
    }
}

/// The code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The code.
    pub code: String,
    /// Whether a compiler has checked it. The backend runs no programs, so it is false.
    pub checked: bool,
    /// What the check printed, or why there was none.
    pub check_output: String,
    /// The id of the call that saved it; null where it was not saved.
    pub saved_call_id: Option<String>,
    /// The state of that call; null where there is none.
    pub saved_state: Option<String>,
}
