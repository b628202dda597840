//! What a running call may know of the agent that runs it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where the agent keeps its state, and whom it connects to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// The addresses of the backend, `host:port`.
    pub backend: Vec<String>,
    /// The folder of the agent's journal, trash and identity.
    pub state_dir: PathBuf,
}
