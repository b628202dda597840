//! Runs an approved plan, step by step. Each step is evaluated again as any call at that moment, and its
//! device compares what the step touches with what was shown.

use std::sync::Arc;
use std::time::Duration;

use orion_catalog::ParsedCall;
use orion_domain::evaluate::Decision;
use orion_domain::{CallRequest, CallState, Envelope, ErrorCode, PlanId, ToolError};
use serde_json::Value;

use super::{close_unsent, close_waiting, is_good, publish, skipped};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::pipeline::audit::{self, CallContext};
use crate::pipeline::authorize::{self, EvaluatedCall};
use crate::pipeline::confirm::run as approved;
use crate::pipeline::preview::{PreviewResult, observe};
use crate::pipeline::validate::Target;
use crate::pipeline::{CallView, rate_limit, reauthorize, route, validate};
use crate::store::{EarlierChanges, PlanRow, PlanState, StepEnd, StepRow, StepState, StoreError};

/// The maximum length of the stored message of a step's end, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// How long to wait before the database is tried again after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Runs an approved plan to its end.
pub(super) async fn run(backend: &Arc<Backend>, id: PlanId) {
    let Err(error) = steps(backend, id).await else { return };
    tracing::error!(plan = %id, %error, "a plan could not be recorded and goes no further");
    // The stored state is still `running`. The plan ends as soon as the database can be written, or at the
    // next start.
    while !backend.shutdown.is_cancelled() {
        tokio::time::sleep(RETRY_INTERVAL).await;
        let ended = async {
            let plan = backend.store.plan(&id.to_string()).await?;
            if plan.state == PlanState::Running {
                interrupt(backend, &plan).await?;
            }
            close_waiting(backend, &plan, &skipped(id, "the plan could not be recorded")).await?;
            publish(backend, &plan);
            Ok::<(), StoreError>(())
        };
        if ended.await.is_ok() {
            return;
        }
    }
}

async fn steps(backend: &Arc<Backend>, id: PlanId) -> Result<(), StoreError> {
    let plan = backend.store.plan(&id.to_string()).await?;
    let (mut state, mut why) = (PlanState::Succeeded, "");
    let mut done: Vec<u32> = Vec::new();
    for next in next_steps(&plan) {
        let step = next.step();
        if done.contains(&step.number) {
            continue;
        }
        if backend.shutdown.is_cancelled() {
            (state, why) = (PlanState::Interrupted, "the backend stopped while the plan ran");
            break;
        }
        let drifted = match next {
            NextStep::Run(_) => None,
            NextStep::Compare(step, earlier) => match compare(backend, &plan, step, earlier).await?
            {
                Ok(()) => continue,
                Err(error) => Some(error),
            },
        };
        if !backend.store.begin_step(id, step.number, now_ms()).await? {
            (state, why) = (PlanState::Cancelled, "the plan was stopped");
            break;
        }
        done.push(step.number);
        backend.bus.publish(Change::Plan(id));
        let view = match drifted {
            None => one(backend, &plan, step).await?,
            Some(error) => unsent(backend, &plan, step, error).await?,
        };
        let end = end_of(&view);
        let good = is_good(end.state);
        tracing::info!(plan = %id, step = step.number, state = end.state.as_str(), "a step ended");
        backend.store.end_step(id, step.number, end, now_ms()).await?;
        backend.bus.publish(Change::Plan(id));
        if !good {
            state = PlanState::Failed;
            if !plan.keep_going {
                why = "another step did not do what it should";
                break;
            }
        }
    }
    backend.store.end_plan(id, state, now_ms()).await?;
    close_waiting(backend, &plan, &skipped(id, why)).await?;
    publish(backend, &plan);
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
    backend: &Arc<Backend>,
    plan: &PlanRow,
    later: &StepRow,
    EarlierChanges { before, seen }: &EarlierChanges,
) -> Result<Result<(), ToolError>, StoreError> {
    let ReadyStep { incoming, target, parsed } = match ready(backend, plan, later).await? {
        Ok(ready) => ready,
        Err(unready) => return Ok(Err(unready.error)),
    };
    let evaluated = authorize::call(incoming, target, parsed);
    let now = match observe(backend, &evaluated).await {
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
                    "{path} is not as it was when the preview was shown, so nothing was done: {change}. It was compared before step {before}, which would change it. Make the plan again to see a fresh preview."
                ),
            );
            let error = error.with("reason", "drift").with("attempted_path", path.as_str());
            return Ok(Err(error.with("changed", change)));
        }
    }
    Ok(Ok(()))
}

/// A step as it would run at this moment.
struct ReadyStep {
    incoming: CallContext,
    target: Target,
    parsed: ParsedCall,
}

/// A step that cannot run, as it is stored.
struct BlockedStep {
    incoming: CallContext,
    target: Option<Target>,
    error: ToolError,
}

fn incoming(plan: &PlanRow, step: &StepRow) -> Result<CallContext, StoreError> {
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
        plan: Some(plan.id),
        observed: step.observed.clone(),
        ..CallContext::new(plan.caller.clone(), request)
    })
}

async fn ready(
    backend: &Backend,
    plan: &PlanRow,
    step: &StepRow,
) -> Result<Result<ReadyStep, Box<BlockedStep>>, StoreError> {
    let mut incoming = incoming(plan, step)?;
    let found = match reauthorize::person(backend, &plan.caller, None).await? {
        Ok(caller) if caller.role == plan.caller.role => {
            incoming.caller = caller;
            validate::target(backend, &incoming.request)
        }
        Ok(_) => Err(another()),
        Err(error) => Err(error),
    };
    let target = match found {
        Ok(target) => target,
        Err(error) => return Ok(Err(Box::new(BlockedStep { incoming, target: None, error }))),
    };
    let arguments = incoming.request.arguments.clone();
    Ok(match validate::arguments(backend, &incoming.caller, &target, arguments).await? {
        Ok(parsed) => Ok(ReadyStep { incoming, target, parsed }),
        Err(error) => Err(Box::new(BlockedStep { incoming, target: Some(target), error })),
    })
}

/// Ends the call of a step that is not sent.
async fn unsent(
    backend: &Arc<Backend>,
    plan: &PlanRow,
    step: &StepRow,
    error: ToolError,
) -> Result<CallView, StoreError> {
    if plan.question(step).is_some() {
        let row = backend.store.call(&step.call.to_string()).await?;
        return audit::close(backend, CallView::from(row), error).await;
    }
    let incoming = incoming(plan, step)?;
    let target = validate::target(backend, &incoming.request).ok();
    audit::deny(backend, incoming, target.as_ref(), error).await
}

/// Runs one step and returns the end of its call.
async fn one(
    backend: &Arc<Backend>,
    plan: &PlanRow,
    step: &StepRow,
) -> Result<CallView, StoreError> {
    let most = backend.config.calls.in_flight_per_person;
    let _place = match backend.load.acquire_slot(&plan.caller.user, most) {
        Ok(place) => place,
        Err(error) => return unsent(backend, plan, step, error).await,
    };
    if let Some(question) = plan.question(step) {
        return approved::run_approved(backend, question, None).await;
    }
    let ReadyStep { incoming, target, parsed } = match ready(backend, plan, step).await? {
        Ok(ready) => ready,
        Err(unready) => {
            let BlockedStep { incoming, target, error } = *unready;
            return audit::deny(backend, incoming, target.as_ref(), error).await;
        }
    };
    let evaluated = rate_limit::judge(backend, incoming, target, parsed).await?;
    match evaluated.decision() {
        Decision::Deny => audit::deny_judged(backend, &evaluated, evaluated.refusal()).await,
        Decision::Ask | Decision::DryRunFirst => {
            audit::deny_judged(backend, &evaluated, another()).await
        }
        Decision::Allow if !is_as_shown(&evaluated, step) => {
            audit::deny_judged(backend, &evaluated, another()).await
        }
        Decision::Allow => match evaluated.permit(None) {
            Ok(permit) => route::route(backend, &evaluated, permit).await,
            Err(error) => audit::deny_judged(backend, &evaluated, *error).await,
        },
    }
}

/// Returns whether a step is still the call that was shown.
fn is_as_shown(evaluated: &EvaluatedCall, step: &StepRow) -> bool {
    evaluated.parsed.arguments.as_bytes() == step.arguments
        && evaluated.touches() == step.touches
        && evaluated.target.device.policy.version == step.policy_version
}

fn another() -> ToolError {
    ToolError::new(
        ErrorCode::ApprovalExpired,
        "What was approved is not what would run: the device's permissions or places, or the role of whoever asked, have changed since. Make the plan again to be asked again.",
    )
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
pub async fn recover(backend: &Backend) -> Result<(), StoreError> {
    for plan in backend.store.running_plans().await? {
        interrupt(backend, &plan).await?;
        tracing::warn!(plan = %plan.id, "a plan that ran at the last stop was ended");
    }
    let mut after = String::new();
    loop {
        let calls = backend.store.calls_of_ended_plans(&after).await?;
        let Some(last) = calls.last() else { return Ok(()) };
        after.clone_from(last);
        for call in calls {
            let row = backend.store.call(&call).await?;
            let Some(plan) = row.plan else { continue };
            let error = skipped(plan, "the plan had ended when the backend stopped");
            close_unsent(backend, &call, error).await?;
        }
    }
}

/// Ends a plan that cannot continue, with the step that was running.
async fn interrupt(backend: &Backend, plan: &PlanRow) -> Result<(), StoreError> {
    for step in plan.steps.iter().filter(|step| step.state == StepState::Running) {
        let end = match backend.store.call(&step.call.to_string()).await {
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
        backend.store.end_step(plan.id, step.number, end, now_ms()).await?;
    }
    backend.store.end_plan(plan.id, PlanState::Interrupted, now_ms()).await
}
