//! The last step: the device's result is stored, then waiters are woken.

use orion_domain::audit::AuditRow;
use orion_domain::{CallState, DeviceId, Digest, ErrorCode};
use serde::Serialize;
use serde_json::Value;

use super::Pipeline;
use super::view::CallView;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::DeviceResult;
use crate::store::{CloseCall, ClosedBy, StoreError, Witness};

/// The audit kind of a result that differs from the stored one.
const LATE_RESULT: &str = "call.late_result";
/// From this number of audit rows about one call on, late results of its device are not recorded.
const MAX_CALL_ROWS: u32 = 16;

/// What happened to a result that no task waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateResult {
    /// The result is stored, or equals the stored one.
    Taken,
    /// The call was not sent to this device, and the result was dropped.
    NotItsOwn,
}

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
    pipeline.store.call(&ended.call.to_string()).await.map(CallView::from)
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

/// Stores a result that no task waits for: after a lost connection, or a restart of this backend. A result
/// for a call that does not exist, or was not sent to this device, is dropped.
///
/// # Errors
/// The database cannot be written.
pub async fn late(
    pipeline: &Pipeline,
    device: DeviceId,
    answer: DeviceResult,
) -> Result<LateResult, StoreError> {
    let (call, state) = (answer.call, answer.state);
    let sent_to = match pipeline.store.call_device(call).await {
        Ok(sent_to) => sent_to,
        Err(StoreError::NotFound) => None,
        Err(error) => return Err(error),
    };
    if sent_to != Some(device) {
        if let Some(witness) =
            answer.witness.filter(|witness| sent_to.is_none() && witness.entry > 0)
        {
            let witnesses = pipeline.fleet.witnesses();
            witnesses.report_unknown(&pipeline.store, device, call, state, witness).await?;
        }
        // Acknowledged even so, or the device would keep the result and send it forever.
        pipeline.fleet.acknowledge(device, call, state);
        return Ok(LateResult::NotItsOwn);
    }
    if DeviceReport::of(device, answer).record(pipeline).await? {
        tracing::info!(%device, %call, "a late answer completed the record");
    }
    Ok(LateResult::Taken)
}

/// Records a device's result for a call that ended differently before, beside the stored one, so that each
/// entry of the device's log has a row here. An equal result adds nothing.
async fn record_late_result(pipeline: &Pipeline, report: &CloseCall) -> Result<(), StoreError> {
    let Some(witness) = report.witness.filter(|witness| witness.entry > 0) else { return Ok(()) };
    let before = pipeline.store.call(&report.id.to_string()).await?;
    if before.state == report.state && before.result.as_deref() == Some(&report.result) {
        return Ok(());
    }
    // Once is enough for repeated reports, and a device cannot fill the audit log.
    let rows = pipeline.store.audit_rows(MAX_CALL_ROWS, None, Some(&report.id.to_string())).await?;
    let is_recorded = |row: &AuditRow| {
        let body = serde_json::from_str::<Value>(&row.body).unwrap_or_default();
        row.kind == LATE_RESULT && body["witness"]["entry"] == witness.entry
    };
    if rows.len() >= MAX_CALL_ROWS as usize || rows.iter().any(is_recorded) {
        return Ok(());
    }
    let body = LateResultEvent {
        state: report.state,
        code: report.code,
        result_digest: Digest::of(&report.result),
        witness,
    };
    pipeline.store.audit_call_event(LATE_RESULT, report.id, body, report.at).await
}

#[derive(Serialize)]
struct LateResultEvent {
    state: CallState,
    code: Option<ErrorCode>,
    result_digest: Digest,
    witness: Witness,
}
