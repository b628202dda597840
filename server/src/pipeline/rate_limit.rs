//! Evaluates what only the backend can know of a call: how many similar calls this person made on this
//! device, and how much the call would touch. Rules with a limit or an amount use these counts.

use std::sync::Arc;

use orion_catalog::{ParsedCall, find};
use orion_domain::rule::CompiledRule;
use orion_domain::{ErrorCode, Question, ToolError};

use super::audit::CallContext;
use super::authorize::{self, EvaluatedCall};
use super::preview::{PreviewResult, preview};
use super::reauthorize;
use super::validate::Target;
use crate::backend::Backend;
use crate::store::{Admitted, StoreError};

/// The most earlier calls that are read. A person with more calls within a rule's time has reached its
/// limit.
const MAX_CALLS_READ: u32 = 5_000;
/// The most bytes of their arguments that are read, if a rule names paths. Calls beyond that always count,
/// because their paths are unknown.
const MAX_ARGUMENTS_BYTES: u32 = 8 * 1024 * 1024;

/// How often a call is evaluated again because something changed during its evaluation.
const MAX_ROUNDS: usize = 4;

/// Evaluates a whole call with everything that is known of it, after all waiting.
///
/// # Errors
/// The database cannot be read.
pub async fn judge(
    backend: &Arc<Backend>,
    incoming: CallContext,
    target: Target,
    parsed: ParsedCall,
) -> Result<EvaluatedCall, StoreError> {
    let mut evaluated = authorize::call(incoming, target, parsed);
    let is_limited = |rule: &CompiledRule, question: &Question<'_>| {
        rule.rule.limit.is_some() && rule.counts(question)
    };
    let mut rate_lock = None;
    for _ in 0..MAX_ROUNDS {
        if evaluated.is_barred() {
            return Ok(evaluated.holding(rate_lock));
        }
        if evaluated.has_rule(is_limited) {
            if rate_lock.is_none() {
                let (user, device) = (&evaluated.incoming.caller.user, evaluated.target.device.id);
                // Held until the call is stored, so that two concurrent calls are counted one after the
                // other.
                rate_lock = Some(backend.load.rate_lock(user, device).await);
                evaluated = reauthorize::afresh(backend, &evaluated).await?;
                continue;
            }
            let earlier = earlier(backend, &evaluated).await?;
            evaluated = evaluated.counted(earlier);
        }
        if !is_measured(&evaluated) {
            return Ok(evaluated.holding(rate_lock));
        }
        let PreviewResult { preview, observed } = preview(backend, &evaluated).await;
        let current = reauthorize::afresh(backend, &evaluated).await?;
        if current.is_as_known(&evaluated) {
            return Ok(evaluated.measured(preview).observed(observed).holding(rate_lock));
        }
        evaluated = current;
    }
    let error = ToolError::new(
        ErrorCode::PreconditionFailed,
        format!(
            "The policy of {} changed while the call was evaluated. Run the call again.",
            evaluated.target.device.name
        ),
    );
    Ok(evaluated.barred(error).holding(rate_lock))
}

/// Returns whether a preview's quantity may change the result of a rule. Tools without effects have no
/// preview, so their quantity stays unknown.
pub(super) fn is_measured(evaluated: &EvaluatedCall) -> bool {
    evaluated.target.spec.has_effects
        && !evaluated.incoming.request.dry_run
        && evaluated.has_rule(CompiledRule::measures)
        && evaluated.may_run_if_small()
}

/// Returns, for each rule of the policy, how many earlier calls it applies to within its own time.
pub(super) async fn earlier(
    backend: &Backend,
    evaluated: &EvaluatedCall,
) -> Result<Vec<u32>, StoreError> {
    let rules = &evaluated.target.device.policy.rules;
    let longest = rules.iter().filter_map(|rule| rule.rule.limit).map(|limit| limit.per_seconds);
    let needs_arguments =
        rules.iter().any(|rule| rule.rule.limit.is_some() && !rule.rule.paths.is_empty());
    let now = evaluated.at().unix_ms;
    let since = |seconds: u32| now - i64::from(seconds) * 1000;
    let rows = backend
        .store
        .admitted_calls(
            &evaluated.incoming.caller.user,
            evaluated.target.device.id,
            since(longest.max().unwrap_or(0)),
            evaluated.incoming.id,
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
        let counted = within.filter(|row| counts(rule, evaluated, row)).take(most).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    };
    Ok(rules.iter().map(count).collect())
}

/// Returns whether a rule applies to an earlier call. A call that cannot be decoded counts.
fn counts(rule: &CompiledRule, evaluated: &EvaluatedCall, row: &Admitted) -> bool {
    let Some((spec, _)) = find(&row.tool) else { return false };
    let question = evaluated.question();
    let parsed = if rule.rule.paths.is_empty() {
        None
    } else {
        let Ok(arguments) = serde_json::from_slice(&row.arguments) else { return true };
        let Some(places) = evaluated.target.device.places() else { return true };
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
    rule.counts(&Question { tool, touches, ..question })
}
