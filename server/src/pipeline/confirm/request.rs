//! Makes the approval request of a call: what is asked, what the card shows, and until when.

use orion_domain::evaluate::{CHANGE_POLICY, Decision};
use orion_domain::{
    Actor, ApprovalBasis, ApprovalId, ErrorCode, Hint, Observation, RiskRaise, ToolError,
};

use crate::clock::{new_uuid, now_ms};
use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::Origin;
use crate::pipeline::preview::{Preview, PreviewResult, no_preview};
use crate::pipeline::secrets::split;
use crate::store::{Card, NewApproval, StandingApproval};

/// Returns the approval request of a call. A call with effects has a preview with an observation of each path
/// that it touches: the approval is bound to both.
///
/// # Errors
/// Why nobody is asked.
pub(in crate::pipeline) fn request(
    pipeline: &Pipeline,
    evaluated: &EvaluatedCall,
) -> Result<NewApproval, ToolError> {
    // What is shown is of what would run.
    let seen = match evaluated.context.preview_of(&evaluated.parsed.touches) {
        Some(preview) => preview.clone(),
        None => PreviewResult { preview: Preview::Missing, observed: Vec::new() },
    };
    let PreviewResult { preview, observed } = enough(evaluated, seen)?;
    let quantity = preview.quantity().unwrap_or_default();
    let card = Card { entries: quantity.entries, bytes: quantity.bytes, ..card(evaluated) };
    let written_by = match &evaluated.context.origin {
        Origin::Change { author } => Some(author.user.clone()),
        Origin::Direct | Origin::Chat | Origin::PlanStep { .. } | Origin::Preview { .. } => None,
    };
    let request = question(pipeline, evaluated, ApprovalBasis::Preview, observed, now_ms());
    Ok(NewApproval { preview: preview.kept(), card, written_by, ..request })
}

/// Returns the approval request of a call that a standing approval of its chat covers: the call still gets
/// an approval of its own.
pub(in crate::pipeline) fn preapproved(
    pipeline: &Pipeline,
    evaluated: &EvaluatedCall,
    standing: StandingApproval,
) -> NewApproval {
    NewApproval {
        card: card(evaluated),
        standing: Some(standing),
        ..question(pipeline, evaluated, ApprovalBasis::Standing, Vec::new(), now_ms())
    }
}

/// Returns what is shown if it is enough to ask a person.
fn enough(evaluated: &EvaluatedCall, seen: PreviewResult) -> Result<PreviewResult, ToolError> {
    match &seen.preview {
        // Nobody is asked about a call that would fail.
        Preview::WouldFail(error) => return Err(error.clone()),
        Preview::Missing if evaluated.target.spec.has_effects => return Err(no_preview()),
        Preview::Missing if evaluated.preview_first() => {
            return Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                "A preview must be shown first, and a call that changes nothing has none. No approval is requested.",
            )
            .hint(Hint::run("change the rule that requires one", CHANGE_POLICY).by(Actor::Admin)));
        }
        Preview::Missing | Preview::Shown(_) => {}
    }
    seen.comparable()
}

/// Returns the approval request of a call, made at `now`, Unix milliseconds.
pub(in crate::pipeline) fn question(
    pipeline: &Pipeline,
    evaluated: &EvaluatedCall,
    basis: ApprovalBasis,
    observed: Vec<Observation>,
    now: i64,
) -> NewApproval {
    let expires_at = expires_at(pipeline, now);
    NewApproval {
        id: ApprovalId::new(new_uuid()),
        call: evaluated.context.id,
        binding: evaluated.binding(basis, &observed, expires_at).digest(),
        tool: evaluated.target.spec.name.to_owned(),
        device: (evaluated.target.device.id, evaluated.target.device.name.clone()),
        arguments: split(Some(evaluated.target.spec), &evaluated.parsed.arguments).shown,
        risk: evaluated.risk(),
        touches: evaluated.touches(),
        rule: evaluated.rule(),
        requester: evaluated.context.caller.user.clone(),
        conversation: evaluated.context.caller.conversation,
        approvers: evaluated.approvers(),
        may_stand: evaluated.may_stand() && evaluated.decision() == Decision::Ask,
        preview: None,
        observed,
        card: Card::default(),
        standing: None,
        written_by: None,
        plan: evaluated.context.plan(),
        created_at: now,
        expires_at,
    }
}

/// Returns when an approval request made at `now` expires, Unix milliseconds.
pub(in crate::pipeline) fn expires_at(pipeline: &Pipeline, now: i64) -> i64 {
    now + i64::from(pipeline.config.approvals.expire_seconds) * 1000
}

/// Returns what the approval card of a call shows, before a preview.
pub(in crate::pipeline) fn card(evaluated: &EvaluatedCall) -> Card {
    Card {
        risk_because: evaluated.risk_because(),
        can_undo: evaluated.target.spec.undo
            && !evaluated.raises().contains(&RiskRaise::CannotBeUndone),
        provenance: evaluated.context.provenance.clone(),
        entries: None,
        bytes: None,
        raises: evaluated.raises().to_vec(),
    }
}
