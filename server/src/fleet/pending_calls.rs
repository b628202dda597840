//! Calls that were sent and have no result yet: delivers results, progress, output and cancellations to the
//! tasks that wait for them.

mod live_output;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dashmap::DashMap;
use dashmap::Entry::Vacant;
use orion_domain::{CallId, DeviceId};
use tokio::sync::mpsc;

use super::{CallProgress, DeviceResult, LinkId, OutputPiece};
pub use live_output::LiveOutput;

/// Minimum time between two progress updates to a call's watchers.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// How many bytes of output are kept of all running calls together. Beyond it, output is not kept.
const MAX_OUTPUT: usize = 64 * 1024 * 1024;
/// How many events may wait for a task. Further events of a device are dropped.
const MAX_EVENTS: usize = 8;

/// An event of a pending call.
#[derive(Debug)]
pub enum CallEvent {
    /// The call's result.
    Answer(DeviceResult),
    /// The device never received the call. Copies sent on streams before this link will not run.
    NotSeen(LinkId),
    /// A person cancels the call.
    Stop,
}

#[derive(Debug)]
struct Entry {
    device: DeviceId,
    events: mpsc::Sender<CallEvent>,
    advance: Option<(CallProgress, Instant)>,
    /// Who watches the call reads its end after the entry is gone.
    output: Arc<Mutex<LiveOutput>>,
    /// A result was delivered; the store handles any further one.
    is_answered: bool,
}

/// The calls that wait for their results.
#[derive(Debug, Default)]
pub struct PendingCalls {
    calls: DashMap<CallId, Entry>,
    /// Bytes of output that are kept of all calls.
    output_bytes: AtomicUsize,
}

/// A task's wait for a call; dropping it ends the wait.
#[derive(Debug)]
pub struct PendingCall<'a> {
    waiting: &'a PendingCalls,
    call: CallId,
    events: mpsc::Receiver<CallEvent>,
}

impl PendingCall<'_> {
    /// Waits for the call's next event. Never resolves where no sender is left.
    pub async fn next_event(&mut self) -> CallEvent {
        match self.events.recv().await {
            Some(event) => event,
            // The entry was removed by another task, which does not happen.
            None => std::future::pending().await,
        }
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        if let Some((_, entry)) = self.waiting.calls.remove(&self.call) {
            self.waiting.output_bytes.fetch_sub(locked(&entry.output).len(), Ordering::Relaxed);
        }
    }
}

impl PendingCalls {
    /// Starts to wait for events of a call, from this device only. `None` where a task waits for the call
    /// already.
    pub fn expect(&self, call: CallId, device: DeviceId) -> Option<PendingCall<'_>> {
        let Vacant(entry) = self.calls.entry(call) else { return None };
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        entry.insert(Entry {
            device,
            events: sender,
            advance: None,
            output: Arc::default(),
            is_answered: false,
        });
        Some(PendingCall { waiting: self, call, events })
    }

    /// Returns whether a task waits for this call.
    #[must_use]
    pub fn is_expected(&self, call: CallId) -> bool {
        self.calls.contains_key(&call)
    }

    /// Delivers a result to the task that waits for it. Returns the result where no task waits, where the
    /// call was not sent to this device, or where a result was delivered before.
    pub fn deliver(&self, device: DeviceId, answer: DeviceResult) -> Result<(), DeviceResult> {
        let Some(mut entry) = self.calls.get_mut(&answer.call) else { return Err(answer) };
        if entry.device != device || entry.is_answered {
            return Err(answer);
        }
        match entry.events.try_reserve() {
            Ok(room) => room.send(CallEvent::Answer(answer)),
            Err(_) => return Err(answer),
        }
        entry.is_answered = true;
        Ok(())
    }

    /// Reports to the waiting task that the device never received the call; `false` where no task waits.
    pub fn not_seen(&self, device: DeviceId, link: LinkId, call: CallId) -> bool {
        self.calls.get(&call).is_some_and(|entry| {
            // Where the queue is full, the device is asked again.
            entry.device == device && entry.events.try_send(CallEvent::NotSeen(link)).is_ok()
        })
    }

    /// Tells the waiting task to cancel the call; `false` where no task waits.
    pub fn stop(&self, call: CallId) -> bool {
        self.calls.get(&call).is_some_and(|entry| entry.events.try_send(CallEvent::Stop).is_ok())
    }

    /// Stores a call's progress. Returns whether to wake its watchers: at most once in an interval.
    pub fn advance(
        &self,
        device: DeviceId,
        call: CallId,
        advance: CallProgress,
        now: Instant,
    ) -> bool {
        let Some(mut entry) = self.calls.get_mut(&call) else { return false };
        if entry.device != device {
            return false;
        }
        let woken_at = entry.advance.as_ref().map(|(_, woken_at)| *woken_at);
        let wakes = woken_at
            .is_none_or(|woken_at| now.saturating_duration_since(woken_at) >= PROGRESS_INTERVAL);
        entry.advance = Some((advance, woken_at.filter(|_| !wakes).unwrap_or(now)));
        wakes
    }

    /// Adds to a call's output. Returns whether there is something new for its watchers.
    pub fn add_output(&self, device: DeviceId, call: CallId, piece: &OutputPiece) -> bool {
        // The entry stays locked, so that the end of the call subtracts all that is counted here.
        let Some(entry) = self.calls.get_mut(&call) else { return false };
        if entry.device != device {
            return false;
        }
        let mut output = locked(&entry.output);
        let kept = self.output_bytes.load(Ordering::Relaxed);
        if kept.saturating_add(output.growth(piece)) > MAX_OUTPUT {
            return false;
        }
        let before = output.len();
        let is_new = output.add(piece);
        self.output_bytes.fetch_add(output.len(), Ordering::Relaxed);
        self.output_bytes.fetch_sub(before, Ordering::Relaxed);
        is_new
    }

    /// Returns a call's output, which can be read after the call ended, too. `None` where no task waits for
    /// the call.
    #[must_use]
    pub fn output_of(&self, call: CallId) -> Option<Arc<Mutex<LiveOutput>>> {
        Some(Arc::clone(&self.calls.get(&call)?.output))
    }

    /// Returns a call's progress, where its device reported one.
    #[must_use]
    pub fn advance_of(&self, call: CallId) -> Option<CallProgress> {
        Some(self.calls.get(&call)?.advance.as_ref()?.0.clone())
    }
}

/// Locks a call's output. No holder can leave it half changed.
pub fn locked(output: &Mutex<LiveOutput>) -> MutexGuard<'_, LiveOutput> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn ids() -> (CallId, DeviceId, DeviceId) {
        let device = |number| DeviceId::new(Uuid::from_u128(number));
        (CallId::new(Uuid::from_u128(1)), device(1), device(2))
    }

    #[tokio::test]
    async fn only_the_device_that_a_call_was_sent_to_is_heard_and_while_somebody_waits() {
        let (waiting, (call, device, other)) = (PendingCalls::default(), ids());
        let link = LinkId::of_tests(1);
        assert!(!waiting.not_seen(device, link, call));
        let mut expected = waiting.expect(call, device).unwrap();
        assert!(waiting.expect(call, device).is_none(), "two wait for one call");
        assert!(!waiting.not_seen(other, link, call));
        assert!(waiting.not_seen(device, link, call) && waiting.stop(call));
        assert!(matches!(expected.next_event().await, CallEvent::NotSeen(said) if said == link));
        assert!(matches!(expected.next_event().await, CallEvent::Stop));
        drop(expected);
        assert!(!waiting.is_expected(call) && !waiting.stop(call));
    }

    #[test]
    fn output_is_heard_from_the_device_of_the_call_alone_and_counted_until_the_call_ends() {
        let (waiting, (call, device, other)) = (PendingCalls::default(), ids());
        let piece = |offset| OutputPiece { offset, data: vec![b'x'; 10] };
        assert!(!waiting.add_output(device, call, &piece(0)), "nobody waits");
        let expected = waiting.expect(call, device).unwrap();
        assert!(!waiting.add_output(other, call, &piece(0)));
        assert!(waiting.add_output(device, call, &piece(0)));
        assert!(!waiting.add_output(device, call, &piece(0)), "a repetition is nothing new");
        assert!(waiting.add_output(device, call, &piece(10)));
        let output = waiting.output_of(call).unwrap();
        assert_eq!(waiting.output_bytes.load(Ordering::Relaxed), 20);
        drop(expected);
        assert_eq!(waiting.output_bytes.load(Ordering::Relaxed), 0);
        assert_eq!(locked(&output).since(5).map(|it| it.data.len()), Some(15), "its end is read");
        assert!(waiting.output_of(call).is_none());
        let _expected = waiting.expect(call, device).unwrap();
        waiting.output_bytes.store(MAX_OUTPUT - 5, Ordering::Relaxed);
        assert!(!waiting.add_output(device, call, &piece(0)), "more than all may keep");
    }

    #[test]
    fn those_who_watch_are_woken_ten_times_a_second_and_told_the_newest() {
        let (waiting, (call, device, other)) = (PendingCalls::default(), ids());
        let advance = |done| CallProgress { done, ..CallProgress::default() };
        let (_expected, now) = (waiting.expect(call, device).unwrap(), Instant::now());
        assert!(!waiting.advance(other, call, advance(9), now));
        assert!(waiting.advance(device, call, advance(1), now));
        assert!(!waiting.advance(device, call, advance(2), now + PROGRESS_INTERVAL / 2));
        assert_eq!(waiting.advance_of(call), Some(advance(2)));
        assert!(waiting.advance(device, call, advance(3), now + PROGRESS_INTERVAL));
    }
}
