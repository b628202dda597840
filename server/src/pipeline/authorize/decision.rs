//! What follows from the evaluation of a call: the decision, who approves, and the permit or the error.

use orion_domain::evaluate::{Decision, Evidence, Layer, Reason};
use orion_domain::rule::Approvers;
use orion_domain::{Approved, ContentRaise, ErrorCode, Permit, Risk, RiskRaise, ToolError};

use super::EvaluatedCall;
use super::quoted::QUOTED;
use super::recovered::RECOVERED;
use super::tool::trace;

impl EvaluatedCall {
    /// Returns the decision.
    #[must_use]
    pub fn decision(&self) -> Decision {
        if self.asked_beside_policy().is_some() {
            Decision::Ask
        } else {
            self.evaluation.decision()
        }
    }

    /// Returns the rule name and the reason of an approval that the policy alone does not require.
    fn asked_beside_policy(&self) -> Option<(&'static str, &'static str)> {
        if self.is_asked_as_quoted() {
            return Some((QUOTED, "is copied from untrusted content"));
        }
        self.is_asked_as_recovered().then_some((RECOVERED, "was picked out of the model's prose"))
    }

    /// Returns whether an approval may cover more than this one call. Approval may be needed only for the
    /// tool's own risk, below critical, or by a rule that accepts one approval from anybody.
    #[must_use]
    pub fn may_stand(&self) -> bool {
        let plain = |line: &Evidence| match line.layer {
            Layer::Risk => {
                matches!(line.reason, Reason::Asks | Reason::Fits | Reason::Notifies { .. })
            }
            Layer::Caller | Layer::Grants | Layer::Ceiling | Layer::Rule => true,
        };
        let Approvers { role: _, count, not_requester, second_if_any, reason, passkey } =
            self.approvers();
        self.decision() == Decision::Ask
            // A standing approval covers one tool, and a redo runs another one.
            && self.parsed.undo.as_ref().is_none_or(|undo| !undo.redo)
            && !self.preview_first()
            && self.content_raises().is_empty()
            && !self.is_quoted()
            && !self.is_recovered()
            && self.raises().is_empty()
            && self.evaluation.evidence().iter().all(plain)
            && count <= 1
            && !not_requester
            && !second_if_any
            && !reason
            && !passkey
    }

    /// Returns whether a rule of the policy requires an approval. A rule that pre-approves does not save that one.
    #[must_use]
    pub fn is_asked_by_rule(&self) -> bool {
        let asks = |line: &Evidence| {
            line.layer == Layer::Rule
                && matches!(line.decision, Decision::Ask | Decision::DryRunFirst)
        };
        self.evaluation.evidence().iter().any(asks)
    }

    /// Returns the risk of the evaluation: the tool's risk, or a higher one.
    #[must_use]
    pub fn risk(&self) -> Risk {
        self.evaluation.risk().max(self.parsed.facts.risk)
    }

    /// Returns why the risk is higher than the tool's.
    #[must_use]
    pub fn raises(&self) -> &[RiskRaise] {
        self.evaluation.raises()
    }

    /// Returns why untrusted content in the chat raises the risk by one; empty where it does not.
    #[must_use]
    pub fn content_raises(&self) -> &[ContentRaise] {
        self.evaluation.content_raises()
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
        if let Some((rule, _)) = self.asked_beside_policy() {
            return rule.to_owned();
        }
        self.evaluation.rule_name(&self.question(), &self.target.device.policy)
    }

    /// Returns the error for the caller if there is no permit.
    #[must_use]
    pub fn refusal(&self) -> ToolError {
        if let Some((rule, why)) = self.asked_beside_policy() {
            return ToolError::new(
                ErrorCode::ApprovalRequired,
                format!(
                    "This call of {} {why}: a person has to approve it.",
                    self.target.spec.name
                ),
            )
            .with("rule", rule);
        }
        let device = &self.target.device;
        device.placed(self.evaluation.refusal(&self.question(), &device.policy))
    }

    /// Returns the permit to run the call.
    ///
    /// # Errors
    /// The error for the caller.
    pub fn permit(&self, approved: Option<Approved>) -> Result<Permit, Box<ToolError>> {
        if approved.is_none() && self.asked_beside_policy().is_some() {
            return Err(Box::new(self.refusal()));
        }
        let device = &self.target.device;
        self.evaluation
            .permit(&self.question(), &device.policy, approved)
            .map_err(|error| Box::new(device.placed(*error)))
    }

    /// Returns all evidence, with the name of each rule and whether it decided.
    #[must_use]
    pub fn trace(&self) -> Vec<(Evidence, String, bool)> {
        trace(&self.evaluation, &self.question(), &self.target.device.policy)
    }
}
