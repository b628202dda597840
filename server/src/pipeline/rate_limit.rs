//! Counts what only the backend can know of a call: how many similar calls this person made on this device,
//! and how much the call would touch. Rules with a limit or an amount use these counts.

use orion_catalog::{ParsedCall, find};
use orion_domain::Question;
use orion_domain::rule::CompiledRule;

use super::Pipeline;
use super::authorize::{self, Counts, EvaluatedCall};
use super::call::{CallContext, Origin};
use super::validate::Target;
use crate::clock::now_ms;
use crate::store::{Admitted, StoreError};

/// The most earlier calls that are read. A person with more calls within a rule's time has reached its
/// limit.
const MAX_CALLS_READ: u32 = 5_000;
/// The most bytes of their arguments that are read, if a rule names paths. Calls beyond that always count,
/// because their paths are unknown.
const MAX_ARGUMENTS_BYTES: u32 = 8 * 1024 * 1024;

/// Returns what a call is counted with: what its device reported, and the earlier calls if a rule limits
/// them.
///
/// # Errors
/// The database cannot be read.
pub(super) async fn counts(
    pipeline: &Pipeline,
    context: &CallContext,
    target: &Target,
    parsed: &ParsedCall,
) -> Result<Counts, StoreError> {
    let counts = Counts::reported(context, &parsed.touches);
    let version = &target.device.policy.version;
    if let Some(earlier) = context.earlier.as_ref().filter(|it| it.policy_version == *version) {
        return Ok(Counts { earlier: earlier.counts.clone(), ..counts });
    }
    let at = target.device.timezone.moment(now_ms());
    let question = authorize::question(context, target, Some(parsed), at, &counts);
    let is_limited = |rule: &CompiledRule| rule.rule.limit.is_some() && rule.counts(&question);
    // The backend's own preview is counted with the call that it is for.
    let is_own = matches!(context.origin, Origin::Preview { observe: true, .. });
    if is_own || !target.device.policy.rules.iter().any(is_limited) {
        return Ok(counts);
    }
    let earlier = earlier(pipeline, context, target, &question).await?;
    Ok(Counts { earlier, ..counts })
}

/// Returns whether a call was evaluated with a count of earlier calls that may have grown since.
pub(super) fn is_limited(evaluated: &EvaluatedCall) -> bool {
    !evaluated.counts.earlier.is_empty() && evaluated.context.earlier.is_none()
}

/// Counts the earlier calls once more, for a call that [`is_limited`].
///
/// # Errors
/// The database cannot be read.
pub(super) async fn counts_now(
    pipeline: &Pipeline,
    evaluated: &EvaluatedCall,
) -> Result<Counts, StoreError> {
    let EvaluatedCall { context, target, counts, .. } = evaluated;
    let earlier = earlier(pipeline, context, target, &evaluated.question()).await?;
    Ok(Counts { earlier, ..counts.clone() })
}

/// Returns whether a preview's quantity may change the result of a rule. Tools without effects have no
/// preview, so their quantity stays unknown.
pub(super) fn is_measured(evaluated: &EvaluatedCall) -> bool {
    evaluated.target.spec.has_effects
        && !evaluated.context.request.dry_run
        && evaluated.has_rule(CompiledRule::measures)
        && evaluated.may_run_if_small()
}

/// Returns, for each rule of the policy, how many earlier calls it applies to within its own time.
async fn earlier(
    pipeline: &Pipeline,
    context: &CallContext,
    target: &Target,
    question: &Question<'_>,
) -> Result<Vec<u32>, StoreError> {
    let rules = &target.device.policy.rules;
    let longest = rules.iter().filter_map(|rule| rule.rule.limit).map(|limit| limit.per_seconds);
    let needs_arguments =
        rules.iter().any(|rule| rule.rule.limit.is_some() && !rule.rule.paths.is_empty());
    let now = question.at.unix_ms;
    let since = |seconds: u32| now - i64::from(seconds) * 1000;
    let rows = pipeline
        .store
        .admitted_calls(
            &context.caller.user,
            target.device.id,
            since(longest.max().unwrap_or(0)),
            context.id,
            MAX_CALLS_READ,
            if needs_arguments { MAX_ARGUMENTS_BYTES } else { 0 },
        )
        .await?;
    let more = u32::try_from(rows.len()).is_ok_and(|found| found >= MAX_CALLS_READ);
    let count = |rule: &CompiledRule| {
        let Some(limit) = rule.rule.limit else { return 0 };
        let from = since(limit.per_seconds);
        let within = rows.iter().take_while(|row| row.admitted_at >= from);
        if more && rows.last().is_some_and(|row| row.admitted_at >= from) {
            return limit.calls;
        }
        let most = usize::try_from(limit.calls).unwrap_or(usize::MAX);
        let counted =
            within.filter(|row| counts_for(rule, target, question, row)).take(most).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    };
    Ok(rules.iter().map(count).collect())
}

/// Returns whether a rule applies to an earlier call. A call that cannot be decoded counts.
fn counts_for(
    rule: &CompiledRule,
    target: &Target,
    question: &Question<'_>,
    row: &Admitted,
) -> bool {
    let Some((spec, _)) = target.device.tool(&row.tool) else { return false };
    let parsed = if rule.rule.paths.is_empty() {
        None
    } else {
        let Ok(arguments) = serde_json::from_slice(&row.arguments) else { return true };
        let Some(places) = target.device.places() else { return true };
        match spec.parse(arguments, places) {
            Ok(parsed) => Some(parsed),
            Err(_) => return true,
        }
    };
    let touches = parsed.as_ref().map(|parsed| &parsed.touches);
    let tool = match row.undo.as_ref().filter(|undo| undo.redo).map(|undo| find(&undo.tool)) {
        Some(Some((again, _))) => again.facts().called_by(spec.facts()),
        Some(None) => return true,
        None => spec.facts(),
    };
    rule.counts(&Question { tool, touches, ..*question })
}
