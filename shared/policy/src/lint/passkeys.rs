//! Reports what needs more passkeys than people have.

use orion_domain::evaluate::approvers_of;
use orion_domain::rule::Approvers;
use orion_domain::{Risk, Role};

use super::LintContext;
use crate::file::PolicyFile;
use crate::finding::{Code, Findings, Position};

/// Checks each rule and each risk whose approvers sign, where it is known who has a passkey.
pub(super) fn check(policy: &PolicyFile, environment: &LintContext, findings: &mut Findings) {
    let Some(holders) = &environment.passkeys else { return };
    for entry in policy.rules.iter().filter(|entry| entry.rule.approvers.passkey) {
        few(entry.rule.approvers, "this rule matches", holders, entry.at, findings);
    }
    let Some(at) = policy.risk_at else { return };
    for (risk, what) in [(Risk::High, "is of high risk"), (Risk::Critical, "is of critical risk")] {
        if policy.risk.signs(risk) {
            few(approvers_of(risk), what, holders, at, findings);
        }
    }
}

fn few(approvers: Approvers, what: &str, holders: &[Role], at: Position, findings: &mut Findings) {
    let role = approvers.role;
    let able = holders.iter().filter(|held| **held >= role).count();
    let who = match able {
        able if able >= usize::from(approvers.count.max(1)) => return,
        0 => format!("Nobody with the role {role} or more has a passkey"),
        1 => format!("Only one person with the role {role} or more has a passkey"),
        able => format!("Only {able} people with the role {role} or more have a passkey"),
    };
    let message = format!("{who}, so no call that {what} can be approved.");
    let hint = "Let approvers register one on the page under People, before this counts.";
    findings.warning(at, Code::NoPasskey, message, hint);
}
