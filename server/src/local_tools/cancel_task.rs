//! `cancel_task`: ends a task of the person who asks; an admin ends anybody's.

use orion_catalog::tools::cancel_task::{Arguments, CancelTask, Returns};
use orion_domain::{ErrorCode, Hint, ToolError};

use super::effect::failed;
use super::{Context, LocalTool, Outcome};
use crate::clock::now_ms;
use crate::schedules;
use crate::store::{ScheduleState, StoreError};

impl LocalTool for CancelTask {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let store = &context.devices.store;
        let row = match schedules::find(store, &context.caller, &arguments.task_id).await {
            Ok(row) => row,
            Err(StoreError::NotFound) => return Err(unknown("You have no such task.")),
            Err(StoreError::Ambiguous) => {
                return Err(unknown("Several tasks have an id that begins like this."));
            }
            Err(error) => return Err(failed(error)),
        };
        let ended = |state: ScheduleState| {
            let message = format!("`{}` is {}.", row.name, state.as_str());
            ToolError::new(ErrorCode::PreconditionFailed, message)
                .hint("a task that has ended makes no calls")
        };
        if row.state() != ScheduleState::Active {
            return Err(ended(row.state()));
        }
        let cancelled = !context.dry_run;
        let verb = if cancelled { "is" } else { "would be" };
        let outcome = Outcome {
            message: format!("`{}` {verb} cancelled.", row.name),
            data: Returns { task_id: row.id.to_string(), name: row.name.clone(), cancelled },
            truncated: false,
        };
        if !cancelled {
            return Ok(outcome);
        }
        let (effect, by) = (context.effect(&outcome)?, &context.caller.user);
        if store.cancel_schedule(&row, by, Some(&effect), now_ms()).await.map_err(failed)? {
            return Ok(outcome);
        }
        Err(ended(ScheduleState::Done))
    }
}

fn unknown(message: &str) -> ToolError {
    ToolError::new(ErrorCode::NotFound, message)
        .hint(Hint::run("list the tasks", "orion schedule list"))
}
