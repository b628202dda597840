//! `list_tasks`: the tasks that the person who asks has scheduled.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `list_tasks` tool.
#[derive(Debug)]
pub struct ListTasks;

/// Which tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only the task whose id begins like this. When left out: all tasks.
    #[serde(default)]
    #[schemars(length(min = 8, max = 36))]
    pub task_id: Option<String>,
}

/// The tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The tasks, the newest first.
    pub tasks: Vec<Task>,
    /// The number of tasks.
    pub count: usize,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its id.
    pub task_id: String,
    /// Its name.
    pub name: String,
    /// When the call is made, as it was given.
    pub when: String,
    /// The time zone.
    pub timezone: String,
    /// `active`, `done` or `cancelled`.
    pub state: String,
    /// The tool that is called.
    pub tool: String,
    /// The device that is named; null where none is.
    pub device: Option<String>,
    /// The arguments of the call.
    pub arguments: Map<String, Value>,
    /// The next time, RFC 3339; null where there is none.
    pub next_run: Option<String>,
    /// The last time, RFC 3339; null where there was none.
    pub last_run: Option<String>,
    /// The id of the last call; null where there was none.
    pub last_call_id: Option<String>,
    /// Whether somebody else may have written it.
    pub untrusted: bool,
}

impl Tool for ListTasks {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "list_tasks";
    const CATEGORY: Category = Category::Schedule;
    const DESCRIPTION: &'static str = "Lists the person's scheduled tasks: what is called when, the next time, and the last \
        call. Use it before cancelling one. To see how a call ended, use get_job.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::Schedule];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"list_tasks"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const UNTRUSTED: bool = true;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
