//! Records that a call waits for its device.

use orion_domain::CallState;

use super::end::denied;
use super::row;
use crate::clock::now_ms;
use crate::pipeline::call::StoredCall;
use crate::pipeline::verdict::{Subject, Verdict};
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, queue};
use crate::store::{QueueError, StoreError};

/// Stores a call as waiting for its device.
pub(super) async fn queued(pipeline: &Pipeline, subject: Subject) -> Result<CallView, StoreError> {
    let limits = pipeline.config.queue_limits();
    let (view, device, stored) = match subject.context().stored_call() {
        Some(StoredCall { row, .. }) => {
            let view = CallView::from(row.clone());
            let Some((device, _)) = &row.device else { return Ok(view) };
            let device = *device;
            if row.state == CallState::Queued {
                return Ok(queue::waiting(pipeline, device, view));
            }
            (view, device, pipeline.store.queue_call(row.id, limits, now_ms()).await)
        }
        None => {
            let row = row::new_row(pipeline, &subject, &Verdict::Queued, CallState::Queued);
            let view = CallView::of_new(&row);
            let Some((device, _)) = &row.device else { return Err(StoreError::Conflict) };
            let device = *device;
            (view, device, pipeline.store.open_queued_call(row, limits).await.map(|()| true))
        }
    };
    match stored {
        Ok(true) => Ok(queue::waiting(pipeline, device, view)),
        // Another task changed the call's state and continues with it.
        Ok(false) => pipeline.store.call(view.call).await.map(CallView::from),
        Err(QueueError::Store(error)) => Err(error),
        Err(full @ (QueueError::DeviceFull | QueueError::PersonFull)) => {
            denied(pipeline, &subject, queue::no_room(pipeline, &view, full)).await
        }
    }
}
