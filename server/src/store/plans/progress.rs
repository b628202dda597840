//! The progress of an approved plan, and its end.

use orion_domain::{ErrorCode, PlanId, UserName};
use serde::Serialize;

use super::{PAGE, PlanRow, PlanState, StepState, plans};
use crate::store::db::{AuditEvent, Durability, Tx, sql, values};
use crate::store::{Store, StoreError, approvals};

/// The end of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEnd {
    /// The final state.
    pub state: StepState,
    /// The stable code. None if the step succeeded.
    pub code: Option<ErrorCode>,
    /// A sentence.
    pub message: String,
}

/// The audit event of a plan's end.
#[derive(Serialize)]
struct PlanEndedEvent {
    plan_id: PlanId,
    state: PlanState,
    steps: Vec<String>,
}

/// The audit event of a plan that could no longer run as it was shown when a person approved it.
#[derive(Serialize)]
struct PlanOutdatedEvent<'a> {
    plan_id: PlanId,
    by: &'a UserName,
    step: u32,
}

impl Store {
    /// Starts a step. Returns `false` if its plan does not run or was stopped, or the step was started
    /// before.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn begin_step(
        &self,
        plan: PlanId,
        number: u32,
        now: i64,
    ) -> Result<bool, StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let done = tx
                    .execute(
                        sql("UPDATE plan_steps SET state = 'running', began_at = $1 \
                     WHERE plan_id = $2 AND number = $3 AND state = 'waiting' AND EXISTS \
                     (SELECT 1 FROM plans WHERE id = $2 AND state = 'running' \
                     AND stopped_by IS NULL)")
                        .with(values![now, plan, number]),
                    )
                    .await?;
                if done == 1 {
                    touch(tx, plan).await?;
                }
                Ok(done == 1)
            })
        })
        .await
    }

    /// Ends a started step.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn end_step(
        &self,
        plan: PlanId,
        number: u32,
        end: StepEnd,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                tx.execute(
                    sql(
                        "UPDATE plan_steps SET state = $1, code = $2, message = $3, ended_at = $4 \
                     WHERE plan_id = $5 AND number = $6 AND state = 'running'",
                    )
                    .with(values![
                        end.state.as_str(),
                        end.code.map(ErrorCode::as_str),
                        end.message,
                        now,
                        plan,
                        number
                    ]),
                )
                .await?;
                touch(tx, plan).await
            })
        })
        .await
    }

    /// Ends a running plan; steps that were not started are skipped.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn end_plan(
        &self,
        plan: PlanId,
        state: PlanState,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move { end(tx, plan, state, now).await })
        })
        .await
    }

    /// Expires the plans whose time is over, at most 100, and returns their ids. The caller ends the calls
    /// that wait.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn expire_plans(&self, now: i64) -> Result<Vec<PlanId>, StoreError> {
        let is_due = self
            .db()
            .exists(sql("SELECT 1 FROM plans WHERE state = 'open' AND expires_at <= $1").bind(now))
            .await?;
        // The check runs every second; the writer is not used when nothing is due.
        if !is_due {
            return Ok(Vec::new());
        }
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let text = plans!("WHERE state = 'open' AND expires_at <= $1 ORDER BY id LIMIT $2");
                let rows: Vec<PlanRow> = tx.query(sql(text).bind(now).bind(PAGE)).await?;
                for row in &rows {
                    expire(tx, row.id, now).await?;
                }
                Ok(rows.into_iter().map(|row| row.id).collect())
            })
        })
        .await
    }

    /// Expires a plan before its time, because this step can no longer run as it was shown when this person approved it.
    /// Returns `false` if the plan was not open. The caller ends the calls that wait.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn expire_outdated_plan(
        &self,
        plan: PlanId,
        by: &UserName,
        step: u32,
        now: i64,
    ) -> Result<bool, StoreError> {
        let by = by.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let text = "SELECT 1 FROM plans WHERE state = 'open' AND id = $1";
                let is_open = tx.query_optional::<(i64,)>(sql(text).bind(plan)).await?.is_some();
                if is_open {
                    let body = PlanOutdatedEvent { plan_id: plan, by: &by, step };
                    tx.record(AuditEvent::new(now, "plan.outdated", String::new(), &body)?);
                    expire(tx, plan, now).await?;
                }
                Ok(is_open)
            })
        })
        .await
    }
}

async fn expire(tx: &mut Tx, plan: PlanId, now: i64) -> Result<(), StoreError> {
    approvals::expire_of_plan(tx, plan, now).await?;
    end(tx, plan, PlanState::Expired, now).await
}

/// Increments the plan's revision.
pub(super) async fn touch(tx: &mut Tx, plan: PlanId) -> Result<(), StoreError> {
    tx.execute(sql("UPDATE plans SET revision = revision + 1 WHERE id = $1").bind(plan)).await?;
    Ok(())
}

/// Ends a plan, inside a transaction.
pub(super) async fn end(
    tx: &mut Tx,
    plan: PlanId,
    state: PlanState,
    now: i64,
) -> Result<(), StoreError> {
    approvals::withdraw_of_plan(tx, plan, now).await?;
    tx.execute(
        sql("UPDATE plan_steps SET state = 'skipped' WHERE plan_id = $1 AND state = 'waiting'")
            .bind(plan),
    )
    .await?;
    tx.execute(
        sql("UPDATE plans SET state = $1, ended_at = $2, revision = revision + 1 \
         WHERE id = $3 AND ended_at IS NULL")
        .with(values![state.as_str(), now, plan]),
    )
    .await?;
    let steps: Vec<(String,)> = tx
        .query(
            sql("SELECT state FROM plan_steps WHERE plan_id = $1 ORDER BY \
                 number")
            .bind(plan),
        )
        .await?;
    let steps = steps.into_iter().map(|(state,)| state).collect();
    let body = PlanEndedEvent { plan_id: plan, state, steps };
    tx.record(AuditEvent::new(now, "plan.ended", String::new(), &body)?);
    Ok(())
}
