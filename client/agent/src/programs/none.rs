//! Programs on systems where the agent cannot confine them: there are none.

mod answer;

use std::ops::Deref;
use std::path::Path;

use orion_domain::{DevicePath, ErrorCode, Observation, ToolError};

pub(crate) use answer::Answer;

use crate::call::Context;
use crate::roots::Roots;
use crate::sandbox::Network;

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

/// Runs a program of the system.
///
/// # Errors
/// `NOT_SUPPORTED`, always.
pub(crate) fn ask(
    _: &CommandContext<'_>,
    _: &str,
    _: &[&str],
    _: Network,
) -> Result<Answer, ToolError> {
    let message = "Programs run on Linux only, where the kernel confines them.";
    Err(ToolError::new(ErrorCode::NotSupported, message))
}

/// The context of one call of a tool that runs programs.
#[derive(Debug, Clone, Copy)]
pub struct CommandContext<'a> {
    /// What every tool may use.
    pub common: Context<'a>,
}

impl<'a> Deref for CommandContext<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        &self.common
    }
}
