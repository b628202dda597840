//! Records the verdict on a call, denials included, in one transaction. This module and [`super::result`] are
//! the only writers of calls; nothing is sent before its verdict is stored.

mod asked;
mod dispatch;
mod end;
mod queued;
pub mod row;

use std::sync::Arc;

use orion_domain::Permit;

use super::Pipeline;
use super::authorize::EvaluatedCall;
use super::call::CallContext;
use super::result::DeviceReport;
use super::route::InFlight;
use super::verdict::{Decided, Held, Subject, Verdict};
use super::view::CallView;
use crate::fleet::ApprovalProof;
use crate::store::StoreError;

use asked::asked;
use dispatch::dispatch;
pub(super) use end::{break_off, close, close_unsent, denied, deny};
use queued::queued;

/// What follows from a recorded verdict.
#[derive(Debug)]
pub(super) enum Recorded<'a> {
    /// Nothing: the call has ended, or waits.
    Rests(CallView),
    /// The call is sent.
    Dispatched(Box<Dispatched<'a>>),
    /// The call is decided again: it has an approval now, or a count changed after it was read.
    Again(Box<CallContext>, Held<'a>),
}

/// A call that is stored as dispatched.
#[derive(Debug)]
pub(super) struct Dispatched<'a> {
    /// The call.
    pub(super) call: EvaluatedCall,
    /// The view of its row.
    pub(super) view: CallView,
    /// The right to send it, once.
    pub(super) permit: Permit,
    /// The approval for the device. None if the call needed none.
    pub(super) proof: Option<ApprovalProof>,
    /// The wait for its result.
    pub(super) in_flight: Box<InFlight<'a>>,
}

/// Records a verdict and returns what follows from it.
///
/// # Errors
/// The database cannot be written; then nothing has changed.
pub(super) async fn record<'a>(
    pipeline: &'a Arc<Pipeline>,
    Decided { mut subject, verdict }: Decided<'a>,
) -> Result<Recorded<'a>, StoreError> {
    let report = subject.context_mut().preview.as_mut().and_then(|it| it.report.take());
    // A preview is committed with the request that shows it, and before any other verdict.
    let shown = if matches!(verdict, Verdict::NeedsApproval(_)) {
        report
    } else {
        DeviceReport::record_any(report, pipeline).await?;
        None
    };
    match verdict {
        Verdict::NeedsApproval(request) => asked(pipeline, subject, *request, shown).await,
        Verdict::Dispatch(to_send) => match subject {
            Subject::Evaluated(call) => dispatch(pipeline, *call, *to_send).await,
            // Only an evaluated call has a permit.
            Subject::Unread { .. } => Err(StoreError::Conflict),
        },
        Verdict::Queued => queued(pipeline, subject).await.map(Recorded::Rests),
        Verdict::Unchanged => {
            let row = pipeline.store.call(subject.context().id).await?;
            Ok(Recorded::Rests(CallView::from(row)))
        }
        Verdict::Denied(error) => denied(pipeline, &subject, error).await.map(Recorded::Rests),
    }
}
