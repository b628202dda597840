//! Programs on systems where the agent cannot confine them: there are none.

use std::path::Path;

use orion_domain::{DevicePath, ErrorCode, Observation, ToolError};

use crate::roots::Roots;

/// The programs of this device.
#[derive(Debug, Clone, Default)]
pub struct Programs;

impl Programs {
    /// Returns the programs of the device that this agent runs on.
    #[must_use]
    pub fn of_this_device(_: &Path, _: Option<&DevicePath>) -> Self {
        Self
    }

    /// Observes a program.
    ///
    /// # Errors
    /// `NOT_SUPPORTED`, always.
    pub(crate) fn observe(
        &self,
        _: &str,
        _: &DevicePath,
        _: &Roots,
    ) -> Result<Observation, ToolError> {
        let message = "Programs run on Linux only, where the kernel confines them.";
        Err(ToolError::new(ErrorCode::NotSupported, message))
    }
}
