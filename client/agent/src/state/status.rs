//! The status file that a running agent writes for `orion-agent status`. Nothing else depends on it, so
//! it is not synced, and a failure to write it is not an error.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use orion_domain::strip_hidden;
use orion_mtls::secret_file;
use serde::{Deserialize, Serialize};

use super::names::{STATUS, STATUS_NEW};
use crate::owner_file;

/// The largest status.
const MAX_BYTES: u64 = 64 * 1024;
/// The longest text of it that is shown, in characters.
const MAX_TEXT: usize = 2_000;

/// The agent's current status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The address of the connection, `host:port`. None while not connected.
    pub connected_to: Option<String>,
    /// The device's name at the backend. None before the first connection of this process.
    pub device_name: Option<String>,
    /// The version of the active policy. None before the first policy.
    pub policy_version: Option<String>,
    /// Why the active ceiling differs from the owner's file. None if it does not.
    #[serde(default)]
    pub ceiling_fault: Option<String>,
    /// Why the agent is not connected, as a sentence. None while connected.
    pub last_error: Option<String>,
    /// Whether only a person can remove the cause of that.
    #[serde(default)]
    pub needs_person: bool,
    /// When the device was paused, Unix milliseconds: 0 if that is not known. None while it is not paused.
    #[serde(default)]
    pub paused_at: Option<i64>,
    /// The owner's file that the agent reads. None where it reads none, or before this was written.
    #[serde(default)]
    pub config: Option<PathBuf>,
    /// How many calls run.
    #[serde(default)]
    pub running_calls: usize,
    /// The process of the agent.
    #[serde(default)]
    pub pid: u32,
    /// When the status was written, Unix milliseconds.
    pub at: i64,
}

impl Status {
    /// Reads the status in a state directory. None if there is no readable status.
    #[must_use]
    pub fn read(dir: &Path) -> Option<Self> {
        // Root reads the folder of another account.
        let bytes = owner_file::read(&dir.join(STATUS), MAX_BYTES).ok()?;
        let mut status: Self = serde_json::from_slice(&bytes).ok()?;
        let Self { connected_to, device_name, policy_version, ceiling_fault, last_error, .. } =
            &mut status;
        for text in [connected_to, device_name, policy_version, ceiling_fault, last_error]
            .into_iter()
            .flatten()
        {
            *text = strip_hidden(text, MAX_TEXT);
        }
        Some(status)
    }

    /// Writes the status to a state directory.
    pub fn write(&self, dir: &Path) {
        let temporary = dir.join(STATUS_NEW);
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
