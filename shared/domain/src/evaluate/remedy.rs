//! Remedies for a denied call: the smallest change for each line that denies it, and who may make the
//! change.

use std::fmt;

use serde::Serialize;

use super::{Decision, Evaluation, Evidence, Layer, Policy, Question, Reason};
use crate::caller::Role;
use crate::grants::{AllowedPath, Scope, address_of};
use crate::path::{BuiltInKind, DevicePath};
use crate::rule::{Approvers, Rule};
use crate::touches::{Access, PathTouch};

/// Who can make a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RemedyOwner {
    /// The requester, by changing the call.
    Requester,
    /// A person who may approve the call.
    Approver,
    /// An admin of the backend.
    Admin,
    /// The device's owner, on the device.
    Owner,
    /// Nobody can.
    Nobody,
}

/// One change. A call denied by several lines needs one change for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// What to change, such as `add { path: "C:/x", access: [write] } to the paths of laptop-123`.
    pub change: String,
    /// Who can make the change.
    pub who: RemedyOwner,
    /// The command or file that makes the change. Empty where there is nothing to do.
    pub how: String,
}

/// Formats one line: the change, then who makes it and where.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { change, who, how } = self;
        let by = match who {
            RemedyOwner::Requester | RemedyOwner::Approver | RemedyOwner::Nobody => {
                return f.write_str(change);
            }
            RemedyOwner::Admin => "an admin of this backend",
            RemedyOwner::Owner => "the owner of the device",
        };
        write!(f, "{change} ({by}: {how})")
    }
}

impl Evaluation {
    /// Returns the changes that would let the call run. Empty when it runs; one remedy by
    /// [`RemedyOwner::Nobody`] when no change would.
    #[must_use]
    pub fn remedies(&self, question: &Question<'_>, policy: &Policy) -> Vec<Remedy> {
        let mut remedies: Vec<Remedy> = Vec::new();
        for line in self.evidence().iter().filter(|line| line.decision == Decision::Deny) {
            let remedy = line.remedy(question, policy);
            if remedy.who == RemedyOwner::Nobody {
                return vec![remedy];
            }
            if !remedies.contains(&remedy) {
                remedies.push(remedy);
            }
        }
        let asks = matches!(self.decision(), Decision::Ask | Decision::DryRunFirst);
        if asks {
            remedies.push(approval(self.approvers(), self.preview_first(), question));
        }
        remedies
    }
}

fn approval(approvers: Approvers, preview_first: bool, question: &Question<'_>) -> Remedy {
    let Approvers { role, count, not_requester, second_if_any, reason } = approvers;
    let who = match (role, count) {
        (Role::Admin, 0 | 1) => "an admin approves it".to_owned(),
        (Role::Viewer | Role::Operator, 0 | 1) => "an operator or admin approves it".to_owned(),
        (Role::Admin, count) => format!("{count} admins approve it"),
        (Role::Viewer | Role::Operator, count) => format!("{count} operators or admins approve it"),
    };
    let user = &question.caller.user;
    let but = match (not_requester, second_if_any) {
        (true, _) => format!(", {user} not counted"),
        (false, true) => format!(", another than {user} if there is one"),
        (false, false) => String::new(),
    };
    let preview = if preview_first { ", having seen a preview" } else { "" };
    let reason = if reason { ", with a reason" } else { "" };
    Remedy {
        change: format!("{who}{but}{preview}{reason}"),
        who: RemedyOwner::Approver,
        how: "orion approvals approve".to_owned(),
    }
}

fn nobody(change: impl Into<String>) -> Remedy {
    Remedy { change: change.into(), who: RemedyOwner::Nobody, how: String::new() }
}

fn requester(change: impl Into<String>) -> Remedy {
    Remedy { change: change.into(), who: RemedyOwner::Requester, how: String::new() }
}

impl Evidence {
    /// Returns the smallest change that would make this line allow the call, where it denies.
    fn remedy(&self, question: &Question<'_>, policy: &Policy) -> Remedy {
        let tool = question.tool.name;
        let touches = question.touches;
        if self.scope(policy).is_some_and(|scope| scope.denied.is_empty()) {
            // Grants that can be read have at least the built-in denies.
            return self.grant(question, "none can be read: write the grants");
        }
        match self.reason {
            Reason::Role => Remedy {
                change: format!("give {} the role operator", question.caller.user),
                who: RemedyOwner::Admin,
                how: "orion users".to_owned(),
            },
            Reason::ToolNotListed => self.grant(question, &format!("add {tool} to the tools")),
            Reason::CapabilityMissing(capability) => {
                self.grant(question, &format!("add {capability} to the capabilities"))
            }
            Reason::ReadOnly => self.grant(question, "switch off the read_only"),
            Reason::PathOutside { touch } => self.path(question, policy, touch),
            Reason::PathDenied { touch } => self.denied(question, policy, touch),
            Reason::AppNotListed { touch } => {
                let app = touches.and_then(|touches| touches.apps.get(touch));
                let app = quoted(app.map_or("", String::as_str));
                self.grant(question, &format!("add {app} to the apps"))
            }
            Reason::UrlScheme { .. } => {
                nobody("no change would: only http and https addresses can be opened")
            }
            Reason::UrlHost { touch } => {
                let url = touches.and_then(|touches| touches.urls.get(touch));
                match url.and_then(|url| address_of(url)) {
                    Some(address) => {
                        let host = quoted(&address.to_string());
                        self.grant(question, &format!("add {host} to the hosts"))
                    }
                    None => requester("write the address with its plain host and no user"),
                }
            }
            Reason::ConfirmMissing => requester("say confirm: true in the arguments"),
            Reason::Matched { rule } => policy
                .rules
                .get(rule)
                .map_or_else(|| nobody("no change would"), |it| rule_change(&it.rule)),
            Reason::Asks
            | Reason::Raised { .. }
            | Reason::AsksForProvenance
            | Reason::Strict
            | Reason::Fits => Remedy {
                change: format!("let calls of {} risk run in the policy", question.tool.risk),
                who: RemedyOwner::Admin,
                how: "orion policy apply".to_owned(),
            },
        }
    }

    /// Describes a change of the grants or of the ceiling.
    fn grant(&self, question: &Question<'_>, change: &str) -> Remedy {
        let device = question.device;
        match self.layer {
            Layer::Ceiling => Remedy {
                change: format!("{change} of the ceiling of {device}"),
                who: RemedyOwner::Owner,
                how: "[ceiling] in agent.toml on the device".to_owned(),
            },
            Layer::Caller | Layer::Grants | Layer::Rule | Layer::Risk => Remedy {
                change: format!("{change} of {device}"),
                who: RemedyOwner::Admin,
                how: format!("orion devices permissions set {device}, or the policy file"),
            },
        }
    }

    fn path(&self, question: &Question<'_>, policy: &Policy, touch: usize) -> Remedy {
        let touched = question.touches.and_then(|touches| touches.paths.get(touch));
        let (Some(touched), Some(scope)) = (touched, self.scope(policy)) else {
            return nobody("no change would");
        };
        let Some(root) = smallest_root(scope, touched) else {
            return requester(format!(
                "delete what is in {} instead: neither an allowed path nor a system folder can go",
                touched.path
            ));
        };
        let (path, access) = (quoted(&root.to_string()), touched.access);
        let entry = format!("add {{ path: {path}, access: [{access}] }} to the paths");
        self.grant(question, &entry)
    }

    fn denied(&self, question: &Question<'_>, policy: &Policy, touch: usize) -> Remedy {
        let touched = question.touches.and_then(|touches| touches.paths.get(touch));
        let (Some(touched), Some(scope)) = (touched, self.scope(policy)) else {
            return nobody("no change would");
        };
        let against: Vec<_> = scope.denied.own().filter(|it| it.refuses(touched)).collect();
        let refusing = scope.denied.built_in_against(&touched.path, touched.access);
        if let Some((kind, entry)) = refusing.and_then(|entry| Some((entry.built_in?, entry))) {
            if kind == BuiltInKind::OwnState || entry.pattern.root().is_some() {
                return nobody(format!(
                    "no change would: {} is kept out on every device from the start",
                    entry.pattern
                ));
            }
            let path = quoted(&touched.path.to_string());
            let change = format!(
                "name the file itself, which {} keeps out from the start: add {{ path: {path}, access: [{}] }} to the paths",
                entry.pattern, touched.access
            );
            return self.grant(question, &change);
        }
        if scope.deny_all_paths {
            return self.grant(question, "correct the entry that cannot be read in the deny_paths");
        }
        let entries: Vec<_> = against.iter().map(|entry| quoted(entry.pattern.as_text())).collect();
        self.grant(question, &format!("take {} out of the deny_paths", entries.join(", ")))
    }
}

/// Returns the smallest path to grant for one access: the path itself, or the parent folder of what is
/// to be deleted, because a granted root cannot be deleted.
fn smallest_root(scope: &Scope, touched: &PathTouch) -> Option<DevicePath> {
    let root = match touched.access {
        Access::Read | Access::Write | Access::Execute => touched.path.clone(),
        Access::Delete => touched.path.parent()?,
    };
    let entry = AllowedPath { root: root.clone(), access: [touched.access].into() };
    let mut with = Scope { allowed: scope.allowed.clone(), ..Scope::nothing() };
    with.allowed.push(entry);
    let helps = with.covering(&touched.path, touched.access).is_some()
        && (touched.access != Access::Delete || !with.holds_ground(&touched.path));
    helps.then_some(root)
}

fn rule_change(rule: &Rule) -> Remedy {
    let mut change = format!("change or remove the rule {}", rule.title());
    let mut wait = Vec::new();
    if rule.hours.is_some() {
        wait.push("its hours are over".to_owned());
    }
    if let Some(limit) = rule.limit {
        wait.push(format!("fewer than {} calls lie in {} seconds", limit.calls, limit.per_seconds));
    }
    if rule.expires_at.is_some() {
        wait.push("it expires".to_owned());
    }
    if !wait.is_empty() {
        change = format!("{change}, or wait until {}", wait.join(" or "));
    }
    if rule.above.is_some() {
        change.push_str(", or touch less at once");
    }
    Remedy { change, who: RemedyOwner::Admin, how: "orion policy apply".to_owned() }
}

/// Quotes text so that both YAML and TOML read it back.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
