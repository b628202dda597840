//! `run_macro`: makes the calls of a macro of the person who asks, each through the pipeline.

use std::sync::LazyLock;
use std::time::Duration;

use orion_catalog::request_secrets::hide_in_fields;
use orion_catalog::tools::macro_calls::filled;
use orion_catalog::tools::planned_call::PlannedCall;
use orion_catalog::tools::run_macro::{Arguments, Returns, RunMacro, Step};
use orion_domain::{CallState, Envelope, ErrorCode, Hint, ToolError};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::effect::failed;
use super::own_calls::OwnCalls;
use super::{Context, Effect, LocalTool, Outcome};
use crate::people::{CountedRequest, Counts};
use crate::pipeline::CallView;
use crate::store::MacroRow;

/// How many macros run at once. Their calls need slots on the backend as well.
static RUNNING: Semaphore = Semaphore::const_new(6);
/// How many of them one person runs, so that the others find a place.
const MAX_OF_PERSON: u32 = 2;
/// How often a macro that waits for another of its person looks again.
const WAIT_INTERVAL: Duration = Duration::from_millis(200);
static OF_PEOPLE: LazyLock<Counts> = LazyLock::new(Counts::default);
/// The most bytes of the result of one call that are returned.
const MAX_RESULT_BYTES: usize = 8 * 1024;

impl LocalTool for RunMacro {
    const EFFECT: Effect = Effect::Outside {
        unknown: "Some of its calls may have been made.",
        hint: "list your calls to see which, before it is run again",
    };

    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { name, parameters } = arguments;
        let row = find(&context, &name).await?;
        if let Some(odd) = parameters.keys().find(|given| !row.parameters.contains(given)) {
            let shown: String = odd.chars().take(40).collect();
            let message = format!("The macro `{name}` has no parameter `{shown}`.");
            return Err(ToolError::new(ErrorCode::InvalidArgument, message)
                .with("parameters", row.parameters.clone()));
        }
        let calls = row.steps.iter().map(|step| filled(step, &parameters));
        let calls: Vec<_> = calls.collect::<Result<_, _>>()?;
        for call in &calls {
            // A value may have brought in what a macro cannot hold.
            call.check()?;
        }
        if context.dry_run {
            // What a preview returns is stored and shown.
            let shown = hide_in_fields(&Value::Object(parameters));
            let shown = shown.as_object().cloned().unwrap_or_default();
            let planned = |step: &PlannedCall| {
                let call = filled(step, &shown)?;
                Ok(Step { arguments: call.arguments.clone(), ..unmade(&call, "planned") })
            };
            let steps = row.steps.iter().map(planned).collect::<Result<Vec<_>, ToolError>>()?;
            let message = match steps.len() {
                1 => format!("`{name}` would make 1 call."),
                count => format!("`{name}` would make {count} calls."),
            };
            let data = Returns { name, steps, succeeded: 0 };
            return Ok(Outcome { message, data, truncated: false });
        }
        let _of_person = place_of(&context).await;
        let _place = RUNNING
            .acquire()
            .await
            .map_err(|_| ToolError::new(ErrorCode::ResourceExhausted, "The backend stops."))?;
        made(&context, row, &calls).await
    }
}

/// Returns a macro of the person who asks.
///
/// # Errors
/// `NOT_FOUND`, or the database cannot be read.
pub(super) async fn find(context: &Context, name: &str) -> Result<MacroRow, ToolError> {
    let found = context.devices.store.find_macro(&context.caller.user, name).await;
    found.map_err(failed)?.ok_or_else(|| {
        let shown: String = name.chars().take(40).collect();
        let message = format!("You have no macro `{shown}`.");
        ToolError::new(ErrorCode::NotFound, message)
            .hint(Hint::run("list your macros", "orion macros list"))
    })
}

/// Waits until the person runs fewer macros than one may, for as long as the call may take: tasks of one person often
/// come at the same moment.
async fn place_of(context: &Context) -> CountedRequest {
    loop {
        if let Some(place) = OF_PEOPLE.add_below(&context.caller.user, MAX_OF_PERSON) {
            return place;
        }
        tokio::time::sleep(WAIT_INTERVAL).await;
    }
}

/// Makes the calls in order, up to the first that does not succeed.
async fn made(
    context: &Context,
    row: MacroRow,
    calls: &[PlannedCall],
) -> Result<Outcome<Returns>, ToolError> {
    let own = OwnCalls::of(context, row.tainted).await?;
    let (mut steps, mut succeeded) = (Vec::new(), 0);
    for call in calls {
        if succeeded < steps.len() {
            steps.push(unmade(call, "skipped"));
            continue;
        }
        let view = own.make(call).await?;
        succeeded += usize::from(view.state == CallState::Succeeded);
        steps.push(step(call, &view));
    }
    let (name, all) = (row.name, steps.len());
    let message = if (succeeded, all) == (1, 1) {
        format!("`{name}` has made its call.")
    } else if succeeded == all {
        format!("`{name}` has made its {all} calls.")
    } else {
        format!("`{name}` stopped: {succeeded} of {all} calls succeeded.")
    };
    Ok(Outcome { message, data: Returns { name, steps, succeeded }, truncated: false })
}

fn step(call: &PlannedCall, view: &CallView) -> Step {
    let envelope: Option<Envelope> = serde_json::from_slice(&view.result).ok();
    let message = envelope.as_ref().map(|it| it.message.clone()).unwrap_or_default();
    let data = envelope.and_then(|envelope| envelope.data);
    let is_small = |data: &serde_json::Value| data.to_string().len() <= MAX_RESULT_BYTES;
    Step {
        call_id: Some(view.call.to_string()),
        state: view.state.as_str().to_owned(),
        message,
        result: data.filter(is_small),
        ..unmade(call, "")
    }
}

fn unmade(call: &PlannedCall, state: &str) -> Step {
    Step {
        tool: call.tool.clone(),
        device: call.device.clone(),
        arguments: serde_json::Map::new(),
        call_id: None,
        state: state.to_owned(),
        message: String::new(),
        result: None,
    }
}
