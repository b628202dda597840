//! The second layer: the kernel confines the thread that runs a file tool to the folders that its call
//! may touch, so that a mistake in the first layer ([`Roots`], which reaches everything by handle) leads
//! nowhere. Either holds alone, except for what Landlock does not govern: looking at a file's
//! metadata, reading where a link points, changing mode, owner and times, and the entries that are
//! kept out inside an allowed folder. Those are held by the first layer only.
//!
//! A thread stays confined to its end, so each call has one of its own, and a new permission set gets
//! new threads. The agent's own threads are never confined.

#[cfg(target_os = "linux")]
mod landlock;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

use std::fmt;

use cap_std::fs::Dir;
use orion_catalog::ToolSpec;
use orion_domain::{Capability, ErrorCode, ToolError};

use crate::roots::Roots;

/// What confines file tools on this device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sandbox {
    /// The version of Landlock that the kernel has and lets this process use.
    landlock: Option<i32>,
    /// Whether the kernel has `openat2` for this process.
    openat2: bool,
}

/// How far a call may reach into the folders that it was lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It reads where reading is lent.
    Read,
    /// It says what it would change: it reads wherever anything is lent, and the agent's own folders.
    Preview,
    /// It changes what is lent for that, and reads the rest.
    Change,
}

impl Reach {
    /// What a call of this tool needs.
    #[must_use]
    pub const fn of(spec: &ToolSpec, dry_run: bool) -> Self {
        match (spec.has_effects, dry_run) {
            (false, _) => Self::Read,
            (true, true) => Self::Preview,
            (true, false) => Self::Change,
        }
    }
}

/// The kernel did not confine the thread, so nothing may be run in it.
#[derive(Debug, thiserror::Error)]
pub enum Unconfined {
    /// This operating system, or this kernel, has no Landlock.
    #[error("there is no Landlock here")]
    Missing,
    /// The kernel has it and refused.
    #[cfg(target_os = "linux")]
    #[error("Landlock refused: {0}")]
    Refused(#[from] ::landlock::RulesetError),
}

impl Unconfined {
    /// What the caller is told.
    #[must_use]
    pub fn refusal(&self) -> ToolError {
        ToolError::new(
            ErrorCode::ExecutionFailed,
            "Nothing was run: the kernel did not confine the call to the allowed paths. Restart the agent on the device; its log says more.",
        )
    }
}

impl Sandbox {
    /// Tries what the kernel does for this process. Nothing here changes while it runs.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_os = "linux")]
        return Self { landlock: landlock::probe(), openat2: crate::roots::has_openat2() };
        #[cfg(not(target_os = "linux"))]
        Self { landlock: None, openat2: false }
    }

    /// Handles alone.
    #[must_use]
    pub const fn handles() -> Self {
        Self { landlock: None, openat2: false }
    }

    /// Whether the kernel confines file tools besides.
    #[must_use]
    pub const fn has_landlock(self) -> bool {
        self.landlock.is_some()
    }

    /// The word that backend and results use for what confines file tools here.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        if self.has_landlock() { "landlock" } else { "handles" }
    }

    /// Whether calls of this tool run in a thread that the kernel confines.
    #[must_use]
    pub fn confines(self, spec: &ToolSpec) -> bool {
        self.has_landlock() && is_for_files(spec)
    }

    /// The word for what confines calls of this tool.
    #[must_use]
    pub fn of(self, spec: &ToolSpec) -> &'static str {
        if self.confines(spec) { self.as_str() } else { Self::handles().as_str() }
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(version) = self.landlock {
            write!(f, "landlock (ABI {version}) and ")?;
        }
        f.write_str(if self.openat2 { "handles (openat2)" } else { "handles" })
    }
}

/// Whether a tool deals with files and nothing else. One that starts a program or asks about the
/// device needs more than any folder holds.
fn is_for_files(spec: &ToolSpec) -> bool {
    let is_file = |capability: &Capability| {
        matches!(capability, Capability::FileRead | Capability::FileWrite | Capability::FileDelete)
    };
    !spec.capabilities.is_empty() && spec.capabilities.iter().all(is_file)
}

/// Confines the calling thread, and those that it starts, for good: to `roots` as far as `reach` goes
/// and, for changes, to `own`, the agent's own folders into which tools move things. Every other
/// file, TCP, signals and abstract sockets of others are out of its reach.
///
/// # Errors
/// [`Unconfined`]; the thread must then not run what was to be confined.
#[cfg(target_os = "linux")]
pub fn confine(roots: &Roots, own: &[&Dir], reach: Reach) -> Result<(), Unconfined> {
    landlock::confine(roots, own, reach)
}

/// Elsewhere there is nothing to confine a thread with.
///
/// # Errors
/// [`Unconfined`], always.
#[cfg(not(target_os = "linux"))]
pub fn confine(_: &Roots, _: &[&Dir], _: Reach) -> Result<(), Unconfined> {
    Err(Unconfined::Missing)
}
