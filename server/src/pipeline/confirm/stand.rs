//! Answers that hold for more than one call: for a chat, or as a narrow rule of the policy.

use std::sync::Arc;

use orion_domain::rule::RuleAction;
use orion_domain::{Caller, DevicePath, Risk, Rule, UserName};
use serde_json::{Map, Value};

use super::answer::Unanswered;
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::fleet::enrollment;
use crate::pipeline::authorize::Judged;
use crate::store::{ApprovalRow, Lasting, Standing, StandingRule, StoreError};

/// How long an answer holds for a chat, in milliseconds.
const CHAT_MS: i64 = 8 * 3600 * 1000;
/// How long a rule that is made of an answer holds at most, in milliseconds.
pub const LONGEST_RULE_MS: i64 = 90 * 24 * 3600 * 1000;

/// The answer for this chat that holds for a call. While content of strangers is in the chat, none
/// does.
pub(super) async fn find(
    backend: &Backend,
    judged: &Judged,
) -> Result<Option<Standing>, StoreError> {
    let caller = &judged.incoming.caller;
    let (Some(conversation), true) = (caller.conversation, judged.may_stand()) else {
        return Ok(None);
    };
    backend
        .store
        .standing_answer(
            &caller.user,
            conversation,
            judged.target.device.id,
            judged.target.spec.name,
            judged.approvers().role,
            now_ms(),
        )
        .await
}

/// A yes for the chat that a question came from.
pub(super) fn for_chat(row: &ApprovalRow) -> Result<Lasting, Unanswered> {
    if row.conversation.is_none() {
        return Err(Unanswered::OnlyOnce("the call came from no chat"));
    }
    Ok(Lasting::ForChat(now_ms() + CHAT_MS))
}

/// A yes that becomes a rule for this person, this tool and these paths of this device.
pub(super) fn as_rule(
    backend: &Backend,
    row: &ApprovalRow,
    by: &Caller,
    expires_at: i64,
    folder: bool,
) -> Result<Lasting, Unanswered> {
    let now = now_ms();
    if expires_at <= now || expires_at > now + LONGEST_RULE_MS {
        return Err(Unanswered::OnlyOnce(
            "a rule of an answer holds until some moment in the next 90 days",
        ));
    }
    if row.risk == Risk::Critical {
        return Err(Unanswered::OnlyOnce("its risk is critical"));
    }
    let paths = paths(backend, row, folder)?;
    let rule = Rule {
        tools: vec![row.tool.clone()],
        users: vec![row.requester.clone()],
        paths,
        expires_at: Some(expires_at),
        because: format!("{} approved the same call before.", by.user),
        source: format!("approval {} by {}", row.id, by.user),
        ..Rule::new(format!("approval-{}", row.id), RuleAction::Preapprove)
    };
    Ok(Lasting::AsRule(Box::new(StandingRule {
        id: row.id,
        device: row.device.clone(),
        rule,
        made_by: by.user.clone(),
        created_at: now,
        expires_at,
    })))
}

/// The paths that a question was about, as a rule writes them.
fn paths(backend: &Backend, row: &ApprovalRow, folder: bool) -> Result<Vec<String>, Unanswered> {
    const NO_PATHS: Unanswered =
        Unanswered::OnlyOnce("a rule has to name paths, and this call touches none alone");
    let known = backend.fleet.known(row.device.0).ok_or(NO_PATHS)?;
    let (Some(places), Some((spec, _))) = (known.places(), orion_catalog::find(&row.tool)) else {
        return Err(NO_PATHS);
    };
    let arguments: Map<String, Value> =
        serde_json::from_slice(&row.arguments).map_err(|_| NO_PATHS)?;
    let touches = spec.parse(arguments, places).map_err(|_| NO_PATHS)?.touches;
    if touches.paths.is_empty() || !touches.apps.is_empty() || !touches.urls.is_empty() {
        return Err(NO_PATHS);
    }
    let mut paths = Vec::new();
    for touch in touches.paths {
        let path: DevicePath = if folder {
            touch.path.parent().ok_or(Unanswered::OnlyOnce("no folder holds this path"))?
        } else {
            touch.path
        };
        if path.components().len() < 2 {
            return Err(Unanswered::OnlyOnce("a rule for so much of a device is too wide"));
        }
        let text = path.to_string();
        // Where a pattern could mean more than this one path, nothing is made of it.
        if text.contains(['*', '?', '[', ']', '{', '}', '~', '$', '%', '!']) {
            return Err(Unanswered::OnlyOnce("a rule would read signs in its path as a pattern"));
        }
        if !paths.contains(&text) {
            paths.push(text);
        }
    }
    Ok(paths)
}

/// Takes a rule back, which counts at once.
///
/// # Errors
/// There is no such rule, or the record cannot be kept.
pub async fn revoke_rule(
    backend: &Arc<Backend>,
    id: &str,
    by: &UserName,
) -> Result<StandingRule, StoreError> {
    let rule = backend.store.revoke_standing_rule(id, by, now_ms()).await?;
    enrollment::refresh(backend, rule.device.0).await?;
    Ok(rule)
}
