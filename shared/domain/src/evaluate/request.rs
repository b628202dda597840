//! The smallest temporary grant that would let a denied call run, for a person who asks for access.

use super::{Decision, Evaluation, Evidence, Layer, Policy, Question, Reason, evaluate};
use crate::grants::{CommandGrant, LogGrant, PathGrant, ServiceGrant};
use crate::hint::Hint;
use crate::hosts::address_of;
use crate::path::{DevicePath, PathStyle};
use crate::temporary::TemporaryGrant;
use crate::touches::{CommandTouch, PathTouch, Touches};

/// The most that one request asks for, in lines of its card.
const MAX_LINES: usize = 20;
/// The most bytes of these lines, so that a list of all requests fits one answer.
const MAX_BYTES: usize = 4 * 1024;

fn too_much() -> NotGrantable {
    NotGrantable::Blocked(vec![Hint::new("touch less in one call, and ask for that")])
}

/// Why no temporary grant would let a call run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotGrantable {
    /// The grants of the device do not deny it.
    NotNeeded,
    /// Something denies it that no such grant lifts. What would help, with who can do it.
    Blocked(Vec<Hint>),
}

impl Evaluation {
    /// Returns the smallest temporary grant that would let this very call run, with an approval where one is
    /// needed. `request` and `expires_at` are the grant's own.
    ///
    /// # Errors
    /// No such grant would.
    pub fn temporary_grant(
        &self,
        question: &Question<'_>,
        policy: &Policy,
        style: PathStyle,
        (request, expires_at): (String, i64),
    ) -> Result<TemporaryGrant, NotGrantable> {
        let (user, tool) = (question.caller.user.clone(), question.tool.name.to_owned());
        let mut grant = TemporaryGrant::new(request, user, tool, expires_at);
        let mut blocked = Vec::new();
        let mut is_needed = false;
        let is_tool_denied = |line: &&Evidence| {
            matches!(line.reason, Reason::ToolNotListed | Reason::CapabilityMissing(_))
        };
        if let Some(touches) = question.touches
            && denials(self).any(|line| is_tool_denied(&line))
            && !add_touches(&mut grant, touches, style)
        {
            return Err(NotGrantable::Blocked(Vec::new()));
        }
        for line in denials(self) {
            if grant.count() > MAX_LINES {
                return Err(too_much());
            }
            if line.layer == Layer::Grants && line.add_to(&mut grant, question, policy, style) {
                is_needed = true;
            } else {
                blocked.push(line.hint(question, policy));
            }
        }
        if !blocked.is_empty() || question.tool.called.is_some() {
            return Err(NotGrantable::Blocked(blocked));
        }
        if grant.lines().iter().map(String::len).sum::<usize>() > MAX_BYTES {
            return Err(too_much());
        }
        if !is_needed {
            return Err(NotGrantable::NotNeeded);
        }
        let left = denials_with(question, policy, grant.clone(), style);
        if left.is_empty() { Ok(grant) } else { Err(NotGrantable::Blocked(left)) }
    }
}

/// Returns what would help against each line that denies a call although a temporary grant widens the policy.
/// Empty if the call would run, with an approval where one is needed.
#[must_use]
pub fn denials_with(
    question: &Question<'_>,
    policy: &Policy,
    grant: TemporaryGrant,
    style: PathStyle,
) -> Vec<Hint> {
    let granted = policy.with_grant(grant, style, &question.tool, question.at);
    let after = evaluate(question, &granted);
    denials(&after).map(|line| line.hint(question, &granted)).collect()
}

/// Returns the lines that deny, but for a missing `confirm: true`, which the caller adds.
fn denials(evaluation: &Evaluation) -> impl Iterator<Item = &Evidence> {
    let lines = evaluation.evidence().iter();
    lines.filter(|it| it.decision == Decision::Deny && it.reason != Reason::ConfirmMissing)
}

/// Adds everything that a call touches, because nothing else may be touched by a tool that the grants deny. Returns
/// `false` where something of it cannot be granted.
fn add_touches(grant: &mut TemporaryGrant, touches: &Touches, style: PathStyle) -> bool {
    if touches.paths.len() > MAX_LINES || touches.commands.len() > MAX_LINES {
        return false;
    }
    grant.apps.extend(touches.apps.iter().cloned());
    touches.commands.iter().for_each(|command| add_command(grant, command));
    for touched in &touches.services {
        let (service, read_only) = (touched.service.clone(), !touched.changes);
        grant.services.insert(ServiceGrant { service, read_only });
    }
    grant.logs.extend(touches.logs.iter().cloned().map(LogGrant));
    grant.hosts.extend(touches.hosts.iter().map(ToString::to_string));
    grant
        .hosts
        .extend(touches.urls.iter().filter_map(|url| address_of(url)).map(|it| it.to_string()));
    touches.paths.iter().all(|touched| add_path(grant, touched, style))
}

fn add_path(grant: &mut TemporaryGrant, touched: &PathTouch, style: PathStyle) -> bool {
    let path = touched.path.to_string();
    // What is granted is what was written, or nothing.
    if DevicePath::parse(style, &path).as_ref() != Ok(&touched.path) {
        return false;
    }
    match grant.paths.iter_mut().find(|known| known.path == path) {
        Some(known) => drop(known.access.insert(touched.access)),
        None => grant.paths.push(PathGrant { path, access: [touched.access].into() }),
    }
    true
}

fn add_command(grant: &mut TemporaryGrant, command: &CommandTouch) {
    let args = Some(command.arguments.clone());
    let command = CommandGrant { program: command.program.clone(), args };
    if !grant.commands.contains(&command) {
        grant.commands.push(command);
    }
}

impl Evidence {
    /// Adds what this line of the grants misses. Returns `false` where no temporary grant gives it.
    fn add_to(
        &self,
        grant: &mut TemporaryGrant,
        question: &Question<'_>,
        policy: &Policy,
        style: PathStyle,
    ) -> bool {
        let touches = question.touches;
        match self.reason {
            Reason::ToolNotListed => true,
            Reason::CapabilityMissing(_) => {
                let needed = question.tool.capabilities.iter().copied();
                let held = policy.grants.capabilities.as_ref();
                grant
                    .capabilities
                    .extend(needed.filter(|it| held.is_some_and(|held| !held.contains(it))));
                true
            }
            Reason::PathOutside { touch } => {
                let touched = touches.and_then(|touches| touches.paths.get(touch));
                touched.is_some_and(|touched| add_path(grant, touched, style))
            }
            Reason::AppNotListed { touch } => {
                let app = touches.and_then(|touches| touches.apps.get(touch));
                let Some(app) = app else { return false };
                grant.apps.insert(app.clone());
                true
            }
            Reason::CommandNotListed { touch } => {
                let command = touches.and_then(|touches| touches.commands.get(touch));
                // Without a list, a program is left out because it gives the whole machine.
                let (Some(command), Some(_)) = (command, &policy.grants.commands) else {
                    return false;
                };
                add_command(grant, command);
                true
            }
            Reason::ServiceNotListed { touch } => {
                let touched = touches.and_then(|touches| touches.services.get(touch));
                let Some(touched) = touched else { return false };
                let (service, read_only) = (touched.service.clone(), !touched.changes);
                grant.services.insert(ServiceGrant { service, read_only });
                true
            }
            Reason::LogNotListed { touch } => {
                let service = touches.and_then(|touches| touches.logs.get(touch));
                let Some(service) = service else { return false };
                grant.logs.insert(LogGrant(service.clone()));
                true
            }
            Reason::UrlHost { touch } => {
                let url = touches.and_then(|touches| touches.urls.get(touch));
                let Some(address) = url.and_then(|url| address_of(url)) else { return false };
                grant.hosts.insert(address.to_string());
                true
            }
            Reason::HostNotListed { touch } => {
                let host = touches.and_then(|touches| touches.hosts.get(touch));
                let Some(host) = host else { return false };
                grant.hosts.insert(host.to_string());
                true
            }
            Reason::PathDenied { .. }
            | Reason::ReadOnly
            | Reason::WritesDisabled
            | Reason::UrlScheme { .. }
            | Reason::Fits
            | Reason::Role
            | Reason::RoleAbove(_)
            | Reason::ConfirmMissing
            | Reason::Matched { .. }
            | Reason::Logged { .. }
            | Reason::Notifies { .. }
            | Reason::Asks
            | Reason::Raised { .. }
            | Reason::AsksForProvenance
            | Reason::Strict => false,
        }
    }
}
