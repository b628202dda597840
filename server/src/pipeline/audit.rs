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
use crate::bus::CallNotice;
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
    let notice = notice(&subject, &verdict);
    let recorded = act(pipeline, subject, verdict, shown).await?;
    if let Some(notice) = notice {
        pipeline.bus.notify(notice);
    }
    Ok(recorded)
}

/// Returns the notice of a new call that is not denied, where a rule or its risk reports it.
fn notice(subject: &Subject, verdict: &Verdict<'_>) -> Option<CallNotice> {
    let Subject::Evaluated(call) = subject else { return None };
    let context = &call.context;
    if matches!(verdict, Verdict::Denied(_) | Verdict::Unchanged)
        || context.stored_call().is_some()
        || context.is_preview()
    {
        return None;
    }
    let reporting = call.notes().into_iter().filter(|note| note.would.is_none());
    let rules: Vec<_> = reporting.map(|note| note.rule).collect();
    (!rules.is_empty()).then(|| CallNotice {
        call: context.id,
        user: context.caller.user.clone(),
        device: call.target.device.name.clone(),
        tool: call.target.spec.name,
        touches: call.touches(),
        rules,
    })
}

async fn act<'a>(
    pipeline: &'a Arc<Pipeline>,
    subject: Subject,
    verdict: Verdict<'a>,
    shown: Option<DeviceReport>,
) -> Result<Recorded<'a>, StoreError> {
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
