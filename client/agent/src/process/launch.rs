//! What a program may do, and how it ended, as data: the messages between the agent, the keeper and the process
//! that becomes the program.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sandbox::{Metadata, Network, Rights};

/// One program to run, with everything that it may do. The handles of the folders travel beside it: one for
/// each of `rights`, then the folder that the program starts in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// The name that the program is called by.
    pub name: String,
    /// The arguments, without the name.
    pub arguments: Vec<String>,
    /// The whole environment.
    pub environment: BTreeMap<String, String>,
    /// The rights on each handle, in order.
    pub rights: Vec<Rights>,
    /// What the program may do on the network.
    pub network: Network,
    /// Which files' mode, owner and times the program may change.
    pub metadata: Metadata,
    /// The limits of the program and all that it starts.
    pub bounds: Bounds,
}

/// The limits of a program and all that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Milliseconds until the program is asked to end.
    pub time_ms: u64,
    /// Bytes of memory of all processes together.
    pub memory: u64,
    /// The number of processes.
    pub processes: usize,
    /// Bytes of one file that the program writes.
    pub file_bytes: u64,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// By itself.
    Itself,
    /// At the deadline.
    Deadline,
    /// Because the call was cancelled.
    Cancelled,
    /// Because its processes took more memory than they may.
    Memory,
    /// Because it started more processes than it may.
    Processes,
}

/// What the keeper reports, once.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// The program could not be started; nothing of it ran.
    NotStarted {
        /// What failed.
        why: String,
        /// Whether the program itself could not be executed, rather than its sandbox be made.
        program: bool,
    },
    /// The program ran and ended, with all that it started.
    Ended {
        /// How.
        ending: Ending,
        /// The exit code. `None` if a signal ended the program.
        exit_code: Option<i32>,
        /// The signal that ended the program.
        signal: Option<i32>,
    },
}
