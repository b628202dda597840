//! Makes a plan from a list of calls. Each step is evaluated as a call of that person would be, then
//! previewed. One step that is not possible rejects the whole plan.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::plan::MAX_STEPS;
use orion_domain::{
    Access, ApprovalBasis, CallRequest, CallState, Caller, DevicePath, ErrorCode, Hint,
    Observation, PlanBinding, PlanId, StepBinding, ToolError, Touches,
};
use serde_json::Value;

use super::{PlanError, PlanRequest, publish};
use crate::clock::{new_uuid, now_ms};
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::{CallContext, Origin};
use crate::pipeline::evaluate::measured;
use crate::pipeline::preview::{Preview, PreviewResult, observe};
use crate::pipeline::result::DeviceReport;
use crate::pipeline::verdict::Decided;
use crate::pipeline::{Pipeline, audit, confirm};
use crate::store::{
    Card, EarlierChanges, MakePlanError, NewApproval, NewPlan, NewStep, PlanRow, StoreError,
};

/// The most bytes of the arguments of all steps together.
pub const MAX_PLAN_BYTES: usize = 512 * 1024;

/// A step that is possible, as it is shown.
struct Planned {
    evaluated: EvaluatedCall,
    seen: PreviewResult,
    /// The paths of this step that earlier steps change. None if there are none.
    earlier: Option<EarlierChanges>,
    after: Option<u32>,
}

/// Makes a plan and returns it as it is shown. The work continues if the requester disconnects.
///
/// # Errors
/// See [`PlanError`].
pub async fn create(
    pipeline: &Arc<Pipeline>,
    caller: Caller,
    request: PlanRequest,
) -> Result<PlanRow, PlanError> {
    let shared = Arc::clone(pipeline);
    let task = pipeline.tasks.calls.spawn(async move { make(&shared, caller, request).await });
    task.await.unwrap_or(Err(PlanError::Store(StoreError::Unavailable)))
}

async fn make(
    pipeline: &Arc<Pipeline>,
    caller: Caller,
    request: PlanRequest,
) -> Result<PlanRow, PlanError> {
    let PlanRequest { steps, keep_going } = request;
    fits(&steps).map_err(|error| PlanError::Plan(Box::new(error)))?;
    let most = pipeline.config.calls.in_flight_per_person;
    let _place = pipeline
        .limits
        .acquire_slot(&caller.user, most)
        .map_err(|error| PlanError::Plan(Box::new(error)))?;
    let id = PlanId::new(new_uuid());
    // All steps are evaluated before any device is asked.
    let mut calls = Vec::with_capacity(steps.len());
    for (number, step) in (1_u32..).zip(steps) {
        calls.push(evaluated(pipeline, &caller, id, number, step).await?);
    }
    let mut planned: Vec<Planned> = Vec::with_capacity(calls.len());
    for (number, evaluated) in (1_u32..).zip(calls) {
        let (tool, device) =
            (evaluated.target.spec.name.to_owned(), evaluated.target.device.name.to_string());
        match preview(pipeline, evaluated, &planned).await {
            Ok(step) => planned.push(step),
            Err(error) => {
                refused(pipeline, &caller, id, number, &error).await?;
                return Err(PlanError::Step { number, tool, device, error: Box::new(error) });
            }
        }
    }
    let plan = plan(pipeline, id, &caller, keep_going, planned);
    pipeline.store.make_plan(plan).await.map_err(|error| match error {
        MakePlanError::Store(error) => PlanError::Store(error),
        error @ (MakePlanError::TooManyOfPerson
        | MakePlanError::TooMany
        | MakePlanError::TooManyQuestions) => {
            let message = format!("The plan is not made: {error}.");
            let error = ToolError::new(ErrorCode::ResourceExhausted, message)
                .hint(Hint::run("decide some plans, then try again", "orion plan list"))
                .hint(Hint::run("decide some requests, then try again", "orion approvals list"));
            PlanError::Plan(Box::new(error))
        }
    })?;
    let row = pipeline.store.plan(&id.to_string()).await?;
    tracing::info!(plan = %id, user = %caller.user, steps = row.steps.len(), "a plan waits");
    publish(pipeline, &row);
    Ok(row)
}

fn fits(steps: &[CallRequest]) -> Result<(), ToolError> {
    let invalid = |message: String| Err(ToolError::new(ErrorCode::InvalidArgument, message));
    if steps.is_empty() || steps.len() > MAX_STEPS {
        return invalid(format!(
            "A plan has 1 to {MAX_STEPS} steps, and this has {}.",
            steps.len()
        ));
    }
    let bytes: usize = steps
        .iter()
        .map(|step| serde_json::to_vec(&step.arguments).map_or(usize::MAX / 64, |it| it.len()))
        .sum();
    if bytes > MAX_PLAN_BYTES {
        return invalid(format!(
            "The arguments of a plan have {MAX_PLAN_BYTES} bytes at most, and these have {bytes}."
        ));
    }
    Ok(())
}

/// Evaluates a step as a call. A denial is stored like any other.
async fn evaluated(
    pipeline: &Arc<Pipeline>,
    caller: &Caller,
    plan: PlanId,
    number: u32,
    request: CallRequest,
) -> Result<EvaluatedCall, PlanError> {
    let (tool, device) = (request.tool.clone(), request.device.clone().unwrap_or_default());
    let origin = Origin::PlanStep { plan, shown: None };
    let context = CallContext { origin, ..CallContext::new(caller.clone(), request) };
    let (denied, error) = match measured(pipeline, context).await? {
        Ok(mut call) => match impossible(&call) {
            Some(error) => (Decided::denied(call, error.clone()), error),
            None => {
                let report = call.context.preview.as_mut().and_then(|it| it.report.take());
                DeviceReport::record_any(report, pipeline).await?;
                return Ok(call);
            }
        },
        Err(stopped) => {
            let error = stopped.error.clone();
            (Decided::from(*stopped), error)
        }
    };
    audit::record(pipeline, denied).await?;
    refused(pipeline, caller, plan, number, &error).await?;
    Err(PlanError::Step { number, tool, device, error: Box::new(error) })
}

/// Returns why an evaluated step is not possible. None if it is.
fn impossible(call: &EvaluatedCall) -> Option<ToolError> {
    match (call.decision(), call.preview()) {
        (Decision::Deny, Some(Preview::WouldFail(error))) => Some(error.clone()),
        (Decision::Deny, Some(Preview::Shown(_) | Preview::Missing) | None) => Some(call.refusal()),
        (Decision::Allow, _) => call.permit(None).err().map(|error| *error),
        (Decision::Ask | Decision::DryRunFirst, _) => None,
    }
}

async fn refused(
    pipeline: &Pipeline,
    caller: &Caller,
    plan: PlanId,
    number: u32,
    error: &ToolError,
) -> Result<(), StoreError> {
    tracing::info!(user = %caller.user, step = number, code = %error.code, "a plan was refused");
    pipeline.store.audit_refused_plan(plan, &caller.user, number, error.code, now_ms()).await
}

/// Has the device preview a step.
async fn preview(
    pipeline: &Arc<Pipeline>,
    evaluated: EvaluatedCall,
    earlier: &[Planned],
) -> Result<Planned, ToolError> {
    let changed = changed_before(&evaluated, earlier);
    let touched = evaluated.parsed.touches.paths.clone();
    let paths: Vec<&DevicePath> = touched.iter().map(|it| &it.path).collect();
    let meets =
        |path: &DevicePath, changed: &DevicePath| changed.contains(path) || path.contains(changed);
    let after = changed
        .iter()
        .filter(|(_, changed)| paths.iter().any(|path| meets(path, changed)))
        .map(|(number, _)| *number)
        .max();
    let seen = match observe(pipeline, &evaluated)
        .await
        .map_err(ToolError::from)
        .and_then(PreviewResult::comparable)
    {
        Ok(seen) => seen,
        Err(error) if is_missing(error.code) && is_made(&evaluated, &error, &changed) => {
            PreviewResult { preview: Preview::Missing, observed: Vec::new() }
        }
        Err(error) => return Err(error),
    };
    let mut counts = evaluated.counts.clone();
    counts.raises = seen.preview.raises();
    let evaluated = evaluated.with(counts);
    if evaluated.decision() == Decision::Deny {
        return Err(evaluated.refusal());
    }
    if evaluated.preview_first() && !matches!(seen.preview, Preview::Shown(_)) {
        return Err(ToolError::new(
            ErrorCode::PreconditionFailed,
            "A preview of this step must be shown first, and there is none.",
        )
        .hint("make it a call or a plan of its own"));
    }
    // What an earlier step changes must differ at this step's turn. It is compared before the first step
    // that changes any of it.
    let met = |seen: &Observation| {
        let path = paths.iter().find(|path| path.to_string() == seen.path)?;
        changed.iter().filter(|(_, it)| meets(path, it)).map(|(number, _)| *number).min()
    };
    let (observed, of_earlier): (Vec<_>, Vec<_>) =
        seen.observed.into_iter().partition(|seen| met(seen).is_none());
    let before = of_earlier.iter().filter_map(met).min();
    let earlier = before.map(|before| EarlierChanges { before, seen: of_earlier });
    let seen = PreviewResult { observed, ..seen };
    Ok(Planned { evaluated, seen, earlier, after })
}

/// Returns whether an earlier step touches the missing path or a folder that contains it.
fn is_made(evaluated: &EvaluatedCall, error: &ToolError, changed: &[(u32, DevicePath)]) -> bool {
    let touches = &evaluated.parsed.touches.paths;
    let reported = error.details.get("attempted_path").and_then(Value::as_str);
    let missing: Vec<DevicePath> = match (reported, touches.first()) {
        (Some(reported), Some(first)) => {
            DevicePath::parse(first.path.style(), reported).into_iter().collect()
        }
        (None | Some(_), _) => touches.iter().map(|it| it.path.clone()).collect(),
    };
    missing.iter().any(|path| changed.iter().any(|(_, changed)| changed.contains(path)))
}

/// Returns what earlier steps change on the same device, with the number of each step.
fn changed_before(evaluated: &EvaluatedCall, earlier: &[Planned]) -> Vec<(u32, DevicePath)> {
    let device = evaluated.target.device.id;
    let changes = |touches: &Touches| {
        let changed = touches.paths.iter().filter(|touch| touch.access != Access::Read);
        changed.map(|touch| touch.path.clone()).collect::<Vec<_>>()
    };
    (1_u32..)
        .zip(earlier)
        .filter(|(_, step)| {
            step.evaluated.target.device.id == device && step.evaluated.target.spec.has_effects
        })
        .flat_map(|(number, step)| {
            changes(&step.evaluated.parsed.touches).into_iter().map(move |path| (number, path))
        })
        .collect()
}

const fn is_missing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::FileNotFound | ErrorCode::DirectoryNotFound | ErrorCode::PathNotFound)
}

/// Returns the plan with its hash and its approval requests.
fn plan(
    pipeline: &Pipeline,
    id: PlanId,
    caller: &Caller,
    keep_going: bool,
    planned: Vec<Planned>,
) -> NewPlan {
    let compared = |Planned { seen, earlier, .. }: &Planned| -> Vec<Observation> {
        seen.observed.iter().chain(earlier.iter().flat_map(|it| &it.seen)).cloned().collect()
    };
    let compared: Vec<_> = planned.iter().map(compared).collect();
    let bindings: Vec<StepBinding<'_>> = planned
        .iter()
        .zip(&compared)
        .map(|(Planned { evaluated, after, .. }, observed)| StepBinding {
            call: evaluated.context.id,
            device: evaluated.target.device.id,
            tool: evaluated.target.spec.name,
            arguments: &evaluated.parsed.arguments,
            observed,
            after: *after,
            policy_version: &evaluated.target.device.policy.version,
        })
        .collect();
    let hash = PlanBinding { plan: id, caller, keep_going, steps: &bindings }.digest();
    let created_at = now_ms();
    let expires_at = confirm::expires_at(pipeline, created_at);
    let steps = planned.into_iter().map(|planned| step(pipeline, planned, created_at)).collect();
    NewPlan { id, caller: caller.clone(), hash, keep_going, created_at, expires_at, steps }
}

fn step(pipeline: &Pipeline, planned: Planned, created_at: i64) -> NewStep {
    let Planned { evaluated, seen: PreviewResult { preview, observed }, earlier, after } = planned;
    let quantity = preview.quantity().unwrap_or_default();
    let shown = preview.kept();
    let asked = match evaluated.decision() {
        Decision::Allow | Decision::Deny => None,
        Decision::Ask | Decision::DryRunFirst => {
            let card = confirm::card(&evaluated);
            let card = Card { entries: quantity.entries, bytes: quantity.bytes, ..card };
            let question = NewApproval {
                preview: shown.clone(),
                card,
                may_stand: false,
                ..confirm::question(
                    pipeline,
                    &evaluated,
                    ApprovalBasis::Plan,
                    observed.clone(),
                    created_at,
                )
            };
            Some(Box::new((
                audit::row::evaluated(pipeline, &evaluated, CallState::Received),
                question,
            )))
        }
    };
    NewStep {
        call: evaluated.context.id,
        device: (evaluated.target.device.id, evaluated.target.device.name.clone()),
        tool: evaluated.target.spec.name.to_owned(),
        arguments: evaluated.parsed.arguments.as_bytes().to_vec(),
        risk: evaluated.risk(),
        touches: evaluated.touches(),
        decision: evaluated.decision().as_str().to_owned(),
        rule: evaluated.rule(),
        policy_version: evaluated.target.device.policy.version.clone(),
        preview: shown,
        observed,
        earlier,
        after,
        asked,
    }
}
