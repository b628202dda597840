//! Approval requests: stored with the call's change of state, decided once, used once. Who may approve is
//! decided in `vote`; the rules that ask come from the policy.

mod row;
mod standing;
mod vote;

use orion_domain::rule::Approvers;
use orion_domain::{ApprovalId, CallId, CallState, PlanId, UserName};
use serde::Serialize;

use super::calls::{self, CloseCall, NewCall};
use super::row::{id_range, only, parsed};
use super::writer::{Durability, Event, Tx};
use super::{Store, StoreError};

pub use row::{ApprovalRow, ApprovalState, Card, NewApproval, StandingApproval, Vote};
pub use standing::{MOST_ON_DEVICE, StandingKey, StandingRule};
pub use vote::{ApprovalScope, DecideError, NewVote};
pub(super) use vote::{counts, is_enough_still, reopen, role_of, settle};

/// How many approval requests are listed or expired at a time.
const PAGE: i64 = 500;
/// The limit of open approval requests of one person.
pub const MOST_OF_PERSON: i64 = 20;
/// The limit of open approval requests.
pub const MOST_OPEN: i64 = 500;

/// The votes on an approval request, as a column.
macro_rules! with_votes {
    () => {
        "(SELECT json_group_array(json_object('user', user_name, 'role', role, 'yes', yes, \
         'reason', reason, 'at', at)) FROM votes WHERE approval_id = approvals.id) AS votes_json"
    };
}
use with_votes;

/// Selects the approval requests of a plan's steps.
pub(super) const OF_PLAN: &str =
    concat!("SELECT *, ", with_votes!(), " FROM approvals WHERE plan_id = $1 ORDER BY id");

/// Why nobody is asked. Nothing was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// This person has reached the limit of open approval requests.
    #[error("{MOST_OF_PERSON} calls of this person wait for approval already")]
    TooManyOfPerson,
    /// The limit of open approval requests is reached.
    #[error("{MOST_OPEN} calls wait for approval already")]
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

/// The audit event of a decision.
#[derive(Serialize)]
struct ApprovalVotedEvent<'a> {
    approval_id: ApprovalId,
    state: ApprovalState,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
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
        let CommittedWith { call, preview } = along;
        let listed = call.as_ref().is_some_and(|call| self.track_read_only_call(call));
        let (id, ended) = (new.call, preview.as_ref().map(|preview| preview.id));
        let done = self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                if new.standing.is_none() {
                    let (all, own): (i64, i64) = sqlx::query_as(
                        "SELECT COUNT(*), COUNT(*) FILTER (WHERE requester = $1) \
                         FROM approvals WHERE state = 'open' AND plan_id IS NULL",
                    )
                    .bind(new.requester.as_str())
                    .fetch_one(&mut tx.conn)
                    .await?;
                    if own >= MOST_OF_PERSON {
                        return Ok(Err(AskError::TooManyOfPerson));
                    }
                    if all >= MOST_OPEN {
                        return Ok(Err(AskError::TooMany));
                    }
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
        let done = done.await.map_err(AskError::from).flatten();
        match (&done, ended) {
            (Ok(_), Some(ended)) => self.untrack_read_only_call(ended),
            (Ok(_), None) => {}
            (Err(_), _) if listed => self.untrack_read_only_call(id),
            (Err(_), _) => {}
        }
        done
    }

    /// Consumes an approval and moves its call to `dispatched`, just before the call is sent: both or
    /// neither. Returns `false` if there is no unused approval, it has expired or the call has ended.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn dispatch_approved(&self, id: ApprovalId, now: i64) -> Result<bool, StoreError> {
        let done = self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let used: Option<ApprovalRow> = sqlx::query_as(concat!(
                    "UPDATE approvals SET consumed_at = $1 \
                         WHERE id = $2 AND state = 'approved' AND consumed_at IS NULL \
                         AND expires_at > $1 RETURNING *, ",
                    with_votes!()
                ))
                .bind(now)
                .bind(id.to_string())
                .fetch_optional(&mut tx.conn)
                .await?;
                let Some(used) = used else { return Ok(false) };
                if !calls::advance(tx, used.call, CallState::Dispatched, now).await? {
                    // The error rolls back the consumption as well.
                    return Err(StoreError::Conflict);
                }
                answered(tx, "approval.used", &used, now)?;
                Ok(true)
            })
        });
        match done.await {
            Err(StoreError::Conflict) => Ok(false),
            done => done,
        }
    }

    /// Expires the approval requests whose time is over, at most 500, and returns them. The caller ends
    /// their calls.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn expire_approvals(&self, now: i64) -> Result<Vec<ApprovalRow>, StoreError> {
        let due = sqlx::query(
            "SELECT 1 FROM approvals WHERE state = 'open' AND plan_id IS NULL AND expires_at <= $1",
        )
        .bind(now)
        .fetch_optional(self.reads())
        .await?;
        // The check runs every few seconds; the writer is not used when nothing is due.
        if due.is_none() {
            return Ok(Vec::new());
        }
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let rows: Vec<ApprovalRow> = sqlx::query_as(concat!(
                    "UPDATE approvals SET state = 'expired', decided_at = $1 WHERE id IN \
                         (SELECT id FROM approvals WHERE state = 'open' AND plan_id IS NULL \
                         AND expires_at <= $1 \
                         ORDER BY expires_at LIMIT $2) RETURNING *, ",
                    with_votes!()
                ))
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
                let row: Option<ApprovalRow> = sqlx::query_as(concat!(
                    "UPDATE approvals SET state = 'withdrawn', decided_at = $1 \
                         WHERE call_id = $2 AND state = 'open' AND plan_id IS NULL RETURNING *, ",
                    with_votes!()
                ))
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

    /// Returns an approval request by its id or a prefix of the id.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Conflict`] if several ids have this prefix.
    pub async fn approval(&self, id: &str) -> Result<ApprovalRow, StoreError> {
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        let sql = concat!(
            "SELECT *, ",
            with_votes!(),
            " FROM approvals WHERE id >= $1 AND id < $2 LIMIT 2"
        );
        only(sqlx::query_as(sql).bind(from).bind(to).fetch_all(self.reads()).await?)
    }

    /// Returns the ids of the newest 500 approval requests, newest first; with `open_only` only open ones.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn approval_ids(&self, open_only: bool) -> Result<Vec<ApprovalId>, StoreError> {
        let sql = if open_only {
            "SELECT id FROM approvals WHERE state = 'open' ORDER BY +id DESC LIMIT $1"
        } else {
            "SELECT id FROM approvals ORDER BY id DESC LIMIT $1"
        };
        let rows = sqlx::query(sql).bind(PAGE).fetch_all(self.reads()).await?;
        Ok(rows.iter().map(|row| parsed(row, "id")).collect::<Result<_, _>>()?)
    }

    /// Returns the approved requests whose call has not been started, after the one with this id; oldest
    /// first, at most 500.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn approved_and_unused(
        &self,
        after: Option<ApprovalId>,
    ) -> Result<Vec<ApprovalRow>, StoreError> {
        Ok(sqlx::query_as(concat!(
            "SELECT approvals.*, ",
            with_votes!(),
            " FROM calls JOIN approvals ON approvals.id = calls.approval_id \
             WHERE calls.closed_at IS NULL AND calls.state = 'awaiting_approval' \
             AND approvals.state = 'approved' AND approvals.consumed_at IS NULL \
             AND approvals.plan_id IS NULL AND approvals.id > $2 ORDER BY approvals.id LIMIT $1"
        ))
        .bind(PAGE)
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .fetch_all(self.reads())
        .await?)
    }
}

/// Stores the approval request, the call's change to `awaiting_approval` and the audit row, inside a
/// transaction.
pub(super) async fn ask(tx: &mut Tx, new: NewApproval) -> Result<(), StoreError> {
    let event = Event::new(
        new.created_at,
        "approval.asked",
        new.call.to_string(),
        &ApprovalRequestedEvent {
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
}

/// Withdraws the open requests and the unused approvals of a plan's steps.
pub(super) async fn withdraw_of_plan(
    tx: &mut Tx,
    plan: PlanId,
    now: i64,
) -> Result<(), StoreError> {
    end_of_plan(tx, plan, ApprovalState::Withdrawn, "approval.withdrawn", now).await
}

/// Expires the open requests and the unused approvals of a plan's steps.
pub(super) async fn expire_of_plan(tx: &mut Tx, plan: PlanId, now: i64) -> Result<(), StoreError> {
    end_of_plan(tx, plan, ApprovalState::Expired, "approval.expired", now).await
}

async fn end_of_plan(
    tx: &mut Tx,
    plan: PlanId,
    state: ApprovalState,
    kind: &'static str,
    now: i64,
) -> Result<(), StoreError> {
    let rows: Vec<ApprovalRow> = sqlx::query_as(concat!(
        "UPDATE approvals SET state = $1, decided_at = $2 WHERE plan_id = $3 \
         AND state IN ('open', 'approved') AND consumed_at IS NULL RETURNING *, ",
        with_votes!()
    ))
    .bind(state.as_str())
    .bind(now)
    .bind(plan.to_string())
    .fetch_all(&mut tx.conn)
    .await?;
    rows.iter().try_for_each(|row| answered(tx, kind, row, now))
}

fn answered(
    tx: &mut Tx,
    kind: &'static str,
    row: &ApprovalRow,
    now: i64,
) -> Result<(), StoreError> {
    let body = ApprovalVotedEvent {
        approval_id: row.id,
        state: row.state,
        by: row.decided_by.as_ref(),
        reason: row.reason.as_deref(),
    };
    tx.record(Event::new(now, kind, row.call.to_string(), &body)?);
    Ok(())
}
