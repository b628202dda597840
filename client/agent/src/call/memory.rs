//! Limits the memory of all calls together. A call reserves large memory before it uses it, and waits until
//! other calls release theirs. So the agent stays small however many calls run at once.
//!
//! A call reserves memory of each pool once, after it holds its path locks, that of its tool before that of its
//! result, so that no two calls wait for each other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use orion_domain::{ErrorCode, ToolError};

use super::Context;
use crate::coordination::{Question, ask};

const MIB: u64 = 1024 * 1024;
/// How often a waiting call checks whether to stop.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The memory of all tools together, besides the arguments of calls and small buffers.
static OF_TOOLS: Pool = Pool::new(16 * MIB);
/// The memory of all results together that come from workers, until they are text.
static OF_RESULTS: Pool = Pool::new(8 * MIB);

/// Memory that calls share.
struct Pool {
    most: u64,
    used: Mutex<Use>,
    freed: Condvar,
}

/// Reserved bytes and waiting calls, in order of arrival: a large call is not passed over forever.
struct Use {
    held: u64,
    next: u64,
    waiting: VecDeque<u64>,
}

impl Pool {
    const fn new(most: u64) -> Self {
        let used = Mutex::new(Use { held: 0, next: 0, waiting: VecDeque::new() });
        Self { most, used, freed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Use> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, held: &AtomicU64) {
        let bytes = held.swap(0, Ordering::Relaxed);
        if bytes > 0 {
            let mut all = self.lock();
            all.held = all.held.saturating_sub(bytes);
            drop(all);
            self.freed.notify_all();
        }
    }

    fn take(
        &self,
        held: &AtomicU64,
        check: &dyn Fn() -> Result<(), ToolError>,
        bytes: u64,
    ) -> Result<(), ToolError> {
        // Releases first, so that the call does not wait for its own memory.
        self.give_back(held);
        let bytes = bytes.min(self.most);
        let mut all = self.lock();
        let ticket = all.next;
        all.next += 1;
        all.waiting.push_back(ticket);
        let may_go_on = loop {
            if all.waiting.front() == Some(&ticket) && all.held + bytes <= self.most {
                all.held += bytes;
                held.store(bytes, Ordering::Relaxed);
                break Ok(());
            }
            if let Err(error) = check() {
                break Err(error);
            }
            let waited = self.freed.wait_timeout(all, CHECK_INTERVAL);
            all = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        all.waiting.retain(|waiting| *waiting != ticket);
        drop(all);
        self.freed.notify_all();
        may_go_on
    }
}

/// The reserved memory of one call. Released when its result is text, on drop, or when no client waits for
/// the call any more. So a call that hangs blocks no other call.
#[derive(Debug, Default)]
pub struct Memory {
    tool: AtomicU64,
    result: AtomicU64,
}

impl Memory {
    /// Releases all reserved memory.
    pub fn give_back(&self) {
        OF_TOOLS.give_back(&self.tool);
        OF_RESULTS.give_back(&self.result);
    }

    /// Waits until so many bytes are free for the call's result, and reserves them.
    ///
    /// # Errors
    /// Those of `check`.
    #[cfg(target_os = "linux")]
    pub(crate) fn take_for_result(
        &self,
        check: &dyn Fn() -> Result<(), ToolError>,
        bytes: u64,
    ) -> Result<(), ToolError> {
        OF_RESULTS.take(&self.result, check, bytes)
    }

    /// Waits until so many bytes are free, and reserves them. A larger request gets the whole limit.
    ///
    /// # Errors
    /// `TIMEOUT`, and otherwise those of `check`, which says whether to go on waiting.
    pub(crate) fn take(
        &self,
        check: &dyn Fn() -> Result<(), ToolError>,
        bytes: u64,
    ) -> Result<(), ToolError> {
        OF_TOOLS.take(&self.tool, check, bytes).map_err(|error| {
            if error.code != ErrorCode::Timeout {
                return error;
            }
            ToolError::new(
                ErrorCode::Timeout,
                "The call waited until its deadline for other calls that take much memory. Nothing was done.",
            ).hint("try again when they have ended")
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Waits until so many bytes are free, and reserves them for the call.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`.
pub(crate) fn reserve_memory(context: &Context<'_>, bytes: u64) -> Result<(), ToolError> {
    match ask(|| Question::Memory(bytes)) {
        Some(answer) => answer.done(),
        None => context.memory.take(&|| context.check(), bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tools::testing::Device;

    #[test]
    fn who_finds_no_room_waits_in_turn_and_can_be_stopped_and_who_is_given_up_holds_up_nobody() {
        let device = Device::new();
        device.with_context(|context| {
            let [large, other] = [(); 2].map(|()| Arc::new(Memory::default()));
            large.take(&|| context.check(), u64::MAX).unwrap();
            device.cancelled.store(true, Ordering::Relaxed);
            assert_eq!(other.take(&|| context.check(), 1).unwrap_err().code, ErrorCode::Cancelled);
            device.cancelled.store(false, Ordering::Relaxed);
            std::thread::scope(|scope| {
                let given_up = Arc::clone(&large);
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(100));
                    given_up.give_back();
                });
                other.take(&|| context.check(), 1).unwrap();
            });
            // The given-up call still exists, and holds nothing.
            assert_eq!(large.tool.load(Ordering::Relaxed), 0);
            assert_eq!(other.tool.load(Ordering::Relaxed), 1);
            assert!(OF_TOOLS.lock().waiting.is_empty());
        });
    }
}
