//! The link to one device, as the rest of the backend sees it: what can be asked of a device. It has a
//! bounded queue of messages, slots for calls, and a token that ends the stream. Nobody else knows that there
//! is a stream of this process behind it.

mod send;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use orion_domain::UserName;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::messages::{OwnerPause, ToDevice};
use super::outstanding_queries::OutstandingQueries;
use super::slots::{Place, Places, SlotError};

pub use send::SendError;

/// How many messages may wait for a slow device.
const QUEUE: usize = 128;

/// Identifies a link of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkId(u64);

#[cfg(test)]
impl LinkId {
    /// Creates an id for tests.
    pub(super) const fn of_tests(number: u64) -> Self {
        Self(number)
    }
}

/// A live link to a device. Clones are handles to the same stream.
#[derive(Debug, Clone)]
pub struct DeviceLink {
    id: LinkId,
    /// The device's connection counter.
    generation: u64,
    sender: mpsc::Sender<ToDevice>,
    ended: CancellationToken,
    places: Places,
    /// Wakes the task that sends the calls that wait for the device.
    queue: Arc<Notify>,
    asked: Arc<OutstandingQueries>,
    /// The owner's pause, as the device reported it last.
    pause: Arc<Mutex<Option<OwnerPause>>>,
}

impl DeviceLink {
    /// Creates a link for the device's connection with this counter. Also returns the receiving end of its
    /// queue.
    #[must_use]
    pub fn new(
        generation: u64,
        in_flight: u32,
        ended: CancellationToken,
    ) -> (Self, mpsc::Receiver<ToDevice>) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (sender, receiver) = mpsc::channel(QUEUE);
        let link = Self {
            id: LinkId(NEXT.fetch_add(1, Ordering::Relaxed)),
            generation,
            sender,
            ended,
            places: Places::new(in_flight),
            queue: Arc::default(),
            asked: Arc::default(),
            pause: Arc::default(),
        };
        (link, receiver)
    }

    /// Returns the link's id.
    #[must_use]
    pub const fn id(&self) -> LinkId {
        self.id
    }

    /// Returns whether this link is live, and on a later connection of the device than `other`.
    #[must_use]
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.generation > other.generation && !self.has_ended()
    }

    /// Returns the calls that the device was asked about and has not answered.
    #[must_use]
    pub fn asked(&self) -> &OutstandingQueries {
        &self.asked
    }

    /// Returns the pause of the device's owner. None where the device is not paused.
    #[must_use]
    pub fn pause(&self) -> Option<OwnerPause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores what the device reports of its owner's pause.
    pub fn set_pause(&self, pause: Option<OwnerPause>) {
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = pause;
    }

    /// Acquires a slot for a call of this person.
    ///
    /// # Errors
    /// [`SlotError`]: every slot is taken, or the person's share is.
    pub fn acquire_slot(&self, user: &UserName) -> Result<Place, SlotError> {
        self.places.take(user)
    }

    /// Waits for a slot for a call of this person. `None` where the stream ends first.
    pub async fn wait_for_slot(&self, user: &UserName) -> Option<Place> {
        tokio::select! {
            place = self.places.acquire_waiting(user) => place,
            () = self.ended.cancelled() => None,
        }
    }

    /// Signals that a call waits for the device.
    pub fn wake(&self) {
        self.queue.notify_one();
    }

    /// Waits until a call waits for the device, since the last wait.
    pub async fn woken(&self) {
        self.queue.notified().await;
    }

    /// Ends the stream.
    pub fn end(&self) {
        self.ended.cancel();
    }

    /// Returns whether the stream has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Waits until the stream has ended.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }
}
