//! What all calls together may hold in memory. A call that needs much says so before it takes it, and
//! waits for others to give theirs back: so the agent stays small however many calls run at once.
//!
//! Asked for once by a call, after its turn has come, so that no two calls wait for each other.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use orion_domain::ToolError;

use super::Context;

/// What all calls together may hold, in bytes, beside their arguments and small buffers.
const MAX_HELD_BYTES: u64 = 20 * 1024 * 1024;
/// How often one who waits looks whether to go on waiting.
const LOOK_EVERY: Duration = Duration::from_millis(50);

static HELD: Mutex<u64> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

/// What a call may hold until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Room(u64);

/// Waits until there is room for so many bytes, which the call holds until its result is text. What is more
/// than all there is has all of it.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`.
pub(super) fn room(context: &Context<'_>, bytes: u64) -> Result<(), ToolError> {
    // What it had it does not wait for.
    drop(context.room.take());
    context.room.set(Some(wait(context, bytes)?));
    Ok(())
}

fn wait(context: &Context<'_>, bytes: u64) -> Result<Room, ToolError> {
    let bytes = bytes.min(MAX_HELD_BYTES);
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    while *held + bytes > MAX_HELD_BYTES {
        context.check()?;
        held = FREED.wait_timeout(held, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
    }
    *held += bytes;
    Ok(Room(bytes))
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        *held = held.saturating_sub(self.0);
        drop(held);
        FREED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use orion_domain::ErrorCode;

    use super::*;
    use crate::tools::testing::Device;

    #[test]
    fn who_finds_no_room_waits_for_it_and_can_be_stopped() {
        let device = Device::new();
        device.with_context(|context| {
            let all = wait(context, u64::MAX).unwrap();
            device.cancelled.store(true, Ordering::Relaxed);
            assert_eq!(wait(context, 1).unwrap_err().code, ErrorCode::Cancelled);
            device.cancelled.store(false, Ordering::Relaxed);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(100));
                    drop(all);
                });
                drop(wait(context, 1).unwrap());
            });
        });
    }
}
