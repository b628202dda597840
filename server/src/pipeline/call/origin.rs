//! Where a call came from.

use orion_domain::{Caller, PlanId};

use super::CallContext;
use crate::store::StepRow;

/// Where a call came from.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// A person or a program made it.
    Direct,
    /// A model made it in a chat.
    Chat,
    /// It is a step of a plan.
    PlanStep {
        /// The plan.
        plan: PlanId,
        /// The step as the approvers saw it. None while the plan is made, and for a step with an approval of
        /// its own.
        shown: Option<Box<StepRow>>,
    },
    /// An approver wrote it in place of another call.
    Change {
        /// The approver, in the chat of the other call.
        author: Caller,
    },
    /// The backend made it, to preview another call.
    Preview {
        /// The plan of the other call. None for a call of its own.
        plan: Option<PlanId>,
        /// Whether the device reports what it observes of the paths.
        observe: bool,
    },
}

impl CallContext {
    /// Returns whether the backend makes the call for itself, to preview another call.
    #[must_use]
    pub const fn is_preview(&self) -> bool {
        matches!(self.origin, Origin::Preview { .. })
    }

    /// Returns whether the device reports what it observes of the paths.
    #[must_use]
    pub const fn observes(&self) -> bool {
        matches!(self.origin, Origin::Preview { observe: true, .. })
    }

    /// Returns the plan that the call belongs to. None for a call of its own.
    #[must_use]
    pub const fn plan(&self) -> Option<PlanId> {
        match &self.origin {
            Origin::PlanStep { plan, .. } => Some(*plan),
            Origin::Preview { plan, .. } => *plan,
            Origin::Direct | Origin::Chat | Origin::Change { .. } => None,
        }
    }
}
