//! What an executor may use, and when it must stop.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use orion_domain::{Access, CallId, DevicePath, ErrorCode, Places, ToolError};

use super::observe::{Expected, compare};
use crate::apps::Apps;
use crate::roots::{Located, Roots};
use crate::trash::Trash;

/// What a call is run with.
pub struct Context<'a> {
    /// The call.
    pub call: CallId,
    /// The allowed folders.
    pub roots: &'a Roots,
    /// Where relative paths and `~` begin.
    pub places: &'a Places,
    /// The applications of the device's list.
    pub apps: &'a Apps,
    /// Where what is changed is kept, so that it can be taken back.
    pub trash: &'a Trash,
    /// The device, as its own answers name it.
    pub device_id: &'a str,
    /// Whether nothing may change.
    pub dry_run: bool,
    /// What must still be as it was shown when the call acts.
    pub expected: Option<Expected<'a>>,
    /// Set when a person stops the call.
    pub cancelled: &'a AtomicBool,
    /// When the call has to be over.
    pub deadline: Instant,
    /// Told how many units of how many are done, if that is known, and what they are.
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
    /// Whether to go on. Called before a change is made and in every loop.
    ///
    /// # Errors
    /// `CANCELLED` or `TIMEOUT`.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(ToolError::new(ErrorCode::Cancelled, "The call was stopped by a person."));
        }
        if Instant::now() >= self.deadline {
            return Err(ToolError::new(
                ErrorCode::Timeout,
                "The call was not done by its deadline and has stopped. Ask for less at once, or for more time.",
            ));
        }
        Ok(())
    }

    /// Refuses the call where something is not as it was shown.
    ///
    /// # Errors
    /// As [`compare`].
    pub(crate) fn compare(&self) -> Result<(), ToolError> {
        self.expected.map_or(Ok(()), |expected| compare(&expected, self))
    }

    /// Takes an argument as a path of this device.
    ///
    /// # Errors
    /// `INVALID_PATH`.
    pub(crate) fn path(&self, text: &str) -> Result<DevicePath, ToolError> {
        orion_catalog::tools::path(self.places, text)
    }

    /// Takes an argument as a path of this device and finds where it leads.
    ///
    /// # Errors
    /// As [`Context::path`] and [`Roots::locate`].
    pub(super) fn locate(&self, text: &str, access: Access) -> Result<Located, ToolError> {
        self.roots.locate(&self.path(text)?, access)
    }
}
