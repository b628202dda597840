//! Sends messages to a device through its link: without waiting, and only while there is room.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{CallId, CallState};
use tokio::sync::mpsc;

use super::DeviceLink;
use crate::fleet::messages::{Dispatch, ToDevice};

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

impl DeviceLink {
    /// Asks the device to run a call, in the time that is left.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn dispatch(&self, call: Dispatch, left: Duration) -> Result<(), SendError> {
        self.send(ToDevice::Dispatch(Arc::new(call), left))
    }

    /// Asks the device to cancel a call.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn cancel(&self, call: CallId) -> Result<(), SendError> {
        self.send(ToDevice::Cancel(call))
    }

    /// Tells the device that the result of a call is stored, with this state.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn acknowledge(&self, call: CallId, state: CallState) -> Result<(), SendError> {
        self.send(ToDevice::Ack(call, state))
    }

    /// Asks for the state of calls that were sent on an earlier stream.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn query(&self, calls: &[CallId]) -> Result<(), SendError> {
        self.asked.ask(calls);
        self.send(ToDevice::Query(calls.to_vec())).inspect_err(|_| {
            for call in calls {
                self.asked.resolve(*call);
            }
        })
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
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::fleet::link::QUEUE;
    use tokio_util::sync::CancellationToken;

    #[test]
    fn a_stream_that_has_ended_is_told_from_one_that_is_full() {
        let call = CallId::new(Uuid::from_u128(1));
        let message = || ToDevice::Cancel(call);
        let (link, receiver) = DeviceLink::new(1, 1, CancellationToken::new());
        for _ in 0..QUEUE {
            assert_eq!(link.send(message()), Ok(()));
        }
        assert_eq!(link.send(message()), Err(SendError::Full));
        // A query that could not be sent is not outstanding.
        assert_eq!(link.query(&[call]), Err(SendError::Full));
        assert!(!link.asked().resolve(call));
        drop(receiver);
        assert_eq!(link.send(message()), Err(SendError::Closed));
        let (link, _receiver) = DeviceLink::new(1, 1, CancellationToken::new());
        link.end();
        assert_eq!(link.send(message()), Err(SendError::Closed));
    }
}
