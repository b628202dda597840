//! The right to run one call. Only an evaluation can create it.
//!
//! ```compile_fail
//! // No field is public and there is no constructor to call.
//! let permit = orion_domain::Permit { rule: "made up".to_owned(), approval: None };
//! ```

use crate::approval::Approved;
use crate::code::ErrorCode;
use crate::envelope::ToolError;
use crate::evaluate::{Decision, Evaluation, Policy, Question};
use crate::id::ApprovalId;

/// The right to run one call once, and the rule that gave it. Routing takes it by value.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    rule: String,
    approval: Option<ApprovalId>,
}

impl Permit {
    /// Returns the name of the rule that decided.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Returns the approval that the permit rests on. `None` where none was required.
    #[must_use]
    pub const fn approval(&self) -> Option<ApprovalId> {
        self.approval
    }
}

impl Evaluation {
    /// Returns the right to run, where this evaluation gives it: at once, or with an approval.
    ///
    /// # Errors
    /// The error for the caller.
    pub fn permit(
        &self,
        question: &Question<'_>,
        policy: &Policy,
        approved: Option<Approved>,
    ) -> Result<Permit, Box<ToolError>> {
        if question.touches.is_none() {
            // Such an evaluation only lists tools; it did not cover what the call would touch.
            return Err(Box::new(ToolError::new(
                ErrorCode::Internal,
                "The call was evaluated without its arguments, which permits nothing.",
            )));
        }
        let permit = |approval| {
            let rule = self.rule_name(question, policy);
            Ok(Permit { rule, approval })
        };
        match (self.decision(), approved) {
            (Decision::Allow, _) => permit(approved.map(Approved::id)),
            (Decision::Ask | Decision::DryRunFirst, Some(approved)) => permit(Some(approved.id())),
            (Decision::Ask | Decision::DryRunFirst, None) | (Decision::Deny, _) => {
                Err(Box::new(self.refusal(question, policy)))
            }
        }
    }
}
