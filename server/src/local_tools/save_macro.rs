//! `save_macro`: stores a macro of the person who asks.

use std::collections::BTreeSet;

use orion_catalog::tools::macro_calls::{MAX_CALLS, used_in};
use orion_catalog::tools::planned_call::PlannedCall;
use orion_catalog::tools::save_macro::{Arguments, Returns, SaveMacro};
use orion_catalog::{RunsOn, find};
use orion_domain::{CallState, ErrorCode, Hint, ToolError};

use super::effect::failed;
use super::{Context, LocalTool, Outcome};
use crate::clock::now_ms;
use crate::pipeline::validate::find_target;
use crate::planned_calls::{request, resolved};
use crate::store::{CallRow, MAX_MACRO_BYTES, MAX_MACROS, MacroRow, StoreError};

/// How many of the person's newest calls are searched for those of the chat.
const MAX_SEARCHED: u32 = 200;

impl LocalTool for SaveMacro {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { name, calls, last_n, parameters } = arguments;
        let store = &context.devices.store;
        let written = match last_n {
            Some(count) => of_chat(&context, count).await?,
            None => calls,
        };
        let mut steps = Vec::new();
        for call in &written {
            let made = resolved(&context.pipeline, &context.caller, call).await;
            let made = made.map_err(failed)??;
            refuse_unknown_tool(&context, &made)?;
            steps.push(made);
        }
        let size = serde_json::to_string(&steps).map_or(usize::MAX, |text| text.len());
        if steps.is_empty() || steps.len() > MAX_CALLS || size > MAX_MACRO_BYTES {
            let message =
                format!("A macro has from 1 to {MAX_CALLS} calls and {MAX_MACRO_BYTES} bytes.");
            return Err(
                ToolError::new(ErrorCode::InvalidArgument, message).hint("make two macros of it")
            );
        }
        // The arguments of an alias may hold what looks like a parameter.
        let used: BTreeSet<_> = steps.iter().flat_map(used_in).collect();
        if let Some(unknown) = used.iter().find(|name| !parameters.contains(name)) {
            let message = format!("The calls use the parameter `{unknown}`, which is not named.");
            return Err(
                ToolError::new(ErrorCode::InvalidArgument, message).hint("add it to `parameters`")
            );
        }
        let user = context.caller.user.clone();
        let replaced = store.find_macro(&user, &name).await.map_err(failed)?.is_some();
        let verb = if context.dry_run { "would be" } else { "is" };
        let count = match steps.len() {
            1 => "1 call".to_owned(),
            count => format!("{count} calls"),
        };
        let message = format!("The macro `{name}` of {count} {verb} saved.");
        let data = Returns { name, steps, parameters, replaced };
        let outcome = Outcome { message, data, truncated: false };
        if context.dry_run {
            return Ok(outcome);
        }
        let tainted = store.call(context.call).await.map_err(failed)?.tainted;
        let effect = context.effect(&outcome)?;
        let Returns { name, steps, parameters, replaced: _ } = &outcome.data;
        let row = MacroRow {
            user,
            name: name.clone(),
            steps: steps.clone(),
            parameters: parameters.clone(),
            tainted,
            saved_at: now_ms(),
        };
        if store.save_macro(&row, &effect).await.map_err(failed)? {
            return Ok(outcome);
        }
        let message = format!("You have {MAX_MACROS} macros, which is the most.");
        Err(ToolError::new(ErrorCode::ResourceExhausted, message)
            .hint(Hint::run("remove one that you do not need", "orion macros list")))
    }
}

/// Refuses a call of a tool that there is not. Which device stands for a parameter is known when the macro runs.
fn refuse_unknown_tool(context: &Context, call: &PlannedCall) -> Result<(), ToolError> {
    let is_named = call.device.as_deref().is_none_or(|device| !device.contains("{{"));
    match find_target(&context.pipeline, &request(call)) {
        Err(error) if error.code == ErrorCode::ToolNotFound && is_named => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the last calls of this chat that succeeded, oldest first. Those on the backend do not count, but for what they
/// are made for: to request something.
async fn of_chat(context: &Context, count: u32) -> Result<Vec<PlannedCall>, ToolError> {
    let store = &context.devices.store;
    let this = store.call(context.call).await.map_err(failed)?;
    let Some(chat) = this.caller.conversation else {
        let message = "This call is made outside a chat, so there are no last calls.";
        return Err(ToolError::new(ErrorCode::InvalidArgument, message)
            .hint("give the calls themselves in `calls`"));
    };
    let user = Some(&context.caller.user);
    let newest = store.newest_calls(user, None, false, false, MAX_SEARCHED).await;
    let is_one = |row: &CallRow| {
        row.caller.conversation == Some(chat)
            && row.state == CallState::Succeeded
            && find(&row.tool).is_none_or(|(spec, _)| spec.runs_on == RunsOn::Device)
    };
    let newest = newest.map_err(failed)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let ids: Vec<_> = newest
        .iter()
        .map(|it| &it.call)
        .filter(|row| is_one(row))
        .take(count)
        .map(|row| row.id)
        .collect();
    if ids.is_empty() {
        let message = "No call on a device has succeeded in this chat yet.";
        return Err(ToolError::new(ErrorCode::PreconditionFailed, message)
            .hint("give the calls themselves in `calls`"));
    }
    let mut calls = Vec::new();
    for id in ids.into_iter().rev() {
        calls.push(planned(store.call(id).await.map_err(failed)?).map_err(failed)?);
    }
    Ok(calls)
}

fn planned(row: CallRow) -> Result<PlannedCall, StoreError> {
    let arguments = serde_json::from_slice(&row.arguments).map_err(|_| StoreError::Corrupt)?;
    let device = row.device.map(|(_, name)| name.to_string());
    Ok(PlannedCall { tool: row.tool, device, arguments })
}
