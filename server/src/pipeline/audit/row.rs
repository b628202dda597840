//! The row of a call as it is stored first.

use orion_catalog::find;
use orion_domain::{CallState, CanonicalArguments};
use serde_json::Value;

use super::super::Pipeline;
use super::super::authorize::EvaluatedCall;
use super::super::call::CallContext;
use super::super::secrets::{SplitArguments, split};
use super::super::validate::Target;
use super::super::verdict::{Subject, Verdict};
use crate::clock::now_ms;
use crate::store::NewCall;

/// The most characters that are stored of the name of a tool that does not exist.
pub const MAX_TOOL_NAME: usize = 128;

/// Returns the row of a call in the state in which it is stored. A denial that came before the arguments
/// were evaluated has the name of its rule, or else its code.
pub(in crate::pipeline) fn new_row(
    pipeline: &Pipeline,
    subject: &Subject,
    verdict: &Verdict<'_>,
    state: CallState,
) -> NewCall {
    match subject {
        Subject::Evaluated(call) => evaluated(pipeline, call, state),
        Subject::Unread { context, target } => {
            let rule = match verdict {
                Verdict::Denied(error) => {
                    let rule = error.details.get("rule").and_then(Value::as_str);
                    rule.map_or_else(|| error.code.to_string(), str::to_owned)
                }
                Verdict::Dispatch(_)
                | Verdict::NeedsApproval(_)
                | Verdict::Queued
                | Verdict::Unchanged => String::new(),
            };
            if matches!(verdict, Verdict::Queued) {
                return unevaluated(pipeline, context, target.as_ref(), state);
            }
            NewCall {
                rule,
                ..common(pipeline, context, target.as_ref(), &context.canonical(), state)
            }
        }
    }
}

/// Returns the row of a call that waits for a device that has never connected. Nothing is decided about it.
fn unevaluated(
    pipeline: &Pipeline,
    context: &CallContext,
    target: Option<&Target>,
    state: CallState,
) -> NewCall {
    let has_effects = target.is_some_and(|target| target.spec.has_effects);
    NewCall {
        decision: "none".to_owned(),
        has_effects: has_effects && !context.request.dry_run,
        queued_until: queued_until(pipeline, context),
        ..common(pipeline, context, target, &context.canonical(), state)
    }
}

/// Returns the row of an evaluated call in this state.
#[must_use]
pub fn evaluated(pipeline: &Pipeline, call: &EvaluatedCall, state: CallState) -> NewCall {
    let EvaluatedCall { context, target, parsed, .. } = call;
    NewCall {
        touches: call.touches(),
        decision: call.decision().as_str().to_owned(),
        rule: call.rule(),
        risk: Some(call.risk()),
        notes: call.notes(),
        undo: parsed.undo.clone(),
        has_effects: target.spec.has_effects && !context.request.dry_run,
        queued_until: queued_until(pipeline, context),
        admitted_at: (state == CallState::Dispatched).then(now_ms),
        ..common(pipeline, context, Some(target), &parsed.arguments, state)
    }
}

/// Returns the row of a call of which nothing was evaluated.
fn common(
    pipeline: &Pipeline,
    context: &CallContext,
    target: Option<&Target>,
    arguments: &CanonicalArguments,
    state: CallState,
) -> NewCall {
    let spec = target.map(|it| it.spec).or_else(|| Some(find(&context.request.tool)?.0));
    let SplitArguments { shown, secrets } = split(spec, arguments);
    let asked = context.request.timeout_ms;
    let timeout = match target {
        Some(target) => pipeline.config.timeout_of(target.spec, asked),
        None => pipeline.config.call_timeout(asked),
    };
    NewCall {
        id: context.id,
        conversation: context.caller.conversation,
        caller: context.caller.clone(),
        device: target.map(|target| (target.device.id, target.device.name.clone())),
        tool: target.map_or_else(
            || context.request.tool.chars().take(MAX_TOOL_NAME).collect(),
            |target| target.spec.name.to_owned(),
        ),
        alias: context.alias.clone(),
        arguments: shown,
        secrets,
        arguments_digest: arguments.digest(),
        dry_run: context.request.dry_run,
        recovered: context.request.recovered,
        tainted: context.provenance.taint(),
        quoted: context.provenance.quoted,
        content_raises: context.provenance.raises.clone(),
        turn: context.turn,
        touches: Vec::new(),
        decision: "deny".to_owned(),
        rule: String::new(),
        policy_version: target.map(|it| it.device.policy.version.clone()).unwrap_or_default(),
        risk: target.map(|target| target.spec.risk),
        notes: Vec::new(),
        definition: target.and_then(|target| Some(target.spec.definition()?.1)),
        undo: None,
        has_effects: false,
        state,
        idempotency_key: context.request.idempotency_key.clone(),
        replaces: context.replaces,
        plan: context.plan(),
        parent: context.parent,
        is_own_preview: context.is_preview() && context.request.dry_run,
        deadline_at: context.created_at
            + i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX / 2),
        queued_until: None,
        created_at: context.created_at,
        admitted_at: None,
        token: context.token,
    }
}

/// Returns until when a call may wait for its device, Unix milliseconds.
fn queued_until(pipeline: &Pipeline, context: &CallContext) -> Option<i64> {
    let time = pipeline.config.queue_time(&context.request)?;
    Some(context.created_at + i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2))
}
