//! Stores approval requests with the calls that need them.

use orion_domain::rule::Approvers;
use orion_domain::{ApprovalId, CallState, PlanId, UserName};
use serde::Serialize;

use super::{MAX_OPEN, MAX_OPEN_OF_PERSON, NewApproval};
use crate::store::calls::{self, CloseCall, NewCall};
use crate::store::db::{AuditEvent, Batch, Durability, Statement, Tx, sql};
use crate::store::{Store, StoreError};

/// Why nobody is asked. Nothing was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// This person has reached the limit of open approval requests.
    #[error("{MAX_OPEN_OF_PERSON} calls of this person wait for approval already")]
    TooManyOfPerson,
    /// The limit of open approval requests is reached.
    #[error("{MAX_OPEN} calls wait for approval already")]
    TooMany,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is committed in the same transaction as an approval request.
#[derive(Debug, Default)]
pub struct CommittedWith {
    /// The call that needs approval. None if the call is stored already.
    pub call: Option<NewCall>,
    /// The end of the preview that the approval shows, as the device reported it.
    pub preview: Option<CloseCall>,
}

/// The audit event of an approval request.
#[derive(Serialize)]
struct ApprovalRequestedEvent<'a> {
    approval_id: ApprovalId,
    binding: orion_domain::Digest,
    tool: &'a str,
    device: &'a str,
    risk: orion_domain::Risk,
    rule: &'a str,
    requester: &'a UserName,
    approvers: Approvers,
    second_if_any: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<ApprovalId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written_by: Option<&'a UserName>,
    plan: Option<PlanId>,
    expires_at: i64,
}

impl Store {
    /// Stores the approval request, the call's change to `awaiting_approval`, the audit rows and `along`,
    /// in one transaction. If a standing approval applies, the request is stored as approved. Returns
    /// `false` if the preview had ended before.
    ///
    /// # Errors
    /// [`AskError`]; [`StoreError::Conflict`] if the call is in no state to wait, and as
    /// [`Self::open_call`].
    pub async fn ask(&self, new: NewApproval, along: CommittedWith) -> Result<bool, AskError> {
        let is_tracked = along.call.as_ref().is_some_and(|call| self.open_calls().track(call));
        let (id, ended) = (new.call, along.preview.as_ref().map(|preview| preview.id));
        let done = self.ask_with(new, along).await;
        self.open_calls().change(id);
        match (&done, ended) {
            (Ok(_), Some(ended)) => self.open_calls().untrack(ended),
            (Ok(_), None) => {}
            (Err(_), _) if is_tracked => self.open_calls().untrack(id),
            (Err(_), _) => {}
        }
        done
    }

    /// Stores everything with one command where it is known beforehand, and otherwise, or where that finds
    /// something else than expected, step by step.
    async fn ask_with(&self, new: NewApproval, along: CommittedWith) -> Result<bool, AskError> {
        if let Some(batch) = self.asking(&new, &along)?
            && self.db().apply(batch).await?.is_done()
        {
            return Ok(true);
        }
        let CommittedWith { call, preview } = along;
        let stored = self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                if let Err(full) = leave_room(tx, &new).await? {
                    return Ok(Err(full));
                }
                let is_end = match preview {
                    Some(preview) => calls::close_reported(tx, preview).await?,
                    None => true,
                };
                if let Some(call) = call {
                    calls::open(tx, call).await?;
                }
                ask(tx, new).await?;
                Ok(Ok(is_end))
            })
        });
        stored.await?
    }

    /// Returns the batch of an approval request. None if a part of it has to be read first.
    fn asking(
        &self,
        new: &NewApproval,
        along: &CommittedWith,
    ) -> Result<Option<Batch>, StoreError> {
        let mut batch = Batch::new(Durability::Fsync);
        if let Some(preview) = &along.preview {
            let Some((close, event)) = calls::closing(self.open_calls(), preview)? else {
                return Ok(None);
            };
            batch = batch.statement(close).event(event);
        }
        if let Some(call) = &along.call {
            if call.replaces.is_some() || call.state == CallState::Queued {
                return Ok(None);
            }
            let (insert, event) = calls::opening(call.clone())?;
            batch = batch.statement(insert).event(event);
        }
        let limits =
            if new.standing.is_none() { Some((MAX_OPEN, MAX_OPEN_OF_PERSON)) } else { None };
        batch = batch
            .statement(advance(new).exactly(1))
            .statement(new.clone().insert(limits)?.exactly(1))
            .event(requested(new)?);
        Ok(Some(batch))
    }
}

/// Returns whether the limits leave room for one more request.
async fn leave_room(tx: &mut Tx, new: &NewApproval) -> Result<Result<(), AskError>, StoreError> {
    if new.standing.is_some() {
        return Ok(Ok(()));
    }
    let open = sql("SELECT COUNT(*), COUNT(*) FILTER (WHERE requester = $1) \
         FROM approvals WHERE state = 'open' AND plan_id IS NULL");
    let (all, own): (i64, i64) = tx.query_one(open.bind(&new.requester)).await?;
    Ok(if own >= MAX_OPEN_OF_PERSON {
        Err(AskError::TooManyOfPerson)
    } else if all >= MAX_OPEN {
        Err(AskError::TooMany)
    } else {
        Ok(())
    })
}

/// Stores the approval request, the call's change to `awaiting_approval` and the audit row, inside a
/// transaction.
pub(in crate::store) async fn ask(tx: &mut Tx, new: NewApproval) -> Result<(), StoreError> {
    let event = requested(&new)?;
    if tx.execute(advance(&new)).await? != 1 {
        return Err(StoreError::Conflict);
    }
    tx.execute(new.insert(None)?).await?;
    tx.record(event);
    Ok(())
}

/// Returns the statement that makes the call wait for its approval request.
fn advance(new: &NewApproval) -> Statement {
    calls::waiting_for(new.call, new.id, new.created_at)
}

fn requested(new: &NewApproval) -> Result<AuditEvent, StoreError> {
    let body = ApprovalRequestedEvent {
        approval_id: new.id,
        binding: new.binding,
        tool: &new.tool,
        device: new.device.1.as_str(),
        risk: new.risk,
        rule: &new.rule,
        requester: &new.requester,
        approvers: new.approvers,
        second_if_any: new.approvers.second_if_any,
        standing: new.standing.as_ref().map(|standing| standing.id),
        written_by: new.written_by.as_ref(),
        plan: new.plan,
        expires_at: new.expires_at,
    };
    AuditEvent::new(new.created_at, "approval.asked", new.call.to_string(), &body)
}
