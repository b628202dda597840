//! What was decided of a call by the paths that it names, to be held where these really lead. A link
//! inside a lent folder leads from a path that no rule speaks of to one that a rule does, and a folder
//! may hold what a rule speaks of: neither is seen before the disk is.

use std::sync::Arc;

use orion_catalog::ParsedCall;
use orion_domain::grants::AllowedPath;
use orion_domain::path::PathPattern;
use orion_domain::rule::Moment;
use orion_domain::touches::PathTouch;
use orion_domain::{
    Access, Caller, Decision, DeviceName, DevicePath, ErrorCode, Evaluation, Policy, Question,
    RiskRaise, ToolError, ToolFacts, Touches, evaluate,
};

/// See the module.
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
    /// What the rules speak of that would make the decision stricter.
    awaited: Vec<PathPattern>,
}

impl Verdict {
    /// What the policy says to a question about a call, for as long as the call runs.
    pub(super) fn of(question: &Question<'_>, parsed: &ParsedCall, policy: &Arc<Policy>) -> Self {
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
        }
    }

    /// Whether the call may change something, or shows what it would change.
    pub(crate) fn changes(&self) -> bool {
        self.tool.has_effects
    }

    /// What rules speak of that were silent about the paths of the call.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = &PathPattern> {
        self.awaited.iter()
    }

    /// Whether there is any.
    pub(crate) fn awaits_any(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Whether one of them is this path, or around it.
    pub(crate) fn awaits(&self, path: &DevicePath) -> bool {
        self.awaited.iter().any(|pattern| pattern.denies(path))
    }

    /// Judges the call again with the place where a path really is, and lets the stricter answer stand.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED`, or what the policy says to the real place.
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
        // What may be shown and not be done need not be shown.
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

    /// The policy where the real place is lent. Whether it is was found out on the way to it, from the
    /// folder that is lent by name and may itself be a link.
    fn granting(&self, real: &DevicePath) -> Policy {
        let mut policy = Policy::clone(&self.policy);
        if let Some(root) = real.parent() {
            let access = [Access::Read, Access::Write, Access::Delete].into();
            let entry = AllowedPath { root, access };
            policy.grants.allowed.push(entry.clone());
            policy.ceiling.iter_mut().for_each(|ceiling| ceiling.allowed.push(entry.clone()));
        }
        policy
    }

    /// Whether a path has a name of what starts programs, and the policy does not name `execute` there.
    pub(crate) fn raises_for_writing(&self, path: &DevicePath) -> bool {
        self.policy.raises_for_writing(path)
    }

    /// Whether the policy lets the call run at once though the disk shows a higher risk at a path: it
    /// names `execute` there, or a rule approves the call beforehand.
    pub(crate) fn allows_raised(&self, raise: RiskRaise, path: &DevicePath) -> bool {
        if raise == RiskRaise::StartsPrograms && self.policy.grants_execute(path) {
            return true;
        }
        let question = Question { raises: &[raise], ..self.question(&self.touches, false) };
        evaluate(&question, &self.policy).decision() == Decision::Allow
    }

    fn question<'a>(&'a self, touches: &'a Touches, dry_run: bool) -> Question<'a> {
        Question {
            tool: self.tool,
            touches: Some(touches),
            caller: &self.caller,
            device: &self.device,
            dry_run,
            confirmed: self.confirmed,
            at: self.at,
            tainted: false,
            raises: &[],
            counted: None,
        }
    }
}

/// Whether more is asked for than there was.
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
        // Nobody was asked about that place.
        error.code = ErrorCode::PathNotAllowed;
    }
    error.message =
        format!("{asked} leads to {real}. {} Name the place itself in the call.", error.message);
    error.with("attempted_path", asked.to_string()).with("real_path", real.to_string())
}
