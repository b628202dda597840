//! Evaluates a recorded call on one device under one policy, with the limits of that policy.

use std::sync::Arc;

use orion_catalog::ParsedCall;
use orion_domain::evaluate::Note;
use orion_domain::rule::Counted;
use orion_domain::{Decision, Evaluation, Question, Touches, evaluate};
use serde_json::Value;

use super::limits::Limits;
use crate::fleet::DeviceSnapshot;
use crate::store::RecordedCall;

/// One device under one policy.
#[derive(Debug)]
pub(super) struct ReplayDevice {
    pub(super) known: Arc<DeviceSnapshot>,
    pub(super) limits: Limits,
}

/// The decision of one policy.
pub(super) struct ReplayDecision {
    pub(super) decision: Decision,
    pub(super) rule: String,
    pub(super) notes: Vec<Note>,
}

impl ReplayDevice {
    pub(super) fn new(known: DeviceSnapshot) -> Self {
        Self { limits: Limits::of(&known.policy), known: Arc::new(known) }
    }

    pub(super) fn judge(&mut self, call: &RecordedCall, parsed: &ParsedCall) -> ReplayDecision {
        let policy = &self.known.policy;
        let mut question = Question {
            tool: parsed.facts,
            touches: Some(&parsed.touches),
            arguments: Some(&parsed.arguments),
            caller: &call.caller,
            device: &self.known.name,
            dry_run: call.dry_run,
            confirmed: parsed.confirmed,
            at: self.known.timezone.moment(call.created_at),
            content: call.content.as_deref(),
            raises: &[],
            // The quantity that a preview reported is not stored with the call, so it is unknown.
            counted: None,
        };
        let earlier = self.limits.earlier(&question, policy);
        question.counted = Some(Counted { earlier: &earlier, quantity: None });
        let evaluation: Evaluation = evaluate(&question, policy);
        let decision = evaluation.decision();
        // A call that a person denied would be denied again. A call that the policy denied counts, because
        // no person decided it.
        let would_run = call.was_admitted || call.decision == Decision::Deny.as_str();
        if decision != Decision::Deny && would_run {
            self.limits.admitted(&question, policy);
        }
        let notes = evaluation.notes(&question, policy);
        ReplayDecision { decision, rule: evaluation.rule_name(&question, policy), notes }
    }
}

/// Parses the stored arguments into the tool's own type. None if the call never had valid ones.
pub(super) fn parsed(call: &RecordedCall, known: &DeviceSnapshot) -> Option<ParsedCall> {
    let (spec, alias) = known.tool(&call.tool)?;
    let Ok(Value::Object(mut arguments)) = serde_json::from_slice(&call.arguments) else {
        return None;
    };
    spec.adapt_arguments(alias, &mut arguments);
    let parsed = spec.parse(arguments, known.places()?).ok()?;
    let parsed = match call.undo.clone() {
        // The undo names the paths of what it does, so no other path is touched.
        Some(undo) => parsed.undoing(undo, &Touches::nothing()).ok()?,
        None => parsed,
    };
    Some(parsed)
}
