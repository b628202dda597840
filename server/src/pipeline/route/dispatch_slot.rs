//! The way to a device: a live session, and a place among the calls under way there.

use orion_domain::{DeviceId, ErrorCode, ToolError, UserName};
use tokio::sync::oneshot;

use crate::backend::Backend;
use crate::fleet::{Place, Session, SlotError};
use crate::pipeline::authorize::EvaluatedCall;

/// A live session with a place among its calls under way.
#[derive(Debug)]
pub struct DispatchSlot {
    pub(super) session: Session,
    /// None for what the backend asks for itself while a call that has a place is judged.
    pub(super) place: Option<Place>,
    /// Who is told when the call was sent; dropped where it is not sent this way.
    pub(super) sent: Option<oneshot::Sender<()>>,
}

impl DispatchSlot {
    /// The way at this moment.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn now(backend: &Backend, judged: &EvaluatedCall) -> Result<Self, RouteError> {
        let session = backend.fleet.session(judged.target.device.id).ok_or(RouteError::Away)?;
        if judged.incoming.is_internal {
            return Ok(Self { session, place: None, sent: None });
        }
        let place = session.acquire_slot(&judged.incoming.caller.user).map_err(RouteError::Busy)?;
        let place = Some(place);
        Ok(Self { session, place, sent: None })
    }

    /// Waits for a place; none where the device is away or goes meanwhile.
    pub async fn wait_for(backend: &Backend, device: DeviceId, user: &UserName) -> Option<Self> {
        let session = backend.fleet.session(device)?;
        let place = Some(session.wait_for_slot(user).await?);
        Some(Self { session, place, sent: None })
    }

    /// The same, and what is ready once the call was given to the session or never will be.
    #[must_use]
    pub fn with_delivery_report(self) -> (Self, oneshot::Receiver<()>) {
        let (sender, sent) = oneshot::channel();
        (Self { sent: Some(sender), ..self }, sent)
    }
}

/// Why a call cannot be sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum RouteError {
    /// The device is not connected.
    Away,
    /// There is no place.
    Busy(SlotError),
}

impl RouteError {
    /// What is said of a call that has none.
    pub(super) fn error(self, judged: &EvaluatedCall) -> ToolError {
        match self {
            Self::Away => offline(judged),
            Self::Busy(no_place) => busy(judged, no_place),
        }
    }
}

pub(super) fn offline(judged: &EvaluatedCall) -> ToolError {
    ToolError::new(
        ErrorCode::DeviceOffline,
        format!("{} is not connected.", judged.target.device.name),
    )
}

pub(super) fn busy(judged: &EvaluatedCall, no_place: SlotError) -> ToolError {
    let (device, user) = (&judged.target.device.name, &judged.incoming.caller.user);
    let message = match no_place {
        SlotError::Full => format!("{device} has as many calls under way as it may."),
        SlotError::FullOfPerson => format!(
            "{user} has as many calls under way on {device} as one person may; some places are left to others."
        ),
    };
    ToolError::new(
        ErrorCode::ResourceExhausted,
        format!("{message} Wait for some to end and try again."),
    )
}
