//! What concerns the tool itself, judged before the arguments of a call are looked at.

use orion_domain::evaluate::{Decision, Evaluation, Evidence};
use orion_domain::{Policy, Question, ToolError, evaluate};

use super::{Counts, NOTHING, question};
use crate::clock::now_ms;
use crate::pipeline::audit::CallContext;
use crate::pipeline::validate::Target;

/// A tool that is not for somebody on a device.
#[derive(Debug)]
pub struct ToolRefused {
    /// What the caller is told.
    pub error: ToolError,
    /// Every line that was said, its name, and whether it decided.
    pub trace: Vec<(Evidence, String, bool)>,
}

/// Judges what concerns the tool itself, before its arguments are looked at.
///
/// # Errors
/// The tool is not for the caller there.
pub fn tool(incoming: &CallContext, target: &Target) -> Result<(), Box<ToolRefused>> {
    if target.device.facts.is_none() {
        // Nobody knows yet how paths are written there; the next step says so.
        return Ok(());
    }
    // How much it is, only the arguments tell; nothing is too much until then.
    let counts = Counts { quantity: Some(NOTHING), ..Counts::default() };
    let at = target.device.timezone.moment(now_ms());
    let question = question(incoming, target, None, at, &counts);
    let evaluation = evaluate(&question, &target.device.policy);
    match evaluation.decision() {
        Decision::Deny => Err(Box::new(ToolRefused {
            error: evaluation.refusal(&question, &target.device.policy),
            trace: trace(&evaluation, &question, &target.device.policy),
        })),
        Decision::Allow | Decision::DryRunFirst | Decision::Ask => Ok(()),
    }
}

/// Everything that was said, with the names of the lines, and which decided.
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
