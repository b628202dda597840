//! A call that is stored and runs on: it waits for its device, is approved, or was sent and did not arrive.

use orion_domain::{CallRequest, CallState};

use super::CallContext;
use super::origin::Origin;
use crate::pipeline::secrets::whole;
use crate::store::{ApprovalRow, CallRow, Label, Provenance, StoreError};

/// What is stored of a call.
#[derive(Debug, Clone)]
pub enum Stage {
    /// Nothing.
    New,
    /// It waits for its device, is approved, or was sent and did not arrive.
    Stored(Box<StoredCall>),
}

/// A stored call that runs on.
#[derive(Debug, Clone)]
pub struct StoredCall {
    /// Its row, as it was last read.
    pub row: CallRow,
    /// The approval of this call. None if it needed none so far.
    pub approval: Option<ApprovalRow>,
}

impl CallContext {
    /// Returns the context of a stored call that has not been sent, with its approval if it has one.
    ///
    /// # Errors
    /// The stored arguments cannot be read.
    pub fn stored(row: CallRow, approval: Option<ApprovalRow>) -> Result<Self, StoreError> {
        let arguments = whole(&row).ok_or(StoreError::Corrupt)?;
        let request = CallRequest {
            tool: row.tool.clone(),
            device: row.device.as_ref().map(|(id, _)| id.to_string()),
            arguments,
            dry_run: row.dry_run,
            idempotency_key: row.idempotency_key.clone(),
            timeout_ms: u64::try_from(row.deadline_at - row.created_at).ok(),
            recovered: row.recovered,
            ..CallRequest::default()
        };
        let (provenance, observed) = match &approval {
            Some(approval) => (approval.card.provenance.clone(), approval.observed.clone()),
            None => (provenance_of(&row), Vec::new()),
        };
        let origin = row.plan.map_or(Origin::Direct, |plan| Origin::PlanStep { plan, shown: None });
        Ok(Self {
            id: row.id,
            created_at: row.created_at,
            provenance,
            origin,
            observed,
            turn: row.turn,
            token: row.token,
            ..Self::new(row.caller.clone(), request)
        }
        .at(row, approval))
    }

    /// Returns the same call in this stage.
    #[must_use]
    pub fn at(self, row: CallRow, approval: Option<ApprovalRow>) -> Self {
        Self {
            stage: Stage::Stored(Box::new(StoredCall { row, approval })),
            is_fresh: false,
            ..self
        }
    }

    /// Returns the stored call. None if nothing is stored.
    #[must_use]
    pub fn stored_call(&self) -> Option<&StoredCall> {
        match &self.stage {
            Stage::New => None,
            Stage::Stored(stored) => Some(stored),
        }
    }

    /// Returns the approval of this call. None if it has none.
    #[must_use]
    pub fn approval(&self) -> Option<&ApprovalRow> {
        self.stored_call()?.approval.as_ref()
    }

    /// Returns whether the call waits for its device and has no approval.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.stored_call()
            .is_some_and(|it| it.row.state == CallState::Queued && it.approval.is_none())
    }

    /// Returns whether the call was sent before.
    #[must_use]
    pub fn was_sent(&self) -> bool {
        self.stored_call().is_some_and(|it| it.row.state == CallState::Dispatched)
    }
}

/// Returns the provenance of a call, as far as its row has it.
fn provenance_of(row: &CallRow) -> Provenance {
    let label = Label {
        call: row.id,
        tool: row.tool.clone(),
        device: row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default(),
        place: String::new(),
    };
    let content = if row.tainted { vec![label] } else { Vec::new() };
    let raises = row.content_raises.clone();
    Provenance { content, quoted: row.quoted, raises, ..Provenance::default() }
}
