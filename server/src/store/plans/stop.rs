//! Stops plans: an open plan ends, and a running one begins no further step.

use orion_domain::{PlanId, UserName};
use serde::Serialize;

use super::progress::{end, touch};
use super::{PAGE, PlanRow, PlanState, plans};
use crate::store::db::{AuditEvent, Tx, sql, values};
use crate::store::{StopScope, StoreError};

/// The audit event of a stopped plan.
#[derive(Serialize)]
struct PlanStoppedEvent<'a> {
    plan_id: PlanId,
    by: &'a UserName,
}

/// Stops the plans that a stop covers, inside a transaction, and returns their ids. A plan is covered on one
/// device if a step there has not ended.
pub(in crate::store) async fn stop_covered(
    tx: &mut Tx,
    scope: &StopScope,
    by: &UserName,
    now: i64,
) -> Result<Vec<PlanId>, StoreError> {
    let text = plans!(
        "WHERE state IN ('open', 'running') AND stopped_by IS NULL \
         AND ($1 IS NULL OR requester = $1) AND ($2 IS NULL OR EXISTS \
         (SELECT 1 FROM plan_steps WHERE plan_id = plans.id AND device_id = $2 \
         AND plan_steps.state IN ('waiting', 'running'))) LIMIT $3"
    );
    let rows: Vec<PlanRow> =
        tx.query(sql(text).with(values![scope.user.as_ref(), scope.device, PAGE])).await?;
    for row in &rows {
        let stopped = sql("UPDATE plans SET stopped_by = $1 WHERE id = $2");
        tx.execute(stopped.with(values![by, row.id])).await?;
        let body = PlanStoppedEvent { plan_id: row.id, by };
        tx.record(AuditEvent::new(now, "plan.stopped", String::new(), &body)?);
        match row.state {
            PlanState::Open => end(tx, row.id, PlanState::Cancelled, now).await?,
            PlanState::Running => touch(tx, row.id).await?,
            PlanState::Succeeded
            | PlanState::Failed
            | PlanState::Denied
            | PlanState::Expired
            | PlanState::Cancelled
            | PlanState::Interrupted => {}
        }
    }
    Ok(rows.into_iter().map(|row| row.id).collect())
}
