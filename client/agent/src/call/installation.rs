//! What a running call may know of the agent that runs it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::transfer::Transfers;

/// Where the agent keeps its state, whom it connects to, and how content moves beside calls.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Installation {
    /// The addresses of the backend, `host:port`.
    pub backend: Vec<String>,
    /// The folder of the agent's journal, trash and identity.
    pub state_dir: PathBuf,
    /// Whether artifacts are downloaded over plain http from the device itself.
    pub http_artifacts: bool,
    /// The content of files that moves beside calls, in the agent's own process alone.
    #[serde(skip)]
    pub transfers: Arc<Transfers>,
}
