//! Ends of a call in flight without a report of its device, and the errors for its caller.

use orion_domain::{ErrorCode, Hint, ToolError};

use super::InFlight;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::reconcile;
use crate::pipeline::route::dispatch_slot::offline;
use crate::store::{CallRow, StoreError};

/// The most times that a call which did not arrive is sent again.
const MAX_RESENDS: u32 = 5;

impl<'a> InFlight<'a> {
    /// Returns why a call that did not arrive is not sent again. None if it is decided again.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(in crate::pipeline) async fn given_up(
        &self,
        call: &EvaluatedCall,
        row: &CallRow,
    ) -> Result<Option<ToolError>, StoreError> {
        if reconcile::may_be_forgotten(self.pipeline, row).await? {
            return Ok(Some(reconcile::forgotten(row)));
        }
        if self.is_cancelled {
            let message = "This call was cancelled before it arrived. It was not run.";
            return Ok(Some(ToolError::new(ErrorCode::Cancelled, message)));
        }
        Ok((self.not_delivered > MAX_RESENDS).then(|| offline(call)))
    }

    pub(super) fn timed_out(&self, call: &EvaluatedCall) -> ToolError {
        let id = call.context.id;
        self.slot.link.cancel(id).ok();
        if call.target.spec.has_effects && !call.context.request.dry_run {
            return ToolError::new(
                ErrorCode::OutcomeUnknown,
                format!(
                    "{} did not answer in time, and whether {} happened is not known yet.",
                    call.target.device.name, call.target.spec.name
                ),
            )
            .hint(Hint::run(
                "read what the device reports later",
                format!("orion audit list --call {id}"),
            ));
        }
        ToolError::new(
            ErrorCode::Timeout,
            format!("{} did not answer in time.", call.target.device.name),
        )
    }
}

pub(super) fn unknown(call: &EvaluatedCall) -> ToolError {
    ToolError::new(
        ErrorCode::OutcomeUnknown,
        format!(
            "The connection to {} was lost while {} ran, and the device has not reported what happened. When the device is back it reports, and the call is updated.",
            call.target.device.name, call.target.spec.name
        ),
    )
}
