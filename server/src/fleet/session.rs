//! A live stream to one device, as the rest of the backend sees it. It has a bounded queue of messages, slots
//! for calls, and a token that ends the stream.

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

/// A message to a device.
#[derive(Debug)]
pub enum ToDevice {
    /// Run this call, in the time that is left.
    Dispatch(Arc<Dispatch>, Duration),
    /// Cancel this call.
    Cancel(CallId),
    /// Report the state of these calls, which were sent on an earlier stream.
    Query(Vec<CallId>),
    /// The result of this call is stored, with this state.
    Ack(CallId, CallState),
    /// The active policy.
    Policy {
        /// The policy's version.
        version: String,
        /// The policy's encoded form.
        bytes: Arc<Vec<u8>>,
    },
    /// Calls are evaluated against the ceiling of this number from now on.
    CeilingAck(u64),
    /// Disconnect, and reconnect after about this time.
    Drain {
        /// The average delay.
        reconnect: Duration,
    },
}

/// One call, as a device is asked to run it.
#[derive(Debug)]
pub struct Dispatch {
    /// The call's id.
    pub call: CallId,
    /// The device that runs it.
    pub device: DeviceId,
    /// The tool's name.
    pub tool: &'static str,
    /// The validated arguments.
    pub arguments: CanonicalArguments,
    /// Whether to return only a preview.
    pub dry_run: bool,
    /// The call's risk.
    pub risk: Risk,
    /// The version of the policy that the call was evaluated against.
    pub policy_version: String,
    /// The person who made the call.
    pub caller: Caller,
    /// The approval. None where the call needed none.
    pub approval: Option<ApprovalProof>,
    /// Whether the device reports its observations of the paths.
    pub observe: bool,
    /// What the preview observed; the device must find the same.
    pub observed: Vec<Observation>,
}

/// Proof of the approval of exactly one call.
#[derive(Debug, Clone)]
pub struct ApprovalProof {
    /// The approval request's id.
    pub id: ApprovalId,
    /// Digest of the call that the approval is bound to.
    pub binding: Digest,
    /// Who approved.
    pub approved_by: String,
    /// When the approval expires, in Unix milliseconds.
    pub expires_at: i64,
    /// Why the risk is higher than the tool's, as the approver saw it.
    pub raises: Vec<RiskRaise>,
    /// What the approver was shown.
    pub basis: ApprovalBasis,
}

/// A call's result, as its device reports it.
#[derive(Debug, Clone)]
pub struct DeviceResult {
    /// The call's id.
    pub call: CallId,
    /// The call's final state.
    pub state: CallState,
    /// The stable error code. None on success.
    pub code: Option<ErrorCode>,
    /// The result envelope, in JSON, passed on unchanged.
    pub result: Vec<u8>,
    /// How long the device worked, in microseconds.
    pub duration_us: u64,
    /// The head of the device's own chain after the call. None where it does not report one.
    pub witness: Option<Witness>,
}

/// The progress of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallProgress {
    /// How many units are done.
    pub done: u64,
    /// How many units there are; 0 where unknown.
    pub total: u64,
    /// A description of the current step.
    pub note: String,
}

/// Identifies a session of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(u64);

#[cfg(test)]
impl SessionId {
    /// Creates an id for tests.
    pub(super) const fn of_tests(number: u64) -> Self {
        Self(number)
    }
}

/// A live session with a device. Clones are handles to the same stream.
#[derive(Debug, Clone)]
pub struct Session {
    id: SessionId,
    /// The device's connection counter.
    generation: u64,
    sender: mpsc::Sender<ToDevice>,
    ended: CancellationToken,
    places: Places,
    /// Wakes the task that sends the calls that wait for the device.
    queue: Arc<Notify>,
    asked: Arc<OutstandingQueries>,
}

/// Why a message was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The queue is full.
    #[error("the device does not keep up with what it is sent")]
    Full,
    /// The stream has ended; the device receives no further messages on it.
    #[error("the stream to the device has ended")]
    Closed,
}

impl Session {
    /// Creates a session for the device's connection with this counter. Also returns the receiving end of its
    /// queue.
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

    /// Returns the session's id.
    #[must_use]
    pub const fn id(&self) -> SessionId {
        self.id
    }

    /// Returns whether this session is live, and on a later connection of the device than `other`.
    #[must_use]
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.generation > other.generation && !self.has_ended()
    }

    /// Queues a message.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send(&self, message: ToDevice) -> Result<(), SendError> {
        if self.has_ended() {
            return Err(SendError::Closed);
        }
        self.sender.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SendError::Full,
            mpsc::error::TrySendError::Closed(_) => SendError::Closed,
        })
    }

    /// Asks for the state of calls that were sent on an earlier stream.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn ask(&self, calls: &[CallId]) -> Result<(), SendError> {
        self.asked.ask(calls);
        self.send(ToDevice::Query(calls.to_vec())).inspect_err(|_| {
            for call in calls {
                self.asked.resolve(*call);
            }
        })
    }

    /// Returns the calls that the device was asked about and has not answered.
    #[must_use]
    pub fn asked(&self) -> &OutstandingQueries {
        &self.asked
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
        // A query that could not be sent is not outstanding.
        assert_eq!(session.ask(&[call]), Err(SendError::Full));
        assert!(!session.asked().resolve(call));
        drop(receiver);
        assert_eq!(session.send(message()), Err(SendError::Closed));
        let (session, _receiver) = Session::new(1, 1, CancellationToken::new());
        session.end();
        assert_eq!(session.send(message()), Err(SendError::Closed));
    }
}
