//! The right to run one call. It can be had from an evaluation and from nowhere else.
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

/// The right to run one call once, and what gave it. Routing takes it by value.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    rule: String,
    approval: Option<ApprovalId>,
}

impl Permit {
    /// What decided, by name.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// The person's answer it rests on, where one was needed.
    #[must_use]
    pub const fn approval(&self) -> Option<ApprovalId> {
        self.approval
    }
}

impl Evaluation {
    /// The right to run, where this evaluation gives it: at once, or with a person's yes.
    ///
    /// # Errors
    /// What the caller is told instead.
    pub fn permit(
        &self,
        question: &Question<'_>,
        policy: &Policy,
        approved: Option<Approved>,
    ) -> Result<Permit, Box<ToolError>> {
        if question.touches.is_none() {
            // Tools are listed so; what the call would touch was not judged.
            return Err(Box::new(ToolError::new(
                ErrorCode::Internal,
                "The call was judged without its arguments, which permits nothing.",
            )));
        }
        let permit = |approval| {
            let rule = self.rule_name(question, policy);
            Ok(Permit { rule, approval })
        };
        match (self.decision(), approved) {
            (Decision::Allow, _) => permit(approved.map(Approved::id)),
            (Decision::Ask | Decision::DryRunFirst, Some(yes)) => permit(Some(yes.id())),
            (Decision::Ask | Decision::DryRunFirst, None) | (Decision::Deny, _) => {
                Err(Box::new(self.refusal(question, policy)))
            }
        }
    }
}
