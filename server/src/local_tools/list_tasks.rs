//! `list_tasks`: the tasks of the person who asks, and of nobody else.

use orion_catalog::tools::list_tasks::{Arguments, ListTasks, Returns, Task};
use orion_domain::ToolError;

use super::effect::failed;
use super::{Context, LocalTool, Outcome};
use crate::schedules::text_of;
use crate::store::ScheduleRow;

impl LocalTool for ListTasks {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let prefix = arguments.task_id.unwrap_or_default();
        let store = &context.devices.store;
        let found = store.schedules(Some(&context.caller.user), &prefix).await.map_err(failed)?;
        let tasks: Vec<_> = found.into_iter().map(shown).collect();
        let count = tasks.len();
        let message = match count {
            1 => "1 task.".to_owned(),
            count => format!("{count} tasks."),
        };
        Ok(Outcome { message, data: Returns { tasks, count }, truncated: false })
    }
}

fn shown(row: ScheduleRow) -> Task {
    let state = row.state().as_str().to_owned();
    let [next_run, last_run] =
        [row.next_at, row.last_at].map(|at| at.map(|at| text_of(at, &row.timezone)));
    Task {
        task_id: row.id.to_string(),
        name: row.name,
        when: row.times,
        timezone: row.timezone,
        state,
        tool: row.tool,
        device: row.device,
        arguments: row.arguments,
        next_run,
        last_run,
        last_call_id: row.last_call.map(|call| call.to_string()),
        untrusted: row.tainted,
    }
}
