//! The last step: the device's result is stored, then waiters are woken.

mod late;

use orion_domain::{DeviceId, Envelope};

use super::Pipeline;
use super::view::CallView;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::DeviceResult;
use crate::store::{CloseCall, ClosedBy, StoreError};

use late::record_late_result;
pub use late::{LateResult, late};

/// Closes a call with its device's result and acknowledges it to the device, which may then forget the
/// call.
///
/// # Errors
/// The database cannot be written; the device keeps the result and sends it again.
pub async fn close(
    pipeline: &Pipeline,
    device: DeviceId,
    view: CallView,
    answer: DeviceResult,
) -> Result<CallView, StoreError> {
    let report = DeviceReport::of(device, answer);
    let ended = report.ends(view);
    if report.record(pipeline).await? {
        return Ok(ended);
    }
    pipeline.store.call(ended.call).await.map(CallView::from)
}

/// A device's final report on a call that was sent to it.
#[derive(Debug, Clone)]
pub struct DeviceReport {
    device: DeviceId,
    close: CloseCall,
}

impl DeviceReport {
    /// Returns the report of a result received at this moment.
    #[must_use]
    pub fn of(device: DeviceId, answer: DeviceResult) -> Self {
        let DeviceResult { call, state, code, result, duration_us, witness } = answer;
        let at = now_ms();
        Self {
            device,
            close: CloseCall { id: call, state, code, result, duration_us, at, witness },
        }
    }

    /// Returns the report without what the call read: whoever asks why a call would run does not get its result.
    #[must_use]
    pub fn without_data(mut self) -> Self {
        let envelope = serde_json::from_slice::<Envelope>(&self.close.result);
        // What cannot be read is not kept, either.
        self.close.result = envelope.map_or_else(
            |_| Vec::new(),
            |envelope| {
                let envelope = Envelope { data: None, ..envelope };
                serde_json::to_vec(&envelope).unwrap_or_default()
            },
        );
        self
    }

    /// Returns the end of the call, as it is stored.
    #[must_use]
    pub fn end(&self) -> CloseCall {
        self.close.clone()
    }

    /// Returns the call with this end.
    #[must_use]
    pub fn ends(&self, view: CallView) -> CallView {
        view.ended(self.close.state, self.close.result.clone(), self.close.at)
    }

    /// Stores the report in a transaction of its own and acknowledges it. Returns `false` if the call had
    /// ended before.
    ///
    /// # Errors
    /// The database cannot be written; the device keeps the result and sends it again.
    pub async fn record(&self, pipeline: &Pipeline) -> Result<bool, StoreError> {
        let is_end = pipeline.store.close_call(self.end(), ClosedBy::Device).await?;
        self.recorded(pipeline, is_end).await?;
        Ok(is_end)
    }

    /// Stores a report as [`Self::record`] does, if there is one and nothing follows from it.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub async fn record_any(report: Option<Self>, pipeline: &Pipeline) -> Result<(), StoreError> {
        match report {
            Some(report) => report.record(pipeline).await.map(drop),
            None => Ok(()),
        }
    }

    /// Acknowledges a call whose end is stored. `is_end` is false if the stored end is another one.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub async fn recorded(&self, pipeline: &Pipeline, is_end: bool) -> Result<(), StoreError> {
        if !is_end {
            record_late_result(pipeline, &self.close).await?;
        }
        pipeline.fleet.acknowledge(self.device, self.close.id, self.close.state);
        if is_end {
            pipeline.bus.publish(Change::CallClosed(self.close.id));
        }
        Ok(())
    }
}
