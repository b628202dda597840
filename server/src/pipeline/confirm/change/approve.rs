//! Approves a changed call for its author, where that person may approve it alone.

use std::sync::Arc;

use orion_domain::Caller;
use orion_domain::rule::Approvers;

use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::confirm::answer::{AnswerError, Ballot, vote};
use crate::pipeline::confirm::approved;
use crate::pipeline::view::CallView;
use crate::store::{ApprovalState, DecideError};

/// Approves the changed call for its author, if that person may approve it alone and has seen all of it.
pub(super) async fn approve(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    evaluated: &EvaluatedCall,
    view: CallView,
    reason: String,
) -> Result<CallView, AnswerError> {
    // If a preview must be shown first, the author has not seen it. If a second person must approve, the
    // author is not that person. What a passkey has to sign was not there yet.
    let Approvers { not_requester, second_if_any, passkey, .. } = evaluated.approvers();
    let needs_another = evaluated.preview_first() || not_requester || second_if_any || passkey;
    let Some(id) = view.approval.filter(|_| !needs_another) else { return Ok(view) };
    let asked = pipeline.store.approval(id).await?;
    let row = pipeline.store.call(view.call).await?;
    // The author answered for the call as it was evaluated, and did not see the risks that only the device's
    // disk shows.
    if asked.call != evaluated.context.id
        || row.policy_version != evaluated.target.device.policy.version
        || asked.touches != evaluated.touches()
        || asked.card.raises.iter().any(|raise| !evaluated.raises().contains(raise))
    {
        return Ok(view);
    }
    let own = Ballot { details_shown: Some(true), ..Ballot::once(true, reason) };
    match vote(pipeline, by, &asked, own).await {
        Ok(decided) if decided.state == ApprovalState::Approved => {
            let run = approved::run_approved(pipeline, &decided, None).await;
            run.map_err(AnswerError::unstored)?;
            Ok(pipeline.store.call(view.call).await.map(CallView::from)?)
        }
        Err(AnswerError::Vote(DecideError::Store(error))) => Err(AnswerError::unstored(error)),
        // The call needs more than this person may approve, and waits for that.
        Ok(_) | Err(_) => Ok(view),
    }
}
