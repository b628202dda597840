//! Evaluates one call against the policy: may the call run, and which line of evidence decides?
//!
//! Pure and total: [`evaluate`] cannot fail, only deny. Every layer adds its lines of evidence; the
//! strictest decides, and no match means deny. The backend and the device run the same function. The
//! device adds its ceiling, which only its owner can change.

mod defaults;
mod hints;
mod layers;
mod notes;
mod refusal;
mod request;
#[cfg(test)]
mod tests;
mod widened;

use serde::{Deserialize, Serialize};

use crate::caller::Role;
use crate::capability::Capability;
use crate::grants::Scope;
use crate::path::{DevicePath, may_start_programs};
use crate::question::Moment;
use crate::raise::{ContentRaise, RiskRaise};
use crate::risk::Risk;
use crate::rule::{Approvers, CompiledRule};
use crate::temporary::CompiledGrant;
use crate::touches::Access;

pub use crate::question::{CalledTool, Question, ToolFacts};
pub use defaults::RiskDefaults;
pub use hints::{CHANGE_POLICY, agent_of, changes_own_grants};
pub use notes::Note;
pub use request::{NotGrantable, denials_with};

/// From least to most strict; the strictest decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call runs.
    Allow,
    /// A preview is shown, and nothing runs until a person approves.
    DryRunFirst,
    /// The call waits for a person's approval.
    Ask,
    /// The call does not run.
    Deny,
}

impl Decision {
    /// Returns the name that people and the wire use.
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

/// How strictly a device's grants are enforced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Grants are enforced in full.
    #[default]
    Safe,
    /// The tool list and the capabilities are not enforced for a limited time. Paths, roles, approvals
    /// and the ceiling are.
    Dangerous {
        /// Unix milliseconds. The mode ends by itself at this moment.
        until: i64,
    },
}

impl Mode {
    /// Returns whether the mode lifts the tool list and the capabilities at a moment.
    #[must_use]
    pub const fn lifts(self, at: Moment) -> bool {
        match self {
            Self::Safe => false,
            Self::Dangerous { until } => at.unix_ms < until,
        }
    }
}

/// The active policy of one device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Policy {
    /// What the backend grants.
    pub grants: Scope,
    /// What admins granted single people on request, until a moment.
    pub temporary: Vec<CompiledGrant>,
    /// The access requests by which the grants are widened for the calls of one person and one tool.
    pub granted_by: Vec<String>,
    /// The limit that the device's owner sets. The backend has the ceiling that the device reported; the
    /// device reads its own file. `None` on the backend means that the device reported none.
    pub ceiling: Option<Scope>,
    /// Where the owner's file is, as in [`Places`](crate::Places).
    #[serde(skip)]
    pub owner_file: Option<DevicePath>,
    /// Rules across devices.
    pub rules: Vec<CompiledRule>,
    /// What each risk requires by default.
    pub risk: RiskDefaults,
    /// How strictly the grants are enforced.
    pub mode: Mode,
    /// Whether the backend's configuration denies every change on every device. Only the backend knows it.
    pub writes_disabled: bool,
    /// The version of the policy.
    pub version: String,
}

impl Policy {
    /// Returns the granted roots for an access where the ceiling, as far as it is known, allows it somewhere too.
    #[must_use]
    pub fn allowed_roots(&self, access: Access) -> Vec<String> {
        match &self.ceiling {
            Some(ceiling) => self.grants.allowed_roots_within(ceiling, access),
            None => self.grants.allowed_roots(access),
        }
    }

    /// Returns whether writing this path is of high risk by its name alone: the file can start programs,
    /// and the grants or the ceiling do not name `execute` for it.
    #[must_use]
    pub fn raises_for_writing(&self, path: &DevicePath) -> bool {
        // Paths that either side names on purpose raise nothing.
        let named = self.scopes().map(|scope| scope.named(path)).max().unwrap_or_default();
        let may_start = may_start_programs(path, named)
            || self.scopes().any(|scope| scope.names_start_place(path));
        may_start && !self.grants_execute(path)
    }

    /// Returns whether both grants and ceiling name `execute` for a path: files there may start
    /// programs.
    #[must_use]
    pub fn grants_execute(&self, path: &DevicePath) -> bool {
        self.scopes().all(|scope| scope.covering(path, Access::Execute).is_some())
    }

    fn scopes(&self) -> impl Iterator<Item = &Scope> {
        [&self.grants].into_iter().chain(&self.ceiling)
    }

    /// Returns a policy that denies everything, as a substitute for one that cannot be read.
    #[must_use]
    pub fn deny_all() -> Self {
        Self {
            grants: Scope::nothing(),
            temporary: Vec::new(),
            granted_by: Vec::new(),
            ceiling: None,
            owner_file: None,
            rules: Vec::new(),
            risk: RiskDefaults::default(),
            mode: Mode::Safe,
            writes_disabled: false,
            version: "none".to_owned(),
        }
    }
}

/// The layers, in the order in which they are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The person's role.
    Caller,
    /// The backend's grants.
    Grants,
    /// The device owner's ceiling.
    Ceiling,
    /// A rule of the policy.
    Rule,
    /// The default for the call's risk.
    Risk,
}

/// The reason of a layer's decision. Numbers are positions in the question or in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The layer has no objection.
    Fits,
    /// The role may not make calls of this kind.
    Role,
    /// The call asks for a higher role than its person has.
    RoleAbove(Role),
    /// The tool is not listed.
    ToolNotListed,
    /// A capability is not granted.
    CapabilityMissing(Capability),
    /// Read-only mode denies every change.
    ReadOnly,
    /// The backend's configuration denies every change on every device.
    WritesDisabled,
    /// No allowed path covers this path.
    PathOutside {
        /// Position of the touched path.
        touch: usize,
    },
    /// A deny entry covers this path.
    PathDenied {
        /// Position of the touched path.
        touch: usize,
    },
    /// The application is not listed.
    AppNotListed {
        /// Position of the touched application.
        touch: usize,
    },
    /// The command is not listed.
    CommandNotListed {
        /// Position of the touched command.
        touch: usize,
    },
    /// The service is not listed, or not for changes.
    ServiceNotListed {
        /// Position of the touched service.
        touch: usize,
    },
    /// The layer does not list the log.
    LogNotListed {
        /// Position of the touched log.
        touch: usize,
    },
    /// The URL is not plain http(s).
    UrlScheme {
        /// Position of the touched URL.
        touch: usize,
    },
    /// The URL's host and port are not listed.
    UrlHost {
        /// Position of the touched URL.
        touch: usize,
    },
    /// The host is not listed.
    HostNotListed {
        /// Position of the touched host.
        touch: usize,
    },
    /// `confirm: true` is missing.
    ConfirmMissing,
    /// A rule matched.
    Matched {
        /// Position of the rule.
        rule: usize,
    },
    /// A rule matched that only records what it would do.
    Logged {
        /// Position of the rule.
        rule: usize,
    },
    /// The call is reported.
    Notifies {
        /// Position of the rule. `None` where the risk is the reason.
        rule: Option<usize>,
    },
    /// The risk requires a person's approval.
    Asks,
    /// The call's risk is higher than its tool's, and requires a person's approval.
    Raised {
        /// Why the risk is higher.
        raise: RiskRaise,
        /// Position of the touched path that shows it. `None` where no path does.
        touch: Option<usize>,
    },
    /// The risk is one step higher because of untrusted content in the chat, and requires approval.
    AsksForProvenance,
    /// The grants or the ceiling are strict: every change needs a preview and an approval.
    Strict,
}

/// One line of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// The layer that decided this line.
    pub layer: Layer,
    /// The layer's decision.
    pub decision: Decision,
    /// The reason of the decision.
    pub reason: Reason,
}

/// The result of an evaluation, with all its evidence.
#[derive(Debug, Clone)]
pub struct Evaluation {
    decision: Decision,
    evidence: Vec<Evidence>,
    deciding: usize,
    approvers: Approvers,
    preview_first: bool,
    risk: Risk,
    raises: Vec<RiskRaise>,
    content_raises: Vec<ContentRaise>,
}

impl Evaluation {
    /// Returns the decision.
    #[must_use]
    pub const fn decision(&self) -> Decision {
        self.decision
    }

    /// Returns every line of evidence, in order.
    #[must_use]
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// Returns the line that decided.
    #[must_use]
    pub fn deciding(&self) -> Option<&Evidence> {
        self.evidence.get(self.deciding)
    }

    /// Returns who must approve, where approval is required.
    #[must_use]
    pub const fn approvers(&self) -> Approvers {
        self.approvers
    }

    /// Returns the risk that the call was evaluated with.
    #[must_use]
    pub const fn risk(&self) -> Risk {
        self.risk
    }

    /// Returns why the risk is higher than the tool's, in order; empty where it is not.
    #[must_use]
    pub fn raises(&self) -> &[RiskRaise] {
        &self.raises
    }

    /// Returns why untrusted content in the chat raises the risk by one, in order; empty where it does not.
    #[must_use]
    pub fn content_raises(&self) -> &[ContentRaise] {
        &self.content_raises
    }

    /// Returns whether nobody can approve without having been shown a preview.
    #[must_use]
    pub const fn preview_first(&self) -> bool {
        self.preview_first
    }
}

/// Returns who may approve a call of this risk. Critical calls need an admin other than the requester,
/// if there is another.
#[must_use]
pub const fn approvers_of(risk: Risk) -> Approvers {
    let (role, second_if_any) = match risk {
        Risk::Critical => (Role::Admin, true),
        Risk::Low | Risk::Medium | Risk::High => (Role::Operator, false),
    };
    Approvers { role, count: 1, not_requester: false, second_if_any, reason: false, passkey: false }
}

/// Evaluates one call.
#[must_use]
pub fn evaluate(question: &Question<'_>, policy: &Policy) -> Evaluation {
    let mut evidence = Vec::with_capacity(8);
    let lifted = policy.mode.lifts(question.at);
    layers::caller(question, &mut evidence);
    layers::writes(question, policy, &mut evidence);
    layers::scope(question, &policy.grants, Layer::Grants, lifted, &mut evidence);
    if let Some(ceiling) = &policy.ceiling {
        layers::scope(question, ceiling, Layer::Ceiling, false, &mut evidence);
    }
    let rules = layers::rules(question, &policy.rules, &mut evidence);
    let risk = layers::risk(question, policy, &rules, &mut evidence);

    // The first of the strictest: earlier layers give the reason that helps the caller most.
    let strictest = evidence.iter().enumerate().rev().max_by_key(|(_, line)| line.decision);
    let decision = strictest.map(|(_, line)| line.decision);
    let mut deciding = strictest.map_or(0, |(index, _)| index);
    if let (Some(Decision::Allow), Some(line)) = (decision, risk.saved_by) {
        // Without this line a person would have been asked.
        deciding = line;
    }
    let preview_first = rules.preview_first
        || evidence
            .iter()
            .any(|line| line.decision == Decision::DryRunFirst || line.reason == Reason::Strict);
    Evaluation {
        decision: decision.unwrap_or(Decision::Deny),
        evidence,
        deciding,
        approvers: rules
            .approvers
            .and(Approvers { passkey: policy.risk.signs(risk.risk), ..approvers_of(risk.risk) }),
        preview_first,
        risk: risk.risk,
        raises: risk.raises.into_iter().map(|(raise, _)| raise).collect(),
        content_raises: risk.content_raises,
    }
}
