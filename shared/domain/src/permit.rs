//! The right to run one call. It can be had from an evaluation and from nowhere else.
//!
//! ```compile_fail
//! // No field is public and there is no constructor to call.
//! let permit = orion_domain::Permit { rule: "made up".to_owned(), approval: None };
//! ```

use crate::id::ApprovalId;

/// The right to run one call once, and what gave it. Routing takes it by value.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    rule: String,
    approval: Option<ApprovalId>,
}

impl Permit {
    pub(crate) const fn mint(rule: String, approval: Option<ApprovalId>) -> Self {
        Self { rule, approval }
    }

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
