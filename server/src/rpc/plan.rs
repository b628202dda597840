//! `PlanService`: plans of several calls that are approved together.

use std::time::Duration;

use orion_domain::{CallRequest, Caller, Digest, Role};
use orion_wire::v1::plan_service_server::PlanService;
use orion_wire::{call_request, risk, v1};
use tonic::{Request, Response, Status};

use super::approval::approval;
use super::{Api, caller, status};
use crate::pipeline::plan::{self, PlanRequest};
use crate::store::{PlanRow, PlanState, StepRow, StepState, StoreError};

/// Maximum time that one request waits for a plan's next change.
const MAX_WAIT: Duration = Duration::from_secs(60);

#[tonic::async_trait]
impl PlanService for Api {
    async fn create_plan(
        &self,
        request: Request<v1::CreatePlanRequest>,
    ) -> Result<Response<v1::CreatePlanResponse>, Status> {
        let caller = caller(&request)?;
        self.not_stopping()?;
        let v1::CreatePlanRequest { steps, keep_going } = request.into_inner();
        let steps = steps.into_iter().map(step).collect::<Result<_, _>>()?;
        let request = PlanRequest { steps, keep_going };
        let row =
            plan::create(&self.0.pipeline, caller, request).await.map_err(status::unplanned)?;
        Ok(Response::new(v1::CreatePlanResponse { plan: Some(wire(row)) }))
    }

    async fn get_plan(
        &self,
        request: Request<v1::GetPlanRequest>,
    ) -> Result<Response<v1::GetPlanResponse>, Status> {
        let caller = caller(&request)?;
        let v1::GetPlanRequest { plan_id, wait_ms, known_revision } = request.into_inner();
        let wait = Duration::from_millis(wait_ms).min(MAX_WAIT);
        let row = self.changed(&caller, &plan_id, known_revision, wait).await?;
        Ok(Response::new(v1::GetPlanResponse { plan: Some(wire(row)) }))
    }

    async fn list_plans(
        &self,
        request: Request<v1::ListPlansRequest>,
    ) -> Result<Response<v1::ListPlansResponse>, Status> {
        let caller = caller(&request)?;
        let v1::ListPlansRequest { all } = request.into_inner();
        let of = (caller.role < Role::Operator).then_some(&caller.user);
        let rows = self.0.store.plans(of, !all).await.map_err(status::store)?;
        let plans = rows.into_iter().map(wire).collect();
        Ok(Response::new(v1::ListPlansResponse { plans }))
    }

    async fn decide_plan(
        &self,
        request: Request<v1::DecidePlanRequest>,
    ) -> Result<Response<v1::DecidePlanResponse>, Status> {
        let by = caller(&request)?;
        self.not_stopping()?;
        let v1::DecidePlanRequest { plan_id, hash, approve, reason } = request.into_inner();
        let hash = Digest::from_slice(&hash)
            .ok_or_else(|| status::invalid("the hash of the plan as it was shown has 32 bytes"))?;
        let seen = self.visible(&by, &plan_id).await?;
        let id = seen.id.to_string();
        let row = plan::decide(&self.0.pipeline, &by, &id, hash, approve, &reason)
            .await
            .map_err(|error| status::undecided(seen.id, error))?;
        Ok(Response::new(v1::DecidePlanResponse { plan: Some(wire(row)) }))
    }
}

impl Api {
    /// Returns a plan that this person may see: their own, or any plan for operators and admins.
    async fn visible(&self, caller: &Caller, id: &str) -> Result<PlanRow, Status> {
        let row = self.0.store.plan(id).await.map_err(status::store)?;
        if row.caller.user != caller.user && caller.role < Role::Operator {
            return Err(status::store(StoreError::NotFound));
        }
        Ok(row)
    }

    async fn changed(
        &self,
        caller: &Caller,
        id: &str,
        known: u32,
        wait: Duration,
    ) -> Result<PlanRow, Status> {
        let deadline = tokio::time::Instant::now() + wait;
        let first = self.visible(caller, id).await?;
        let mut changes = self.0.bus.watch_plan(first.id);
        let id = first.id.to_string();
        loop {
            let row = self.visible(caller, &id).await?;
            if row.revision > known || row.ended_at.is_some() || wait.is_zero() {
                return Ok(row);
            }
            tokio::select! {
                () = self.0.tasks.shutdown.cancelled() => return Ok(row),
                () = tokio::time::sleep_until(deadline) => return Ok(row),
                () = changes.changed() => {}
            }
        }
    }
}

fn step(step: v1::NewPlanStep) -> Result<CallRequest, Status> {
    let v1::NewPlanStep { device, tool, arguments } = step;
    let request = v1::CallToolRequest { device, tool, arguments, ..v1::CallToolRequest::default() };
    call_request(request).map(|(request, _)| request).map_err(status::wire)
}

fn wire(row: PlanRow) -> v1::Plan {
    let PlanRow {
        id,
        state,
        caller,
        hash,
        keep_going,
        created_at,
        expires_at,
        decided_by,
        decided_at,
        reason,
        stopped_by,
        ended_at,
        revision,
        step_count,
        steps,
        mut questions,
    } = row;
    for question in &mut questions {
        // The step itself carries the arguments and the preview.
        (question.arguments, question.preview) = (Vec::new(), None);
    }
    let steps = steps.into_iter().map(|step| {
        let at = questions.iter().position(|question| question.call == step.call);
        let question = at.map(|at| approval(questions.swap_remove(at)));
        wire_step(step, question)
    });
    v1::Plan {
        plan_id: id.to_string(),
        state: plan_state(state).into(),
        hash: hash.as_bytes().to_vec().into(),
        requester: caller.user.to_string(),
        keep_going,
        created_at,
        expires_at,
        decided_by: decided_by.map(String::from).unwrap_or_default(),
        decided_at: decided_at.unwrap_or_default(),
        reason: reason.unwrap_or_default(),
        stopped_by: stopped_by.map(String::from).unwrap_or_default(),
        ended_at: ended_at.unwrap_or_default(),
        revision,
        step_count,
        steps: steps.collect(),
    }
}

fn wire_step(step: StepRow, approval: Option<v1::Approval>) -> v1::PlanStep {
    let StepRow {
        number,
        call,
        device,
        tool,
        arguments,
        risk: how_risky,
        touches,
        decision,
        rule,
        policy_version: _,
        preview,
        observed,
        earlier,
        after,
        state,
        code,
        message,
        began_at,
        ended_at,
    } = step;
    let compared = observed.len() + earlier.as_ref().map_or(0, |it| it.seen.len());
    v1::PlanStep {
        number,
        device: device.1.to_string(),
        tool,
        arguments: arguments.into(),
        risk: risk(how_risky).into(),
        touches,
        decision,
        rule,
        preview: preview.unwrap_or_default().into(),
        after_step: after.unwrap_or_default(),
        approval,
        call_id: call.to_string(),
        state: step_state(state).into(),
        code: code.map(|code| code.to_string()).unwrap_or_default(),
        message,
        began_at: began_at.unwrap_or_default(),
        ended_at: ended_at.unwrap_or_default(),
        compared: u32::try_from(compared).unwrap_or(u32::MAX),
        compared_before: earlier.map(|it| it.before).unwrap_or_default(),
    }
}

const fn plan_state(state: PlanState) -> v1::PlanState {
    match state {
        PlanState::Open => v1::PlanState::Open,
        PlanState::Running => v1::PlanState::Running,
        PlanState::Succeeded => v1::PlanState::Succeeded,
        PlanState::Failed => v1::PlanState::Failed,
        PlanState::Denied => v1::PlanState::Denied,
        PlanState::Expired => v1::PlanState::Expired,
        PlanState::Cancelled => v1::PlanState::Cancelled,
        PlanState::Interrupted => v1::PlanState::Interrupted,
    }
}

const fn step_state(state: StepState) -> v1::PlanStepState {
    match state {
        StepState::Waiting => v1::PlanStepState::Waiting,
        StepState::Running => v1::PlanStepState::Running,
        StepState::Succeeded => v1::PlanStepState::Succeeded,
        StepState::Failed => v1::PlanStepState::Failed,
        StepState::Drifted => v1::PlanStepState::Drifted,
        StepState::Skipped => v1::PlanStepState::Skipped,
    }
}
