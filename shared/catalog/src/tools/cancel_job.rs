//! `cancel_job`: ends a call that has not ended.

use orion_domain::{Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `cancel_job` tool.
#[derive(Debug)]
pub struct CancelJob;

/// Which job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the job, which is the id of its call, or its first eight characters or more.
    #[schemars(length(min = 8, max = 36))]
    pub job_id: String,
}

/// The job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// Its id.
    pub job_id: String,
    /// The tool that it calls.
    pub tool: String,
    /// Its state after the cancel was requested. One that runs on a device ends when the device reports it.
    pub state: String,
    /// Whether it has ended.
    pub ended: bool,
}

impl Tool for CancelJob {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "cancel_job";
    const CATEGORY: Category = Category::Utility;
    const DESCRIPTION: &'static str = "Cancels a job: a call of the person that has not ended. What it changed already stays \
        changed; undo_call can take it back. A job that has ended stays as it is.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [orion_domain::Capability] = &[];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"cancel_job","job_id":"01893e2a-7c00-7000-8000-000000000001"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
