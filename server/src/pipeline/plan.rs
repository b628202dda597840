//! Plans: several calls as one. Each step is evaluated and previewed like a call, and all are shown
//! together. One approval covers the hash of the whole plan. The steps run in order; a step that differs
//! from what was shown does not run.

mod create;
mod decide;
mod end;
mod outdated;
mod run;
mod shown;
mod visible;

use orion_domain::{CallRequest, ToolError};

use super::Pipeline;
use crate::bus::Change;
use crate::store::{PlanRow, StepState, StoreError};

pub use create::{MAX_PLAN_BYTES, create};
pub use decide::decide;
pub(super) use end::end_stopped;
pub use end::expire;
pub use run::recover;
pub(super) use shown::{another, is_as_shown};
pub use visible::{MAX_WAIT, all_visible, visible, wait_for_change};

/// A requested plan. Nothing in it has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRequest {
    /// The steps in order; each names its device.
    pub steps: Vec<CallRequest>,
    /// Whether the plan continues after a step fails.
    pub keep_going: bool,
}

/// Why a plan is not made. Nobody is asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A step is not possible.
    #[error("step {number}: {error}")]
    Step {
        /// The number of the step, from 1.
        number: u32,
        /// The tool, as requested.
        tool: String,
        /// The device, as requested.
        device: String,
        /// Why the step is not possible.
        error: Box<ToolError>,
    },
    /// The plan as a whole is not possible.
    #[error("{0}")]
    Plan(Box<ToolError>),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Wakes the watchers of a plan and of its approval requests.
fn publish(pipeline: &Pipeline, plan: &PlanRow) {
    pipeline.bus.publish(Change::Plan(plan.id));
    for question in &plan.questions {
        pipeline.bus.publish(Change::Approval(question.id, question.call));
    }
}

/// Returns whether the plan continues after this state of a step.
const fn is_good(state: StepState) -> bool {
    matches!(state, StepState::Succeeded)
}
