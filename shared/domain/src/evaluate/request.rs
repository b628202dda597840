//! The smallest temporary grant that would let a denied call run, for a person who asks for access.

use super::{Decision, Evaluation, Evidence, Layer, Policy, Question, Reason, evaluate};
use crate::grants::{CommandGrant, LogGrant, PathGrant, ServiceGrant};
use crate::hint::Hint;
use crate::hosts::address_of;
use crate::path::{DevicePath, PathStyle};
use crate::temporary::TemporaryGrant;

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
        for line in denials(self) {
            if line.layer == Layer::Grants && line.add_to(&mut grant, question, policy, style) {
                is_needed = true;
            } else {
                blocked.push(line.hint(question, policy));
            }
        }
        if !blocked.is_empty() || question.tool.called.is_some() {
            return Err(NotGrantable::Blocked(blocked));
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
    let granted = policy.with_grant(grant, style);
    let after = evaluate(question, &granted);
    denials(&after).map(|line| line.hint(question, &granted)).collect()
}

/// Returns the lines that deny, but for a missing `confirm: true`, which the caller adds.
fn denials(evaluation: &Evaluation) -> impl Iterator<Item = &Evidence> {
    let lines = evaluation.evidence().iter();
    lines.filter(|it| it.decision == Decision::Deny && it.reason != Reason::ConfirmMissing)
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
                let Some(touched) = touched else { return false };
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
                let args = Some(command.arguments.clone());
                grant.commands.push(CommandGrant { program: command.program.clone(), args });
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
