//! Binds the approval of a plan to all that is shown of it: the hash, the approval requests and the steps.

use orion_domain::evaluate::Decision;
use orion_domain::{
    ApprovalBasis, CallState, Caller, Observation, PlanBinding, PlanId, StepBinding,
};

use super::Planned;
use crate::clock::now_ms;
use crate::pipeline::preview::PreviewResult;
use crate::pipeline::{Pipeline, audit, confirm};
use crate::store::{Card, NewApproval, NewPlan, NewStep};

/// Returns the plan with its hash and its approval requests.
pub(super) fn plan(
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

pub(super) fn step(pipeline: &Pipeline, planned: Planned, created_at: i64) -> NewStep {
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
