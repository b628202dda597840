//! Converts plans to their wire form.

use orion_domain::look_alike::look_alikes_of_call;
use orion_wire::{risk, v1};

use crate::rpc::approval::to_proto::approval;
use crate::store::{PlanRow, PlanState, StepRow, StepState};

/// Converts a plan with its steps, each with its approval request.
pub(super) fn plan(row: PlanRow) -> v1::Plan {
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
    let steps = steps.into_iter().map(|row| {
        let at = questions.iter().position(|question| question.call == row.call);
        let question = at.map(|at| approval(questions.swap_remove(at)));
        step(row, question)
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

fn step(step: StepRow, approval: Option<v1::Approval>) -> v1::PlanStep {
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
        look_alikes: approval.as_ref().map_or_else(
            || look_alikes_of_call(&touches, &arguments),
            |card| card.look_alikes.clone(),
        ),
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
