//! Hints for a call that does not run: the smallest change for each line of evidence that denies it, and who
//! can make the change.

mod denied;
mod quote;

use std::collections::BTreeSet;

use quote::{for_shell, quoted};

use super::{Decision, Evaluation, Evidence, Layer, Policy, Question, Reason};
use crate::caller::Role;
use crate::grants::{AllowedPath, Profile, Scope};
use crate::hint::{Actor, Hint};
use crate::hosts::address_of;
use crate::path::DevicePath;
use crate::rule::{Approvers, Rule};
use crate::strip_hidden;
use crate::touches::{Access, PathTouch};

impl Evaluation {
    /// Returns the changes that would let the call run. Empty when it runs; one hint when no
    /// change would.
    #[must_use]
    pub fn hints(&self, question: &Question<'_>, policy: &Policy) -> Vec<Hint> {
        let mut hints: Vec<Hint> = Vec::new();
        for line in self.evidence().iter().filter(|line| line.decision == Decision::Deny) {
            let hint = line.hint(question, policy);
            // A change that does not make the call run would only open what somebody closed.
            if hint.who == Actor::Nobody || line.holds_ground(question, policy) {
                return vec![hint];
            }
            for hint in [Some(hint), line.workspace(question, policy)].into_iter().flatten() {
                if !hints.contains(&hint) {
                    hints.push(hint);
                }
            }
        }
        let asks = matches!(self.decision(), Decision::Ask | Decision::DryRunFirst);
        if asks {
            hints.push(approval(self.approvers(), self.preview_first(), question));
        }
        hints
    }
}

fn approval(approvers: Approvers, preview_first: bool, question: &Question<'_>) -> Hint {
    let Approvers { role, count, not_requester, second_if_any, reason, passkey } = approvers;
    let who = match (role, count) {
        (Role::Admin, 0 | 1) => "an admin must approve it".to_owned(),
        (Role::Viewer | Role::Operator, 0 | 1) => "an operator or admin must approve it".to_owned(),
        (Role::Admin, count) => format!("{count} admins must approve it"),
        (Role::Viewer | Role::Operator, count) => {
            format!("{count} operators or admins must approve it")
        }
    };
    let user = &question.caller.user;
    let but = match (not_requester, second_if_any) {
        (true, _) => format!(", {user} not counted"),
        (false, true) => format!(", another than {user} if there is one"),
        (false, false) => String::new(),
    };
    let preview = if preview_first { ", having seen a preview" } else { "" };
    let reason = if reason { ", with a reason" } else { "" };
    let passkey = if passkey { ", with a passkey on the page" } else { "" };
    Hint::new(format!("{who}{but}{preview}{reason}{passkey}")).by(Actor::Approver)
}

fn admin(change: String, command: impl Into<String>) -> Hint {
    Hint::run(change, command).by(Actor::Admin)
}

fn nobody(change: impl Into<String>) -> Hint {
    Hint::new(change).by(Actor::Nobody)
}

impl Evidence {
    /// Returns the smallest change that would make this line allow the call, where it denies.
    pub(super) fn hint(&self, question: &Question<'_>, policy: &Policy) -> Hint {
        let tool = question.tool.name;
        let touches = question.touches;
        if self.scope(policy).is_some_and(|scope| scope.denied.is_empty()) {
            // Grants that can be read have at least the built-in denies.
            let it = if self.layer == Layer::Ceiling { "it" } else { "them" };
            let (whose, device) = (self.whose(), question.device);
            let change = format!("{whose} {device} cannot be read: write {it} again");
            return self.change(question, change);
        }
        match self.reason {
            Reason::Role if question.role() < question.caller.role => {
                Hint::new("leave the argument `role` out, or make it `operator`")
                    .by(Actor::Requester)
            }
            Reason::RoleAbove(_) => {
                let own = question.caller.role;
                Hint::new(format!("make the argument `role` `{own}`, or leave it out"))
                    .by(Actor::Requester)
            }
            Reason::Role => {
                let user = &question.caller.user;
                admin(
                    format!("give {user} the role operator"),
                    format!("orion users role {user} operator"),
                )
            }
            Reason::ToolNotListed => {
                self.entry(question, &format!("add {tool} to the tools"), &format!("--tool {tool}"))
            }
            Reason::CapabilityMissing(capability) => {
                let profiles = [Profile::Operator, Profile::Developer, Profile::Homelab];
                let has = |it: &Profile| it.capabilities().contains(&capability);
                let scope = self.scope_name(question);
                // A single permission would leave a device that has none with that alone.
                let has_none = self.scope(policy).is_some_and(|it| {
                    it.tools.is_none()
                        && it.capabilities.as_ref().is_none_or(BTreeSet::is_empty)
                        && !it.strict
                });
                let smallest = [Profile::Reader].into_iter().chain(profiles).find(has);
                if let Some(profile) = smallest.filter(|_| has_none) {
                    let change = format!("give {scope} the profile {profile}");
                    let hint = self.change(question, change);
                    return self.with_options(hint, question, &format!("--profile {profile}"));
                }
                let profile = profiles.into_iter().find(has);
                let profile =
                    profile.map(|it| format!("the profile {it}, or ")).unwrap_or_default();
                let change = format!("give {scope} {profile}the permission {capability}");
                let hint = self.change(question, change);
                self.with_options(hint, question, &format!("--permission {capability}"))
            }
            Reason::ReadOnly => {
                let change = format!("set read_only to false for {}", self.scope_name(question));
                self.change(question, change)
            }
            Reason::WritesDisabled => Hint::new(
                "set read_only to false in [calls] of orion-server.toml, and restart the backend",
            )
            .by(Actor::Admin),
            Reason::PathOutside { touch } => self.path(question, policy, touch),
            Reason::PathDenied { touch } => self.denied(question, policy, touch),
            Reason::AppNotListed { touch } => {
                let app = touches.and_then(|touches| touches.apps.get(touch));
                let app = app.map_or("", String::as_str);
                let options = format!("--app {}", for_shell(app, "APP"));
                self.entry(question, &format!("add {} to the apps", quoted(app)), &options)
            }
            Reason::CommandNotListed { touch } => {
                let command = touches.and_then(|touches| touches.commands.get(touch));
                let program = quoted(command.map_or("", |command| command.program.as_str()));
                self.grant(question, &format!("add {program} to the commands"))
            }
            Reason::ServiceNotListed { touch } => {
                let touched = touches.and_then(|touches| touches.services.get(touch));
                let service = touched.map(|it| it.service.to_string()).unwrap_or_default();
                let change = if touched.is_some_and(|it| self.is_readable(policy, it)) {
                    format!("take read_only from {} in the services", quoted(&service))
                } else {
                    format!("add {} to the services", quoted(&service))
                };
                self.grant(question, &change)
            }
            Reason::LogNotListed { touch } => {
                let service = touches.and_then(|touches| touches.logs.get(touch));
                let service = quoted(&service.map(ToString::to_string).unwrap_or_default());
                self.grant(question, &format!("add {service} to the logs"))
            }
            Reason::UrlScheme { .. } => {
                nobody("no change allows it: only http and https addresses can be opened")
            }
            Reason::UrlHost { touch } => {
                let url = touches.and_then(|touches| touches.urls.get(touch));
                match url.and_then(|url| address_of(url)) {
                    Some(address) => self.host(question, &address.to_string()),
                    None => Hint::new("write the address with its plain host and no user"),
                }
            }
            Reason::HostNotListed { touch } => {
                let host = touches.and_then(|touches| touches.hosts.get(touch));
                self.host(question, &host.map(ToString::to_string).unwrap_or_default())
            }
            Reason::ConfirmMissing => {
                Hint::new("set `confirm` to true in the arguments, if the call is meant")
            }
            Reason::Matched { rule } => policy
                .rules
                .get(rule)
                .map_or_else(|| nobody("no change allows it"), |it| rule_change(&it.rule)),
            Reason::Asks
            | Reason::Raised { .. }
            | Reason::AsksForProvenance
            | Reason::Strict
            | Reason::Logged { .. }
            | Reason::Notifies { .. }
            | Reason::Fits => admin(
                format!("let calls of {} risk run in the policy", question.tool.risk),
                CHANGE_POLICY,
            ),
        }
    }

    /// Describes a change of a key of the grants or of the ceiling.
    fn grant(&self, question: &Question<'_>, change: &str) -> Hint {
        self.change(question, format!("{change} of {}", self.scope_name(question)))
    }

    /// Describes a new entry of the grants or of the ceiling, with the options that add it to the grants.
    fn entry(&self, question: &Question<'_>, change: &str, options: &str) -> Hint {
        let hint = self.grant(question, change);
        self.with_options(hint, question, options)
    }

    /// Names the command that adds an entry to the grants; nobody but the owner changes a ceiling.
    fn with_options(&self, hint: Hint, question: &Question<'_>, options: &str) -> Hint {
        if self.layer == Layer::Ceiling {
            return hint;
        }
        let device = question.device;
        let command = format!("{PERMISSIONS} add {device} {options}");
        Hint { command: Some(command), ..hint }
    }

    fn host(&self, question: &Question<'_>, host: &str) -> Hint {
        let options = format!("--host {}", for_shell(host, "HOST:PORT"));
        self.entry(question, &format!("add {} to the hosts", quoted(host)), &options)
    }

    /// Returns the name of the device or of its ceiling, whose keys are changed.
    fn scope_name(&self, question: &Question<'_>) -> String {
        match self.layer {
            Layer::Ceiling => format!("the ceiling of {}", question.device),
            Layer::Caller | Layer::Grants | Layer::Rule | Layer::Risk => {
                question.device.to_string()
            }
        }
    }

    /// Adds who can change the grants or the ceiling, and how.
    fn change(&self, question: &Question<'_>, change: String) -> Hint {
        match self.layer {
            Layer::Ceiling => {
                Hint::run(change, "edit [ceiling] in agent.toml, which orion-agent status finds")
                    .by(Actor::Owner)
            }
            Layer::Caller | Layer::Grants | Layer::Rule | Layer::Risk => {
                let device = question.device;
                admin(change, format!("{PERMISSIONS} set {device} @FILE"))
            }
        }
    }

    fn path(&self, question: &Question<'_>, policy: &Policy, touch: usize) -> Hint {
        let touched = question.touches.and_then(|touches| touches.paths.get(touch));
        let (Some(touched), Some(scope)) = (touched, self.scope(policy)) else {
            return nobody("no change allows it");
        };
        let Some(root) = smallest_root(scope, touched, question.tool.of_files) else {
            return self.no_root(question, scope, touched);
        };
        let (path, access) = (root.to_string(), touched.access);
        let entry = format!("add {{ path: {}, access: [{access}] }} to the paths", quoted(&path));
        let options = format!("--path {} --access {access}", for_shell(&path, "PATH"));
        let hint = self.entry(question, &entry, &options);
        self.with_owner(hint, || policy.owner_command(&path, access))
    }

    /// Names the owner's command for a change of the ceiling, where there is one.
    fn with_owner(&self, hint: Hint, command: impl FnOnce() -> Option<String>) -> Hint {
        if self.layer != Layer::Ceiling {
            return hint;
        }
        Hint { command: command().or(hint.command), ..hint }
    }

    /// Says where relative paths start, where the grants deny a path there, and have others for the access. Whether
    /// the path was relative is no longer known.
    fn workspace(&self, question: &Question<'_>, policy: &Policy) -> Option<Hint> {
        let Reason::PathOutside { touch } = self.reason else { return None };
        let touched = question.touches?.paths.get(touch)?;
        let start = &policy.ceiling.as_ref()?.allowed.first()?.root;
        let is_there = start.contains(&touched.path)
            && (touched.path.contains(start)
                || touched.path.parent().is_some_and(|parent| parent.contains(start)));
        let grants = &policy.grants;
        let is_granted = grants.covering(start, touched.access).is_some();
        let has_others = grants.allowed.iter().any(|entry| entry.access.contains(&touched.access));
        (self.layer == Layer::Grants && is_there && !is_granted && has_others).then(|| {
            Hint::new(format!(
                "if the path was relative, give a full one: relative paths start in {start}, the first path of the ceiling of {}, which is not granted for {}",
                question.device, touched.access
            ))
        })
    }
}

/// The command that changes the grants of a device.
const PERMISSIONS: &str = "orion devices permissions";
/// How an admin changes a rule.
pub const CHANGE_POLICY: &str =
    "orion policy show > policy.yaml, change it there, then orion policy apply policy.yaml";

/// Returns whether a hint's command changes the grants that a device has of its own.
#[must_use]
pub fn changes_own_grants(command: &str) -> bool {
    command.starts_with(PERMISSIONS)
}

impl Policy {
    /// Returns the owner's command that allows a path in the ceiling. There is none for `execute`.
    fn owner_command(&self, path: &str, access: Access) -> Option<String> {
        let option = match access {
            Access::Read => " --read",
            Access::Write => " --write",
            Access::Delete => "",
            Access::Execute => return None,
        };
        Some(format!("{} allow {}{option}", self.agent(), for_shell(path, "PATH")))
    }

    /// Returns the owner's command that takes a denial of a path back, and allows nothing more.
    fn undo_denial(&self, path: &str) -> String {
        format!("{} deny {} --undo", self.agent(), for_shell(path, "PATH"))
    }

    fn agent(&self) -> String {
        agent_of(self.owner_file.as_ref())
    }
}

/// The longest path that a hint names as the owner's file, in characters.
const MAX_OWNER_FILE: usize = 256;

/// Returns the owner's program, with the option that names the owner's file where it needs one. The device chose the
/// path: one that is long, or not all visible, is left to the owner.
#[must_use]
pub fn agent_of(owner_file: Option<&DevicePath>) -> String {
    let Some(file) = owner_file.map(ToString::to_string) else { return "orion-agent".to_owned() };
    let is_plain = strip_hidden(&file, MAX_OWNER_FILE) == file;
    format!("orion-agent --config {}", for_shell(if is_plain { &file } else { "" }, "FILE"))
}

/// Returns the smallest path to grant for one access: the path itself, or the folder around what is to be
/// deleted, made or opened as a file, because a granted path has to be a folder that stays.
fn smallest_root(scope: &Scope, touched: &PathTouch, is_file: bool) -> Option<DevicePath> {
    let around = touched.path.parent();
    let root = match (touched.access, around) {
        (Access::Delete, around) => around?,
        // Nobody is told to allow a whole disk.
        (Access::Read | Access::Write, Some(folder))
            if is_file && folder.components().len() > 0 =>
        {
            folder
        }
        (Access::Read | Access::Write | Access::Execute, _) => touched.path.clone(),
    };
    let entry = AllowedPath { root: root.clone(), only: None, access: [touched.access].into() };
    let mut with = Scope { allowed: scope.allowed.clone(), ..Scope::nothing() };
    with.allowed.push(entry);
    let helps = with.covering(&touched.path, touched.access).is_some()
        && (touched.access != Access::Delete || !with.holds_ground(&touched.path));
    helps.then_some(root)
}

fn rule_change(rule: &Rule) -> Hint {
    let mut change = format!("change or remove the rule {}", rule.title());
    let mut wait = Vec::new();
    if rule.hours.is_some() {
        wait.push("its hours are over".to_owned());
    }
    if let Some(limit) = rule.limit {
        let calls = if limit.calls == 1 { "call" } else { "calls" };
        let period = period(limit.per_seconds);
        wait.push(format!("there were fewer than {} {calls} in the last {period}", limit.calls));
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
    admin(change, CHANGE_POLICY)
}

/// Formats a period after "the last", in its largest whole unit: `hour`, `2 days`, `90 seconds`.
fn period(seconds: u32) -> String {
    const UNITS: [(u32, &str); 3] = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let whole = UNITS.iter().find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit));
    let (unit, name) = whole.copied().unwrap_or((1, "second"));
    match seconds / unit {
        1 => name.to_owned(),
        count => format!("{count} {name}s"),
    }
}
