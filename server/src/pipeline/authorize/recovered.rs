//! Calls that were picked out of a model's prose: a person approves each above low risk, whatever the policy
//! approves beforehand, because the model may not have meant them.

use orion_domain::Risk;
use orion_domain::evaluate::Decision;

use super::EvaluatedCall;

/// The rule name of a call that was picked out of prose.
pub(super) const RECOVERED: &str = "chat: a call picked out of prose";

impl EvaluatedCall {
    /// Returns whether the call was picked out of prose, and its risk is above low. A preview changes nothing.
    #[must_use]
    pub fn is_recovered(&self) -> bool {
        let is_preview = self.target.spec.has_effects && self.context.request.dry_run;
        self.context.request.recovered && !is_preview && self.risk() > Risk::Low
    }

    /// Returns whether approval is needed only because the call was picked out of prose.
    pub(super) fn is_asked_as_recovered(&self) -> bool {
        self.is_recovered() && self.evaluation.decision() < Decision::Ask
    }
}
