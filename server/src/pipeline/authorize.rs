//! Decides whether a call may run: prepares the evaluator's input and keeps its result. The evaluator
//! itself is in `orion_domain`.

mod asked;
mod tool;

use orion_catalog::ParsedCall;
use orion_domain::evaluate::{Decision, Evaluation, Evidence, Layer, Reason};
use orion_domain::rule::{Approvers, CompiledRule, Counted, Moment, Quantity, RuleAction};
use orion_domain::{Approved, ErrorCode, Permit, Question, Risk, RiskRaise, ToolError, evaluate};

use tool::trace;

use super::call::CallContext;
use super::preview::Preview;
use super::validate::Target;
use crate::clock::now_ms;
use crate::store::{ApprovalRow, CallRow};

pub use tool::{ToolRefused, tool};

/// The rule name of a call that was found in untrusted content of a chat.
const QUOTED: &str = "chat: a call copied from untrusted content";

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

/// What a call is counted with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many earlier calls each rule counts. Empty if no rule has a limit for this call.
    pub earlier: Vec<u32>,
    /// How much the call touches. None if no device reported it.
    pub quantity: Option<Quantity>,
    /// Why the risk is higher than the tool's, as the device reported.
    pub raises: Vec<RiskRaise>,
}

impl Counts {
    /// Returns what the device reported of a call, and no earlier calls.
    #[must_use]
    pub fn reported(context: &CallContext) -> Self {
        let preview = context.preview.as_ref().map(|it| &it.result.preview);
        let mut raises = context.raises.clone();
        raises.extend(preview.map(Preview::raises).unwrap_or_default());
        Self { earlier: Vec::new(), quantity: preview.and_then(Preview::quantity), raises }
    }
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
        caller: &context.caller,
        device: &target.device.name,
        dry_run: context.request.dry_run,
        confirmed: parsed.is_some_and(|parsed| parsed.confirmed),
        at,
        tainted: context.provenance.taint(),
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
        context.request.device = Some(target.device.id.to_string());
        context.earlier = Some(counts.earlier);
        context.at(row, approval)
    }

    /// Returns the preview of the device. None if the device was not asked.
    #[must_use]
    pub fn preview(&self) -> Option<&Preview> {
        self.context.preview.as_ref().map(|it| &it.result.preview)
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

    /// Returns whether the call was found in untrusted content and no rule ignores that.
    #[must_use]
    pub fn is_quoted(&self) -> bool {
        let ignored = self.evaluation.evidence().iter().any(|line| match line.reason {
            Reason::Matched { rule } => {
                self.target.device.policy.rules.get(rule).is_some_and(|compiled| {
                    compiled.rule.action == RuleAction::Preapprove
                        && compiled.rule.ignore_provenance
                })
            }
            Reason::Fits
            | Reason::Role
            | Reason::ToolNotListed
            | Reason::CapabilityMissing(_)
            | Reason::ReadOnly
            | Reason::PathOutside { .. }
            | Reason::PathDenied { .. }
            | Reason::AppNotListed { .. }
            | Reason::UrlScheme { .. }
            | Reason::UrlHost { .. }
            | Reason::ConfirmMissing
            | Reason::Asks
            | Reason::Raised { .. }
            | Reason::AsksForProvenance
            | Reason::Strict => false,
        });
        self.context.provenance.quoted && !self.context.request.dry_run && !ignored
    }

    /// Returns whether approval is needed only because the call was found in untrusted content.
    fn is_asked_as_quoted(&self) -> bool {
        self.is_quoted() && self.evaluation.decision() < Decision::Ask
    }

    /// Returns the decision.
    #[must_use]
    pub fn decision(&self) -> Decision {
        if self.is_asked_as_quoted() { Decision::Ask } else { self.evaluation.decision() }
    }

    /// Returns whether an approval may cover more than this one call. Approval may be needed only for the
    /// tool's own risk, below critical, or by a rule that accepts one approval from anybody.
    #[must_use]
    pub fn may_stand(&self) -> bool {
        let plain = |line: &Evidence| match line.layer {
            Layer::Risk => matches!(line.reason, Reason::Asks | Reason::Fits),
            Layer::Caller | Layer::Grants | Layer::Ceiling | Layer::Rule => true,
        };
        let Approvers { role: _, count, not_requester, second_if_any, reason } = self.approvers();
        self.decision() == Decision::Ask
            // A standing approval covers one tool, and a redo runs another one.
            && self.parsed.undo.as_ref().is_none_or(|undo| !undo.redo)
            && !self.preview_first()
            && !self.context.provenance.taint()
            && self.raises().is_empty()
            && self.evaluation.evidence().iter().all(plain)
            && count <= 1
            && !not_requester
            && !second_if_any
            && !reason
    }

    /// Returns the risk of the evaluation: the tool's risk, or a higher one.
    #[must_use]
    pub fn risk(&self) -> Risk {
        self.evaluation.risk().max(self.target.spec.risk)
    }

    /// Returns why the risk is higher than the tool's.
    #[must_use]
    pub fn raises(&self) -> &[RiskRaise] {
        self.evaluation.raises()
    }

    /// Returns who has to approve the call, if approval is needed.
    #[must_use]
    pub const fn approvers(&self) -> Approvers {
        self.evaluation.approvers()
    }

    /// Returns whether approvers must have been shown a preview.
    #[must_use]
    pub const fn preview_first(&self) -> bool {
        self.evaluation.preview_first()
    }

    /// Returns the name of the rule that decided.
    #[must_use]
    pub fn rule(&self) -> String {
        if self.is_asked_as_quoted() {
            return QUOTED.to_owned();
        }
        self.evaluation.rule_name(&self.question(), &self.target.device.policy)
    }

    /// Returns the error for the caller if there is no permit.
    #[must_use]
    pub fn refusal(&self) -> ToolError {
        if self.is_asked_as_quoted() {
            return ToolError::new(
                ErrorCode::ApprovalRequired,
                format!(
                    "This call of {} is copied from untrusted content: a person has to approve it.",
                    self.target.spec.name
                ),
            )
            .with("rule", QUOTED);
        }
        self.evaluation.refusal(&self.question(), &self.target.device.policy)
    }

    /// Returns the permit to run the call.
    ///
    /// # Errors
    /// The error for the caller.
    pub fn permit(&self, approved: Option<Approved>) -> Result<Permit, Box<ToolError>> {
        if approved.is_none() && self.is_asked_as_quoted() {
            return Err(Box::new(self.refusal()));
        }
        self.evaluation.permit(&self.question(), &self.target.device.policy, approved)
    }

    /// Returns all evidence, with the name of each rule and whether it decided.
    #[must_use]
    pub fn trace(&self) -> Vec<(Evidence, String, bool)> {
        trace(&self.evaluation, &self.question(), &self.target.device.policy)
    }
}
