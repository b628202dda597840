//! What each layer has to say of a question.

use super::{Decision, Evidence, Layer, Mode, Question, Reason};
use crate::caller::Role;
use crate::grants::Scope;
use crate::risk::Risk;
use crate::rule::{Rule, RuleAction};
use crate::touches::{Access, Touches};

/// The role of the person.
pub(super) fn caller(question: &Question<'_>, evidence: &mut Vec<Evidence>) {
    let fits = match question.caller.role {
        Role::Viewer => question.tool.risk == Risk::Low && !question.tool.has_effects,
        Role::Operator | Role::Admin => true,
    };
    evidence.push(if fits {
        Evidence { layer: Layer::Caller, decision: Decision::Allow, reason: Reason::Fits }
    } else {
        Evidence { layer: Layer::Caller, decision: Decision::Deny, reason: Reason::Role }
    });
}

/// Grants or ceiling.
pub(super) fn scope(
    question: &Question<'_>,
    scope: &Scope,
    layer: Layer,
    mode: Mode,
    evidence: &mut Vec<Evidence>,
) {
    let before = evidence.len();
    let mut deny = |reason| evidence.push(Evidence { layer, decision: Decision::Deny, reason });

    if mode == Mode::Safe {
        if !scope.lists_tool(question.tool.name) {
            deny(Reason::ToolNotListed);
        }
        if let Some(missing) = scope.missing_capability(question.tool.capabilities) {
            deny(Reason::CapabilityMissing(missing));
        }
    }
    if scope.read_only && question.tool.has_effects && !question.dry_run {
        deny(Reason::ReadOnly);
    }
    if let Some(touches) = question.touches {
        touched(touches, scope, &mut deny);
    }
    if evidence.len() == before {
        evidence.push(Evidence { layer, decision: Decision::Allow, reason: Reason::Fits });
    }
}

fn touched(touches: &Touches, scope: &Scope, deny: &mut impl FnMut(Reason)) {
    for (touch, path) in touches.paths.iter().enumerate() {
        // Whoever may write or delete a path sees by the answer whether it is there, so reading is
        // not asked for besides.
        if scope.deny_all_paths || scope.denying_touch(path).is_some() {
            deny(Reason::PathDenied { touch });
        } else if scope.covering(&path.path, path.access).is_none() {
            deny(Reason::PathOutside { touch });
        } else if path.access == Access::Delete && scope.holds_ground(&path.path) {
            // It would take the grant's own ground away, or what the grant does not reach.
            deny(Reason::PathOutside { touch });
        }
    }
    for (touch, app) in touches.apps.iter().enumerate() {
        if !scope.apps.contains(app) {
            deny(Reason::AppNotListed { touch });
        }
    }
    for (touch, url) in touches.urls.iter().enumerate() {
        let lower = url.get(..8).unwrap_or(url).to_ascii_lowercase();
        if !(lower.starts_with("http://") || lower.starts_with("https://")) {
            deny(Reason::UrlScheme { touch });
        }
    }
}

/// Rules across devices; whether one pre-approves the call.
pub(super) fn rules(
    question: &Question<'_>,
    rules: &[Rule],
    evidence: &mut Vec<Evidence>,
) -> Option<usize> {
    let mut preapproved = None;
    for (index, rule) in rules.iter().enumerate() {
        if !rule.matches(question.tool.name, question.device) {
            continue;
        }
        let decision = match rule.action {
            RuleAction::Deny => Decision::Deny,
            // A preview needs no person.
            RuleAction::Ask | RuleAction::DryRunFirst if question.dry_run => Decision::Allow,
            RuleAction::Ask => Decision::Ask,
            RuleAction::DryRunFirst => Decision::DryRunFirst,
            RuleAction::Preapprove => {
                preapproved = preapproved.or(Some(index));
                Decision::Allow
            }
        };
        evidence.push(Evidence {
            layer: Layer::Rule,
            decision,
            reason: Reason::Matched { rule: index },
        });
    }
    preapproved
}

/// What the risk asks for. A preview changes nothing, so it asks for nothing.
pub(super) fn risk(
    question: &Question<'_>,
    preapproved: Option<usize>,
    evidence: &mut Vec<Evidence>,
) {
    let mut line = |decision, reason| {
        evidence.push(Evidence { layer: Layer::Risk, decision, reason });
    };
    if question.dry_run || !question.tool.risk.is_dangerous() {
        line(Decision::Allow, Reason::Fits);
    } else if question.touches.is_some() && !question.confirmed {
        line(Decision::Deny, Reason::ConfirmMissing);
    } else if preapproved.is_some() {
        line(Decision::Allow, Reason::Fits);
    } else {
        line(Decision::Ask, Reason::Asks);
    }
}
