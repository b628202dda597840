//! Decides whether a call may run: prepares the evaluator's input and keeps its result. The evaluator
//! itself is in `orion_domain`.

mod access;
mod asked;
mod counts;
mod decision;
mod quoted;
mod recovered;
mod tool;

use orion_catalog::ParsedCall;
use orion_domain::evaluate::{Decision, Evaluation};
use orion_domain::rule::{CompiledRule, Counted, Moment, Quantity};
use orion_domain::{Question, evaluate};

use super::call::{CallContext, EarlierCalls};
use super::preview::Preview;
use super::validate::Target;
use crate::clock::now_ms;
use crate::store::{ApprovalRow, CallRow};

pub use asked::definition_line;
pub use counts::Counts;
pub use tool::{ToolRefused, tool};

/// The quantity of a call that touches nothing.
const NOTHING: Quantity = Quantity { entries: Some(0), bytes: Some(0) };

/// A call with its evaluation.
#[derive(Debug)]
pub struct EvaluatedCall {
    /// The requested call.
    pub context: CallContext,
    /// The tool and the device.
    pub target: Target,
    /// The validated arguments.
    pub parsed: ParsedCall,
    /// The time of the evaluation.
    pub at: Moment,
    /// The earlier calls and the quantity.
    pub counts: Counts,
    evaluation: Evaluation,
}

/// Returns the evaluator's input. `parsed` is None before the arguments are read.
#[must_use]
pub fn question<'a>(
    context: &'a CallContext,
    target: &'a Target,
    parsed: Option<&'a ParsedCall>,
    at: Moment,
    counts: &'a Counts,
) -> Question<'a> {
    Question {
        tool: parsed.map_or_else(|| target.spec.facts(), |parsed| parsed.facts),
        touches: parsed.map(|parsed| &parsed.touches),
        arguments: parsed.map(|parsed| &parsed.arguments),
        caller: &context.caller,
        device: &target.device.name,
        dry_run: context.request.dry_run,
        confirmed: parsed.is_some_and(|parsed| parsed.confirmed),
        at,
        content: context.provenance.taint().then_some(&context.provenance.raises[..]),
        raises: &counts.raises,
        counted: Some(Counted { earlier: &counts.earlier, quantity: counts.quantity }),
    }
}

/// Evaluates the whole call.
#[must_use]
pub fn call(
    context: CallContext,
    target: Target,
    parsed: ParsedCall,
    counts: Counts,
) -> EvaluatedCall {
    let at = target.device.timezone.moment(now_ms());
    let question = question(&context, &target, Some(&parsed), at, &counts);
    let evaluation = evaluate(&question, &target.device.policy);
    EvaluatedCall { context, target, parsed, at, counts, evaluation }
}

impl EvaluatedCall {
    /// Returns the evaluator's input.
    #[must_use]
    pub fn question(&self) -> Question<'_> {
        question(&self.context, &self.target, Some(&self.parsed), self.at, &self.counts)
    }

    /// Evaluates the call again with these counts.
    #[must_use]
    pub fn with(self, counts: Counts) -> Self {
        call(self.context, self.target, self.parsed, counts)
    }

    /// Returns the call as one that was sent and did not arrive. It is counted among the earlier calls by now.
    #[must_use]
    pub fn sent(self, row: CallRow, approval: Option<ApprovalRow>) -> CallContext {
        let Self { mut context, target, counts, .. } = self;
        let policy_version = target.device.policy.version.clone();
        context.earlier = Some(EarlierCalls { policy_version, counts: counts.earlier });
        context.at(row, approval)
    }

    /// Returns the preview of what the call touches. None if the device was not asked for it.
    #[must_use]
    pub fn preview(&self) -> Option<&Preview> {
        self.context.preview_of(&self.parsed.touches).map(|it| &it.preview)
    }

    /// Returns whether a rule of the policy matches the predicate.
    #[must_use]
    pub fn has_rule(&self, is_it: impl Fn(&CompiledRule, &Question<'_>) -> bool) -> bool {
        let question = self.question();
        self.target.device.policy.rules.iter().any(|rule| is_it(rule, &question))
    }

    /// Returns whether the call is not denied if it touches nothing.
    #[must_use]
    pub fn may_run_if_small(&self) -> bool {
        let counted = Counted { earlier: &self.counts.earlier, quantity: Some(NOTHING) };
        let question = Question { counted: Some(counted), ..self.question() };
        evaluate(&question, &self.target.device.policy).decision() != Decision::Deny
    }

    /// Evaluates the call as if it touched nothing, while its quantity is unknown.
    #[must_use]
    pub fn as_if_small(self) -> Self {
        let counts = Counts { quantity: Some(NOTHING), ..self.counts.clone() };
        self.with(counts)
    }
}
