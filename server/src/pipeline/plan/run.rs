//! Runs an approved plan, step by step. Each step is evaluated again as any call at that moment, and its
//! device compares what the step touches with what was shown.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{CallRequest, CallState, Envelope, ErrorCode, PlanId, ToolError};
use serde_json::Value;

use super::{close_unsent, close_waiting, is_good, publish, skipped};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::pipeline::call::{CallContext, Origin};
use crate::pipeline::confirm::run_approved;
use crate::pipeline::evaluate::evaluate;
use crate::pipeline::preview::{PreviewResult, observe};
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, audit, validate};
use crate::store::{EarlierChanges, PlanRow, PlanState, StepEnd, StepRow, StepState, StoreError};

/// The maximum length of the stored message of a step's end, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// How long to wait before the database is tried again after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Runs an approved plan to its end.
pub(super) async fn run(pipeline: &Arc<Pipeline>, id: PlanId) {
    let Err(error) = steps(pipeline, id).await else { return };
    tracing::error!(plan = %id, %error, "a plan could not be recorded and goes no further");
    // The stored state is still `running`. The plan ends as soon as the database can be written, or at the
    // next start.
    while !pipeline.tasks.shutdown.is_cancelled() {
        tokio::time::sleep(RETRY_INTERVAL).await;
        let ended = async {
            let plan = pipeline.store.plan(&id.to_string()).await?;
            if plan.state == PlanState::Running {
                interrupt(pipeline, &plan).await?;
            }
            close_waiting(pipeline, &plan, &skipped(id, "the plan could not be recorded")).await?;
            publish(pipeline, &plan);
            Ok::<(), StoreError>(())
        };
        if ended.await.is_ok() {
            return;
        }
    }
}

async fn steps(pipeline: &Arc<Pipeline>, id: PlanId) -> Result<(), StoreError> {
    let plan = pipeline.store.plan(&id.to_string()).await?;
    let (mut state, mut why) = (PlanState::Succeeded, "");
    let mut done: Vec<u32> = Vec::new();
    for next in next_steps(&plan) {
        let step = next.step();
        if done.contains(&step.number) {
            continue;
        }
        if pipeline.tasks.shutdown.is_cancelled() {
            (state, why) = (PlanState::Interrupted, "the backend stopped while the plan ran");
            break;
        }
        let drifted = match next {
            NextStep::Run(_) => None,
            NextStep::Compare(step, earlier) => {
                match compare(pipeline, &plan, step, earlier).await? {
                    Ok(()) => continue,
                    Err(error) => Some(error),
                }
            }
        };
        if !pipeline.store.begin_step(id, step.number, now_ms()).await? {
            (state, why) = (PlanState::Cancelled, "the plan was stopped");
            break;
        }
        done.push(step.number);
        pipeline.bus.publish(Change::Plan(id));
        let view = match drifted {
            None => one(pipeline, &plan, step).await?,
            Some(error) => unsent(pipeline, &plan, step, error).await?,
        };
        let end = end_of(&view);
        let good = is_good(end.state);
        tracing::info!(plan = %id, step = step.number, state = end.state.as_str(), "a step ended");
        pipeline.store.end_step(id, step.number, end, now_ms()).await?;
        pipeline.bus.publish(Change::Plan(id));
        if !good {
            state = PlanState::Failed;
            if !plan.keep_going {
                why = "another step did not do what it should";
                break;
            }
        }
    }
    pipeline.store.end_plan(id, state, now_ms()).await?;
    close_waiting(pipeline, &plan, &skipped(id, why)).await?;
    publish(pipeline, &plan);
    Ok(())
}

/// The next action.
enum NextStep<'a> {
    /// Compares a step with what it was shown with, before an earlier step changes that.
    Compare(&'a StepRow, &'a EarlierChanges),
    /// Runs a step.
    Run(&'a StepRow),
}

impl<'a> NextStep<'a> {
    const fn step(&self) -> &'a StepRow {
        match self {
            Self::Compare(step, _) | Self::Run(step) => step,
        }
    }
}

/// Returns the steps in order. Before each step come the later ones that touch what it is the first to
/// change.
fn next_steps(plan: &PlanRow) -> impl Iterator<Item = NextStep<'_>> {
    plan.steps.iter().flat_map(|step| {
        let later = plan.steps.iter().filter(|later| {
            later.earlier.as_ref().is_some_and(|earlier| earlier.before == step.number)
        });
        let compared =
            later.filter_map(|later| Some(NextStep::Compare(later, later.earlier.as_ref()?)));
        compared.chain([NextStep::Run(step)])
    })
}

/// Compares what a step is about to change with what a later step was shown with.
async fn compare(
    pipeline: &Arc<Pipeline>,
    plan: &PlanRow,
    later: &StepRow,
    EarlierChanges { before, seen }: &EarlierChanges,
) -> Result<Result<(), ToolError>, StoreError> {
    let evaluated = match evaluate(pipeline, context(plan, later)?).await? {
        Ok(evaluated) => evaluated,
        Err(stopped) => return Ok(Err(stopped.error)),
    };
    let now = match observe(pipeline, &evaluated).await {
        Ok(PreviewResult { observed, .. }) => observed,
        Err(error) => return Ok(Err(error.into())),
    };
    for seen in seen {
        // The device reported each path, or there would be no preview.
        let now = now.iter().find(|now| now.path == seen.path);
        if let Some(change) = now.and_then(|now| seen.drift(now)) {
            let path = &seen.path;
            let error = ToolError::new(
                ErrorCode::PreconditionFailed,
                format!(
                    "{path} is not as it was when the preview was shown, so nothing was done: {change}. It was compared before step {before}, which would change it."
                ),
            ).hint("make the plan again to see a new preview");
            let error = error.with("reason", "drift").with("attempted_path", path.as_str());
            return Ok(Err(error.with("changed", change)));
        }
    }
    Ok(Ok(()))
}

/// Returns a step as a call, which runs only if it is as it was shown.
fn context(plan: &PlanRow, step: &StepRow) -> Result<CallContext, StoreError> {
    let Ok(Value::Object(arguments)) = serde_json::from_slice(&step.arguments) else {
        return Err(StoreError::Corrupt);
    };
    let request = CallRequest {
        tool: step.tool.clone(),
        device: Some(step.device.0.to_string()),
        arguments,
        // The following steps would have to wait as well.
        queue: Some(false),
        ..CallRequest::default()
    };
    Ok(CallContext {
        id: step.call,
        origin: Origin::PlanStep { plan: plan.id, shown: Some(Box::new(step.clone())) },
        observed: step.observed.clone(),
        ..CallContext::new(plan.caller.clone(), request)
    })
}

/// Ends the call of a step that is not sent.
async fn unsent(
    pipeline: &Arc<Pipeline>,
    plan: &PlanRow,
    step: &StepRow,
    error: ToolError,
) -> Result<CallView, StoreError> {
    if plan.question(step).is_some() {
        let row = pipeline.store.call(&step.call.to_string()).await?;
        return audit::close(pipeline, CallView::from(row), error).await;
    }
    let context = context(plan, step)?;
    let target = validate::target(pipeline, &context.request).ok();
    audit::deny(pipeline, context, target, error).await
}

/// Runs one step and returns the end of its call.
async fn one(
    pipeline: &Arc<Pipeline>,
    plan: &PlanRow,
    step: &StepRow,
) -> Result<CallView, StoreError> {
    let most = pipeline.config.calls.in_flight_per_person;
    let _place = match pipeline.limits.acquire_slot(&plan.caller.user, most) {
        Ok(place) => place,
        Err(error) => return unsent(pipeline, plan, step, error).await,
    };
    match plan.question(step) {
        Some(question) => run_approved(pipeline, question, None).await,
        None => pipeline.resume(context(plan, step)?, None).await,
    }
}

/// Returns the end of a step, from the end of its call.
fn end_of(view: &CallView) -> StepEnd {
    let envelope: Option<Envelope> = serde_json::from_slice(&view.result).ok();
    let message = envelope.as_ref().map(|it| it.message.as_str()).unwrap_or_default();
    let message = message.chars().take(MAX_MESSAGE_CHARS).collect();
    let error = envelope.as_ref().and_then(|it| it.error.as_ref());
    let drifted = error.is_some_and(|error| {
        error.code == ErrorCode::PreconditionFailed
            && error.details.get("reason") == Some(&"drift".into())
    });
    let state = if view.state == CallState::Succeeded {
        StepState::Succeeded
    } else if drifted {
        StepState::Drifted
    } else {
        StepState::Failed
    };
    StepEnd { state, code: error.map(|error| error.code), message }
}

/// Ends the plans that ran when the backend stopped: steps that had not started are skipped, and a started
/// step ends as its call did. Called once, after the calls were recovered.
///
/// # Errors
/// The database cannot be written.
pub async fn recover(pipeline: &Pipeline) -> Result<(), StoreError> {
    for plan in pipeline.store.running_plans().await? {
        interrupt(pipeline, &plan).await?;
        tracing::warn!(plan = %plan.id, "a plan that ran at the last stop was ended");
    }
    let mut after = String::new();
    loop {
        let calls = pipeline.store.calls_of_ended_plans(&after).await?;
        let Some(last) = calls.last() else { return Ok(()) };
        after.clone_from(last);
        for call in calls {
            let row = pipeline.store.call(&call).await?;
            let Some(plan) = row.plan else { continue };
            let error = skipped(plan, "the plan had ended when the backend stopped");
            close_unsent(pipeline, &call, error).await?;
        }
    }
}

/// Ends a plan that cannot continue, with the step that was running.
async fn interrupt(pipeline: &Pipeline, plan: &PlanRow) -> Result<(), StoreError> {
    for step in plan.steps.iter().filter(|step| step.state == StepState::Running) {
        let end = match pipeline.store.call(&step.call.to_string()).await {
            Ok(row) if row.state.is_closed() => end_of(&CallView::from(row)),
            // The call is on its device, which will report the end.
            Ok(row) if matches!(row.state, CallState::Dispatched | CallState::Running) => {
                return Err(StoreError::Conflict);
            }
            Ok(_) | Err(StoreError::NotFound) => StepEnd {
                state: StepState::Skipped,
                code: None,
                message: "The plan was interrupted before this step was sent.".to_owned(),
            },
            Err(error) => return Err(error),
        };
        pipeline.store.end_step(plan.id, step.number, end, now_ms()).await?;
    }
    pipeline.store.end_plan(plan.id, PlanState::Interrupted, now_ms()).await
}
