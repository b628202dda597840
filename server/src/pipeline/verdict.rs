//! What happens to a call: the verdict of [`super::decide`], which [`super::audit`] records.

use orion_domain::{Permit, ToolError};

use super::authorize::EvaluatedCall;
use super::call::CallContext;
use super::evaluate::Stopped;
use super::route::{DispatchSlot, InFlight};
use super::validate::Target;
use crate::fleet::ApprovalProof;
use crate::store::NewApproval;

/// What happens to a call.
#[derive(Debug)]
pub(super) enum Verdict<'a> {
    /// It is sent to its device.
    Dispatch(Box<ToSend<'a>>),
    /// A person is asked. A request that a standing approval of its chat covers is approved at once.
    NeedsApproval(Box<NewApproval>),
    /// It waits for its device.
    Queued,
    /// It waits as before.
    Unchanged,
    /// It ends with this error.
    Denied(ToolError),
}

/// What is needed to send a call.
#[derive(Debug)]
pub(super) struct ToSend<'a> {
    /// The right to send the call, once.
    pub(super) permit: Permit,
    /// The approval for the device. None if the call needed none.
    pub(super) proof: Option<ApprovalProof>,
    /// How the call reaches its device.
    pub(super) held: Held<'a>,
}

/// What a call holds of its device while it is decided.
#[derive(Debug, Default)]
pub(super) enum Held<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// A slot among the calls in flight.
    Slot(DispatchSlot),
    /// The wait for a call that was sent and did not arrive.
    InFlight(Box<InFlight<'a>>),
}

/// A call that a verdict is about.
#[derive(Debug)]
pub(super) enum Subject {
    /// It was stopped before its evaluation was complete.
    Unread {
        /// The call.
        context: Box<CallContext>,
        /// The tool and the device. None if they were not found.
        target: Option<Target>,
    },
    /// It was evaluated.
    Evaluated(Box<EvaluatedCall>),
}

impl Subject {
    /// Returns the call.
    pub(super) fn context(&self) -> &CallContext {
        match self {
            Self::Unread { context, .. } => context,
            Self::Evaluated(call) => &call.context,
        }
    }

    /// Returns the call, to change what is known of it.
    pub(super) fn context_mut(&mut self) -> &mut CallContext {
        match self {
            Self::Unread { context, .. } => context,
            Self::Evaluated(call) => &mut call.context,
        }
    }
}

/// A call with its verdict.
#[derive(Debug)]
pub(super) struct Decided<'a> {
    /// The call.
    pub(super) subject: Subject,
    /// What happens to it.
    pub(super) verdict: Verdict<'a>,
}

impl<'a> Decided<'a> {
    /// Returns the verdict on an evaluated call.
    pub(super) fn evaluated(call: EvaluatedCall, verdict: Verdict<'a>) -> Self {
        Self { subject: Subject::Evaluated(Box::new(call)), verdict }
    }

    /// Returns the denial of an evaluated call.
    pub(super) fn denied(call: EvaluatedCall, error: ToolError) -> Self {
        Self::evaluated(call, Verdict::Denied(error))
    }

    /// Returns the verdict on a call that was not evaluated.
    pub(super) fn unread(
        context: CallContext,
        target: Option<Target>,
        verdict: Verdict<'a>,
    ) -> Self {
        Self { subject: Subject::Unread { context: Box::new(context), target }, verdict }
    }
}

impl From<Stopped> for Decided<'_> {
    fn from(Stopped { context, target, error, trace: _ }: Stopped) -> Self {
        Self::unread(context, target, Verdict::Denied(error))
    }
}
