//! What only the backend can know of a call: how often this person did the like on this device, and
//! how much it would touch. Rules with a limit or an amount are judged by it.

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

/// How many earlier calls are looked at. Whoever has made more within a rule's time has reached its
/// limit.
const LOOKED_AT: u32 = 5_000;
/// How many bytes of their arguments are read, where a rule asks for paths. Of calls beyond that nobody
/// knows what they touched, so they count.
const ARGUMENTS_BYTES: u32 = 8 * 1024 * 1024;

/// How often a call is judged anew because something changed while it was judged.
const ROUNDS: usize = 4;

/// Judges a whole call by everything that is known of it, at the end of all waiting.
///
/// # Errors
/// The record cannot be read.
pub async fn judge(
    backend: &Arc<Backend>,
    incoming: CallContext,
    target: Target,
    parsed: ParsedCall,
) -> Result<EvaluatedCall, StoreError> {
    let mut judged = authorize::call(incoming, target, parsed);
    let is_limited = |rule: &CompiledRule, question: &Question<'_>| {
        rule.rule.limit.is_some() && rule.counts(question)
    };
    let mut turn = None;
    for _ in 0..ROUNDS {
        if judged.is_barred() {
            return Ok(judged.holding(turn));
        }
        if judged.has_rule(is_limited) {
            if turn.is_none() {
                let (user, device) = (&judged.incoming.caller.user, judged.target.device.id);
                // Held until the call is on the record, so that two at once are counted one by one.
                turn = Some(backend.load.rate_lock(user, device).await);
                judged = reauthorize::afresh(backend, &judged).await?;
                continue;
            }
            let earlier = earlier(backend, &judged).await?;
            judged = judged.counted(earlier);
        }
        if !is_measured(&judged) {
            return Ok(judged.holding(turn));
        }
        let PreviewResult { preview, observed } = preview(backend, &judged).await;
        let anew = reauthorize::afresh(backend, &judged).await?;
        if anew.is_as_known(&judged) {
            return Ok(judged.measured(preview).observed(observed).holding(turn));
        }
        judged = anew;
    }
    let error = ToolError::new(
        ErrorCode::PreconditionFailed,
        format!(
            "What holds on {} changed again and again while this call was judged. Try again.",
            judged.target.device.name
        ),
    );
    Ok(judged.barred(error).holding(turn))
}

/// Whether a rule may say something else once a preview told how much the call touches. Of what
/// changes nothing there is no preview, and how much it touches stays unknown.
pub(super) fn is_measured(judged: &EvaluatedCall) -> bool {
    judged.target.spec.has_effects
        && !judged.incoming.request.dry_run
        && judged.has_rule(CompiledRule::measures)
        && judged.may_run_if_small()
}

/// For each rule of the policy, how many earlier calls it spoke of within its own time.
pub(super) async fn earlier(
    backend: &Backend,
    judged: &EvaluatedCall,
) -> Result<Vec<u32>, StoreError> {
    let rules = &judged.target.device.policy.rules;
    let longest = rules.iter().filter_map(|rule| rule.rule.limit).map(|limit| limit.per_seconds);
    let needs_arguments =
        rules.iter().any(|rule| rule.rule.limit.is_some() && !rule.rule.paths.is_empty());
    let now = judged.at().unix_ms;
    let since = |seconds: u32| now - i64::from(seconds) * 1000;
    let rows = backend
        .store
        .admitted_calls(
            &judged.incoming.caller.user,
            judged.target.device.id,
            since(longest.max().unwrap_or(0)),
            judged.incoming.id,
            LOOKED_AT,
            if needs_arguments { ARGUMENTS_BYTES } else { 0 },
        )
        .await?;
    let more = u32::try_from(rows.len()).is_ok_and(|found| found >= LOOKED_AT);
    let count = |rule: &CompiledRule| {
        let Some(limit) = rule.rule.limit else { return 0 };
        let from = since(limit.per_seconds);
        let within = rows.iter().take_while(|row| row.admitted_at >= from);
        if more && rows.last().is_some_and(|row| row.admitted_at >= from) {
            return limit.calls;
        }
        let most = usize::try_from(limit.calls).unwrap_or(usize::MAX);
        let counted = within.filter(|row| counts(rule, judged, row)).take(most).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    };
    Ok(rules.iter().map(count).collect())
}

/// Whether a rule speaks of an earlier call. One that cannot be read any more counts.
fn counts(rule: &CompiledRule, judged: &EvaluatedCall, row: &Admitted) -> bool {
    let Some((spec, _)) = find(&row.tool) else { return false };
    let question = judged.question();
    let parsed = if rule.rule.paths.is_empty() {
        None
    } else {
        let Ok(arguments) = serde_json::from_slice(&row.arguments) else { return true };
        let Some(places) = judged.target.device.places() else { return true };
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
