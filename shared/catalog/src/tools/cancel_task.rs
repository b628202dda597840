//! `cancel_task`: ends a scheduled task.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `cancel_task` tool.
#[derive(Debug)]
pub struct CancelTask;

/// Which task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the task, or its first eight characters or more.
    #[schemars(length(min = 8, max = 36))]
    pub task_id: String,
}

/// What was cancelled, or in a preview would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The id of the task.
    pub task_id: String,
    /// Its name.
    pub name: String,
    /// Whether the task is cancelled; false in a preview.
    pub cancelled: bool,
}

impl Tool for CancelTask {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "cancel_task";
    const CATEGORY: Category = Category::Schedule;
    const DESCRIPTION: &'static str = "Cancels a scheduled task of the person, so that it makes no more calls. A call that \
        it made already goes on; cancel that one with cancel_job.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::Schedule];
    const HAS_EFFECTS: bool = true;
    // A task that is cancelled is not found again.
    const IDEMPOTENT: bool = false;
    const EXAMPLE: &'static str =
        r#"{"tool":"cancel_task","task_id":"01893e2a-7c00-7000-8000-000000000001"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
