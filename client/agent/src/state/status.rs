//! What a running agent leaves for `orion-agent status` to read. Nothing depends on it, so it is
//! not forced to disk and a failure to write it is not an error.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use orion_mtls::secret_file;
use serde::{Deserialize, Serialize};

const STATUS: &str = "status.json";

/// The agent at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The address it is connected to; nothing while it is not.
    pub connected_to: Option<String>,
    /// The device's name at the backend, as it was last told.
    pub device_name: Option<String>,
    /// The policy it judges by.
    pub policy_version: Option<String>,
    /// Why the ceiling that holds is not what the owner's file says; nothing where it is.
    #[serde(default)]
    pub ceiling_fault: Option<String>,
    /// Why it is not connected, in a sentence.
    pub last_error: Option<String>,
    /// When this was written, Unix milliseconds.
    pub at: i64,
}

impl Status {
    /// What was last written in this state directory, if anything was.
    #[must_use]
    pub fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(dir.join(STATUS)).ok()?).ok()
    }

    /// Leaves this for others to read.
    pub fn write(&self, dir: &Path) {
        let temporary = dir.join(".status.json.tmp");
        let written = serde_json::to_vec(self)
            .map_err(std::io::Error::other)
            .and_then(|json| {
                let mut options = secret_file::private();
                options.write(true).create(true).truncate(true).open(&temporary)?.write_all(&json)
            })
            .and_then(|()| fs::rename(&temporary, dir.join(STATUS)));
        if let Err(error) = written {
            tracing::debug!(%error, "the status file could not be written");
        }
    }
}
