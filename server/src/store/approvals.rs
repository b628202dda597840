//! Questions to people: asked with the call's change of state, decided once, used once.

mod row;

use orion_domain::{ApprovalId, CallId, CallState, UserName};
use serde::Serialize;

use super::calls;
use super::row::{id_range, only};
use super::writer::{Durability, Event, Tx};
use super::{Store, StoreError};

pub use row::{ApprovalRow, ApprovalState, NewApproval};

/// How many questions are listed or ended at a time.
const PAGE: i64 = 500;

/// Why an answer does not count. Nothing was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    /// There is no such question.
    #[error("there is no such approval")]
    NotFound,
    /// It was answered before, ran out or was withdrawn.
    #[error("the approval is {} already", .0.as_str())]
    AlreadyDecided(ApprovalState),
    /// Its time is over.
    #[error("the approval has expired")]
    Expired,
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the audit holds of a question.
#[derive(Serialize)]
struct Asked<'a> {
    approval_id: ApprovalId,
    binding: orion_domain::Digest,
    tool: &'a str,
    device: &'a str,
    risk: orion_domain::Risk,
    rule: &'a str,
    requester: &'a UserName,
    approver_role: orion_domain::Role,
    expires_at: i64,
}

/// What the audit holds of an answer.
#[derive(Serialize)]
struct Answered<'a> {
    approval_id: ApprovalId,
    state: ApprovalState,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl Store {
    /// Asks: the question, the call's change to `awaiting_approval` and the audit row, as one.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] where the call is in no state to wait.
    pub async fn ask(&self, new: NewApproval) -> Result<(), StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let event = Event::new(
                    new.created_at,
                    "approval.asked",
                    new.call.to_string(),
                    &Asked {
                        approval_id: new.id,
                        binding: new.binding,
                        tool: &new.tool,
                        device: new.device.1.as_str(),
                        risk: new.risk,
                        rule: &new.rule,
                        requester: &new.requester,
                        approver_role: new.approver_role,
                        expires_at: new.expires_at,
                    },
                )?;
                let (id, call, at) = (new.id, new.call, new.created_at);
                if !calls::advance(tx, call, CallState::AwaitingApproval, at).await? {
                    return Err(StoreError::Conflict);
                }
                new.insert(&mut tx.conn).await?;
                sqlx::query("UPDATE calls SET approval_id = $1 WHERE id = $2")
                    .bind(id.to_string())
                    .bind(call.to_string())
                    .execute(&mut tx.conn)
                    .await?;
                tx.record(event);
                Ok(())
            })
        })
        .await
    }

    /// Takes a person's answer, once.
    ///
    /// # Errors
    /// See [`DecideError`].
    pub async fn decide_approval(
        &self,
        id: ApprovalId,
        approve: bool,
        by: &UserName,
        reason: &str,
        now: i64,
    ) -> Result<ApprovalRow, DecideError> {
        let state = if approve { ApprovalState::Approved } else { ApprovalState::Denied };
        let (by, reason) = (by.clone(), reason.to_owned());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let decided: Option<ApprovalRow> = sqlx::query_as(
                    "UPDATE approvals SET state = $1, decided_by = $2, decided_at = $3, \
                     reason = $4 WHERE id = $5 AND state = 'open' AND expires_at > $3 RETURNING *",
                )
                .bind(state.as_str())
                .bind(by.as_str())
                .bind(now)
                .bind(reason)
                .bind(id.to_string())
                .fetch_optional(&mut tx.conn)
                .await?;
                let Some(decided) = decided else { return Ok(Err(why_not(tx, id).await?)) };
                answered(tx, "approval.decided", &decided, now)?;
                Ok(Ok(decided))
            })
        })
        .await?
    }

    /// Spends a yes, just before its call is sent; `false` where there is none to spend.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub async fn consume_approval(&self, id: ApprovalId, now: i64) -> Result<bool, StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let used: Option<ApprovalRow> = sqlx::query_as(
                    "UPDATE approvals SET consumed_at = $1 \
                     WHERE id = $2 AND state = 'approved' AND consumed_at IS NULL RETURNING *",
                )
                .bind(now)
                .bind(id.to_string())
                .fetch_optional(&mut tx.conn)
                .await?;
                if let Some(used) = &used {
                    answered(tx, "approval.used", used, now)?;
                }
                Ok(used.is_some())
            })
        })
        .await
    }

    /// Ends the questions whose time is over, at most 500, and gives them; their calls are the
    /// caller's to end.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub async fn expire_approvals(&self, now: i64) -> Result<Vec<ApprovalRow>, StoreError> {
        let due = sqlx::query("SELECT 1 FROM approvals WHERE state = 'open' AND expires_at <= $1")
            .bind(now)
            .fetch_optional(self.reads())
            .await?;
        // Asked every few seconds; the writer is left alone when there is nothing to do.
        if due.is_none() {
            return Ok(Vec::new());
        }
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let rows: Vec<ApprovalRow> = sqlx::query_as(
                    "UPDATE approvals SET state = 'expired', decided_at = $1 WHERE id IN \
                     (SELECT id FROM approvals WHERE state = 'open' AND expires_at <= $1 \
                     ORDER BY expires_at LIMIT $2) RETURNING *",
                )
                .bind(now)
                .bind(PAGE)
                .fetch_all(&mut tx.conn)
                .await?;
                for row in &rows {
                    answered(tx, "approval.expired", row, now)?;
                }
                Ok(rows)
            })
        })
        .await
    }

    /// Takes back the question of a call that ends while it stands; gives it where there was one.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub async fn withdraw_approval(
        &self,
        call: CallId,
        now: i64,
    ) -> Result<Option<ApprovalRow>, StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let row: Option<ApprovalRow> = sqlx::query_as(
                    "UPDATE approvals SET state = 'withdrawn', decided_at = $1 \
                     WHERE call_id = $2 AND state = 'open' RETURNING *",
                )
                .bind(now)
                .bind(call.to_string())
                .fetch_optional(&mut tx.conn)
                .await?;
                if let Some(row) = &row {
                    answered(tx, "approval.withdrawn", row, now)?;
                }
                Ok(row)
            })
        })
        .await
    }

    /// A question by its id, which may be shortened.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Conflict`] where several begin so.
    pub async fn approval(&self, id: &str) -> Result<ApprovalRow, StoreError> {
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        let rows = sqlx::query_as("SELECT * FROM approvals WHERE id >= $1 AND id < $2 LIMIT 2")
            .bind(from)
            .bind(to)
            .fetch_all(self.reads())
            .await?;
        only(rows)
    }

    /// The newest 500 questions, newest first; with `open_only` those that stand.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn approvals(&self, open_only: bool) -> Result<Vec<ApprovalRow>, StoreError> {
        let sql = if open_only {
            "SELECT * FROM approvals WHERE state = 'open' ORDER BY id DESC LIMIT $1"
        } else {
            "SELECT * FROM approvals ORDER BY id DESC LIMIT $1"
        };
        Ok(sqlx::query_as(sql).bind(PAGE).fetch_all(self.reads()).await?)
    }

    /// The questions that were answered with yes and whose call has not been started; oldest
    /// first, at most 500.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn approved_and_unused(&self) -> Result<Vec<ApprovalRow>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT approvals.* FROM calls JOIN approvals ON approvals.id = calls.approval_id \
             WHERE calls.closed_at IS NULL AND calls.state = 'awaiting_approval' \
             AND approvals.state = 'approved' AND approvals.consumed_at IS NULL \
             ORDER BY approvals.id LIMIT $1",
        )
        .bind(PAGE)
        .fetch_all(self.reads())
        .await?)
    }
}

fn answered(
    tx: &mut Tx,
    kind: &'static str,
    row: &ApprovalRow,
    now: i64,
) -> Result<(), StoreError> {
    let body = Answered {
        approval_id: row.id,
        state: row.state,
        by: row.decided_by.as_ref(),
        reason: row.reason.as_deref(),
    };
    tx.record(Event::new(now, kind, row.call.to_string(), &body)?);
    Ok(())
}

async fn why_not(tx: &mut Tx, id: ApprovalId) -> Result<DecideError, StoreError> {
    let row: Option<ApprovalRow> = sqlx::query_as("SELECT * FROM approvals WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(&mut tx.conn)
        .await?;
    Ok(match row.map(|row| row.state) {
        None => DecideError::NotFound,
        // The guard refused an open question, so its time is over.
        Some(ApprovalState::Open | ApprovalState::Expired) => DecideError::Expired,
        Some(
            state @ (ApprovalState::Approved | ApprovalState::Denied | ApprovalState::Withdrawn),
        ) => DecideError::AlreadyDecided(state),
    })
}
