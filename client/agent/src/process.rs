//! Runs programs: the only room of the agent that starts processes.
//!
//! A program runs in a process tree of its own. [`Launcher::run`] starts this agent's binary again as the
//! *keeper* of one call ([`keeper`]); the keeper starts it once more, and that process confines itself
//! ([`confine`]) and becomes the program. Nothing runs between `fork` and `exec` in the agent itself, which
//! has threads. What a program starts, however it detaches, stays below its keeper, which ends all of it when
//! the program ends, at the deadline, when the call is cancelled, and when the agent dies.
//!
//! File tools run in *workers* ([`worker`]): processes of this agent's binary that are confined in the same way
//! and serve one call at a time over a socket.
//!
//! Programs of the system that the owner's own commands need, such as `systemctl`, are a [`SystemProgram`]: no call
//! reaches it.
//!
//! What a program may do is data ([`Launch`]): the folders by open handle, the environment, the limits.

#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod descendants;
mod detached;
#[cfg(target_os = "linux")]
mod handles;
#[cfg(target_os = "linux")]
mod keeper;
mod launch;
#[cfg(target_os = "linux")]
mod limits;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no program runs there"))]
mod output;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod seccomp;
mod system_program;
#[cfg(target_os = "linux")]
mod worker;

#[cfg(target_os = "linux")]
use std::ffi::OsStr;
#[cfg(target_os = "linux")]
use std::process::ExitCode;

pub(crate) use detached::Detached;
pub use launch::{Bounds, Ending, Launch};
pub use output::Captured;
#[cfg(target_os = "linux")]
pub use run::{Ended, LaunchError, Launcher, Stream};
pub use system_program::{SystemProgram, SystemProgramError};
#[cfg(target_os = "linux")]
pub use worker::WorkerProgram;
#[cfg(target_os = "linux")]
pub(crate) use worker::{AgentSocket, Received, WorkerProcess};

/// The first argument with which the agent's binary keeps a program.
#[cfg(target_os = "linux")]
const KEEPER: &str = "keep-program";
/// The first argument with which the agent's binary confines itself and becomes a program.
#[cfg(target_os = "linux")]
const CONFINED: &str = "confine-program";

/// The first argument with which the agent's binary runs file tools.
#[cfg(target_os = "linux")]
pub(crate) const WORKER: &str = "run-file-tools";

/// Does the work of a process that the agent starts for itself. `None` where the first argument names no such
/// work, so that the caller goes on as the agent.
#[cfg(target_os = "linux")]
#[must_use]
pub fn internal_command(argument: Option<&OsStr>) -> Option<ExitCode> {
    let main: fn() -> ExitCode = match argument?.to_str()? {
        KEEPER => keeper::main,
        CONFINED => confine::main,
        _ => return None,
    };
    limits::use_huge_pages(true);
    Some(main())
}

/// Makes the memory of this process ordinary pages. Each of the agent's many threads would touch large ones of 2
/// MiB, of which it needs little.
#[cfg(target_os = "linux")]
pub fn use_small_pages() {
    limits::use_huge_pages(false);
}
