//! A dispatch slot: a link of the device, with a slot among the calls in flight there.

use orion_domain::{Actor, DeviceId, ErrorCode, Hint, ToolError, UserName};
use tokio::sync::oneshot;

use crate::fleet::{DeviceLink, Place, SlotError};
use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;

/// A link with a slot among its calls in flight.
#[derive(Debug)]
pub struct DispatchSlot {
    pub(super) link: DeviceLink,
    /// None for the backend's own preview, made while a call that may have a slot is evaluated.
    pub(super) place: Option<Place>,
    /// Dropped when the call was sent, or will not be sent in this slot. None if no task waits for that.
    pub(super) sent: Option<oneshot::Sender<()>>,
}

impl DispatchSlot {
    /// Acquires a slot without waiting.
    ///
    /// # Errors
    /// Why there is no slot.
    pub fn now(pipeline: &Pipeline, evaluated: &EvaluatedCall) -> Result<Self, RouteError> {
        let link = pipeline.fleet.link(evaluated.target.device.id).ok_or(RouteError::Away)?;
        if evaluated.context.is_preview() {
            return Ok(Self { link, place: None, sent: None });
        }
        let place = link.acquire_slot(&evaluated.context.caller.user).map_err(RouteError::Busy)?;
        let place = Some(place);
        Ok(Self { link, place, sent: None })
    }

    /// Waits for a slot. Returns `None` if the device is not connected or disconnects.
    pub async fn wait_for(pipeline: &Pipeline, device: DeviceId, user: &UserName) -> Option<Self> {
        let link = pipeline.fleet.link(device)?;
        let place = Some(link.wait_for_slot(user).await?);
        Some(Self { link, place, sent: None })
    }

    /// Adds a receiver that resolves once the call was sent, or never will be.
    #[must_use]
    pub fn with_delivery_report(self) -> (Self, oneshot::Receiver<()>) {
        let (sender, sent) = oneshot::channel();
        (Self { sent: Some(sender), ..self }, sent)
    }
}

/// Why a call cannot be sent.
#[derive(Debug, Clone, Copy)]
pub enum RouteError {
    /// The device is not connected.
    Away,
    /// No slot is free.
    Busy(SlotError),
}

impl RouteError {
    /// Returns the error for the caller.
    #[must_use]
    pub fn error(self, evaluated: &EvaluatedCall) -> ToolError {
        match self {
            Self::Away => offline(evaluated),
            Self::Busy(slot_error) => busy(evaluated, slot_error),
        }
    }
}

pub(super) fn offline(evaluated: &EvaluatedCall) -> ToolError {
    ToolError::new(
        ErrorCode::DeviceOffline,
        format!("{} is not connected.", evaluated.target.device.name),
    )
    .hint(Hint::run("start the agent there", "orion-agent run").by(Actor::Owner))
    .hint("or make it with `orion call` and --queue, and it waits for the device")
}

pub(super) fn busy(evaluated: &EvaluatedCall, slot_error: SlotError) -> ToolError {
    let (device, user) = (&evaluated.target.device.name, &evaluated.context.caller.user);
    let message = match slot_error {
        SlotError::Full => format!("{device} has the maximum number of calls in flight."),
        SlotError::FullOfPerson => format!(
            "{user} has the maximum number of calls in flight on {device}. Some slots are left to others."
        ),
    };
    ToolError::new(ErrorCode::ResourceExhausted, message)
        .hint("wait for some calls to end, then try again")
}
