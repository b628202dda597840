//! Undoes all calls of a plan or of a turn of a chat, the last one first.

use orion_catalog::tools::undo_call::{ALREADY_UNDONE, changed_nothing};
use orion_domain::{CallState, Envelope, ErrorCode, Hint};
use orion_wire::{call_state_from, v1};

use super::undoing;
use crate::app::App;
use crate::call_result::CallResult;
use crate::client::Client;
use crate::commands::call::{perform, print};
use crate::failure::Failure;
use crate::show::short_arguments;
use crate::terminal;
use crate::text;

/// Returns the calls of a plan or a turn, oldest first, those of a turn without their results. None if there is none with
/// this id.
///
/// # Errors
/// The plan still runs, the backend fails, or several ids begin so.
pub(super) async fn find(client: &Client, id: &str) -> Result<Option<Vec<v1::Call>>, Failure> {
    let request = v1::GetTurnRequest { turn_id: id.to_owned() };
    if let Some(turn) = found(client.ask(client.chat().get_turn(request)).await)? {
        return Ok(Some(turn.calls));
    }
    let request = v1::GetPlanRequest { plan_id: id.to_owned(), ..v1::GetPlanRequest::default() };
    let Some(answer) = found(client.ask(client.plans().get_plan(request)).await)? else {
        return Ok(None);
    };
    let plan = answer.plan.unwrap_or_default();
    if plan.state() == v1::PlanState::Running {
        return Err(running(&plan.plan_id));
    }
    let mut calls = Vec::new();
    for step in plan.steps {
        if step.call_id.is_empty() {
            continue;
        }
        let has_begun =
            !matches!(step.state(), v1::PlanStepState::Waiting | v1::PlanStepState::Skipped);
        let request = v1::GetCallRequest { call_id: step.call_id, wait_ms: 0 };
        match client.ask(client.tools().get_call(request)).await {
            Ok(answer) => calls.extend(answer.call),
            // A step that has not begun has an id, and may have made no call.
            Err(Failure::Tool(error)) if error.code == ErrorCode::NotFound && !has_begun => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(Some(calls))
}

/// Refuses a plan whose next steps would change what is taken back.
fn running(plan_id: &str) -> Failure {
    let id = text::short_id(plan_id);
    Failure::Conflict(format!("the plan {id} is still running, so nothing of it is taken back"))
        .hint(Hint::run("see how far it is", format!("orion plan show {id}")))
        .hint(Hint::run("let it begin no further step", format!("orion plan deny {id}")))
}

/// Returns an answer. None where nothing was found, and where a token of calls alone may not look.
fn found<T>(answer: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Failure::Tool(error))
            if matches!(error.code, ErrorCode::NotFound | ErrorCode::PermissionDenied) =>
        {
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Undoes the calls, the last one first, and stops at the first that cannot be undone.
///
/// # Errors
/// Nothing can be undone, the person does not want it, or the backend fails. A failed undo is no error
/// here: its envelope is printed and its exit code returned.
pub(super) async fn undo(
    app: &App<'_>,
    client: &Client,
    calls: &[v1::Call],
    dry_run: bool,
    wait: bool,
) -> Result<u8, Failure> {
    if calls.is_empty() {
        let message = "no call was made there, so there is nothing to take back";
        return Err(Failure::Conflict(message.to_owned())
            .hint(Hint::run("list your calls", "orion calls list"))
            .hint(Hint::run("see plans that still wait", "orion plan list")));
    }
    let mut requests = Vec::new();
    let mut stay = Vec::new();
    let mut is_open = false;
    for call in calls.iter().rev().filter(|call| may_have_changed(call)) {
        let call = with_result(client, call).await?;
        match undoing(&call) {
            _ if !may_have_changed(&call) => {}
            Ok(request) => requests.push((line(&call), request)),
            Err(why) => {
                is_open |= !call_state_from(call.state).is_ok_and(CallState::is_closed);
                stay.push(format!("{}: {why}", line(&call)));
            }
        }
    }
    if requests.is_empty() && stay.is_empty() {
        return Err(Failure::Conflict("these calls changed nothing".to_owned()));
    }
    if !stay.is_empty() {
        app.out.note("This cannot be taken back:");
        stay.iter().for_each(|line| app.out.note(&format!("  {line}")));
    }
    if requests.is_empty() {
        let yet = if is_open { " before it has ended" } else { "" };
        return Err(Failure::Conflict(format!("nothing of it can be taken back{yet}")));
    }
    let is_left = !stay.is_empty() && !app.yes && !terminal::is_interactive();
    app.out.note(match (dry_run, is_left) {
        (true, _) => "This would be taken back:",
        (false, true) => "This could be taken back, and is left:",
        (false, false) => "To be taken back:",
    });
    requests.iter().for_each(|(line, _)| app.out.note(&format!("  {line}")));
    if dry_run {
        let last = requests.len() - 1;
        for (index, (line, request)) in requests.into_iter().enumerate() {
            let request = v1::CallToolRequest { dry_run, ..request };
            let result = perform(app, client, request, wait).await?;
            if is_undone(&result) {
                app.out.note(&format!("{line} was taken back already"));
                continue;
            }
            print(app, client, &result).await?;
            if index < last {
                app.out
                    .note("Only this undo is previewed: those after it depend on what it leaves.");
            }
            return Ok(result.exit_code());
        }
        app.out.note("Nothing is left to take back.");
        return Ok(0);
    }
    if !stay.is_empty() && !app.yes {
        if !terminal::is_interactive() {
            return Err(Failure::Conflict("not all of it can be taken back".to_owned())
                .hint("take back the rest with --yes"));
        }
        if !terminal::confirm("Take back the rest?").await? {
            return Err(Failure::Conflict("nothing was taken back".to_owned()));
        }
    }
    let count = requests.len();
    let mut is_past = true;
    for (index, (line, request)) in requests.into_iter().enumerate() {
        let result = perform(app, client, request, wait).await?;
        if is_undone(&result) {
            app.out.note(&format!("{line} was taken back already"));
            continue;
        }
        is_past = false;
        print(app, client, &result).await?;
        let code = result.exit_code();
        if code != 0 {
            let left = u64::try_from(count - index - 1).unwrap_or_default();
            if left > 0 {
                let calls = text::counted(left, "earlier call", "earlier calls");
                app.out.note(&format!("stopped there; {calls} not taken back"));
            }
            return Ok(code);
        }
    }
    if is_past {
        app.out.note("Nothing was left to take back.");
    }
    Ok(0)
}

/// Returns a call with its result.
async fn with_result(client: &Client, call: &v1::Call) -> Result<v1::Call, Failure> {
    if !call.result.is_empty() {
        return Ok(call.clone());
    }
    let request = v1::GetCallRequest { call_id: call.call_id.clone(), wait_ms: 0 };
    let answer = client.ask(client.tools().get_call(request)).await?;
    Ok(answer.call.unwrap_or_else(|| call.clone()))
}

/// Returns whether an undo found that its call was taken back already.
fn is_undone(result: &CallResult) -> bool {
    result.envelope.error.as_ref().is_some_and(|error| error.details.contains_key(ALREADY_UNDONE))
}

/// Returns whether a call may have changed something. A call that was denied or refused has not, nor has one whose
/// result says so.
fn may_have_changed(call: &v1::Call) -> bool {
    let state = call_state_from(call.state).unwrap_or(CallState::Unknown);
    let spec = orion_catalog::find(&call.tool).map(|(spec, _)| spec);
    let envelope = serde_json::from_slice::<Envelope>(&call.result).ok();
    let data = envelope.and_then(|envelope| envelope.data).unwrap_or_default();
    let changes = spec.is_none_or(|spec| spec.has_effects && !changed_nothing(spec.name, &data));
    changes && !call.dry_run && !matches!(state, CallState::Denied | CallState::Refused)
}

fn line(call: &v1::Call) -> String {
    let device = text::one_line(&call.device, 64);
    let tool = text::one_line(&call.tool, 64);
    format!("{tool} on {device} {}", short_arguments(&call.tool, &call.arguments))
}
