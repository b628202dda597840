//! The action of a rule and its approvers, in either form.

use orion_domain::Role;
use orion_domain::rule::{Approvers, Rule, RuleAction};

use super::ROLES;
use crate::finding::{Code, Findings};
use crate::read::{self, Fields};
use crate::yaml::Node;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Deny,
    Ask,
    DryRunFirst,
    Allow,
    Notify,
    Log,
}

const VERBS: [(&str, Verb); 6] = [
    ("deny", Verb::Deny),
    ("ask", Verb::Ask),
    ("dry_run_first", Verb::DryRunFirst),
    ("allow", Verb::Allow),
    ("notify", Verb::Notify),
    ("log", Verb::Log),
];

/// What a rule that only logs would do.
const WOULD: [(&str, Verb); 3] =
    [("deny", Verb::Deny), ("ask", Verb::Ask), ("dry_run_first", Verb::DryRunFirst)];

/// Whether an approver must do something.
const REQUIRED: [(&str, bool); 4] =
    [("required", true), ("true", true), ("optional", false), ("false", false)];

/// Reads the action, from `action` and the short form's switches.
pub(super) fn read(fields: &mut Fields<'_>, rule: &mut Rule, findings: &mut Findings) {
    let at = fields.at;
    let verb = fields.take(&["action"], findings);
    let written = verb.and_then(|node| read::word(node, "an action", &VERBS, findings));
    let would = fields.take(&["would"], findings);
    let given = match (written, would) {
        (Some(Verb::Log), None) => Some(Verb::Deny),
        (Some(Verb::Log), Some(node)) => {
            Some(read::word(node, "`would`", &WOULD, findings).unwrap_or(Verb::Deny))
        }
        (other, Some(node)) => {
            let message = "`would` is for rules that only log.";
            findings.error(node.at, Code::Contradiction, message, "Write `action: log`.");
            other
        }
        (other, None) => other,
    };
    rule.log_only = written == Some(Verb::Log);
    let mut switch = |name: &'static str, findings: &mut Findings| {
        let node = fields.take(&[name], findings)?;
        read::flag(node, &format!("`{name}`"), findings)
    };
    let require_approval = switch("require_approval", findings);
    let preview = switch("dry_run_first", findings);
    let ignores = switch("ignore_provenance", findings);
    let approvers = fields.take(&["approvers"], findings);
    let mut contradiction = |message: &str, hint: &str| {
        findings.error(at, Code::Contradiction, message, hint);
    };
    let asks = require_approval == Some(true);
    let previews = preview == Some(true);
    let action = match (given, asks, previews) {
        (Some(Verb::Deny), false, false) => RuleAction::Deny,
        (Some(Verb::Deny), ..) => {
            let hint = "Write `action: ask`, or leave the other keys out.";
            contradiction("A rule that denies asks nobody and previews nothing.", hint);
            RuleAction::Deny
        }
        (Some(Verb::Notify), false, false) => RuleAction::Notify,
        (Some(Verb::Notify), ..) => {
            let hint = "Write `action: ask`, or leave the other keys out.";
            contradiction("A rule that notifies asks nobody and previews nothing.", hint);
            RuleAction::Notify
        }
        (Some(Verb::Ask), ..) if require_approval == Some(false) => {
            let hint = "Leave `require_approval` out, or write `action: allow`.";
            contradiction("`action: ask` and `require_approval: false` say opposite things.", hint);
            RuleAction::Ask
        }
        (Some(Verb::DryRunFirst), ..) if preview == Some(false) => {
            let hint = "Leave `dry_run_first` out.";
            contradiction(
                "`action: dry_run_first` and `dry_run_first: false` say opposite things.",
                hint,
            );
            RuleAction::DryRunFirst
        }
        (Some(Verb::Ask), ..) | (Some(Verb::Allow | Verb::DryRunFirst) | None, true, _) => {
            RuleAction::Ask
        }
        // `log` was replaced by what the rule would do.
        (Some(Verb::Log), ..) => RuleAction::Deny,
        (Some(Verb::DryRunFirst), false, _) | (Some(Verb::Allow) | None, false, true) => {
            RuleAction::DryRunFirst
        }
        (Some(Verb::Allow), false, false) => RuleAction::Preapprove,
        (None, false, false) if require_approval == Some(false) => RuleAction::Preapprove,
        (None, false, false) => {
            if verb.is_none() {
                let hint = "Write `action: deny`, ask, dry_run_first, allow, notify or log.";
                findings.error(at, Code::Missing, "This rule does nothing.", hint);
            }
            RuleAction::Deny
        }
    };
    rule.action = action;
    rule.dry_run_first =
        action == RuleAction::Ask && (previews || given == Some(Verb::DryRunFirst));
    rule.ignore_provenance = ignores == Some(true);
    if ignores == Some(true) && action != RuleAction::Preapprove {
        let message = "`ignore_provenance` is for rules that pre-approve.";
        findings.error(at, Code::Contradiction, message, "Leave it out.");
    }
    let Some(node) = approvers else { return };
    if !matches!(action, RuleAction::Ask | RuleAction::DryRunFirst) {
        let message = "`approvers` is for rules that ask.";
        findings.error(node.at, Code::Contradiction, message, "Write `action: ask`.");
    }
    rule.approvers = self::approvers(node, findings).unwrap_or_default();
}

fn approvers(node: &Node, findings: &mut Findings) -> Option<Approvers> {
    let mut fields = Fields::of(node, "`approvers`", findings)?;
    let mut approvers = Approvers::default();
    if let Some(node) = fields.take(&["role"], findings) {
        // A viewer cannot approve.
        let role =
            read::word(node, "a role that approves", ROLES.get(1..).unwrap_or(&[]), findings);
        approvers.role = role.unwrap_or(Role::Admin);
    }
    if let Some(node) = fields.take(&["count"], findings) {
        let count = read::number(node, "`count`", 1..=9, findings).unwrap_or(1);
        approvers.count = u8::try_from(count).unwrap_or(1);
    }
    if let Some(node) = fields.take(&["not_requester"], findings) {
        approvers.not_requester = read::flag(node, "`not_requester`", findings).unwrap_or(true);
    }
    if let Some(node) = fields.take(&["reason"], findings) {
        approvers.reason = read::word(node, "`reason`", &REQUIRED, findings).unwrap_or(true);
    }
    if let Some(node) = fields.take(&["passkey"], findings) {
        approvers.passkey = read::word(node, "`passkey`", &REQUIRED, findings).unwrap_or(true);
    }
    fields.finish(findings);
    Some(approvers)
}
