//! The decision on a call by the paths that it names, checked again for the real paths. A link inside a
//! granted folder can lead from a path without a rule to one with a rule, and a folder can contain a path
//! with a rule: neither is visible before the disk is read.

use std::sync::Arc;

use orion_catalog::ParsedCall;
#[cfg(target_os = "linux")]
use orion_domain::CalledTool;
use orion_domain::grants::AllowedPath;
use orion_domain::path::PathPattern;
use orion_domain::rule::Moment;
#[cfg(target_os = "linux")]
use orion_domain::touches::CommandTouch;
use orion_domain::touches::PathTouch;
use orion_domain::{
    Access, Caller, CanonicalArguments, Decision, DeviceName, DevicePath, ErrorCode, Evaluation,
    Policy, Question, Risk, RiskRaise, ToolError, ToolFacts, Touches, evaluate,
};
#[cfg(target_os = "linux")]
use serde::{Deserialize, Serialize};
#[cfg(target_os = "linux")]
use serde_json::Value;

/// The decision on one call, with everything that is needed to evaluate it again.
#[derive(Debug, Clone)]
pub struct Verdict {
    policy: Arc<Policy>,
    tool: ToolFacts<'static>,
    caller: Caller,
    device: DeviceName,
    dry_run: bool,
    confirmed: bool,
    at: Moment,
    touches: Touches,
    /// The arguments, where a rule has a condition on them.
    arguments: Option<CanonicalArguments>,
    /// Patterns of rules that did not match the call's paths and would make the decision stricter.
    awaited: Vec<PathPattern>,
    /// The risk from which the person at the device has to be asked, where nobody was. None where somebody was,
    /// or nobody has to be.
    unasked_from: Option<Risk>,
}

impl Verdict {
    /// Returns the verdict on a call, valid for as long as the call runs.
    pub(crate) fn of(question: &Question<'_>, parsed: &ParsedCall, policy: &Arc<Policy>) -> Self {
        let rules = policy.rules.iter().enumerate();
        let awaited = rules.filter_map(|(index, rule)| rule.awaits(index, question)).flatten();
        Self {
            awaited: awaited.cloned().collect(),
            policy: Arc::clone(policy),
            tool: ToolFacts { risk: question.tool.risk, ..parsed.facts },
            caller: question.caller.clone(),
            device: question.device.clone(),
            dry_run: question.dry_run,
            confirmed: question.confirmed,
            at: question.at,
            touches: parsed.touches.clone(),
            arguments: policy
                .rules
                .iter()
                .any(|it| !it.rule.arguments.is_empty())
                .then(|| parsed.arguments.clone()),
            unasked_from: None,
        }
    }

    /// Returns the verdict on a call about which the person at the device was not asked.
    pub(crate) fn unasked_from(self, risk: Option<Risk>) -> Self {
        Self { unasked_from: risk, ..self }
    }

    /// Returns whether the call may change something, or previews a change.
    pub(crate) fn changes(&self) -> bool {
        self.tool.has_effects
    }

    /// Returns whether both the grants and the ceiling grant another tool.
    #[cfg(target_os = "linux")]
    pub(crate) fn grants_tool(&self, spec: &orion_catalog::ToolSpec) -> bool {
        let grants = |scope: &orion_domain::grants::Scope| {
            scope.lists_tool(spec.name) && scope.missing_capability(spec.capabilities).is_none()
        };
        grants(&self.policy.grants) && self.policy.ceiling.as_ref().is_none_or(grants)
    }

    /// Returns the patterns of rules that did not match the call's paths and would be stricter.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = &PathPattern> {
        self.awaited.iter()
    }

    /// Returns whether there is such a pattern.
    pub(crate) fn awaits_any(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Returns whether such a pattern matches this path or a folder above it.
    pub(crate) fn awaits(&self, path: &DevicePath) -> bool {
        self.awaited.iter().any(|pattern| pattern.denies(path))
    }

    /// Evaluates the call again with a path's real place, and rejects it if that decision is stricter.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED`, or the policy's error for the real place.
    pub(crate) fn hold(
        &self,
        asked: &DevicePath,
        access: Access,
        real: &DevicePath,
    ) -> Result<(), ToolError> {
        let is_named = self.touches.paths.iter().any(|touch| touch.path == *asked);
        if is_named && asked == real {
            return Ok(());
        }
        let mut touches = self.touches.clone();
        for touch in touches.paths.iter_mut().filter(|touch| touch.path == *asked) {
            touch.path = real.clone();
        }
        if !is_named {
            touches.paths.push(PathTouch { path: real.clone(), access });
        }
        let policy = self.granting(real);
        // A preview is rejected as well if the call itself would be.
        let ways = if self.dry_run { &[true, false][..] } else { &[false] };
        for &dry_run in ways {
            let before = evaluate(&self.question(&self.touches, dry_run), &self.policy);
            let question = self.question(&touches, dry_run);
            let after = evaluate(&question, &policy);
            if is_stricter(&after, &before) {
                return Err(refusal(asked, real, &after, &question, &policy));
            }
        }
        Ok(())
    }

    /// Evaluates the call again with programs that only the device knows, and rejects it if that decision is
    /// stricter.
    ///
    /// # Errors
    /// `COMMAND_NOT_ALLOWED`, or the policy's error for the programs.
    #[cfg(target_os = "linux")]
    pub(crate) fn hold_commands(&self, commands: Vec<CommandTouch>) -> Result<(), ToolError> {
        let mut touches = self.touches.clone();
        touches.commands.extend(commands);
        // A preview is rejected as well if the call itself would be.
        let ways = if self.dry_run { &[true, false][..] } else { &[false] };
        for &dry_run in ways {
            let before = evaluate(&self.question(&self.touches, dry_run), &self.policy);
            let question = self.question(&touches, dry_run);
            let after = evaluate(&question, &self.policy);
            if is_stricter(&after, &before) {
                let mut error = after.refusal(&question, &self.policy);
                if after.decision() != Decision::Deny {
                    // No person was asked about the programs.
                    error.code = ErrorCode::CommandNotAllowed;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns the policy with the real place granted. The walk to that place checked the grant already,
    /// from the granted folder, which may itself be a link.
    fn granting(&self, real: &DevicePath) -> Policy {
        let mut policy = Policy::clone(&self.policy);
        if let Some(root) = real.parent() {
            let access = [Access::Read, Access::Write, Access::Delete].into();
            let entry = AllowedPath { root, only: None, access };
            policy.grants.allowed.push(entry.clone());
            policy.ceiling.iter_mut().for_each(|ceiling| ceiling.allowed.push(entry.clone()));
        }
        policy
    }

    /// Returns whether the path's name is one that starts programs, without a grant of `execute` there.
    pub(crate) fn raises_for_writing(&self, path: &DevicePath) -> bool {
        self.policy.raises_for_writing(path)
    }

    /// Returns whether the policy allows the call although the disk shows a higher risk at a path: it
    /// grants `execute` there, or a rule pre-approves the call.
    pub(crate) fn allows_raised(&self, raise: RiskRaise, path: &DevicePath) -> bool {
        if raise == RiskRaise::StartsPrograms && self.policy.grants_execute(path) {
            return true;
        }
        let question = Question { raises: &[raise], ..self.question(&self.touches, false) };
        evaluate(&question, &self.policy).decision() == Decision::Allow
    }

    /// Returns whether a reason for a higher risk at a path is one before which the person at the device has to be
    /// asked, and was not. Where the ceiling grants `execute`, the owner has decided.
    pub(crate) fn owner_has_to_know(&self, raise: RiskRaise, path: &DevicePath) -> bool {
        let is_expected = raise == RiskRaise::StartsPrograms && self.policy.grants_execute(path);
        !is_expected && self.unasked_from.is_some_and(|least| raise.risk() >= least)
    }

    fn question<'a>(&'a self, touches: &'a Touches, dry_run: bool) -> Question<'a> {
        Question {
            tool: self.tool,
            touches: Some(touches),
            arguments: self.arguments.as_ref(),
            caller: &self.caller,
            device: &self.device,
            dry_run,
            confirmed: self.confirmed,
            at: self.at,
            content: None,
            raises: &[],
            counted: None,
        }
    }
}

/// A verdict as one process of the agent sends it to another, without the policy.
#[cfg(target_os = "linux")]
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SentVerdict {
    tool: String,
    called: Option<String>,
    risk: Risk,
    has_effects: bool,
    caller: Caller,
    device: DeviceName,
    dry_run: bool,
    confirmed: bool,
    at: Moment,
    paths: Vec<PathTouch>,
    whole: bool,
    /// The arguments as a value, where a rule has a condition on them.
    arguments: Option<Value>,
    awaited: Vec<PathPattern>,
    unasked_from: Option<Risk>,
}

#[cfg(target_os = "linux")]
impl Verdict {
    /// Returns the policy that decided.
    pub(crate) fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Returns the person that the call is made for.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns the verdict to send, for a call that touches paths alone.
    pub(crate) fn to_send(&self) -> SentVerdict {
        SentVerdict {
            tool: self.tool.name.to_owned(),
            called: self.tool.called.map(|called| called.name.to_owned()),
            risk: self.tool.risk,
            has_effects: self.tool.has_effects,
            caller: self.caller.clone(),
            device: self.device.clone(),
            dry_run: self.dry_run,
            confirmed: self.confirmed,
            at: self.at,
            paths: self.touches.paths.clone(),
            whole: self.touches.whole,
            arguments: self.arguments.as_ref().map(|it| it.values().clone()),
            awaited: self.awaited.clone(),
            unasked_from: self.unasked_from,
        }
    }

    /// Returns the verdict that was received, by this policy. `None` for a tool that does not exist.
    pub(crate) fn received(sent: SentVerdict, policy: Arc<Policy>) -> Option<Self> {
        let facts = |name: &str| orion_catalog::find(name).map(|(spec, _)| spec.facts());
        let called = match sent.called {
            Some(called) => {
                let ToolFacts { name, capabilities, .. } = facts(&called)?;
                Some(CalledTool { name, capabilities })
            }
            None => None,
        };
        let (risk, has_effects) = (sent.risk, sent.has_effects);
        let tool = ToolFacts { risk, has_effects, called, ..facts(&sent.tool)? };
        Some(Self {
            policy,
            tool,
            caller: sent.caller,
            device: sent.device,
            dry_run: sent.dry_run,
            confirmed: sent.confirmed,
            at: sent.at,
            touches: Touches { paths: sent.paths, whole: sent.whole, ..Touches::default() },
            arguments: sent.arguments.as_ref().map(CanonicalArguments::from_value),
            awaited: sent.awaited,
            unasked_from: sent.unasked_from,
        })
    }
}

/// Returns whether `after` is a stricter decision than `before`, or needs stricter approvers or a preview.
fn is_stricter(after: &Evaluation, before: &Evaluation) -> bool {
    let more_people = before.approvers().and(after.approvers()) != before.approvers();
    after.decision() > before.decision()
        || (after.decision() != Decision::Allow
            && (more_people || (after.preview_first() && !before.preview_first())))
}

fn refusal(
    asked: &DevicePath,
    real: &DevicePath,
    after: &Evaluation,
    question: &Question<'_>,
    policy: &Policy,
) -> ToolError {
    let mut error = after.refusal(question, policy);
    if after.decision() != Decision::Deny {
        // No person was asked about the real place.
        error.code = ErrorCode::PathNotAllowed;
    }
    error.message =
        format!("{asked} leads to {real}. {} Name the place itself in the call.", error.message);
    error.with("attempted_path", asked.to_string()).with("real_path", real.to_string())
}
