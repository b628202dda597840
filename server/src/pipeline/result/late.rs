//! Results that no task waits for, and results that differ from the stored ones.

use orion_domain::audit::AuditRow;
use orion_domain::{CallState, DeviceId, Digest, ErrorCode};
use serde::Serialize;
use serde_json::Value;

use super::DeviceReport;
use crate::fleet::DeviceResult;
use crate::pipeline::Pipeline;
use crate::store::{CloseCall, StoreError, Witness};

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

#[derive(Serialize)]
struct LateResultEvent {
    pub(super) state: CallState,
    pub(super) code: Option<ErrorCode>,
    pub(super) result_digest: Digest,
    pub(super) witness: Witness,
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
pub(super) async fn record_late_result(
    pipeline: &Pipeline,
    report: &CloseCall,
) -> Result<(), StoreError> {
    let Some(witness) = report.witness.filter(|witness| witness.entry > 0) else { return Ok(()) };
    let before = pipeline.store.call(report.id).await?;
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
