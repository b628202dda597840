//! One question, one answer: may this call run, and what says so?
//!
//! Pure and total: [`evaluate`] cannot fail, only deny. Every layer that has something to say adds
//! a line of evidence; the strictest wins, and nothing matched means deny. The backend and the
//! device run the same function, the device with the ceiling that only its owner can change.

mod defaults;
mod layers;
mod refusal;
mod remedy;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Role};
use crate::capability::Capability;
use crate::grants::Scope;
use crate::id::DeviceName;
use crate::path::{DevicePath, may_start_programs};
use crate::raise::RiskRaise;
use crate::risk::Risk;
use crate::rule::{Approvers, CompiledRule, Counted, Moment};
use crate::touches::{Access, Touches};

pub use defaults::RiskDefaults;
pub use remedy::{Remedy, RemedyOwner};

/// From free to forbidden; the strictest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Runs.
    Allow,
    /// A preview is shown, and nothing runs until a person says go.
    DryRunFirst,
    /// Waits for a person.
    Ask,
    /// Does not run.
    Deny,
}

impl Decision {
    /// The word that people and wire use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::DryRunFirst => "dry_run_first",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What policy knows of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolFacts<'a> {
    /// Its name, never an alias.
    pub name: &'a str,
    /// How much harm this call can do.
    pub risk: Risk,
    /// What it must be able to do.
    pub capabilities: &'a [Capability],
    /// Whether it changes anything.
    pub has_effects: bool,
    /// The tool that was called, where that is another: an undoing that does this one's call again.
    pub called: Option<CalledTool<'a>>,
}

/// A tool whose call does what another tool does. It must be allowed as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalledTool<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it must be able to do.
    pub capabilities: &'a [Capability],
}

impl<'a> ToolFacts<'a> {
    /// The same, done by a call of another tool. The higher risk counts.
    #[must_use]
    pub fn called_by(self, other: Self) -> Self {
        let called = Some(CalledTool { name: other.name, capabilities: other.capabilities });
        let has_effects = self.has_effects || other.has_effects;
        Self { risk: self.risk.max(other.risk), has_effects, called, ..self }
    }

    /// Every tool that has to be allowed, by name.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        [Some(self.name), self.called.map(|called| called.name)].into_iter().flatten()
    }
}

/// How strictly a device's grants are held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Grants hold.
    #[default]
    Safe,
    /// The tool list and the capabilities are lifted for a limited time. Paths, roles, approvals
    /// and the ceiling hold.
    Dangerous {
        /// When it ends by itself, Unix milliseconds.
        until: i64,
    },
}

impl Mode {
    /// Whether the tool list and the capabilities are lifted at a moment.
    #[must_use]
    pub const fn lifts(self, at: Moment) -> bool {
        match self {
            Self::Safe => false,
            Self::Dangerous { until } => at.unix_ms < until,
        }
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Which tool.
    pub tool: ToolFacts<'a>,
    /// What it would touch. `None` while the arguments have not been looked at: then only what
    /// concerns the tool itself is judged.
    pub touches: Option<&'a Touches>,
    /// Who asks.
    pub caller: &'a Caller,
    /// Where.
    pub device: &'a DeviceName,
    /// Whether only a preview is wanted.
    pub dry_run: bool,
    /// Whether the arguments say `confirm: true`.
    pub confirmed: bool,
    /// When.
    pub at: Moment,
    /// Whether content that strangers may have written is in the chat that the call came from.
    pub tainted: bool,
    /// Why the risk of this call is higher than its tool's, as its device saw. What the paths alone
    /// tell is found here.
    pub raises: &'a [RiskRaise],
    /// What the backend counted; `None` on a device, which leaves such conditions to it.
    pub counted: Option<Counted<'a>>,
}

impl Question<'_> {
    /// Whether nothing but a preview is made. A tool that changes nothing has none: what it would show
    /// is what it does, so wanting a preview of it changes no answer.
    #[must_use]
    pub const fn is_preview(&self) -> bool {
        self.dry_run && self.tool.has_effects
    }
}

/// What holds on one device.
#[derive(Debug, Clone)]
pub struct Policy {
    /// What the backend lends.
    pub grants: Scope,
    /// What the device's owner leaves at most. The backend knows what the device told it; the
    /// device knows its own file. `None` on the backend means that the device told nothing.
    pub ceiling: Option<Scope>,
    /// Rules across devices.
    pub rules: Vec<CompiledRule>,
    /// What each risk asks for by itself.
    pub risk: RiskDefaults,
    /// How strictly the grants are held.
    pub mode: Mode,
    /// Which version this is.
    pub version: String,
}

impl Policy {
    /// Whether writing this path is of high risk, by its names alone: it can start programs, and the
    /// grants, or the ceiling, do not name `execute` for it.
    #[must_use]
    pub fn raises_for_writing(&self, path: &DevicePath) -> bool {
        // What either side wrote on purpose tells nothing.
        let named = self.scopes().map(|scope| scope.named(path)).max().unwrap_or_default();
        let may_start = may_start_programs(path, named)
            || self.scopes().any(|scope| scope.names_start_place(path));
        may_start && !self.grants_execute(path)
    }

    /// Whether both name `execute` for a path: what is written there may start programs.
    #[must_use]
    pub fn grants_execute(&self, path: &DevicePath) -> bool {
        self.scopes().all(|scope| scope.covering(path, Access::Execute).is_some())
    }

    fn scopes(&self) -> impl Iterator<Item = &Scope> {
        [&self.grants].into_iter().chain(&self.ceiling)
    }

    /// A policy that denies everything; what stands in where none can be read.
    #[must_use]
    pub fn deny_all() -> Self {
        Self {
            grants: Scope::nothing(),
            ceiling: None,
            rules: Vec::new(),
            risk: RiskDefaults::default(),
            mode: Mode::Safe,
            version: "none".to_owned(),
        }
    }
}

/// Who speaks, in the order in which they are heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The role of the person.
    Caller,
    /// The backend's grants.
    Grants,
    /// The device owner's file.
    Ceiling,
    /// A rule.
    Rule,
    /// What the risk asks for by default.
    Risk,
}

/// Why a layer says what it says. Numbers are positions in the question or in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Nothing here objects.
    Fits,
    /// The role may not make calls of this kind.
    Role,
    /// The tool is not listed.
    ToolNotListed,
    /// A capability is not held.
    CapabilityMissing(Capability),
    /// Everything that changes something is off.
    ReadOnly,
    /// No allowed path covers this one.
    PathOutside {
        /// Which of the touched paths.
        touch: usize,
    },
    /// A deny entry covers this path.
    PathDenied {
        /// Which of the touched paths.
        touch: usize,
    },
    /// The application is not listed.
    AppNotListed {
        /// Which of the touched applications.
        touch: usize,
    },
    /// A URL that is not plain http(s).
    UrlScheme {
        /// Which of the touched URLs.
        touch: usize,
    },
    /// A URL whose host and port are not listed.
    UrlHost {
        /// Which of the touched URLs.
        touch: usize,
    },
    /// `confirm: true` is missing.
    ConfirmMissing,
    /// A rule matched.
    Matched {
        /// Which rule.
        rule: usize,
    },
    /// The risk asks a person.
    Asks,
    /// The risk of this call is higher than its tool's, and asks a person.
    Raised {
        /// Why.
        raise: RiskRaise,
        /// Which of the touched paths, where a path tells.
        touch: Option<usize>,
    },
    /// The risk is one higher because strangers' content is in the chat, and asks a person.
    AsksForProvenance,
    /// The grants, or the ceiling, are strict: every change is seen and approved before it is made.
    Strict,
}

/// One line of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// Who says it.
    pub layer: Layer,
    /// What.
    pub decision: Decision,
    /// Why.
    pub reason: Reason,
}

/// The answer, with all that led to it.
#[derive(Debug, Clone)]
pub struct Evaluation {
    decision: Decision,
    evidence: Vec<Evidence>,
    deciding: usize,
    approvers: Approvers,
    preview_first: bool,
    risk: Risk,
    raises: Vec<RiskRaise>,
}

impl Evaluation {
    /// What holds.
    #[must_use]
    pub const fn decision(&self) -> Decision {
        self.decision
    }

    /// Everything that was said, in order.
    #[must_use]
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// The line that decided.
    #[must_use]
    pub fn deciding(&self) -> Option<&Evidence> {
        self.evidence.get(self.deciding)
    }

    /// Who has to say yes, where a person is asked.
    #[must_use]
    pub const fn approvers(&self) -> Approvers {
        self.approvers
    }

    /// The risk that the call was judged by.
    #[must_use]
    pub const fn risk(&self) -> Risk {
        self.risk
    }

    /// Why the risk is higher than the tool's, in order; empty where it is not.
    #[must_use]
    pub fn raises(&self) -> &[RiskRaise] {
        &self.raises
    }

    /// Whether nobody can say yes without having been shown a preview.
    #[must_use]
    pub const fn preview_first(&self) -> bool {
        self.preview_first
    }
}

/// Who may say yes to a call by its risk: critical calls need an admin, and another one than the one
/// who asks, if there is another.
#[must_use]
pub const fn approvers_of(risk: Risk) -> Approvers {
    let (role, second_if_any) = match risk {
        Risk::Critical => (Role::Admin, true),
        Risk::Low | Risk::Medium | Risk::High => (Role::Operator, false),
    };
    Approvers { role, count: 1, not_requester: false, second_if_any, reason: false }
}

/// Judges one call.
#[must_use]
pub fn evaluate(question: &Question<'_>, policy: &Policy) -> Evaluation {
    let mut evidence = Vec::with_capacity(8);
    let lifted = policy.mode.lifts(question.at);
    layers::caller(question, &mut evidence);
    layers::scope(question, &policy.grants, Layer::Grants, lifted, &mut evidence);
    if let Some(ceiling) = &policy.ceiling {
        layers::scope(question, ceiling, Layer::Ceiling, false, &mut evidence);
    }
    let heard = layers::rules(question, &policy.rules, &mut evidence);
    let weighed = layers::risk(question, policy, &heard, &mut evidence);

    // The first of the strictest: earlier layers give the reason that is most use to the caller.
    let strictest = evidence.iter().enumerate().rev().max_by_key(|(_, line)| line.decision);
    let decision = strictest.map(|(_, line)| line.decision);
    let mut deciding = strictest.map_or(0, |(index, _)| index);
    if let (Some(Decision::Allow), Some(line)) = (decision, weighed.saved_by) {
        // Without this line a person would have been asked.
        deciding = line;
    }
    let preview_first = heard.preview_first
        || evidence
            .iter()
            .any(|line| line.decision == Decision::DryRunFirst || line.reason == Reason::Strict);
    Evaluation {
        decision: decision.unwrap_or(Decision::Deny),
        evidence,
        deciding,
        approvers: heard.approvers.and(approvers_of(weighed.risk)),
        preview_first,
        risk: weighed.risk,
        raises: weighed.raises.into_iter().map(|(raise, _)| raise).collect(),
    }
}
