//! What a tool that runs programs may use besides what every tool may.

use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use orion_domain::ToolError;

use super::{LiveOutput, Programs};
use crate::call::{Context, RiskGate, reserve_memory};
use crate::process::{Ended, Launch, LaunchError, Stream};

/// Memory of the agent for the output of the programs of one call, in bytes.
const OUTPUT_BYTES: u64 = 1024 * 1024;
/// What is left of a call's time for ending its programs and reporting.
const TO_END: Duration = Duration::from_millis(800);

/// The context of one call of a tool that runs programs.
#[derive(Debug, Clone, Copy)]
pub struct CommandContext<'a> {
    /// What every tool may use.
    pub common: Context<'a>,
    /// The programs of this device.
    pub programs: &'a Programs,
    /// Records what raises the call's risk. Stops the call unless the policy or an approval allows the raise.
    pub risk: &'a RiskGate,
    /// Passes on what the programs print to those who watch the call. `None` where nobody can.
    pub output: Option<&'a LiveOutput<'a>>,
}

impl<'a> Deref for CommandContext<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        &self.common
    }
}

impl CommandContext<'_> {
    /// Reserves the memory for the output of the call's programs.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED`.
    pub(crate) fn reserve_output(&self) -> Result<(), ToolError> {
        self.reserve_output_and(0)
    }

    /// As [`reserve_output`](Self::reserve_output), with the memory that the tool itself needs.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED`.
    pub(crate) fn reserve_output_and(&self, bytes: u64) -> Result<(), ToolError> {
        reserve_memory(&self.common, OUTPUT_BYTES.saturating_add(bytes))
    }

    /// Returns when programs that may take this long must end, within the time of the call.
    pub(crate) fn end_within(&self, time: Duration) -> Instant {
        let deadline = self.deadline.checked_sub(TO_END).unwrap_or(self.deadline);
        deadline.min(Instant::now() + time)
    }

    /// Runs a program until it ends or the call is cancelled. `output` sees each piece of its output, with the
    /// stream that it belongs to.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub(crate) fn launch(
        &self,
        launch: &Launch,
        handles: &[BorrowedFd<'_>],
        output: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Ended, LaunchError> {
        let goes_on = || !self.cancelled.load(Ordering::Relaxed);
        self.programs.launcher.run_streams(launch, handles, output, &goes_on)
    }

    /// Runs a program until it ends or the call is cancelled. What it prints is passed on to those who watch the
    /// call, and how much is its progress.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub(crate) fn launch_watched(
        &self,
        launch: &Launch,
        handles: &[BorrowedFd<'_>],
    ) -> Result<Ended, LaunchError> {
        let mut bytes = 0_u64;
        let mut seen = |piece: &[u8]| {
            if let Some(watched) = self.output {
                watched.push(piece);
            }
            bytes = bytes.saturating_add(piece.len() as u64);
            (self.progress)(bytes, None, "bytes printed");
        };
        let goes_on = || {
            // Asked often also where the program prints nothing more for a while.
            if let Some(watched) = self.output {
                watched.pass_on();
            }
            !self.cancelled.load(Ordering::Relaxed)
        };
        let ended = self.programs.launcher.run(launch, handles, &mut seen, &goes_on);
        if let Some(watched) = self.output {
            watched.pass_on_now();
        }
        ended
    }
}
