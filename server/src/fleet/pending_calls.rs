//! Calls that were sent and whose end is awaited: who hears what their devices say of them, how far
//! they are, and that a person stopped one.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use dashmap::Entry::Vacant;
use orion_domain::{CallId, DeviceId};
use tokio::sync::mpsc;

use super::{CallProgress, DeviceResult, SessionId};

/// How often those who watch a call are told how far it is.
const ADVANCE: Duration = Duration::from_millis(100);
/// Words that may wait for whoever listens. A device that says more is not heard.
const WORDS: usize = 8;

/// What whoever waits for a call is told.
#[derive(Debug)]
pub enum CallEvent {
    /// How it ended.
    Answer(DeviceResult),
    /// It never arrived, and what was sent of it on a stream before this one will not be run.
    NotSeen(SessionId),
    /// A person stops it.
    Stop,
}

#[derive(Debug)]
struct Entry {
    device: DeviceId,
    words: mpsc::Sender<CallEvent>,
    advance: Option<(CallProgress, Instant)>,
    /// An answer was handed over; another one is for the record.
    is_answered: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct PendingCalls(DashMap<CallId, Entry>);

/// Somebody waits for a call; dropped when not any more.
#[derive(Debug)]
pub struct PendingCall<'a> {
    waiting: &'a PendingCalls,
    call: CallId,
    words: mpsc::Receiver<CallEvent>,
}

impl PendingCall<'_> {
    /// The next word. There is always somebody who may say one.
    pub async fn next_event(&mut self) -> CallEvent {
        match self.words.recv().await {
            Some(word) => word,
            // An answer was taken out for somebody else, which does not happen.
            None => std::future::pending().await,
        }
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        self.waiting.0.remove(&self.call);
    }
}

impl PendingCalls {
    /// Waits for what this device and no other says of a call; none where somebody waits for it
    /// already.
    pub fn expect(&self, call: CallId, device: DeviceId) -> Option<PendingCall<'_>> {
        let Vacant(place) = self.0.entry(call) else { return None };
        let (sender, words) = mpsc::channel(WORDS);
        place.insert(Entry { device, words: sender, advance: None, is_answered: false });
        Some(PendingCall { waiting: self, call, words })
    }

    /// Whether somebody waits for this call.
    #[must_use]
    pub fn is_expected(&self, call: CallId) -> bool {
        self.0.contains_key(&call)
    }

    /// Hands an answer to whoever waits for it. Gives it back where nobody does, where the call was
    /// not sent to this device, or where an answer was handed over before.
    pub fn deliver(&self, device: DeviceId, answer: DeviceResult) -> Result<(), DeviceResult> {
        let Some(mut entry) = self.0.get_mut(&answer.call) else { return Err(answer) };
        if entry.device != device || entry.is_answered {
            return Err(answer);
        }
        match entry.words.try_reserve() {
            Ok(room) => room.send(CallEvent::Answer(answer)),
            Err(_) => return Err(answer),
        }
        entry.is_answered = true;
        Ok(())
    }

    /// Tells whoever waits for a call that it never arrived; `false` where nobody waits.
    pub fn not_seen(&self, device: DeviceId, session: SessionId, call: CallId) -> bool {
        self.0.get(&call).is_some_and(|entry| {
            // Where there is no room it is asked about again.
            entry.device == device && entry.words.try_send(CallEvent::NotSeen(session)).is_ok()
        })
    }

    /// Tells whoever waits for a call that a person stops it; `false` where nobody waits.
    pub fn stop(&self, call: CallId) -> bool {
        self.0.get(&call).is_some_and(|entry| entry.words.try_send(CallEvent::Stop).is_ok())
    }

    /// Notes how far a call is. Tells whether those who watch it are to be woken: not more often than
    /// they can see.
    pub fn advance(
        &self,
        device: DeviceId,
        call: CallId,
        advance: CallProgress,
        now: Instant,
    ) -> bool {
        let Some(mut entry) = self.0.get_mut(&call) else { return false };
        if entry.device != device {
            return false;
        }
        let told = entry.advance.as_ref().map(|(_, told)| *told);
        let wakes = told.is_none_or(|told| now.saturating_duration_since(told) >= ADVANCE);
        entry.advance = Some((advance, told.filter(|_| !wakes).unwrap_or(now)));
        wakes
    }

    /// How far a call is, where its device told.
    #[must_use]
    pub fn advance_of(&self, call: CallId) -> Option<CallProgress> {
        Some(self.0.get(&call)?.advance.as_ref()?.0.clone())
    }
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
        let session = SessionId::of_tests(1);
        assert!(!waiting.not_seen(device, session, call));
        let mut expected = waiting.expect(call, device).unwrap();
        assert!(waiting.expect(call, device).is_none(), "two wait for one call");
        assert!(!waiting.not_seen(other, session, call));
        assert!(waiting.not_seen(device, session, call) && waiting.stop(call));
        assert!(matches!(expected.next_event().await, CallEvent::NotSeen(said) if said == session));
        assert!(matches!(expected.next_event().await, CallEvent::Stop));
        drop(expected);
        assert!(!waiting.is_expected(call) && !waiting.stop(call));
    }

    #[test]
    fn those_who_watch_are_woken_ten_times_a_second_and_told_the_newest() {
        let (waiting, (call, device, other)) = (PendingCalls::default(), ids());
        let advance = |done| CallProgress { done, ..CallProgress::default() };
        let (_expected, now) = (waiting.expect(call, device).unwrap(), Instant::now());
        assert!(!waiting.advance(other, call, advance(9), now));
        assert!(waiting.advance(device, call, advance(1), now));
        assert!(!waiting.advance(device, call, advance(2), now + ADVANCE / 2));
        assert_eq!(waiting.advance_of(call), Some(advance(2)));
        assert!(waiting.advance(device, call, advance(3), now + ADVANCE));
    }
}
