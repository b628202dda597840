//! Records that a person is asked, with the call and the preview that the approval request shows.

use orion_domain::CallState;

use super::end::{break_off, denied};
use super::{Recorded, row};
use crate::bus::Change;
use crate::pipeline::call::{CallContext, StoredCall};
use crate::pipeline::result::DeviceReport;
use crate::pipeline::verdict::{Held, Subject};
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, confirm};
use crate::store::{AskError, CommittedWith, NewApproval, StoreError};

/// Stores an approval request with its call, and with the preview that it shows.
pub(super) async fn asked<'a>(
    pipeline: &'a Pipeline,
    subject: Subject,
    request: NewApproval,
    report: Option<DeviceReport>,
) -> Result<Recorded<'a>, StoreError> {
    let Subject::Evaluated(call) = &subject else { return Err(StoreError::Conflict) };
    let (row, view) = match call.context.stored_call() {
        Some(StoredCall { row, .. }) => (None, CallView::from(row.clone())),
        None => {
            let row = row::evaluated(pipeline, call, CallState::Received);
            let view = CallView::of_new(&row);
            (Some(row), view)
        }
    };
    let (id, expires_at, is_standing) =
        (request.id, request.expires_at, request.standing.is_some());
    let along = CommittedWith { call: row, preview: report.as_ref().map(DeviceReport::end) };
    let refused = match pipeline.store.ask(request, along).await {
        Ok(is_end) => {
            if let Some(report) = report
                && let Err(error) = report.recorded(pipeline, is_end).await
            {
                tracing::error!(call = %view.call, %error, "a late result of a preview could not be recorded");
            }
            pipeline.bus.publish(Change::Approval(id, view.call));
            if is_standing {
                return approved(pipeline, subject, view).await;
            }
            tracing::info!(call = %view.call, approval = %id, tool = %view.tool, "a person is asked");
            return Ok(Recorded::Rests(confirm::waiting(call, view, (id, expires_at))));
        }
        Err(refused) => refused,
    };
    DeviceReport::record_any(report, pipeline).await?;
    match refused {
        AskError::Store(error) => Err(error),
        full @ (AskError::TooManyOfPerson | AskError::TooMany) => {
            denied(pipeline, &subject, confirm::no_room(full)).await.map(Recorded::Rests)
        }
    }
}

/// Returns the call with the approval that it has just got.
async fn approved<'a>(
    pipeline: &Pipeline,
    subject: Subject,
    view: CallView,
) -> Result<Recorded<'a>, StoreError> {
    let read = async {
        let row = pipeline.store.call(view.call).await?;
        let Some(id) = row.approval else { return Err(StoreError::Conflict) };
        let approval = pipeline.store.approval(id).await?;
        Ok((row, approval))
    };
    let (row, approval) = match read.await {
        Ok(read) => read,
        Err(error) => {
            break_off(pipeline, &view).await;
            return Err(error);
        }
    };
    let Subject::Evaluated(call) = subject else { return Err(StoreError::Conflict) };
    // The call may wait for a slot of its device: a preview of before that is none.
    let context = CallContext { preview: None, ..call.context };
    Ok(Recorded::Again(Box::new(context.at(row, Some(approval))), Held::Nothing))
}
