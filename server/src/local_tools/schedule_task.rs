//! `schedule_task`: stores a task of the person who asks.

use orion_catalog::tools::run_macro::RunMacro;
use orion_catalog::tools::schedule_task::{Arguments, Returns, ScheduleTask};
use orion_catalog::{Tool, find};
use orion_domain::{ErrorCode, Hint, ToolError};
use serde_json::Value;

use super::effect::failed;
use super::{Context, LocalTool, Outcome, run_macro};
use crate::clock::now_ms;
use crate::planned_calls::{could_be_made, resolved};
use crate::schedules::{Times, own_zone};
use crate::scope::TokenKind;
use crate::store::{CallRow, MAX_SCHEDULES, NewScheduleError, ScheduleRow, StoreError};

/// How many of the next times are returned.
const SHOWN_TIMES: usize = 3;

impl LocalTool for ScheduleTask {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let (pipeline, caller) = (&context.pipeline, &context.caller);
        let now = now_ms();
        let name = arguments.name.trim().to_owned();
        if name.is_empty() {
            let message = "A task has a name.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message));
        }
        let timezone = arguments.timezone.clone().unwrap_or_else(own_zone);
        let times = Times::parse(&arguments.when, &timezone, now)?;
        let next = times.next_ones(now, SHOWN_TIMES);
        let Some(first) = next.first() else {
            let message = "This time does not come any more.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("give a time to come, or one that comes again"));
        };
        let call = resolved(pipeline, caller, &arguments.planned()?).await.map_err(failed)??;
        if find(&call.tool).is_some_and(|(spec, _)| spec.name == RunMacro::NAME)
            && let Some(name) = call.arguments.get("name").and_then(Value::as_str)
        {
            run_macro::find(&context, name).await?;
        }
        let denial = could_be_made(pipeline, caller, &call).await.map_err(failed)??;
        let next_runs: Vec<_> = next.iter().map(|at| times.text(*at)).collect();
        let mut message = match next_runs.first() {
            Some(first) => format!("`{name}` makes its first call at {first}."),
            None => format!("`{name}` is scheduled."),
        };
        if let Some(denied) = denial {
            message =
                format!("{message} If it were made now, it would be denied: {}", denied.message);
        }
        if context.dry_run {
            message = message.replacen(" makes ", " would make ", 1);
            let data = Returns { task_id: None, name, next_runs, timezone };
            return Ok(Outcome { message, data, truncated: false });
        }
        let (tainted, token) = origin(&context, now).await.map_err(failed)?;
        let data = Returns {
            task_id: Some(context.call.to_string()),
            name: name.clone(),
            next_runs,
            timezone: timezone.clone(),
        };
        let outcome = Outcome { message, data, truncated: false };
        let row = ScheduleRow {
            id: context.call,
            user: caller.user.clone(),
            role: caller.role,
            name,
            times: times.written(),
            timezone,
            tool: call.tool,
            device: call.device,
            arguments: call.arguments,
            tainted,
            token,
            created_at: now,
            next_at: Some(*first),
            last_at: None,
            last_call: None,
            ended_at: None,
            ended_by: None,
        };
        let effect = context.effect(&outcome)?;
        match context.devices.store.add_schedule(&row, &effect).await {
            Ok(()) => Ok(outcome),
            Err(error) => Err(refusal(error, &row.name)),
        }
    }
}

/// Returns whether somebody else may have written the task, and the API token that it ends with. What a signed-in person
/// schedules outlives the session.
async fn origin(
    context: &Context,
    now: i64,
) -> Result<(bool, Option<orion_domain::Digest>), StoreError> {
    let store = &context.devices.store;
    let CallRow { tainted, token, .. } = store.call(context.call).await?;
    let Some(token) = token else { return Ok((tainted, None)) };
    let kind = store.token(token, now).await?.map(|(token, _)| token.kind);
    // A session that ended a moment ago cannot be told from a token that did.
    let is_session = kind == Some(TokenKind::Session);
    Ok((tainted, (!is_session).then_some(token)))
}

fn refusal(error: NewScheduleError, name: &str) -> ToolError {
    match error {
        NewScheduleError::Full => {
            let message = format!("You have {MAX_SCHEDULES} active tasks, which is the most.");
            ToolError::new(ErrorCode::ResourceExhausted, message)
                .hint(Hint::run("cancel one that you do not need", "orion schedule list"))
        }
        NewScheduleError::NameInUse => {
            let message = format!("You have an active task called `{name}`.");
            ToolError::new(ErrorCode::AlreadyExists, message)
                .hint("choose another name, or cancel that task first")
        }
        NewScheduleError::Store(error) => failed(error),
    }
}
