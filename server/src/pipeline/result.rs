//! The last step: the device's answer goes on the record, and then to whoever waits.

use orion_domain::audit::AuditRow;
use orion_domain::{CallState, DeviceId, Digest, ErrorCode};
use serde::Serialize;
use serde_json::Value;

use super::CallView;
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::{DeviceResult, ToDevice};
use crate::store::{CloseCall, ClosedBy, StoreError, Witness};

/// What stands in the audit of a call whose device told another end than was recorded.
const LATE_RESULT: &str = "call.late_result";
/// From how many rows about one call on no more are added for what its device tells of it.
const MOST_OF_CALL: u32 = 16;

/// What became of an answer that nobody waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateResult {
    /// It is on the record, or says what is there already.
    Taken,
    /// It is about a call that was not sent to this device, and was dropped.
    NotItsOwn,
}

/// Closes a call with its device's answer and tells the device that it may forget it.
///
/// # Errors
/// The record cannot be kept; the device keeps the answer and sends it again.
pub async fn close(
    backend: &Backend,
    device: DeviceId,
    reply: CallView,
    answer: DeviceResult,
) -> Result<CallView, StoreError> {
    let told = DeviceReport::of(device, answer);
    let ended = told.ends(reply);
    if told.record(backend).await? {
        return Ok(ended);
    }
    backend.store.call(&ended.call.to_string()).await.map(CallView::from)
}

/// A device's last word on a call that was sent to it.
#[derive(Debug)]
pub struct DeviceReport {
    device: DeviceId,
    close: CloseCall,
}

impl DeviceReport {
    /// Takes it at this moment.
    #[must_use]
    pub fn of(device: DeviceId, answer: DeviceResult) -> Self {
        let DeviceResult { call, state, code, result, duration_us, witness } = answer;
        let at = now_ms();
        Self {
            device,
            close: CloseCall { id: call, state, code, result, duration_us, at, witness },
        }
    }

    /// The end of the call, for the record.
    #[must_use]
    pub fn end(&self) -> CloseCall {
        self.close.clone()
    }

    /// The call with this end.
    #[must_use]
    pub fn ends(&self, reply: CallView) -> CallView {
        reply.ended(self.close.state, self.close.result.clone(), self.close.at)
    }

    /// Puts it on the record by itself and tells the device so; `false` where the call had ended before.
    ///
    /// # Errors
    /// The record cannot be kept; the device keeps the answer and sends it again.
    pub async fn record(&self, backend: &Backend) -> Result<bool, StoreError> {
        let is_end = backend.store.close_call(self.end(), ClosedBy::Device).await?;
        self.recorded(backend, is_end).await?;
        Ok(is_end)
    }

    /// The same where something was told and nothing follows from it.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub async fn record_any(told: Option<Self>, backend: &Backend) -> Result<(), StoreError> {
        match told {
            Some(told) => told.record(backend).await.map(drop),
            None => Ok(()),
        }
    }

    /// Tells the device that it may forget a call whose end is on the record: this one, or another.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub async fn recorded(&self, backend: &Backend, is_end: bool) -> Result<(), StoreError> {
        if !is_end {
            record_late_result(backend, &self.close).await?;
        }
        backend.fleet.notify(self.device, ToDevice::Ack(self.close.id, self.close.state));
        if is_end {
            backend.bus.publish(Change::CallClosed(self.close.id));
        }
        Ok(())
    }
}

/// Takes an answer that nobody waits for: after a lost link, or after a restart of this backend.
/// An answer to a call that is not there, or was not sent to this device, is dropped.
///
/// # Errors
/// The record cannot be kept.
pub async fn late(
    backend: &Backend,
    device: DeviceId,
    answer: DeviceResult,
) -> Result<LateResult, StoreError> {
    let (call, state) = (answer.call, answer.state);
    let sent_to = match backend.store.call_device(call).await {
        Ok(sent_to) => sent_to,
        Err(StoreError::NotFound) => None,
        Err(error) => return Err(error),
    };
    if sent_to != Some(device) {
        if let Some(witness) =
            answer.witness.filter(|witness| sent_to.is_none() && witness.entry > 0)
        {
            let witnesses = backend.fleet.witnesses();
            witnesses.report_unknown(&backend.store, device, call, state, witness).await?;
        }
        // Acknowledged all the same, or the device would keep it and say it again for ever.
        backend.fleet.notify(device, ToDevice::Ack(call, state));
        return Ok(LateResult::NotItsOwn);
    }
    if DeviceReport::of(device, answer).record(backend).await? {
        tracing::info!(%device, %call, "a late answer completed the record");
    }
    Ok(LateResult::Taken)
}

/// What a device told of a call that had ended otherwise before: recorded beside it, so that what
/// the device noted has its row here too. The same answer again is nothing new.
async fn record_late_result(backend: &Backend, told: &CloseCall) -> Result<(), StoreError> {
    let Some(witness) = told.witness.filter(|witness| witness.entry > 0) else { return Ok(()) };
    let before = backend.store.call(&told.id.to_string()).await?;
    if before.state == told.state && before.result.as_deref() == Some(&told.result) {
        return Ok(());
    }
    // Told again, or again and again: once is enough, and a device cannot fill the audit.
    let rows = backend.store.audit_rows(MOST_OF_CALL, None, Some(&told.id.to_string())).await?;
    let is_told = |row: &AuditRow| {
        let body = serde_json::from_str::<Value>(&row.body).unwrap_or_default();
        row.kind == LATE_RESULT && body["witness"]["entry"] == witness.entry
    };
    if rows.len() >= MOST_OF_CALL as usize || rows.iter().any(is_told) {
        return Ok(());
    }
    let body = LateResultEvent {
        state: told.state,
        code: told.code,
        result_digest: Digest::of(&told.result),
        witness,
    };
    backend.store.audit_call_event(LATE_RESULT, told.id, body, told.at).await
}

#[derive(Serialize)]
struct LateResultEvent {
    state: CallState,
    code: Option<ErrorCode>,
    result_digest: Digest,
    witness: Witness,
}
