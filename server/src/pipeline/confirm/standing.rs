//! Approvals that cover more than one call: for a chat, or as a narrow rule of the policy.

mod lint;
mod rule;

use std::sync::Arc;

use orion_domain::UserName;

use crate::clock::now_ms;
use crate::fleet::effective_policy::refresh;
use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;
use crate::store::{
    ApprovalRow, ApprovalScope, DecideError, StandingApproval, StandingKey, StandingRule,
    StoreError,
};

pub(super) use rule::rule;
pub use rule::{Coverage, MAX_RULE_MS, coverage};

/// How long a standing approval covers a chat, in milliseconds.
const CHAT_MS: i64 = 8 * 3600 * 1000;

/// Returns the standing approval of this chat that covers a call. There is none while the chat has
/// untrusted content.
pub(in crate::pipeline) async fn find(
    pipeline: &Pipeline,
    evaluated: &EvaluatedCall,
) -> Result<Option<StandingApproval>, StoreError> {
    let caller = &evaluated.context.caller;
    let (Some(conversation), true) = (caller.conversation, evaluated.may_stand()) else {
        return Ok(None);
    };
    let like = StandingKey {
        requester: &caller.user,
        conversation,
        device: evaluated.target.device.id,
        tool: evaluated.target.spec.name,
        policy_version: &evaluated.target.device.policy.version,
        rule: &evaluated.rule(),
    };
    pipeline.store.standing_answer(&like, evaluated.approvers().role, now_ms()).await
}

/// Returns the scope of an approval for the chat of the request.
pub(super) fn for_chat(row: &ApprovalRow) -> Result<ApprovalScope, DecideError> {
    if row.conversation.is_none() {
        return Err(DecideError::OnlyOnce("the call came from no chat"));
    }
    let starts_programs = |(spec, _): (&orion_catalog::ToolSpec, _)| {
        spec.execution == orion_catalog::Execution::ChildProcess
    };
    // A custom tool is in no catalogue, and starts a program.
    if orion_catalog::find(&row.tool).is_none_or(starts_programs) {
        return Err(DecideError::OnlyOnce(
            "the call starts programs, and the next one starts others",
        ));
    }
    Ok(ApprovalScope::ForChat(now_ms() + CHAT_MS))
}

/// Revokes a rule, with immediate effect.
///
/// # Errors
/// There is no such rule, or the database cannot be written.
pub async fn revoke_rule(
    pipeline: &Arc<Pipeline>,
    id: &str,
    by: &UserName,
) -> Result<StandingRule, StoreError> {
    let (shared, id, by) = (Arc::clone(pipeline), id.to_owned(), by.clone());
    let work = async move {
        let rule = shared.store.revoke_standing_rule(&id, &by, now_ms()).await?;
        refresh(&shared.devices, rule.device.0).await?;
        Ok(rule)
    };
    pipeline.tasks.run_to_completion(work).await
}
