//! What the calls of a device share, whatever process they run in: locks of paths, memory, and room in the
//! trash. The agent keeps all of it. A worker process asks the agent, and its own copy stays unused.

mod path_locks;

use std::sync::OnceLock;

use orion_domain::{CallId, ErrorCode, ToolError};
use serde::{Deserialize, Serialize};

pub(crate) use path_locks::{FileId, HeldPaths, LockKey, LockedPath, hold};

/// What a worker asks the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// Waits until no other call holds these paths, and holds them.
    Lock(Vec<LockedPath>),
    /// Releases these paths.
    Unlock(Vec<LockedPath>),
    /// Waits until the call may take so many bytes of memory.
    Memory(u64),
    /// Asks whether a new call would find so many bytes of room in the trash, once `leaving` have left.
    HasRoom {
        /// Bytes on the disk.
        bytes: u64,
        /// Bytes that leave the trash.
        leaving: u64,
    },
    /// Reserves room in the trash.
    Reserve {
        /// The call.
        call: CallId,
        /// Bytes on the disk.
        bytes: u64,
        /// Bytes that leave the trash.
        leaving: u64,
    },
    /// Notes what the trash holds for a call that has ended.
    Hold {
        /// The call.
        call: CallId,
        /// When the content was put away, in Unix milliseconds.
        at_ms: i64,
        /// Bytes on the disk.
        bytes: u64,
    },
    /// Releases the room of a call that is not in the trash.
    GiveBack(CallId),
    /// Notes that the content of a call has left the trash.
    TakenBack(CallId),
    /// Notes that the record of a call is about to be removed.
    Forgetting(CallId),
}

/// What the agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It is done.
    Done,
    /// Yes.
    Yes,
    /// No.
    No,
    /// There is room once expired content was removed.
    NeedsSweep,
    /// The call must stop.
    Stop(ToolError),
}

impl Answer {
    /// Returns an error unless it is done.
    ///
    /// # Errors
    /// The reason why the call must stop.
    pub(crate) fn done(self) -> Result<(), ToolError> {
        match self {
            Self::Done | Self::Yes => Ok(()),
            Self::Stop(error) => Err(error),
            Self::No | Self::NeedsSweep => {
                let message = "The worker process was not given what it needs.";
                Err(ToolError::new(ErrorCode::Internal, message))
            }
        }
    }
}

/// The agent, as its worker reaches it.
pub(crate) trait Agent: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask(&self, question: Question) -> Answer;
}

/// Set in a worker process only.
static AGENT: OnceLock<Box<dyn Agent>> = OnceLock::new();

/// Makes this process a worker of the agent, for good.
#[cfg(target_os = "linux")]
pub(crate) fn become_worker_of(agent: Box<dyn Agent>) {
    // A process has one agent, and the first one stays.
    drop(AGENT.set(agent));
}

/// Asks the agent. `None` in the agent itself.
pub(crate) fn ask(question: impl FnOnce() -> Question) -> Option<Answer> {
    AGENT.get().map(|agent| agent.ask(question()))
}
