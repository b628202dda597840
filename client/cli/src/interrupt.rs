//! Ctrl-C: it ends a command, unless the command holds it for a moment to end something itself first.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// Whether the command handles Ctrl-C itself. One for the process, as the signal is.
static HELD: AtomicBool = AtomicBool::new(false);

/// While it lives, Ctrl-C does not end the command, which waits for it itself.
#[derive(Debug)]
pub(crate) struct Hold(());

impl Hold {
    /// Takes Ctrl-C over.
    pub(crate) fn new() -> Self {
        HELD.store(true, Ordering::Release);
        Self(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HELD.store(false, Ordering::Release);
    }
}

/// Runs a command until its end or Ctrl-C.
///
/// # Errors
/// Those of the command, or [`Failure::Interrupted`].
pub(crate) async fn interruptible(
    run: impl Future<Output = Result<u8, Failure>>,
) -> Result<u8, Failure> {
    let mut run = std::pin::pin!(run);
    loop {
        tokio::select! {
            end = &mut run => return end,
            _ = tokio::signal::ctrl_c() => {
                if !HELD.load(Ordering::Acquire) {
                    return Err(Failure::Interrupted);
                }
            }
        }
    }
}
