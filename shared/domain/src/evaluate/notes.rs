//! What rules and risks report of a call without deciding it.

use serde::Serialize;

use super::{Evaluation, Policy, Question, Reason};

/// A line that reports a call and does not decide it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The name of the rule or the risk.
    pub rule: String,
    /// What a rule that only logs would do. `None` where the call is to be reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would: Option<&'static str>,
}

impl Evaluation {
    /// Returns the lines that report the call, in order.
    #[must_use]
    pub fn notes(&self, question: &Question<'_>, policy: &Policy) -> Vec<Note> {
        let lines = self.evidence().iter().filter_map(|line| {
            if let Reason::Logged { rule } = line.reason {
                let rule = &policy.rules.get(rule)?.rule;
                return Some(Note { rule: rule.id.clone(), would: Some(rule.action.verb()) });
            }
            let is_notice = matches!(line.reason, Reason::Notifies { .. });
            is_notice.then(|| Note { rule: line.name(question, policy), would: None })
        });
        lines.collect()
    }
}
