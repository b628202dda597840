//! The evidence that each layer adds to an evaluation.

use super::{Decision, Evidence, Layer, Policy, Question, Reason};
use crate::caller::Role;
use crate::grants::Scope;
use crate::raise::{ContentRaise, RiskRaise};
use crate::risk::Risk;
use crate::rule::{Approvers, CompiledRule, RuleAction};
use crate::touches::{Access, PathTouch, Touches};

/// Evaluates the person's role.
pub(super) fn caller(question: &Question<'_>, evidence: &mut Vec<Evidence>) {
    let fits = match question.role() {
        Role::Viewer => question.tool.risk == Risk::Low && !question.tool.has_effects,
        Role::Operator | Role::Admin => true,
    };
    let (decision, reason) = match question.tool.role {
        Some(role) if role > question.caller.role => (Decision::Deny, Reason::RoleAbove(role)),
        Some(_) | None if !fits => (Decision::Deny, Reason::Role),
        Some(_) | None => (Decision::Allow, Reason::Fits),
    };
    evidence.push(Evidence { layer: Layer::Caller, decision, reason });
}

/// Evaluates the backend's switch against all changes.
pub(super) fn writes(question: &Question<'_>, policy: &Policy, evidence: &mut Vec<Evidence>) {
    if policy.writes_disabled && question.changes() {
        let (layer, reason) = (Layer::Grants, Reason::WritesDisabled);
        evidence.push(Evidence { layer, decision: Decision::Deny, reason });
    }
}

/// Evaluates grants or ceiling. `lifted` skips the tool list and the capabilities.
pub(super) fn scope(
    question: &Question<'_>,
    scope: &Scope,
    layer: Layer,
    lifted: bool,
    evidence: &mut Vec<Evidence>,
) {
    let before = evidence.len();
    let mut deny = |reason| evidence.push(Evidence { layer, decision: Decision::Deny, reason });

    if !lifted {
        let tool = question.tool;
        // An admin has approved the definition of a custom tool, and the owner has written it.
        // Where the capabilities are those of the listed tools, there are none for it.
        let is_custom = tool.is_custom && scope.capabilities.is_some();
        let is_listed = |name| (is_custom && name == tool.name) || scope.lists_tool(name);
        if !tool.names().all(is_listed) {
            deny(Reason::ToolNotListed);
        }
        let called = tool.called.map(|called| called.capabilities).unwrap_or_default();
        let missing = [tool.capabilities, called].map(|needed| scope.missing_capability(needed));
        if let Some(missing) = missing.into_iter().flatten().next() {
            deny(Reason::CapabilityMissing(missing));
        }
    }
    if scope.read_only && question.changes() {
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
        // Write or delete access reveals whether a path exists, so read access is not required in
        // addition.
        if scope.deny_all_paths || scope.denying_touch(path).is_some() {
            deny(Reason::PathDenied { touch });
        } else if scope.covering(&path.path, path.access).is_none() {
            deny(Reason::PathOutside { touch });
        } else if path.access == Access::Delete && scope.holds_ground(&path.path) {
            // The delete would remove the granted root itself, or what the grant does not cover.
            deny(Reason::PathOutside { touch });
        }
    }
    for (touch, app) in touches.apps.iter().enumerate() {
        if !scope.apps.contains(app) {
            deny(Reason::AppNotListed { touch });
        }
    }
    for (touch, command) in touches.commands.iter().enumerate() {
        if !scope.lists_command(command) {
            deny(Reason::CommandNotListed { touch });
        }
    }
    for (touch, service) in touches.services.iter().enumerate() {
        if !scope.lists_service(service) {
            deny(Reason::ServiceNotListed { touch });
        }
    }
    for (touch, service) in touches.logs.iter().enumerate() {
        if !scope.lists_log(service) {
            deny(Reason::LogNotListed { touch });
        }
    }
    for (touch, url) in touches.urls.iter().enumerate() {
        let lower = url.get(..8).unwrap_or(url).to_ascii_lowercase();
        if !(lower.starts_with("http://") || lower.starts_with("https://")) {
            deny(Reason::UrlScheme { touch });
        } else if !scope.lists_host(url) {
            deny(Reason::UrlHost { touch });
        }
    }
    for (touch, address) in touches.hosts.iter().enumerate() {
        if !scope.lists_contact(address) {
            deny(Reason::HostNotListed { touch });
        }
    }
}

/// What the rules decided.
#[derive(Debug, Default)]
pub(super) struct RuleOutcome {
    /// Position of the first pre-approval's line.
    preapproved: Option<usize>,
    /// Position of the first pre-approval's line that also applies with untrusted content in the chat.
    preapproved_tainted: Option<usize>,
    /// Whether a rule that requires approval wants a preview shown with the request.
    pub(super) preview_first: bool,
    /// Who must approve, by the rules that require approval.
    pub(super) approvers: Approvers,
}

/// Evaluates the rules across devices.
pub(super) fn rules(
    question: &Question<'_>,
    rules: &[CompiledRule],
    evidence: &mut Vec<Evidence>,
) -> RuleOutcome {
    let mut outcome = RuleOutcome::default();
    for (index, compiled) in rules.iter().enumerate() {
        if !compiled.speaks(index, question) {
            continue;
        }
        let rule = &compiled.rule;
        let undecided = match (rule.log_only, rule.action) {
            (true, _) => Some(Reason::Logged { rule: index }),
            // A preview does nothing that is worth a notice.
            (false, RuleAction::Notify) if question.is_preview() => continue,
            (false, RuleAction::Notify) => Some(Reason::Notifies { rule: Some(index) }),
            (false, _) => None,
        };
        if let Some(reason) = undecided {
            let (layer, decision) = (Layer::Rule, Decision::Allow);
            evidence.push(Evidence { layer, decision, reason });
            continue;
        }
        let decision = match rule.action {
            RuleAction::Deny => Decision::Deny,
            // A preview needs no approval.
            RuleAction::Ask | RuleAction::DryRunFirst if question.is_preview() => Decision::Allow,
            RuleAction::Ask => Decision::Ask,
            RuleAction::DryRunFirst => shown_first(question),
            RuleAction::Notify => Decision::Allow,
            RuleAction::Preapprove => {
                let line = Some(evidence.len());
                outcome.preapproved = outcome.preapproved.or(line);
                if rule.ignore_provenance {
                    outcome.preapproved_tainted = outcome.preapproved_tainted.or(line);
                }
                Decision::Allow
            }
        };
        if matches!(decision, Decision::Ask | Decision::DryRunFirst) {
            outcome.approvers = outcome.approvers.and(rule.approvers);
            outcome.preview_first |= rule.dry_run_first && question.tool.has_effects;
        }
        evidence.push(Evidence {
            layer: Layer::Rule,
            decision,
            reason: Reason::Matched { rule: index },
        });
    }
    outcome
}

/// Returns the decision for a required preview. A tool without effects has no preview, so a person
/// approves.
const fn shown_first(question: &Question<'_>) -> Decision {
    if question.tool.has_effects { Decision::DryRunFirst } else { Decision::Ask }
}

/// What the risk decided.
#[derive(Debug)]
pub(super) struct RiskOutcome {
    /// The risk that the call was evaluated with.
    pub(super) risk: Risk,
    /// Position of the pre-approval's line that made an approval unnecessary.
    pub(super) saved_by: Option<usize>,
    /// Why the risk is higher than the tool's, each with the position of the touched path that shows it.
    pub(super) raises: Vec<(RiskRaise, Option<usize>)>,
    /// Why untrusted content raises the risk by one.
    pub(super) content_raises: Vec<ContentRaise>,
}

impl RiskOutcome {
    const fn stated(risk: Risk) -> Self {
        Self { risk, saved_by: None, raises: Vec::new(), content_raises: Vec::new() }
    }
}

/// Evaluates the risk. A preview changes nothing, so its risk requires nothing.
pub(super) fn risk(
    question: &Question<'_>,
    policy: &Policy,
    outcome: &RuleOutcome,
    evidence: &mut Vec<Evidence>,
) -> RiskOutcome {
    let (tool, stated) = (&question.tool, question.tool.risk);
    let mut line = |decision, reason| {
        evidence.push(Evidence { layer: Layer::Risk, decision, reason });
    };
    if question.is_preview() {
        line(Decision::Allow, Reason::Fits);
        return RiskOutcome::stated(stated);
    }
    if stated.is_dangerous() && question.touches.is_some() && !question.confirmed {
        line(Decision::Deny, Reason::ConfirmMissing);
        return RiskOutcome::stated(stated);
    }
    let raises = raises(question, policy);
    let least = raises.iter().map(|(raise, _)| raise.risk()).fold(stated, Risk::max);
    let of = |risk| match policy.risk.of(risk) {
        Decision::DryRunFirst => shown_first(question),
        asked @ (Decision::Allow | Decision::Ask | Decision::Deny) => asked,
    };
    // A pre-approval replaces an approval, never a denial, including one that untrusted content causes.
    let ignored = outcome.preapproved_tainted.is_some() && of(least.raised()) != Decision::Deny;
    let content_raises = if ignored { Vec::new() } else { content_raises(question, &raises) };
    let tainted = !content_raises.is_empty();
    let raised = if tainted { least.raised() } else { least };
    // An address that nobody but the content may have chosen can carry anything that the chat has read.
    let unnamed = tainted && requests_unnamed(question, policy);
    // Nor does content from one device decide what changes on another, however small the change is.
    let crosses = content_raises.contains(&ContentRaise::CrossesDevices);
    let risk = if unnamed || crosses { raised.max(Risk::High) } else { raised };
    let preapproved =
        outcome.preapproved_tainted.or_else(|| outcome.preapproved.filter(|_| !tainted));
    // What must be signed each time is not approved beforehand.
    let preapproved = preapproved.filter(|_| !policy.risk.signs(risk));
    let asked = of(risk);
    let saved = preapproved.is_some() && matches!(asked, Decision::Ask | Decision::DryRunFirst);
    let reason = match asked {
        Decision::Allow if policy.risk.notifies(risk) => Reason::Notifies { rule: None },
        Decision::Allow => Reason::Fits,
        Decision::DryRunFirst | Decision::Ask if saved => Reason::Fits,
        Decision::DryRunFirst | Decision::Ask | Decision::Deny if of(stated) == asked => {
            Reason::Asks
        }
        Decision::DryRunFirst | Decision::Ask | Decision::Deny if of(least) == asked => {
            raises.first().map_or(Reason::Asks, |&(raise, touch)| Reason::Raised { raise, touch })
        }
        Decision::DryRunFirst | Decision::Ask | Decision::Deny => Reason::AsksForProvenance,
    };
    line(if saved { Decision::Allow } else { asked }, reason);
    let strict_grants = policy.grants.strict && tool.has_effects;
    // A rule of the backend cannot waive the owner's own approval requirement.
    let owned = policy.ceiling.as_ref().is_some_and(|it| it.strict) && tool.has_effects;
    for (layer, asks) in
        [(Layer::Grants, strict_grants && preapproved.is_none()), (Layer::Ceiling, owned)]
    {
        if asks {
            evidence.push(Evidence { layer, decision: Decision::Ask, reason: Reason::Strict });
        }
    }
    let saved_by = preapproved.filter(|_| strict_grants || saved);
    RiskOutcome { risk, saved_by, raises, content_raises }
}

/// Returns whether the call requests an address that the person has not written in the chat, of a host that the
/// grants do not list.
fn requests_unnamed(question: &Question<'_>, policy: &Policy) -> bool {
    let seen = question.content.is_some_and(|seen| seen.contains(&ContentRaise::SendsOut));
    let is_listed = |url: &String| !policy.grants.hosts.is_empty() && policy.grants.lists_host(url);
    seen && question.touches.is_some_and(|it| !it.urls.iter().all(is_listed))
}

/// Returns why untrusted content in the chat raises the risk of a call, in order; empty where it does not.
fn content_raises(
    question: &Question<'_>,
    raises: &[(RiskRaise, Option<usize>)],
) -> Vec<ContentRaise> {
    let Some(seen) = question.content else { return Vec::new() };
    let tool = &question.tool;
    let raised = |wanted| raises.iter().any(|(raise, _)| *raise == wanted);
    let touched = |has: fn(&Touches) -> bool| question.touches.is_some_and(has);
    let holds = |raise: &ContentRaise| match raise {
        ContentRaise::SendsOut => touched(|it| !it.urls.is_empty() || !it.hosts.is_empty()),
        // The rest is about changes.
        _ if !tool.has_effects => false,
        ContentRaise::CannotBeUndone => !tool.can_undo || raised(RiskRaise::CannotBeUndone),
        ContentRaise::StartsPrograms => {
            tool.is_custom
                || raised(RiskRaise::StartsPrograms)
                || touched(|it| !it.commands.is_empty() || !it.apps.is_empty())
        }
        ContentRaise::CrossesDevices | ContentRaise::Copied => seen.contains(raise),
    };
    ContentRaise::ALL.into_iter().filter(holds).collect()
}

/// Returns why the risk of a call is higher than its tool's, each reason once.
fn raises(question: &Question<'_>, policy: &Policy) -> Vec<(RiskRaise, Option<usize>)> {
    let mut raises = Vec::new();
    if !question.tool.has_effects {
        return raises;
    }
    let paths = question.touches.map_or(&[][..], |touches| &touches.paths);
    let starts =
        |touch: &PathTouch| touch.access == Access::Write && policy.raises_for_writing(&touch.path);
    if let Some(touch) = paths.iter().position(starts) {
        raises.push((RiskRaise::StartsPrograms, Some(touch)));
    }
    for &raise in question.raises {
        if !raises.iter().any(|(known, _)| *known == raise) {
            raises.push((raise, None));
        }
    }
    raises.sort_unstable();
    raises
}
