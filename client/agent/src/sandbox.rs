//! The second layer: the kernel confines the worker process that runs a file tool to the folders that its call
//! may touch, so that a mistake in the first layer ([`Roots`], which reaches everything by handle) is
//! harmless. Each layer is sufficient alone, except for what Landlock does not govern: reading a file's
//! metadata, reading a link's target, changing mode, owner and times, and the denied entries inside an
//! allowed folder. Only the first layer covers those.
//!
//! A worker stays confined until it ends, so a new set of grants gets new workers. The agent itself is never
//! confined.

#[cfg(target_os = "linux")]
mod landlock;
mod program;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

use std::fmt;

#[cfg(target_os = "linux")]
use cap_std::fs::Dir;
use orion_catalog::{Execution, RunsOn, ToolSpec};
use orion_domain::{Actor, ErrorCode, Hint, ToolError};
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use crate::roots::GrantedFolder;

#[cfg(target_os = "linux")]
pub(crate) use landlock::confine_program;
pub use program::{Metadata, Network, Rights};

/// What confines file tools on this device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sandbox {
    /// The kernel's Landlock version. None if this process cannot use Landlock.
    landlock: Option<i32>,
    /// Whether this process can use `openat2`.
    openat2: bool,
}

/// What a call may do in the granted folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Reads folders that are granted for reading.
    Read,
    /// Previews a change: reads every granted folder, and the agent's own folders.
    Preview,
    /// Changes folders that are granted for changes, and reads the other granted folders.
    Change,
}

impl Reach {
    /// Returns the reach that a call of this tool needs.
    #[must_use]
    pub const fn of(spec: &ToolSpec, dry_run: bool) -> Self {
        match (spec.has_effects, dry_run) {
            (false, _) => Self::Read,
            (true, true) => Self::Preview,
            (true, false) => Self::Change,
        }
    }
}

/// How a call is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// The call runs in a worker process, which the kernel confines to what the call may reach.
    Landlock(Reach),
    /// The call runs in a worker process, which reaches files by handle only: this kernel cannot confine it.
    Worker,
    /// The call runs in a thread of its own, which the kernel confines to what the call may reach: its content
    /// moves over the agent's connection, which no worker process has.
    Thread(Reach),
    /// The program has processes of its own, which the kernel confines to what they may reach.
    Program,
    /// The tool's own code reaches files by handle only. The kernel does not confine it.
    Handles,
}

/// The kernel did not confine the process, so no tool may run in it.
#[derive(Debug, thiserror::Error)]
pub enum Unconfined {
    /// This operating system, or this kernel, has no Landlock.
    #[error("there is no Landlock here")]
    Missing,
    /// The kernel has Landlock and refused the rules.
    #[cfg(target_os = "linux")]
    #[error("Landlock refused: {0}")]
    Refused(#[from] ::landlock::RulesetError),
}

impl Unconfined {
    /// Returns the tool error for the caller.
    #[must_use]
    pub fn refusal(&self) -> ToolError {
        ToolError::new(
            ErrorCode::ExecutionFailed,
            "Nothing was run: the kernel did not confine the call to the allowed paths.",
        )
        .hint(Hint::new("restart the agent on the device, and read its log").by(Actor::Owner))
    }
}

impl Sandbox {
    /// Tests what the kernel supports for this process. The result does not change while the process runs.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_os = "linux")]
        return Self { landlock: landlock::probe(), openat2: crate::roots::has_openat2() };
        #[cfg(not(target_os = "linux"))]
        Self { landlock: None, openat2: false }
    }

    /// Returns a sandbox of handles alone.
    #[must_use]
    pub const fn handles() -> Self {
        Self { landlock: None, openat2: false }
    }

    /// Returns whether the kernel also confines file tools.
    #[must_use]
    pub const fn has_landlock(self) -> bool {
        self.landlock.is_some()
    }

    /// Returns the name of this sandbox in facts and results: `landlock` or `handles`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        if self.has_landlock() { "landlock" } else { "handles" }
    }

    /// Returns how a call of this tool is confined. The only place that decides it.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` if this device cannot confine tools of that kind, or the tool runs on the backend.
    pub fn confinement(self, spec: &ToolSpec, dry_run: bool) -> Result<Confinement, ToolError> {
        let refused = |why: &str| {
            let message = format!("This device does not run {}: {why}.", spec.name);
            Err(ToolError::new(ErrorCode::NotSupported, message))
        };
        match (spec.runs_on, spec.execution) {
            (RunsOn::Backend, _) => refused("it runs on the backend"),
            (RunsOn::Device, Execution::File) if spec.content.is_beside() => {
                let reach = Reach::of(spec, dry_run);
                let is_confined = self.has_landlock();
                Ok(if is_confined { Confinement::Thread(reach) } else { Confinement::Handles })
            }
            (RunsOn::Device, Execution::File) if self.has_landlock() => {
                Ok(Confinement::Landlock(Reach::of(spec, dry_run)))
            }
            #[cfg(target_os = "linux")]
            (RunsOn::Device, Execution::File) => Ok(Confinement::Worker),
            // An application belongs to the person's desktop; the agent gives it nothing of its own.
            (RunsOn::Device, Execution::Plain | Execution::DesktopApp) => Ok(Confinement::Handles),
            // There are no workers here: the tool runs in a thread of the agent.
            #[cfg(not(target_os = "linux"))]
            (RunsOn::Device, Execution::File) => Ok(Confinement::Handles),
            (RunsOn::Device, Execution::ChildProcess) if self.has_landlock() => {
                Ok(Confinement::Program)
            }
            (RunsOn::Device, Execution::ChildProcess) => {
                refused("it starts programs, and the kernel of this device cannot confine them")
            }
        }
    }
}

impl Confinement {
    /// Returns the name of this confinement in results: `landlock` or `handles`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Landlock(_) | Self::Thread(_) | Self::Program => "landlock",
            Self::Worker | Self::Handles => "handles",
        }
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(version) = self.landlock {
            write!(f, "landlock (ABI {version}) and ")?;
        }
        f.write_str(if self.openat2 { "handles (openat2)" } else { "handles" })?;
        if self.has_landlock() {
            Ok(())
        } else {
            f.write_str(", and the kernel confines no folder")
        }
    }
}

/// Whether the agent may run where the kernel cannot confine file tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxChoice {
    /// Landlock if the kernel has it, else handles alone.
    #[default]
    Auto,
    /// Landlock is required; without it the agent does not start.
    Required,
}

/// The owner requires that the kernel confines file tools, and it cannot.
#[derive(Debug, thiserror::Error)]
#[error(
    "agent.toml says sandbox = \"required\", and this kernel has no Landlock that this process may use (it takes Linux 5.19 or newer with landlock among its security modules, and a container that permits it); turn it on, or write sandbox = \"auto\" to rely on handles alone"
)]
pub struct NoLandlock;

/// Checks that the sandbox meets the owner's choice.
pub(crate) fn suffices(sandbox: Sandbox, choice: SandboxChoice) -> Result<(), NoLandlock> {
    match choice {
        SandboxChoice::Required if !sandbox.has_landlock() => Err(NoLandlock),
        SandboxChoice::Required | SandboxChoice::Auto => Ok(()),
    }
}

/// Confines the calling thread, and the threads that it starts, permanently: to the granted folders within
/// `reach` and, for previews and changes, to `own`, the agent's own folders into which tools move files. The
/// thread cannot reach any other file, TCP, signals or abstract sockets of others.
///
/// # Errors
/// [`Unconfined`]; then the thread must not run the tool.
#[cfg(target_os = "linux")]
pub(crate) fn confine(
    granted: &[GrantedFolder],
    own: &[&Dir],
    reach: Reach,
) -> Result<(), Unconfined> {
    landlock::confine(granted, own, reach)
}
