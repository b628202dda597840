//! Rules across devices: they tighten what grants leave, or pre-approve a narrow case.
//!
//! A [`Rule`] is as it is kept and sent, already chosen for one device; a [`CompiledRule`] is the
//! same, ready to compare with that device's paths.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::caller::Role;
use crate::evaluate::Question;
use crate::id::UserName;
use crate::path::{DevicePath, PathError, PathPattern, Places};

/// What a matching rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleAction {
    /// Refuses.
    Deny,
    /// Asks a person.
    Ask,
    /// Shows a preview, and a person says go.
    DryRunFirst,
    /// Runs without asking where risk alone would have asked. Never widens a grant.
    Preapprove,
}

impl RuleAction {
    /// Whether it makes a judgement stricter. What cannot be read of such a rule is held to match;
    /// of a pre-approval it is held not to.
    #[must_use]
    pub const fn tightens(self) -> bool {
        match self {
            Self::Deny | Self::Ask | Self::DryRunFirst => true,
            Self::Preapprove => false,
        }
    }
}

/// Who has to say yes, where a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Approvers {
    /// The least role.
    pub role: Role,
    /// How many different people.
    pub count: u8,
    /// Whether the one who asked for the call does not count.
    pub not_requester: bool,
    /// The same, unless nobody else has the role: critical calls of a sole admin.
    #[serde(skip)]
    pub second_if_any: bool,
    /// Whether each has to say why.
    pub reason: bool,
}

impl Default for Approvers {
    fn default() -> Self {
        Self {
            role: Role::Operator,
            count: 1,
            not_requester: false,
            second_if_any: false,
            reason: false,
        }
    }
}

impl Approvers {
    /// What satisfies both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            role: self.role.max(other.role),
            count: self.count.max(other.count).max(1),
            not_requester: self.not_requester || other.not_requester,
            second_if_any: self.second_if_any || other.second_if_any,
            reason: self.reason || other.reason,
        }
    }
}

/// The hours in which a rule speaks, by the clock of the policy's time zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hours {
    /// The first minute of the day, 0 to 1439.
    pub from: u16,
    /// The minute of the day after the last, 0 to 1440. Below `from`, the hours go past midnight.
    pub to: u16,
    /// The days on which they begin, 0 for Monday to 6 for Sunday; empty for every day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<u8>,
}

impl Hours {
    /// Whether a moment lies in these hours.
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

/// A point in time, as rules see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moment {
    /// Unix milliseconds.
    pub unix_ms: i64,
    /// The day of the week in the policy's time zone, 0 for Monday to 6 for Sunday.
    pub weekday: u8,
    /// The minute of that day, 0 to 1439.
    pub minute: u16,
}

/// How often is too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// So many calls, counted for each person and device.
    pub calls: u32,
    /// In this time, in seconds.
    pub per_seconds: u32,
}

/// How much a call touches, as its preview tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quantity {
    /// Files and folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Bytes in files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Quantity {
    /// Whether something is more than this. What is not known is more.
    #[must_use]
    pub fn is_exceeded_by(&self, found: Option<Quantity>) -> bool {
        let over = |limit: Option<u64>, found: Option<u64>| {
            limit.is_some_and(|limit| found.is_none_or(|found| found > limit))
        };
        found.is_none_or(|found| over(self.entries, found.entries) || over(self.bytes, found.bytes))
    }
}

/// One rule of the policy, as it holds on one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A name, unique in the policy; what denials and permits refer to.
    pub id: String,
    /// The tools it is about; empty means every tool, which a pre-approval may not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The people it is about; empty means everyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<UserName>,
    /// The roles it is about; empty means every role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Paths and patterns as the device writes them. A rule that tightens speaks when one of the
    /// touched paths fits one of them, a pre-approval when all do. Empty means any path or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// When it speaks; always when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<Hours>,
    /// A rule that tightens speaks from this many calls on, a pre-approval up to as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Rate>,
    /// A rule that tightens speaks when a call touches more than this, a pre-approval when it does
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Quantity>,
    /// Until when it speaks, Unix milliseconds; for good when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// What it does.
    pub action: RuleAction,
    /// Who has to say yes where it asks.
    #[serde(default)]
    pub approvers: Approvers,
    /// For a rule that asks: that a preview is shown with the question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run_first: bool,
    /// For a pre-approval: that it also holds when strangers' content is in the chat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_provenance: bool,
    /// Why, in a sentence that the person who is refused gets to read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Where it is written, such as `policy.yaml:12`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

impl Rule {
    /// A rule that speaks always and of everything, to be narrowed.
    #[must_use]
    pub fn new(id: impl Into<String>, action: RuleAction) -> Self {
        Self {
            id: id.into(),
            tools: Vec::new(),
            users: Vec::new(),
            roles: Vec::new(),
            paths: Vec::new(),
            hours: None,
            limit: None,
            above: None,
            expires_at: None,
            action,
            approvers: Approvers::default(),
            dry_run_first: false,
            ignore_provenance: false,
            because: String::new(),
            source: String::new(),
        }
    }

    /// Makes it ready for a device. A path that cannot be read there is told; the rule then speaks
    /// of every path if it tightens, and of none if it pre-approves.
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

    /// The name with where it is written.
    #[must_use]
    pub fn title(&self) -> Cow<'_, str> {
        if self.source.is_empty() {
            Cow::Borrowed(&self.id)
        } else {
            Cow::Owned(format!("{} ({})", self.id, self.source))
        }
    }

    /// What tightens one tool holds for whatever does the same; what pre-approves a tool pre-approves no
    /// other that it does.
    fn is_about(&self, question: &Question<'_>) -> bool {
        let (tool, caller) = (&question.tool, question.caller);
        let mut names = tool.names().take(if self.action.tightens() { usize::MAX } else { 1 });
        let named = names.any(|tool| self.tools.iter().any(|name| name == tool));
        (named || (self.tools.is_empty() && self.action.tightens()))
            && (self.users.is_empty() || self.users.contains(&caller.user))
            && (self.roles.is_empty() || self.roles.contains(&caller.role))
    }
}

/// A rule, ready to compare.
#[derive(Debug, Clone)]
pub struct CompiledRule {
    /// As it is written.
    pub rule: Rule,
    /// `None` where paths do not matter.
    paths: Option<Vec<PathPattern>>,
}

/// What only the backend counts. A device leaves such conditions to it.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// For each rule of the policy, by position: how many calls of this person on this device it
    /// spoke of within its own time. Missing counts as none.
    pub earlier: &'a [u32],
    /// How much the call touches, once a preview told.
    pub quantity: Option<Quantity>,
}

impl CompiledRule {
    /// Whether the rule, at this position in the policy, speaks of a question.
    #[must_use]
    pub fn speaks(&self, index: usize, question: &Question<'_>) -> bool {
        let rule = &self.rule;
        rule.is_about(question)
            && rule.expires_at.is_none_or(|end| question.at.unix_ms < end)
            && rule.hours.as_ref().is_none_or(|hours| hours.hold(question.at))
            && self.fits_paths(question)
            && self.is_counted(index, question)
    }

    /// Whether a call of this kind counts towards the rule's limit.
    #[must_use]
    pub fn counts(&self, question: &Question<'_>) -> bool {
        self.rule.is_about(question) && self.fits_paths(question)
    }

    /// What would make a rule that tightens speak of a question, where only the paths of the call keep
    /// it silent. They say what is written: a link or a folder may hold more.
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

    /// The folders at which its paths begin.
    pub fn roots(&self) -> impl Iterator<Item = &DevicePath> {
        self.paths.iter().flatten().filter_map(PathPattern::root)
    }

    fn fits_paths(&self, question: &Question<'_>) -> bool {
        let Some(patterns) = &self.paths else { return true };
        // While the arguments have not been looked at, nothing is known to fit.
        let Some(touches) = question.touches else { return false };
        let mut paths = touches.paths.iter().map(|touch| &touch.path);
        if self.rule.action.tightens() {
            // What is deleted, moved, copied or gone through goes with all that is in it.
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

    /// Whether the rule may say something else once a preview told how much the call touches.
    #[must_use]
    pub fn measures(&self, question: &Question<'_>) -> bool {
        self.rule.above.is_some() && self.counts(question)
    }

    fn is_counted(&self, index: usize, question: &Question<'_>) -> bool {
        let (rule, tightens) = (&self.rule, self.rule.action.tightens());
        let Some(counted) = question.counted else {
            return !(tightens && (rule.limit.is_some() || rule.above.is_some()));
        };
        // A preview is what tells how much it is, so it is not refused for not knowing.
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
