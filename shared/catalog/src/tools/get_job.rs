//! `get_job`: how a call goes on that was begun in the background, or any other call of the person who asks.

use orion_domain::{Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `get_job` tool.
#[derive(Debug)]
pub struct GetJob;

/// Which job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of the job, which is the id of its call, or its first eight characters or more.
    #[schemars(length(min = 8, max = 36))]
    pub job_id: String,
    /// How many seconds to wait for its end, at most 25.
    #[serde(default)]
    #[schemars(range(max = 25))]
    pub wait_seconds: u32,
}

/// The job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// Its id.
    pub job_id: String,
    /// The tool that it calls.
    pub tool: String,
    /// The device; null where none was found.
    pub device: Option<String>,
    /// `received`, `awaiting_approval`, `queued`, `dispatched`, `running`, `succeeded`, `failed`, `refused`, `denied`,
    /// `timed_out`, `cancelled` or `unknown`.
    pub state: String,
    /// Whether it has ended.
    pub ended: bool,
    /// The end of what its programs printed so far, at most 4 KiB; null where nothing is known.
    pub progress: Option<String>,
    /// The approval request that it waits for; null where it waits for none.
    pub approval_id: Option<String>,
    /// The result of a job that has ended; null before, and where it is too large to be shown.
    pub result: Option<Value>,
}

impl Tool for GetJob {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "get_job";
    const CATEGORY: Category = Category::Utility;
    const DESCRIPTION: &'static str = "Shows how a job goes on: a call that was begun in the background, by a schedule or by \
        a macro. Returns its state, what it printed so far, and its result once it has ended.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [orion_domain::Capability] = &[];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    // The result of the call may be untrusted.
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"get_job","job_id":"01893e2a-7c00-7000-8000-000000000001"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
