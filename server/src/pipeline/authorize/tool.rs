//! Evaluates the tool itself, before the arguments of a call are read.

use orion_domain::evaluate::{Decision, Evaluation, Evidence};
use orion_domain::{Policy, Question, ToolError, evaluate};

use super::{Counts, NOTHING, question};
use crate::clock::now_ms;
use crate::pipeline::call::CallContext;
use crate::pipeline::validate::Target;

/// A tool that the caller may not use on a device.
#[derive(Debug)]
pub struct ToolRefused {
    /// The error for the caller.
    pub error: ToolError,
    /// All evidence, with the name of each rule and whether it decided.
    pub trace: Vec<(Evidence, String, bool)>,
}

/// Evaluates whether the caller may use the tool on the device, before the arguments are read.
///
/// # Errors
/// The caller may not use the tool there.
pub fn tool(context: &CallContext, target: &Target) -> Result<(), Box<ToolRefused>> {
    if target.device.facts.is_none() {
        // The path style of the device is not known yet; the next step rejects the call.
        return Ok(());
    }
    // Only the arguments tell the quantity; until then no quantity is too large.
    let counts = Counts { quantity: Some(NOTHING), ..Counts::default() };
    let at = target.device.timezone.moment(now_ms());
    let question = question(context, target, None, at, &counts);
    let evaluation = evaluate(&question, &target.device.policy);
    match evaluation.decision() {
        Decision::Deny => Err(Box::new(ToolRefused {
            error: target.device.placed(evaluation.refusal(&question, &target.device.policy)),
            trace: trace(&evaluation, &question, &target.device.policy),
        })),
        Decision::Allow | Decision::DryRunFirst | Decision::Ask => Ok(()),
    }
}

/// Returns all evidence, with the name of each rule and whether it decided.
pub(super) fn trace(
    evaluation: &Evaluation,
    question: &Question<'_>,
    policy: &Policy,
) -> Vec<(Evidence, String, bool)> {
    let deciding = evaluation.deciding();
    let lines = evaluation.evidence().iter();
    lines
        .map(|line| {
            let decides = deciding.is_some_and(|deciding| std::ptr::eq(deciding, line));
            (*line, line.name(question, policy), decides)
        })
        .collect()
}
