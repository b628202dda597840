//! May it? The one evaluator answers; here its question is put together.

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

/// What a line of a chat says by itself: a call that was found in strangers' content.
const QUOTED: &str = "chat: a call that stands in content from strangers";

/// What a call touches that touches nothing.
const NOTHING: Quantity = Quantity { entries: Some(0), bytes: Some(0) };

/// A call with its judgement.
#[derive(Debug)]
pub struct EvaluatedCall {
    /// As it was asked for.
    pub incoming: CallContext,
    /// What it is about.
    pub target: Target,
    /// Its arguments, validated.
    pub parsed: ParsedCall,
    /// What the device said that it would do, where it was asked.
    pub preview: Option<Preview>,
    /// What it observed of the paths with that.
    pub observed: Vec<Observation>,
    /// When it was judged.
    at: Moment,
    counts: Counts,
    /// Held while nothing else may be counted.
    turn: Mutex<Option<OwnedMutexGuard<()>>>,
    /// What stands against it besides the policy.
    barred: Option<ToolError>,
    evaluation: Evaluation,
}

/// What was counted for a call.
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

/// Judges the whole call, with nothing counted.
#[must_use]
pub fn call(incoming: CallContext, target: Target, parsed: ParsedCall) -> EvaluatedCall {
    let (at, counts) = (target.device.timezone.moment(now_ms()), Counts::default());
    let question = question(&incoming, &target, Some(&parsed), at, &counts);
    let evaluation = evaluate(&question, &target.device.policy);
    let turn = Mutex::default();
    EvaluatedCall {
        incoming,
        target,
        parsed,
        preview: None,
        observed: Vec::new(),
        at,
        counts,
        turn,
        barred: None,
        evaluation,
    }
}

impl EvaluatedCall {
    /// What was asked of the evaluator.
    #[must_use]
    pub fn question(&self) -> Question<'_> {
        question(&self.incoming, &self.target, Some(&self.parsed), self.at, &self.counts)
    }

    /// When it was judged.
    #[must_use]
    pub const fn at(&self) -> Moment {
        self.at
    }

    /// The same call, judged by how often the like was done before.
    #[must_use]
    pub fn counted(self, earlier: Vec<u32>) -> Self {
        let counts = Counts { earlier, ..self.counts };
        Self { counts, ..self }.judged_again()
    }

    /// The same call, judged by what was counted and measured for that one.
    #[must_use]
    pub fn counted_like(self, other: &Self) -> Self {
        Self { counts: other.counts.clone(), ..self }.judged_again()
    }

    /// The same call, which nobody else is counted before until it is released.
    #[must_use]
    pub fn holding(self, turn: Option<OwnedMutexGuard<()>>) -> Self {
        Self { turn: Mutex::new(turn), ..self }
    }

    /// The same call, which does not run whatever the policy says.
    #[must_use]
    pub fn barred(self, error: ToolError) -> Self {
        Self { barred: Some(error), ..self }
    }

    /// Whether both were judged for the same person by the same that is known of the device.
    #[must_use]
    pub fn is_as_known(&self, other: &Self) -> bool {
        !self.is_barred()
            && self.incoming.caller == other.incoming.caller
            && Arc::ptr_eq(&self.target.device, &other.target.device)
    }

    /// Whether it does not run whatever the policy says.
    #[must_use]
    pub const fn is_barred(&self) -> bool {
        self.barred.is_some()
    }

    /// The same call, judged by how much it would touch.
    #[must_use]
    pub fn measured(self, preview: Preview) -> Self {
        let counts = Counts { quantity: preview.quantity(), ..self.counts };
        Self { counts, preview: Some(preview), ..self }.judged_again()
    }

    /// The same with what the device observed of the paths.
    #[must_use]
    pub fn observed(self, observed: Vec<Observation>) -> Self {
        Self { observed, ..self }
    }

    fn judged_again(self) -> Self {
        let evaluation = evaluate(&self.question(), &self.target.device.policy);
        Self { evaluation, ..self }
    }

    /// Lets the next call be counted: this one is on the record.
    pub fn release(&self) {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Whether the policy has such a rule.
    #[must_use]
    pub fn has_rule(&self, is_it: impl Fn(&CompiledRule, &Question<'_>) -> bool) -> bool {
        let question = self.question();
        self.target.device.policy.rules.iter().any(|rule| is_it(rule, &question))
    }

    /// Whether the call is not denied whatever it touches.
    #[must_use]
    pub fn may_run_if_small(&self) -> bool {
        let counted = Counted { earlier: &self.counts.earlier, quantity: Some(NOTHING) };
        let question = Question { counted: Some(counted), ..self.question() };
        evaluate(&question, &self.target.device.policy).decision() != Decision::Deny
    }

    /// The same call, judged as if it touched nothing: as long as nobody can tell how much it does.
    #[must_use]
    pub fn as_if_small(self) -> Self {
        let counts = Counts { quantity: Some(NOTHING), ..self.counts };
        Self { counts, ..self }.judged_again()
    }

    /// Whether the call stands in what strangers wrote and no rule says that it does not matter.
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

    /// Whether it is asked about only because it stands in what strangers wrote.
    fn is_asked_as_quoted(&self) -> bool {
        self.is_quoted() && self.evaluation.decision() < Decision::Ask
    }

    /// What holds.
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

    /// Whether a person's yes may hold for more than this one call: nothing asks but the tool's own
    /// risk, which is not critical, or a rule that is content with one yes of anybody.
    #[must_use]
    pub fn may_stand(&self) -> bool {
        let plain = |line: &Evidence| match line.layer {
            Layer::Risk => matches!(line.reason, Reason::Asks | Reason::Fits),
            Layer::Caller | Layer::Grants | Layer::Ceiling | Layer::Rule => true,
        };
        let Approvers { role: _, count, not_requester, second_if_any, reason } = self.approvers();
        self.decision() == Decision::Ask
            // An answer holds for one tool, and what is done again is another's.
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

    /// The risk that it was judged by: its tool's, or a higher one.
    #[must_use]
    pub fn risk(&self) -> Risk {
        self.evaluation.risk().max(self.target.spec.risk)
    }

    /// Why its risk is higher than its tool's.
    #[must_use]
    pub fn raises(&self) -> &[RiskRaise] {
        self.evaluation.raises()
    }

    /// The same call, judged by what its device saw that raises its risk. Whoever holds the turn of
    /// the call keeps it.
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
            turn: Mutex::default(),
            barred: self.barred.clone(),
            evaluation: self.evaluation.clone(),
        }
        .judged_again()
    }

    /// Who has to say yes, where a person is asked.
    #[must_use]
    pub const fn approvers(&self) -> Approvers {
        self.evaluation.approvers()
    }

    /// Whether nobody can say yes without having been shown a preview.
    #[must_use]
    pub const fn preview_first(&self) -> bool {
        self.evaluation.preview_first()
    }

    /// The name of the line that decided.
    #[must_use]
    pub fn rule(&self) -> String {
        if let Some(error) = &self.barred {
            return error.code.to_string();
        }
        if self.is_asked_as_quoted() {
            return QUOTED.to_owned();
        }
        self.evaluation.rule_name(&self.question(), &self.target.device.policy)
    }

    /// What the caller is told where there is no permit.
    #[must_use]
    pub fn refusal(&self) -> ToolError {
        if let Some(error) = &self.barred {
            return error.clone();
        }
        if self.is_asked_as_quoted() {
            return ToolError::new(
                ErrorCode::ApprovalRequired,
                format!(
                    "This very call of {} stands in content that strangers may have written: a person has to approve it.",
                    self.target.spec.name
                ),
            )
            .with("rule", QUOTED);
        }
        self.evaluation.refusal(&self.question(), &self.target.device.policy)
    }

    /// The right to run it.
    ///
    /// # Errors
    /// What the caller is told instead.
    pub fn permit(&self, approved: Option<Approved>) -> Result<Permit, Box<ToolError>> {
        if self.is_barred() || (approved.is_none() && self.is_asked_as_quoted()) {
            return Err(Box::new(self.refusal()));
        }
        self.evaluation.permit(&self.question(), &self.target.device.policy, approved)
    }

    /// Everything that was said, with the names of the lines, and which decided.
    #[must_use]
    pub fn trace(&self) -> Vec<(Evidence, String, bool)> {
        trace(&self.evaluation, &self.question(), &self.target.device.policy)
    }
}
