//! Decides whether a call may run: prepares the evaluator's input and keeps its result. The evaluator
//! itself is in `orion_domain`.

mod asked;
mod tool;

use std::sync::{Arc, Mutex, PoisonError};

use orion_catalog::ParsedCall;
use orion_domain::evaluate::{Decision, Evaluation, Evidence, Layer, Reason};
use orion_domain::rule::{Approvers, CompiledRule, Counted, Moment, Quantity, RuleAction};
use orion_domain::{
    Approved, ErrorCode, Observation, Permit, Question, Risk, RiskRaise, ToolError, evaluate,
};
use tokio::sync::OwnedMutexGuard;

use tool::trace;

use super::audit::CallContext;
use super::preview::Preview;
use super::validate::Target;
use crate::clock::now_ms;

pub use tool::{ToolRefused, tool};

/// The rule name of a call that was found in untrusted content of a chat.
const QUOTED: &str = "chat: a call copied from untrusted content";

/// The quantity of a call that touches nothing.
const NOTHING: Quantity = Quantity { entries: Some(0), bytes: Some(0) };

/// A call with its evaluation.
#[derive(Debug)]
pub struct EvaluatedCall {
    /// The requested call.
    pub incoming: CallContext,
    /// The tool and the device.
    pub target: Target,
    /// The validated arguments.
    pub parsed: ParsedCall,
    /// The preview of the device. None if the device was not asked.
    pub preview: Option<Preview>,
    /// What the device observed of the paths in that preview.
    pub observed: Vec<Observation>,
    /// The time of the evaluation.
    at: Moment,
    counts: Counts,
    /// Held while no other call may be counted.
    rate_lock: Mutex<Option<OwnedMutexGuard<()>>>,
    /// Why the call does not run, whatever the policy says. None if only the policy decides.
    blocked: Option<ToolError>,
    evaluation: Evaluation,
}

/// The earlier calls and the quantity of a call.
#[derive(Debug, Clone, Default)]
struct Counts {
    earlier: Vec<u32>,
    quantity: Option<Quantity>,
}

fn question<'a>(
    incoming: &'a CallContext,
    target: &'a Target,
    parsed: Option<&'a ParsedCall>,
    at: Moment,
    counts: &'a Counts,
) -> Question<'a> {
    Question {
        tool: parsed.map_or_else(|| target.spec.facts(), |parsed| parsed.facts),
        touches: parsed.map(|parsed| &parsed.touches),
        caller: &incoming.caller,
        device: &target.device.name,
        dry_run: incoming.request.dry_run,
        confirmed: parsed.is_some_and(|parsed| parsed.confirmed),
        at,
        tainted: incoming.strangers.taint(),
        raises: &incoming.raises,
        counted: Some(Counted { earlier: &counts.earlier, quantity: counts.quantity }),
    }
}

/// Evaluates the whole call, with nothing counted.
#[must_use]
pub fn call(incoming: CallContext, target: Target, parsed: ParsedCall) -> EvaluatedCall {
    let (at, counts) = (target.device.timezone.moment(now_ms()), Counts::default());
    let question = question(&incoming, &target, Some(&parsed), at, &counts);
    let evaluation = evaluate(&question, &target.device.policy);
    let rate_lock = Mutex::default();
    EvaluatedCall {
        incoming,
        target,
        parsed,
        preview: None,
        observed: Vec::new(),
        at,
        counts,
        rate_lock,
        blocked: None,
        evaluation,
    }
}

impl EvaluatedCall {
    /// Returns the evaluator's input.
    #[must_use]
    pub fn question(&self) -> Question<'_> {
        question(&self.incoming, &self.target, Some(&self.parsed), self.at, &self.counts)
    }

    /// Returns the time of the evaluation.
    #[must_use]
    pub const fn at(&self) -> Moment {
        self.at
    }

    /// Evaluates the call with the number of earlier calls for each rule.
    #[must_use]
    pub fn counted(self, earlier: Vec<u32>) -> Self {
        let counts = Counts { earlier, ..self.counts };
        Self { counts, ..self }.reevaluate()
    }

    /// Evaluates the call with the counts and the quantity of another.
    #[must_use]
    pub fn counted_like(self, other: &Self) -> Self {
        Self { counts: other.counts.clone(), ..self }.reevaluate()
    }

    /// Keeps the rate lock until the call is released: no other call is counted before that.
    #[must_use]
    pub fn holding(self, rate_lock: Option<OwnedMutexGuard<()>>) -> Self {
        Self { rate_lock: Mutex::new(rate_lock), ..self }
    }

    /// Blocks the call, whatever the policy says.
    #[must_use]
    pub fn barred(self, error: ToolError) -> Self {
        Self { blocked: Some(error), ..self }
    }

    /// Returns whether both were evaluated for the same caller and the same snapshot of the device.
    #[must_use]
    pub fn is_as_known(&self, other: &Self) -> bool {
        !self.is_barred()
            && self.incoming.caller == other.incoming.caller
            && Arc::ptr_eq(&self.target.device, &other.target.device)
    }

    /// Returns whether the call is blocked, whatever the policy says.
    #[must_use]
    pub const fn is_barred(&self) -> bool {
        self.blocked.is_some()
    }

    /// Evaluates the call with the quantity that the preview reports.
    #[must_use]
    pub fn measured(self, preview: Preview) -> Self {
        let counts = Counts { quantity: preview.quantity(), ..self.counts };
        Self { counts, preview: Some(preview), ..self }.reevaluate()
    }

    /// Adds what the device observed of the paths.
    #[must_use]
    pub fn observed(self, observed: Vec<Observation>) -> Self {
        Self { observed, ..self }
    }

    fn reevaluate(self) -> Self {
        let evaluation = evaluate(&self.question(), &self.target.device.policy);
        Self { evaluation, ..self }
    }

    /// Releases the rate lock, after this call is stored: the next call can be counted.
    pub fn release(&self) {
        self.rate_lock.lock().unwrap_or_else(PoisonError::into_inner).take();
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
        let counts = Counts { quantity: Some(NOTHING), ..self.counts };
        Self { counts, ..self }.reevaluate()
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
        self.incoming.strangers.quoted && !self.incoming.request.dry_run && !ignored
    }

    /// Returns whether approval is needed only because the call was found in untrusted content.
    fn is_asked_as_quoted(&self) -> bool {
        self.is_quoted() && self.evaluation.decision() < Decision::Ask
    }

    /// Returns the decision.
    #[must_use]
    pub fn decision(&self) -> Decision {
        if self.is_barred() {
            Decision::Deny
        } else if self.is_asked_as_quoted() {
            Decision::Ask
        } else {
            self.evaluation.decision()
        }
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
            && !self.incoming.strangers.taint()
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

    /// Evaluates the call with the risk raises that its device reported. The original keeps the rate lock.
    #[must_use]
    pub fn raised(&self, raises: Vec<RiskRaise>) -> Self {
        let mut incoming = self.incoming.clone();
        incoming.raises.extend(raises);
        Self {
            incoming,
            target: self.target.clone(),
            parsed: self.parsed.clone(),
            preview: self.preview.clone(),
            observed: self.observed.clone(),
            at: self.at,
            counts: self.counts.clone(),
            rate_lock: Mutex::default(),
            blocked: self.blocked.clone(),
            evaluation: self.evaluation.clone(),
        }
        .reevaluate()
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
        if let Some(error) = &self.blocked {
            return error.code.to_string();
        }
        if self.is_asked_as_quoted() {
            return QUOTED.to_owned();
        }
        self.evaluation.rule_name(&self.question(), &self.target.device.policy)
    }

    /// Returns the error for the caller if there is no permit.
    #[must_use]
    pub fn refusal(&self) -> ToolError {
        if let Some(error) = &self.blocked {
            return error.clone();
        }
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
        if self.is_barred() || (approved.is_none() && self.is_asked_as_quoted()) {
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
