//! May it? The one evaluator answers; here its question is put together.

use orion_catalog::ParsedCall;
use orion_domain::evaluate::{Approved, Decision, Evaluation, Evidence};
use orion_domain::rule::{Approvers, Counted, Moment};
use orion_domain::{CallBinding, Digest, Permit, Question, ToolError, evaluate};

use super::audit::Incoming;
use super::validate::Target;
use crate::clock::now_ms;

/// A call with its judgement.
#[derive(Debug)]
pub struct Judged {
    /// As it was asked for.
    pub incoming: Incoming,
    /// What it is about.
    pub target: Target,
    /// Its arguments, validated.
    pub parsed: ParsedCall,
    /// When it was judged.
    at: Moment,
    evaluation: Evaluation,
}

fn question<'a>(
    incoming: &'a Incoming,
    target: &'a Target,
    parsed: Option<&'a ParsedCall>,
    at: Moment,
) -> Question<'a> {
    Question {
        tool: target.spec.facts(),
        touches: parsed.map(|parsed| &parsed.touches),
        caller: &incoming.caller,
        device: &target.device.name,
        dry_run: incoming.request.dry_run,
        confirmed: parsed.is_some_and(|parsed| parsed.confirmed),
        at,
        tainted: false,
        counted: Some(Counted { earlier: &[], quantity: None }),
    }
}

/// Judges what concerns the tool itself, before its arguments are looked at.
///
/// # Errors
/// What the caller is told where the tool is not for them there.
pub fn tool(incoming: &Incoming, target: &Target) -> Result<(), ToolError> {
    if target.device.facts.is_none() {
        // Nobody knows yet how paths are written there; the next step says so.
        return Ok(());
    }
    let question = question(incoming, target, None, target.device.timezone.moment(now_ms()));
    let evaluation = evaluate(&question, &target.device.policy);
    match evaluation.decision() {
        Decision::Deny => Err(evaluation.refusal(&question, &target.device.policy)),
        Decision::Allow | Decision::DryRunFirst | Decision::Ask => Ok(()),
    }
}

/// Judges the whole call.
#[must_use]
pub fn call(incoming: Incoming, target: Target, parsed: ParsedCall) -> Judged {
    let at = target.device.timezone.moment(now_ms());
    let question = question(&incoming, &target, Some(&parsed), at);
    let evaluation = evaluate(&question, &target.device.policy);
    Judged { incoming, target, parsed, at, evaluation }
}

impl Judged {
    fn question(&self) -> Question<'_> {
        question(&self.incoming, &self.target, Some(&self.parsed), self.at)
    }

    /// What holds.
    #[must_use]
    pub const fn decision(&self) -> Decision {
        self.evaluation.decision()
    }

    /// Who has to say yes, where a person is asked.
    #[must_use]
    pub const fn approvers(&self) -> Approvers {
        self.evaluation.approvers()
    }

    /// Whether nobody can say yes without having been shown a preview.
    #[must_use]
    pub const fn preview_first(&self) -> bool {
        self.evaluation.preview_first()
    }

    /// The name of the line that decided.
    #[must_use]
    pub fn rule(&self) -> String {
        self.evaluation.rule_name(&self.question(), &self.target.device.policy)
    }

    /// What the caller is told where there is no permit.
    #[must_use]
    pub fn refusal(&self) -> ToolError {
        self.evaluation.refusal(&self.question(), &self.target.device.policy)
    }

    /// The right to run it.
    ///
    /// # Errors
    /// What the caller is told instead.
    pub fn permit(&self, approved: Option<Approved>) -> Result<Permit, Box<ToolError>> {
        self.evaluation.permit(&self.question(), &self.target.device.policy, approved)
    }

    /// Everything that was said, with the names of the lines.
    #[must_use]
    pub fn trace(&self) -> Vec<(Evidence, String)> {
        let (question, policy) = (self.question(), &self.target.device.policy);
        self.evaluation
            .evidence()
            .iter()
            .map(|line| (*line, line.name(&question, policy)))
            .collect()
    }

    /// The line that decided.
    #[must_use]
    pub fn deciding(&self) -> Option<&Evidence> {
        self.evaluation.deciding()
    }

    /// What a person's yes would be bound to.
    #[must_use]
    pub fn binding(&self) -> Digest {
        CallBinding {
            call: self.incoming.id,
            device: self.target.device.id,
            tool: self.target.spec.name,
            arguments: &self.parsed.arguments,
            caller: &self.incoming.caller,
            touches: &self.parsed.touches,
            policy_version: &self.target.device.policy.version,
        }
        .digest()
    }

    /// What it would touch, a line each.
    #[must_use]
    pub fn touches(&self) -> Vec<String> {
        let touches = &self.parsed.touches;
        let paths = touches.paths.iter().map(|path| format!("{} {}", path.access, path.path));
        let apps = touches.apps.iter().map(|app| format!("open {app}"));
        let urls = touches.urls.iter().map(|url| format!("open {url}"));
        paths.chain(apps).chain(urls).collect()
    }
}
