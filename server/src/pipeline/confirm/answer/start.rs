//! Starts a call that was approved, and activates the rule that its approval made.

use std::sync::Arc;
use std::time::Duration;

use crate::fleet::effective_policy::refresh;
use crate::pipeline::Pipeline;
use crate::pipeline::confirm::approved;
use crate::pipeline::route::DispatchSlot;
use crate::store::ApprovalRow;

/// How long an answer that makes a rule waits until the rule is active.
const RULE_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts an approved call, in the slot of its device if it has one.
pub(super) fn start(pipeline: &Arc<Pipeline>, row: ApprovalRow, slot: Option<DispatchSlot>) {
    let task = Arc::clone(pipeline);
    pipeline.tasks.calls.spawn(async move {
        if let Err(error) = approved::run_approved(&task, &row, slot).await {
            tracing::error!(call = %row.call, %error, "an approved call could not be recorded");
        }
    });
}

/// Starts the call, then activates the rule that the answer made. The approval is bound to the current
/// policy version and the rule makes a new one: the rule becomes active once the call was sent, or cannot
/// be. The caller waits for that up to [`RULE_TIMEOUT`], so that the next call needs no approval. If the
/// device has no free slot for longer, the rule becomes active later.
pub(super) async fn start_with_rule(pipeline: &Arc<Pipeline>, row: ApprovalRow) {
    let (task, device) = (Arc::clone(pipeline), row.device.0);
    let activating = pipeline.tasks.calls.spawn(async move {
        let sent = match DispatchSlot::wait_for(&task, device, &row.requester).await {
            Some(slot) => {
                let (slot, sent) = slot.with_delivery_report();
                start(&task, row.clone(), Some(slot));
                Some(sent)
            }
            None => {
                start(&task, row.clone(), None);
                None
            }
        };
        if let Some(sent) = sent {
            // If the call is not sent, its slot is dropped, which resolves `sent` as well.
            let _ = sent.await;
        }
        if let Err(error) = refresh(&task.devices, device).await {
            tracing::error!(approval = %row.id, %error, "a rule that was made of an answer could not be activated");
        }
    });
    if tokio::time::timeout(RULE_TIMEOUT, activating).await.is_err() {
        tracing::warn!(device = %device, "a rule that was made of an answer waits until its call is sent");
    }
}
