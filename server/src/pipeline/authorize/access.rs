//! What a temporary grant would have to grant for a denied call to run, and what rules report of a call.

use orion_catalog::Execution;
use orion_domain::evaluate::{Decision, NotGrantable, Note, denials_with};
use orion_domain::{Actor, Hint, PathStyle, TemporaryGrant};

use super::EvaluatedCall;

impl EvaluatedCall {
    /// Returns the smallest temporary grant that would let this call run. `request` is its id; it has no end.
    ///
    /// # Errors
    /// There is none.
    pub fn temporary_grant(&self, request: String) -> Result<TemporaryGrant, NotGrantable> {
        let (question, policy) = (self.question(), &self.target.device.policy);
        let grant = self.evaluation.temporary_grant(
            &question,
            policy,
            self.style(),
            (request, i64::MAX),
        )?;
        // A program would reach the folder around a path, which is what the device opens for it.
        let is_program = self.target.spec.execution == Execution::ChildProcess;
        if is_program && !grant.paths.is_empty() {
            let hint = Hint::new("ask an admin to add the folder to the paths of the device");
            return Err(NotGrantable::Blocked(vec![hint.by(Actor::Admin)]));
        }
        Ok(grant)
    }

    /// Returns what would help against what denies this call although this grant is given.
    #[must_use]
    pub fn denials_with(&self, grant: TemporaryGrant) -> Vec<Hint> {
        denials_with(&self.question(), &self.target.device.policy, grant, self.style())
    }

    /// Returns whether its person can ask for a temporary grant that lets this call run.
    #[must_use]
    pub fn is_requestable(&self) -> bool {
        self.decision() == Decision::Deny && self.temporary_grant(String::new()).is_ok()
    }

    /// Returns what rules and risks report of the call without deciding it.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        self.evaluation.notes(&self.question(), &self.target.device.policy)
    }

    fn style(&self) -> PathStyle {
        self.target.device.places().map_or(PathStyle::Posix, |places| places.style)
    }
}
