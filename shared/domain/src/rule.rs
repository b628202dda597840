//! Rules across devices: they tighten what grants allow, or pre-approve a narrow case.
//!
//! A [`Rule`] is stored and sent, already selected for one device. A [`CompiledRule`] is the same rule,
//! with that device's paths parsed.

mod arguments;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::caller::Role;
use crate::id::UserName;
use crate::path::{DevicePath, PathError, PathPattern, Places};
use crate::question::Question;

pub use self::arguments::{ArgumentCondition, ArgumentTest};
pub use crate::question::{Counted, Moment, Quantity};

/// The action of a matching rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleAction {
    /// Denies the call.
    Deny,
    /// Requires a person's approval.
    Ask,
    /// Shows a preview and requires a person's approval.
    DryRunFirst,
    /// Runs the call where risk alone would require approval. Never widens a grant.
    Preapprove,
    /// Reports the call, and decides nothing.
    Notify,
}

impl RuleAction {
    /// Returns what the action does, as a verb.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::DryRunFirst => "show a preview first",
            Self::Preapprove => "allow",
            Self::Notify => "notify",
        }
    }

    /// Returns whether the action makes a decision stricter. Unreadable conditions of such a rule match;
    /// those of a pre-approval do not.
    #[must_use]
    pub const fn tightens(self) -> bool {
        match self {
            // A notice covers what a denial would.
            Self::Deny | Self::Ask | Self::DryRunFirst | Self::Notify => true,
            Self::Preapprove => false,
        }
    }
}

/// Who must approve, where approval is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Approvers {
    /// The lowest role of an approver.
    pub role: Role,
    /// The number of different people.
    pub count: u8,
    /// Whether the requester's own approval is excluded.
    pub not_requester: bool,
    /// As `not_requester`, unless nobody else has the role: critical calls of a sole admin.
    #[serde(skip)]
    pub second_if_any: bool,
    /// Whether each approver must give a reason.
    pub reason: bool,
    /// Whether each approver must sign the approval with a passkey. Only the backend checks that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub passkey: bool,
}

impl Default for Approvers {
    fn default() -> Self {
        Self {
            role: Role::Operator,
            count: 1,
            not_requester: false,
            second_if_any: false,
            reason: false,
            passkey: false,
        }
    }
}

impl Approvers {
    /// Returns the requirements that satisfy both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            role: self.role.max(other.role),
            count: self.count.max(other.count).max(1),
            not_requester: self.not_requester || other.not_requester,
            second_if_any: self.second_if_any || other.second_if_any,
            reason: self.reason || other.reason,
            passkey: self.passkey || other.passkey,
        }
    }
}

/// The hours in which a rule is active, in the policy's time zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hours {
    /// The first minute of the day, 0 to 1439.
    pub from: u16,
    /// The minute of the day after the last, 0 to 1440. Below `from`, the hours extend past midnight.
    pub to: u16,
    /// The days on which the hours begin, 0 for Monday to 6 for Sunday; empty for every day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<u8>,
}

impl Hours {
    /// Returns whether a moment is in these hours.
    #[must_use]
    pub fn hold(&self, at: Moment) -> bool {
        let on = |day: u8| self.days.is_empty() || self.days.contains(&day);
        let (minute, today, yesterday) = (at.minute, at.weekday, (at.weekday + 6) % 7);
        if self.from < self.to {
            on(today) && (self.from..self.to).contains(&minute)
        } else {
            (on(today) && minute >= self.from) || (on(yesterday) && minute < self.to)
        }
    }
}

/// A rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The number of calls, counted for each person and device.
    pub calls: u32,
    /// The period, in seconds.
    pub per_seconds: u32,
}

/// One rule of the policy, as applied on one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The name, unique in the policy; denials and permits refer to it.
    pub id: String,
    /// The tools that the rule matches; empty means every tool, which a pre-approval must not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The people that the rule matches; empty means everyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<UserName>,
    /// The roles that the rule matches; empty means every role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Paths and patterns in the device's syntax. A rule that tightens matches when one touched path
    /// fits one of them, a pre-approval when all do. Empty means any path or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Conditions on the arguments, all of which must fit. They need the tools of which they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentCondition>,
    /// The hours in which the rule is active. `None` means always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<Hours>,
    /// A rule that tightens matches from this many calls on, a pre-approval up to as many. `None` means
    /// no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Rate>,
    /// A rule that tightens matches when a call touches more than this, a pre-approval when it does not.
    /// `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Quantity>,
    /// Unix milliseconds. The rule is inactive from this moment on. `None` means that it does not
    /// expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// What the rule does when it matches.
    pub action: RuleAction,
    /// Whether the rule only records what its action would do, and decides nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log_only: bool,
    /// Who must approve where the rule requires approval.
    #[serde(default)]
    pub approvers: Approvers,
    /// For a rule that requires approval: whether a preview is shown with the request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run_first: bool,
    /// For a pre-approval: whether it also matches when the chat contains untrusted content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_provenance: bool,
    /// The reason, in a sentence that the denied person reads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Where the rule is written, such as `policy.yaml:12`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

impl Rule {
    /// Creates a rule that matches every call, to be narrowed.
    #[must_use]
    pub fn new(id: impl Into<String>, action: RuleAction) -> Self {
        Self {
            id: id.into(),
            tools: Vec::new(),
            users: Vec::new(),
            roles: Vec::new(),
            paths: Vec::new(),
            arguments: Vec::new(),
            hours: None,
            limit: None,
            above: None,
            expires_at: None,
            action,
            log_only: false,
            approvers: Approvers::default(),
            dry_run_first: false,
            ignore_provenance: false,
            because: String::new(),
            source: String::new(),
        }
    }

    /// Compiles the rule for a device, and returns the paths that cannot be parsed there. With such a
    /// path, the rule matches every path if it tightens, and ignores that path if it pre-approves.
    #[must_use]
    pub fn compile(self, places: &Places) -> (CompiledRule, Vec<(String, PathError)>) {
        let mut bad = Vec::new();
        let mut paths = Vec::new();
        for text in &self.paths {
            match PathPattern::parse(places, text) {
                Ok(pattern) => paths.push(pattern),
                Err(error) => bad.push((text.clone(), error)),
            }
        }
        let paths = match (self.paths.is_empty(), bad.is_empty() || !self.action.tightens()) {
            (false, true) => Some(paths),
            (true, _) | (false, false) => None,
        };
        (CompiledRule { rule: self, paths }, bad)
    }

    /// Returns the name with the place where the rule is written.
    #[must_use]
    pub fn title(&self) -> Cow<'_, str> {
        if self.source.is_empty() {
            Cow::Borrowed(&self.id)
        } else {
            Cow::Owned(format!("{} ({})", self.id, self.source))
        }
    }

    /// Returns whether the rule can change a decision.
    #[must_use]
    pub fn decides(&self) -> bool {
        !self.log_only && self.action != RuleAction::Notify
    }

    /// A rule that tightens a tool also covers other tools that run it. A pre-approval covers only the
    /// tool that it names.
    fn is_about(&self, question: &Question<'_>) -> bool {
        let (tool, caller) = (&question.tool, question.caller);
        let mut names = tool.names().take(if self.action.tightens() { usize::MAX } else { 1 });
        let named = names.any(|tool| self.tools.iter().any(|name| name == tool));
        (named || (self.tools.is_empty() && self.action.tightens()))
            && (self.users.is_empty() || self.users.contains(&caller.user))
            && (self.roles.is_empty() || self.has_role(question))
            && arguments::fit(&self.arguments, question, self.action.tightens())
    }

    /// A call may ask for a lower role than its person has. What tightens for either role holds, and a
    /// pre-approval must be for both.
    fn has_role(&self, question: &Question<'_>) -> bool {
        let [own, asked] =
            [question.caller.role, question.role()].map(|it| self.roles.contains(&it));
        if self.action.tightens() { own || asked } else { own && asked }
    }
}

/// A rule with its paths parsed for one device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CompiledRule {
    /// The rule as written.
    pub rule: Rule,
    /// The parsed patterns. `None` where the rule matches any path.
    paths: Option<Vec<PathPattern>>,
}

impl CompiledRule {
    /// Returns whether the rule, at this position in the policy, matches a call.
    #[must_use]
    pub fn speaks(&self, index: usize, question: &Question<'_>) -> bool {
        let rule = &self.rule;
        rule.is_about(question)
            && rule.expires_at.is_none_or(|end| question.at.unix_ms < end)
            && rule.hours.as_ref().is_none_or(|hours| hours.hold(question.at))
            && self.fits_paths(question)
            && self.is_counted(index, question)
    }

    /// Returns whether a call of this kind counts towards the rule's limit.
    #[must_use]
    pub fn counts(&self, question: &Question<'_>) -> bool {
        self.rule.is_about(question) && self.fits_paths(question)
    }

    /// Returns the patterns that would make a tightening rule match, where only the call's paths do not
    /// fit. Paths are compared as written: a link or a folder may reach more.
    #[must_use]
    pub fn awaits(&self, index: usize, question: &Question<'_>) -> Option<&[PathPattern]> {
        let rule = &self.rule;
        (rule.action.tightens()
            && rule.is_about(question)
            && rule.expires_at.is_none_or(|end| question.at.unix_ms < end)
            && rule.hours.as_ref().is_none_or(|hours| hours.hold(question.at))
            && self.is_counted(index, question)
            && !self.fits_paths(question))
        .then_some(self.paths.as_deref())
        .flatten()
    }

    /// Returns the folders at which the rule's paths begin.
    pub fn roots(&self) -> impl Iterator<Item = &DevicePath> {
        self.paths.iter().flatten().filter_map(PathPattern::root)
    }

    fn fits_paths(&self, question: &Question<'_>) -> bool {
        let Some(patterns) = &self.paths else { return true };
        // Before the arguments are read, no path is known to fit.
        let Some(touches) = question.touches else { return false };
        let mut paths = touches.paths.iter().map(|touch| &touch.path);
        if self.rule.action.tightens() {
            // A delete, move, copy or traversal of a folder affects everything in it.
            paths.any(|path| {
                patterns.iter().any(|pattern| {
                    pattern.denies(path)
                        || pattern.root().is_some_and(|root| path.may_contain(root))
                        || (touches.whole && pattern.reaches_into(path))
                })
            })
        } else {
            !touches.paths.is_empty()
                && paths.all(|path| patterns.iter().any(|pattern| pattern.allows(path)))
        }
    }

    /// Returns whether the rule may decide differently once a preview reports the quantity.
    #[must_use]
    pub fn measures(&self, question: &Question<'_>) -> bool {
        self.rule.above.is_some() && self.rule.decides() && self.counts(question)
    }

    fn is_counted(&self, index: usize, question: &Question<'_>) -> bool {
        let (rule, tightens) = (&self.rule, self.rule.action.tightens());
        let Some(counted) = question.counted else {
            return !(tightens && (rule.limit.is_some() || rule.above.is_some()));
        };
        // A preview reports the quantity, so it is not denied for an unknown quantity.
        if tightens && rule.above.is_some() && question.is_preview() && counted.quantity.is_none() {
            return false;
        }
        let earlier = counted.earlier.get(index).copied().unwrap_or(0);
        rule.limit.is_none_or(|limit| (earlier >= limit.calls) == tightens)
            && rule
                .above
                .is_none_or(|quantity| quantity.is_exceeded_by(counted.quantity) == tightens)
    }
}
