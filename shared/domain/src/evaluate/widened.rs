//! The policy for the calls of one person and one tool, widened by temporary grants.

use super::Policy;
use crate::caller::Caller;
use crate::path::PathStyle;
use crate::question::{Moment, ToolFacts};
use crate::temporary::TemporaryGrant;

impl Policy {
    /// Returns the policy for the calls of a tool by a person, widened by that person's temporary grants.
    /// `None` if there is none for these calls at this moment.
    #[must_use]
    pub fn for_calls(&self, tool: &ToolFacts<'_>, caller: &Caller, at: Moment) -> Option<Self> {
        let mut grants = self.temporary.iter().filter(|it| it.applies(tool, caller, at)).peekable();
        grants.peek()?;
        let mut policy = Self { temporary: Vec::new(), ..self.clone() };
        for grant in grants {
            grant.widen(&mut policy.grants);
            policy.granted_by.push(grant.grant.request.clone());
        }
        Some(policy)
    }

    /// Returns the policy with one more temporary grant, for the calls that this one is for.
    #[must_use]
    pub(super) fn with_grant(&self, grant: TemporaryGrant, style: PathStyle) -> Self {
        let mut policy = self.clone();
        policy.granted_by.push(grant.request.clone());
        grant.compile(style).widen(&mut policy.grants);
        policy
    }
}
