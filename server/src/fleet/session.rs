//! One live stream to one device, as the rest of the backend sees it: a bounded queue of messages
//! and a switch that ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use orion_domain::{
    ApprovalBasis, ApprovalId, CallId, CallState, Caller, CanonicalArguments, DeviceId, Digest,
    ErrorCode, Observation, Risk, RiskRaise, UserName,
};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::outstanding_queries::OutstandingQueries;
use super::slots::{Place, Places, SlotError};
use crate::store::Witness;

/// How many messages may wait for a slow device.
const QUEUE: usize = 128;

/// What is sent to a device.
#[derive(Debug)]
pub enum ToDevice {
    /// Run this, in the time that is left.
    Dispatch(Arc<Dispatch>, Duration),
    /// Stop that.
    Cancel(CallId),
    /// What became of these, which were sent on an earlier stream?
    Query(Vec<CallId>),
    /// The result that said this is on the record.
    Ack(CallId, CallState),
    /// What holds now.
    Policy {
        /// Its version.
        version: String,
        /// Its bytes.
        bytes: Arc<Vec<u8>>,
    },
    /// A ceiling is what calls are judged by from here on.
    CeilingAck(u64),
    /// Go, and come back after about this long.
    Drain {
        /// How long.
        reconnect: Duration,
    },
}

/// One call, as a device is told to run it.
#[derive(Debug)]
pub struct Dispatch {
    /// The call.
    pub call: CallId,
    /// The device it is for.
    pub device: DeviceId,
    /// The tool.
    pub tool: &'static str,
    /// The arguments that were validated.
    pub arguments: CanonicalArguments,
    /// Whether only a preview is wanted.
    pub dry_run: bool,
    /// How much harm it can do.
    pub risk: Risk,
    /// What it was judged by.
    pub policy_version: String,
    /// For whom.
    pub caller: Caller,
    /// A person's yes, where there was a question.
    pub approval: Option<ApprovalProof>,
    /// Whether the device is to tell what it sees of the paths.
    pub observe: bool,
    /// What its preview saw, which must still be so.
    pub observed: Vec<Observation>,
}

/// A person's yes to exactly one call.
#[derive(Debug, Clone)]
pub struct ApprovalProof {
    /// Which.
    pub id: ApprovalId,
    /// What it is bound to.
    pub binding: Digest,
    /// Who said it.
    pub approved_by: String,
    /// From when on it is good no longer, Unix milliseconds.
    pub expires_at: i64,
    /// Why the risk is higher than the tool's, as the person was shown.
    pub raises: Vec<RiskRaise>,
    /// What whoever said it was shown.
    pub basis: ApprovalBasis,
}

/// How a device says that a call ended.
#[derive(Debug, Clone)]
pub struct DeviceResult {
    /// The call.
    pub call: CallId,
    /// Its final state.
    pub state: CallState,
    /// The stable code; none on success.
    pub code: Option<ErrorCode>,
    /// The result envelope, JSON, passed on as it is.
    pub result: Vec<u8>,
    /// How long the device worked, in microseconds.
    pub duration_us: u64,
    /// What it says of its own chain.
    pub witness: Option<Witness>,
}

/// How far a call is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallProgress {
    /// Of `total`.
    pub done: u64,
    /// 0 where nobody knows.
    pub total: u64,
    /// Of what, in words.
    pub note: String,
}

/// Tells one session of a device from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(u64);

#[cfg(test)]
impl SessionId {
    /// An id for tests.
    pub(super) const fn of_tests(number: u64) -> Self {
        Self(number)
    }
}

/// See the module. Clones are handles to the same stream.
#[derive(Debug, Clone)]
pub struct Session {
    id: SessionId,
    /// The device's count of its connections.
    generation: u64,
    sender: mpsc::Sender<ToDevice>,
    ended: CancellationToken,
    places: Places,
    /// Wakes whoever sends what waits for the device.
    queue: Arc<Notify>,
    asked: Arc<OutstandingQueries>,
}

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// As many messages wait for the device as may.
    #[error("the device does not keep up with what it is sent")]
    Full,
    /// Nobody takes messages any more; the device gets none of them on this stream.
    #[error("the stream to the device has ended")]
    Closed,
}

impl Session {
    /// A new session, on the device's connection of this number, and the receiving end of its queue.
    #[must_use]
    pub fn new(
        generation: u64,
        in_flight: u32,
        ended: CancellationToken,
    ) -> (Self, mpsc::Receiver<ToDevice>) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (sender, receiver) = mpsc::channel(QUEUE);
        let session = Self {
            id: SessionId(NEXT.fetch_add(1, Ordering::Relaxed)),
            generation,
            sender,
            ended,
            places: Places::new(in_flight),
            queue: Arc::default(),
            asked: Arc::default(),
        };
        (session, receiver)
    }

    /// Which session this is.
    #[must_use]
    pub const fn id(&self) -> SessionId {
        self.id
    }

    /// Whether this is live, and on a later connection of the device.
    #[must_use]
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.generation > other.generation && !self.has_ended()
    }

    /// Queues a message.
    ///
    /// # Errors
    /// See [`Unsent`].
    pub fn send(&self, message: ToDevice) -> Result<(), SendError> {
        if self.has_ended() {
            return Err(SendError::Closed);
        }
        self.sender.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SendError::Full,
            mpsc::error::TrySendError::Closed(_) => SendError::Closed,
        })
    }

    /// Asks what became of calls that were sent on an earlier stream.
    ///
    /// # Errors
    /// See [`Unsent`].
    pub fn ask(&self, calls: &[CallId]) -> Result<(), SendError> {
        self.asked.ask(calls);
        self.send(ToDevice::Query(calls.to_vec())).inspect_err(|_| {
            for call in calls {
                self.asked.resolve(*call);
            }
        })
    }

    /// What it was asked and has not answered.
    #[must_use]
    pub fn asked(&self) -> &OutstandingQueries {
        &self.asked
    }

    /// A place among the calls under way for one of this person.
    ///
    /// # Errors
    /// All that there are, or that are for one person, are taken.
    pub fn acquire_slot(&self, user: &UserName) -> Result<Place, SlotError> {
        self.places.take(user)
    }

    /// Waits for a place among the calls under way for one of this person; none where the stream ends
    /// meanwhile.
    pub async fn wait_for_slot(&self, user: &UserName) -> Option<Place> {
        tokio::select! {
            place = self.places.acquire_waiting(user) => place,
            () = self.ended.cancelled() => None,
        }
    }

    /// Something waits for the device.
    pub fn wake(&self) {
        self.queue.notify_one();
    }

    /// Resolves when something waits for the device, since the last time.
    pub async fn woken(&self) {
        self.queue.notified().await;
    }

    /// Ends the stream.
    pub fn end(&self) {
        self.ended.cancel();
    }

    /// Whether the stream has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Resolves when the stream has ended.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_stream_that_has_ended_is_told_from_one_that_is_full() {
        let call = CallId::new(Uuid::from_u128(1));
        let message = || ToDevice::Cancel(call);
        let (session, receiver) = Session::new(1, 1, CancellationToken::new());
        for _ in 0..QUEUE {
            assert_eq!(session.send(message()), Ok(()));
        }
        assert_eq!(session.send(message()), Err(SendError::Full));
        // What could not be asked is not answered either.
        assert_eq!(session.ask(&[call]), Err(SendError::Full));
        assert!(!session.asked().resolve(call));
        drop(receiver);
        assert_eq!(session.send(message()), Err(SendError::Closed));
        let (session, _receiver) = Session::new(1, 1, CancellationToken::new());
        session.end();
        assert_eq!(session.send(message()), Err(SendError::Closed));
    }
}
