//! Changes of tasks: made, claimed for one time, put off, and ended.

use orion_domain::{CallId, UserName};
use serde::Serialize;
use serde_json::Value;

use super::{MAX_SCHEDULES, ScheduleRow};
use crate::store::db::{Applied, AuditEvent, Batch, Durability, Statement, Tx, sql, values};
use crate::store::{LocalEffect, Store, StoreError};

/// How long a task that ended is kept, in milliseconds: thirty days.
const KEPT_MS: i64 = 30 * 86_400_000;

/// Why a task is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NewScheduleError {
    /// The person has as many as one may have.
    #[error("the person has {MAX_SCHEDULES} active tasks, which is the most")]
    Full,
    /// Another active task of the person has the name.
    #[error("another active task has this name")]
    NameInUse,
    /// The database cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The audit event of a task's time.
#[derive(Serialize)]
struct TimeCame<'a> {
    user: &'a UserName,
    schedule: CallId,
    name: &'a str,
    due_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<CallId>,
    next_at: Option<i64>,
}

/// The audit event of a task that somebody cancels.
#[derive(Serialize)]
struct Cancelled<'a> {
    user: &'a UserName,
    schedule: CallId,
    name: &'a str,
    by: &'a UserName,
}

/// The audit event of a task that ends because its person may not call any more.
#[derive(Serialize)]
struct Ended<'a> {
    user: &'a UserName,
    schedule: CallId,
    name: &'a str,
    why: &'a str,
}

impl Store {
    /// Stores a task with the effect of its call. Tasks of the person that ended long ago are deleted.
    ///
    /// # Errors
    /// See [`NewScheduleError`].
    pub async fn add_schedule(
        &self,
        row: &ScheduleRow,
        effect: &LocalEffect,
    ) -> Result<(), NewScheduleError> {
        let ScheduleRow { id, user, role, name, times, timezone, tool, device, arguments, .. } =
            row;
        let arguments = Value::Object(arguments.clone()).to_string();
        let insert =
            sql("INSERT INTO schedules (id, user_name, role, name, times, timezone, tool, \
             device, arguments, tainted, token_hash, created_at, next_at) \
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 WHERE \
             (SELECT COUNT(*) FROM schedules WHERE user_name = $2 AND ended_at IS NULL) < $14 \
             AND EXISTS (SELECT 1 FROM users WHERE name = $2 AND disabled_at IS NULL)")
            .with(values![*id, user, role.as_str(), name, times, timezone, tool, device.as_deref()])
            .with(values![
                arguments,
                row.tainted,
                row.token,
                row.created_at,
                row.next_at,
                MAX_SCHEDULES
            ])
            .exactly(1);
        let batch = Batch::new(Durability::Fsync)
            .statement(
                sql("DELETE FROM schedules WHERE user_name = $1 AND ended_at < $2")
                    .with(values![user, row.created_at - KEPT_MS]),
            )
            .statement(insert)
            .statement(effect.statement());
        match self.db().apply(batch).await {
            Ok(Applied::Done(_)) => Ok(()),
            Ok(Applied::Unmet { statement: 1 }) => Err(NewScheduleError::Full),
            // The ids are new, so only the name can be taken.
            Err(StoreError::Conflict) => Err(NewScheduleError::NameInUse),
            Ok(Applied::Unmet { .. }) => Err(StoreError::Conflict.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Claims a time of a task for this call: whoever does so first makes the call. Returns `false` if the time was
    /// claimed, or the task was cancelled, since the row was read.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn claim_schedule(
        &self,
        row: &ScheduleRow,
        call: CallId,
        next_at: Option<i64>,
        now: i64,
    ) -> Result<bool, StoreError> {
        let ended_at = next_at.is_none().then_some(now);
        let claim =
            sql("UPDATE schedules SET next_at = $1, last_at = next_at, last_call_id = $2, \
             ended_at = $3 WHERE id = $4 AND next_at = $5 AND ended_at IS NULL")
            .with(values![next_at, call, ended_at, row.id, row.next_at])
            .exactly(1);
        self.time_came(row, claim, ("schedule.ran", Some(call)), next_at, now).await
    }

    /// Leaves a time of a task out, because the call of the last time has not ended. Returns `false` as
    /// [`Self::claim_schedule`] does.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn skip_schedule(
        &self,
        row: &ScheduleRow,
        next_at: Option<i64>,
        now: i64,
    ) -> Result<bool, StoreError> {
        let ended_at = next_at.is_none().then_some(now);
        let skip = sql("UPDATE schedules SET next_at = $1, ended_at = $2 \
             WHERE id = $3 AND next_at = $4 AND ended_at IS NULL")
        .with(values![next_at, ended_at, row.id, row.next_at])
        .exactly(1);
        self.time_came(row, skip, ("schedule.skipped", None), next_at, now).await
    }

    async fn time_came(
        &self,
        row: &ScheduleRow,
        change: Statement,
        (kind, call): (&'static str, Option<CallId>),
        next_at: Option<i64>,
        now: i64,
    ) -> Result<bool, StoreError> {
        let ScheduleRow { id, user, name, .. } = row;
        let body = TimeCame { user, schedule: *id, name, due_at: row.next_at, call, next_at };
        let event = AuditEvent::new(now, kind, String::new(), &body)?;
        let batch = Batch::new(Durability::Fsync).statement(change).event(event);
        Ok(self.db().apply(batch).await?.is_done())
    }

    /// Ends a task whose person may not make calls any more, and records why. Returns `false` as
    /// [`Self::claim_schedule`] does.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn end_schedule(
        &self,
        row: &ScheduleRow,
        why: &str,
        now: i64,
    ) -> Result<bool, StoreError> {
        let ScheduleRow { id, user, name, .. } = row;
        let body = Ended { user, schedule: *id, name, why };
        let event = AuditEvent::new(now, "schedule.ended", String::new(), &body)?;
        let ending = end(*id, user, now).exactly(1);
        let batch = Batch::new(Durability::Fsync).statement(ending).event(event);
        Ok(self.db().apply(batch).await?.is_done())
    }

    /// Cancels a task, with its audit event, and the effect of its call where a call does it. Returns `false` if it has
    /// ended.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn cancel_schedule(
        &self,
        row: &ScheduleRow,
        by: &UserName,
        effect: Option<&LocalEffect>,
        now: i64,
    ) -> Result<bool, StoreError> {
        let ScheduleRow { id, user, name, .. } = row;
        let cancel = end(*id, by, now).exactly(1);
        let body = Cancelled { user, schedule: *id, name, by };
        let event = AuditEvent::new(now, "schedule.cancelled", String::new(), &body)?;
        let batch = Batch::new(Durability::Fsync).statement(cancel).event(event);
        let batch = match effect {
            Some(effect) => batch.statement(effect.statement()),
            None => batch,
        };
        match self.db().apply(batch).await? {
            Applied::Done(_) => Ok(true),
            Applied::Unmet { statement: 0 } => Ok(false),
            Applied::Unmet { .. } => Err(StoreError::Conflict),
        }
    }
}

/// Cancels every active task of a person whose account is disabled.
///
/// # Errors
/// The database cannot be read or written.
pub(in crate::store) async fn cancel_all(
    tx: &mut Tx,
    user: &UserName,
    by: &UserName,
    now: i64,
) -> Result<(), StoreError> {
    // A time that was claimed and made no call yet is not made up later.
    let claimed = "UPDATE schedules SET ended_by = $2 WHERE user_name = $1 AND ended_by IS NULL \
        AND ended_at IS NOT NULL AND last_call_id IS NOT NULL \
        AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.id = last_call_id)";
    tx.execute(sql(claimed).with(values![user, by])).await?;
    let text = "SELECT * FROM schedules WHERE user_name = $1 AND ended_at IS NULL";
    let rows: Vec<ScheduleRow> = tx.query(sql(text).bind(user)).await?;
    for ScheduleRow { id, name, .. } in rows {
        tx.execute(end(id, by, now)).await?;
        let body = Cancelled { user, schedule: id, name: &name, by };
        tx.record(AuditEvent::new(now, "schedule.cancelled", String::new(), &body)?);
    }
    Ok(())
}

fn end(id: CallId, by: &UserName, now: i64) -> Statement {
    sql("UPDATE schedules SET next_at = NULL, ended_at = $1, ended_by = $2 \
         WHERE id = $3 AND ended_at IS NULL")
    .with(values![now, by, id])
}
