//! Calls that were found in untrusted content of a chat: a person approves them, unless a rule ignores where
//! they came from.

use orion_domain::evaluate::{Decision, Reason};
use orion_domain::rule::RuleAction;

use super::EvaluatedCall;

/// The rule name of a call that was found in untrusted content of a chat.
pub(super) const QUOTED: &str = "chat: a call copied from untrusted content";

impl EvaluatedCall {
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
            | Reason::RoleAbove(_)
            | Reason::ToolNotListed
            | Reason::CapabilityMissing(_)
            | Reason::ReadOnly
            | Reason::WritesDisabled
            | Reason::PathOutside { .. }
            | Reason::PathDenied { .. }
            | Reason::AppNotListed { .. }
            | Reason::CommandNotListed { .. }
            | Reason::ServiceNotListed { .. }
            | Reason::LogNotListed { .. }
            | Reason::UrlScheme { .. }
            | Reason::UrlHost { .. }
            | Reason::HostNotListed { .. }
            | Reason::ConfirmMissing
            | Reason::Logged { .. }
            | Reason::Notifies { .. }
            | Reason::Asks
            | Reason::Raised { .. }
            | Reason::AsksForProvenance
            | Reason::Strict => false,
        });
        self.context.provenance.quoted && !self.context.request.dry_run && !ignored
    }

    /// Returns whether approval is needed only because the call was found in untrusted content.
    pub(super) fn is_asked_as_quoted(&self) -> bool {
        self.is_quoted() && self.evaluation.decision() < Decision::Ask
    }
}
