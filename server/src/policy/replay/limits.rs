//! Counts calls for rules with a limit during a replay.

use std::collections::{HashMap, VecDeque};

use orion_domain::{Policy, Question, UserName};

/// The calls that count towards the limits of one device's policy.
#[derive(Debug)]
pub(super) struct Limits {
    /// Whether any rule has a limit.
    any: bool,
    /// The times of calls by person and rule, Unix milliseconds.
    admitted: HashMap<(UserName, usize), VecDeque<i64>>,
}

impl Limits {
    pub(super) fn of(policy: &Policy) -> Self {
        let any = policy.rules.iter().any(|it| it.rule.limit.is_some());
        Self { any, admitted: HashMap::new() }
    }

    /// Returns, for each rule, how many calls of this person it applies to within its time.
    pub(super) fn earlier(&mut self, question: &Question<'_>, policy: &Policy) -> Vec<u32> {
        if !self.any {
            return Vec::new();
        }
        let now = question.at.unix_ms;
        let count = |(index, rule): (usize, &orion_domain::rule::CompiledRule)| {
            let Some(limit) = rule.rule.limit else { return 0 };
            let key = (question.caller.user.clone(), index);
            let Some(times) = self.admitted.get_mut(&key) else { return 0 };
            let from = now - i64::from(limit.per_seconds) * 1000;
            while times.front().is_some_and(|at| *at < from) {
                times.pop_front();
            }
            u32::try_from(times.len()).unwrap_or(u32::MAX)
        };
        policy.rules.iter().enumerate().map(count).collect()
    }

    /// Counts a call that was not denied. Previews do not count.
    pub(super) fn admitted(&mut self, question: &Question<'_>, policy: &Policy) {
        if !self.any || question.dry_run {
            return;
        }
        for (index, rule) in policy.rules.iter().enumerate() {
            if rule.rule.limit.is_some() && rule.counts(question) {
                let key = (question.caller.user.clone(), index);
                self.admitted.entry(key).or_default().push_back(question.at.unix_ms);
            }
        }
    }
}
