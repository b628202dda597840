//! What every tool may use, and when it must stop.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use orion_domain::{Access, CallId, DevicePath, ErrorCode, Places, ToolError};

use super::{Installation, Memory};
use crate::roots::{Located, Roots};

/// How often a waiting call checks whether to stop.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Takes a piece of what programs print, with the position of its first byte in all output of the call. Returns
/// whether it did. Never waits.
pub type TakeOutput<'a> = dyn Fn(u64, Vec<u8>) -> bool + 'a;

/// The context of one call, for any tool.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The call.
    pub call: CallId,
    /// The device's id in its own results.
    pub device_id: &'a str,
    /// Whether the call must change nothing.
    pub dry_run: bool,
    /// The allowed folders.
    pub roots: &'a Roots,
    /// Base of relative paths and of `~`.
    pub places: &'a Places,
    /// The agent that runs the call.
    pub installation: &'a Installation,
    /// Memory that the call holds, after it reserved some.
    pub memory: &'a Memory,
    /// Set when a person stops the call.
    pub cancelled: &'a AtomicBool,
    /// When the call must end.
    pub deadline: Instant,
    /// Reports progress: units done, total if known, and the name of the unit. Never waits.
    pub progress: &'a dyn Fn(u64, Option<u64>, &str),
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("call", &self.call)
            .field("device_id", &self.device_id)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

impl Context<'_> {
    /// Checks whether to continue. Called before each change and in every loop.
    ///
    /// # Errors
    /// `CANCELLED` or `TIMEOUT`.
    pub fn check(&self) -> Result<(), ToolError> {
        check(self.cancelled.load(Ordering::Relaxed), self.deadline)
    }

    /// Waits so long, or until the call must stop.
    ///
    /// # Errors
    /// As [`Context::check`].
    pub(crate) fn wait(&self, time: Duration) -> Result<(), ToolError> {
        let until = Instant::now() + time;
        loop {
            self.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let to_deadline = self.deadline.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(to_deadline).min(CHECK_INTERVAL));
        }
    }

    /// Parses an argument as a path of this device.
    ///
    /// # Errors
    /// `INVALID_PATH`.
    pub(crate) fn path(&self, text: &str) -> Result<DevicePath, ToolError> {
        orion_catalog::tools::path(self.places, text)
    }

    /// Parses an argument as a path of this device, and resolves it.
    ///
    /// # Errors
    /// As [`Context::path`] and [`Roots::locate`].
    pub(crate) fn locate(&self, text: &str, access: Access) -> Result<Located, ToolError> {
        self.roots.locate(&self.path(text)?, access)
    }
}

/// Checks whether a call goes on.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`.
pub(crate) fn check(is_cancelled: bool, deadline: Instant) -> Result<(), ToolError> {
    if is_cancelled {
        return Err(ToolError::new(ErrorCode::Cancelled, "The call was cancelled while it ran."));
    }
    if Instant::now() >= deadline {
        return Err(ToolError::new(
            ErrorCode::Timeout,
            "The call was not done by its deadline and has stopped.",
        )
        .hint("ask for less at once, or for more time"));
    }
    Ok(())
}
