//! Uses an approval, once, and ends requests that nobody answers: expired or withdrawn.

use orion_domain::{ApprovalId, CallId, CallState, PlanId, UserName};
use serde::Serialize;

use super::{ApprovalRow, ApprovalState, PAGE, with_votes};
use crate::store::db::{AuditEvent, Batch, Durability, Tx, sql, values};
use crate::store::{Store, StoreError, calls};

/// The audit event of a decision.
#[derive(Serialize)]
struct ApprovalVotedEvent<'a> {
    approval_id: ApprovalId,
    state: ApprovalState,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Whether the decider's client showed the whole card. None where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    details_shown: Option<bool>,
    /// The passkey that signed the deciding vote. None where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    passkey: Option<&'a str>,
}

impl Store {
    /// Consumes an approval and moves its call to `dispatched`, just before the call is sent: both or
    /// neither. Returns `false` if there is no unused approval, it has expired or the call has ended.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn dispatch_approved(&self, id: ApprovalId, now: i64) -> Result<bool, StoreError> {
        let text = concat!("SELECT *, ", with_votes!(), " FROM approvals WHERE id = $1");
        let row: Option<ApprovalRow> = self.db().query_optional(sql(text).bind(id)).await?;
        let Some(row) = row else { return Ok(false) };
        let consume = sql("UPDATE approvals SET consumed_at = $1 WHERE id = $2 \
             AND state = 'approved' AND decided_at = $3 AND consumed_at IS NULL AND expires_at > $1").with(values![now, id, row.decided_at])
        .exactly(1);
        self.open_calls().change(row.call);
        let batch = Batch::new(Durability::Fsync)
            .statement(consume)
            .statement(calls::advancing(row.call, CallState::Dispatched, now).exactly(1))
            .event(answered("approval.used", &row, now)?);
        Ok(self.db().apply(batch).await?.is_done())
    }

    /// Expires the approval requests whose time is over, at most 500, and returns them. The caller ends
    /// their calls.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn expire_approvals(&self, now: i64) -> Result<Vec<ApprovalRow>, StoreError> {
        let is_due = self
            .db()
            .exists(
                sql("SELECT 1 FROM approvals WHERE state = 'open' AND plan_id IS \
                 NULL AND expires_at <= $1")
                .bind(now),
            )
            .await?;
        // The check runs every few seconds; the writer is not used when nothing is due.
        if !is_due {
            return Ok(Vec::new());
        }
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let rows: Vec<ApprovalRow> = tx
                    .query(
                        sql(concat!(
                            "UPDATE approvals SET state = 'expired', decided_at = $1 WHERE id IN \
                         (SELECT id FROM approvals WHERE state = 'open' AND plan_id IS NULL \
                         AND expires_at <= $1 \
                         ORDER BY expires_at LIMIT $2) RETURNING *, ",
                            with_votes!()
                        ))
                        .bind(now)
                        .bind(PAGE),
                    )
                    .await?;
                for row in &rows {
                    tx.record(answered("approval.expired", row, now)?);
                }
                Ok(rows)
            })
        })
        .await
    }

    /// Withdraws the open approval request of a call that ends. Returns it, or `None` if there was none.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn withdraw_approval(
        &self,
        call: CallId,
        now: i64,
    ) -> Result<Option<ApprovalRow>, StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let row: Option<ApprovalRow> = tx
                    .query_optional(
                        sql(concat!(
                            "UPDATE approvals SET state = 'withdrawn', decided_at = $1 \
                         WHERE call_id = $2 AND state = 'open' AND plan_id IS NULL RETURNING *, ",
                            with_votes!()
                        ))
                        .bind(now)
                        .bind(call),
                    )
                    .await?;
                if let Some(row) = &row {
                    tx.record(answered("approval.withdrawn", row, now)?);
                }
                Ok(row)
            })
        })
        .await
    }
}

/// Withdraws the open requests and the unused approvals of a plan's steps.
pub(in crate::store) async fn withdraw_of_plan(
    tx: &mut Tx,
    plan: PlanId,
    now: i64,
) -> Result<(), StoreError> {
    end_of_plan(tx, plan, ApprovalState::Withdrawn, "approval.withdrawn", now).await
}

/// Expires the open requests and the unused approvals of a plan's steps.
pub(in crate::store) async fn expire_of_plan(
    tx: &mut Tx,
    plan: PlanId,
    now: i64,
) -> Result<(), StoreError> {
    end_of_plan(tx, plan, ApprovalState::Expired, "approval.expired", now).await
}

async fn end_of_plan(
    tx: &mut Tx,
    plan: PlanId,
    state: ApprovalState,
    kind: &'static str,
    now: i64,
) -> Result<(), StoreError> {
    let rows: Vec<ApprovalRow> = tx
        .query(
            sql(concat!(
                "UPDATE approvals SET state = $1, decided_at = $2 WHERE plan_id = $3 \
         AND state IN ('open', 'approved') AND consumed_at IS NULL RETURNING *, ",
                with_votes!()
            ))
            .with(values![state.as_str(), now, plan]),
        )
        .await?;
    for row in &rows {
        tx.record(answered(kind, row, now)?);
    }
    Ok(())
}

/// Returns the audit event of a request whose state changed.
pub(super) fn answered(
    kind: &'static str,
    row: &ApprovalRow,
    now: i64,
) -> Result<AuditEvent, StoreError> {
    let decider = row.votes.iter().find(|vote| Some(&vote.user) == row.decided_by.as_ref());
    let body = ApprovalVotedEvent {
        approval_id: row.id,
        state: row.state,
        by: row.decided_by.as_ref(),
        reason: row.reason.as_deref(),
        details_shown: decider.and_then(|vote| vote.details_shown),
        passkey: decider.and_then(|vote| vote.passkey.as_deref()),
    };
    AuditEvent::new(now, kind, row.call.to_string(), &body)
}
