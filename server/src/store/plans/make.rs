//! Stores new plans.

use orion_domain::{CallId, Digest, PlanId, Role, UserName};
use serde::Serialize;

use super::NewPlan;
use crate::store::db::{AuditEvent, Batch, Durability, Tx, sql, values};
use crate::store::{MAX_OPEN, Store, StoreError, approvals, calls};

/// The limit of open approval requests in one person's plans.
const MAX_STEPS_OF_PERSON: i64 = 64;
/// The limit of one person's plans that wait or run.
const MAX_PLANS_OF_PERSON: i64 = 5;
/// The limit of plans that wait or run.
const MAX_PLANS: i64 = 100;
/// Why a plan is not stored. Nothing was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MakePlanError {
    /// This person has reached the limit of plans.
    #[error("{MAX_PLANS_OF_PERSON} plans of this person wait or run already")]
    TooManyOfPerson,
    /// The limit of plans is reached.
    #[error("{MAX_PLANS} plans wait or run already")]
    TooMany,
    /// The limit of open approval requests is reached.
    #[error(
        "with its steps, more than {MAX_STEPS_OF_PERSON} of this person's, or {MAX_OPEN} of everybody's, would wait for approval"
    )]
    TooManyQuestions,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The audit event of a new plan.
#[derive(Serialize)]
struct Created<'a> {
    plan_id: PlanId,
    hash: Digest,
    requester: &'a UserName,
    role: Role,
    keep_going: bool,
    steps: Vec<CreatedStep<'a>>,
    expires_at: i64,
}

#[derive(Serialize)]
struct CreatedStep<'a> {
    call_id: CallId,
    device: &'a str,
    tool: &'a str,
    decision: &'a str,
    arguments_digest: Digest,
    after: Option<u32>,
}

impl Store {
    /// Stores a plan with the approval requests of its steps, in one transaction.
    ///
    /// # Errors
    /// See [`MakePlanError`].
    pub async fn make_plan(&self, new: NewPlan) -> Result<(), MakePlanError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                if let Err(error) = fits(tx, &new).await? {
                    return Ok(Err(error));
                }
                tx.record(created(&new)?);
                insert(tx, new).await.map(Ok)
            })
        })
        .await?
    }

    /// Audits a plan that was rejected before it was stored.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn audit_refused_plan(
        &self,
        id: PlanId,
        by: &UserName,
        step: u32,
        code: orion_domain::ErrorCode,
        at: i64,
    ) -> Result<(), StoreError> {
        let body = serde_json::json!({"plan_id": id, "by": by, "step": step, "code": code});
        let event = AuditEvent::new(at, "plan.refused", String::new(), &body)?;
        self.db().apply(Batch::new(Durability::Commit).event(event)).await.map(drop)
    }
}

/// Returns whether the limits leave room for one more plan.
async fn fits(tx: &mut Tx, new: &NewPlan) -> Result<Result<(), MakePlanError>, StoreError> {
    let (all, own): (i64, i64) = tx
        .query_one(
            sql("SELECT COUNT(*), COUNT(*) FILTER (WHERE requester = $1) FROM plans \
         WHERE state IN ('open', 'running')")
            .bind(new.caller.user.as_str()),
        )
        .await?;
    // Plans have a limit of approval requests of their own, so that they do not block requests for single
    // calls.
    let (open, open_own): (i64, i64) = tx
        .query_one(
            sql("SELECT COUNT(*), COUNT(*) FILTER (WHERE requester = $1) FROM approvals \
         WHERE state = 'open' AND plan_id IS NOT NULL")
            .bind(new.caller.user.as_str()),
        )
        .await?;
    let asked = new.steps.iter().filter(|step| step.asked.is_some()).count();
    let asked = i64::try_from(asked).unwrap_or(i64::MAX / 2);
    Ok(if own >= MAX_PLANS_OF_PERSON {
        Err(MakePlanError::TooManyOfPerson)
    } else if all >= MAX_PLANS {
        Err(MakePlanError::TooMany)
    } else if asked > 0 && (open + asked > MAX_OPEN || open_own + asked > MAX_STEPS_OF_PERSON) {
        Err(MakePlanError::TooManyQuestions)
    } else {
        Ok(())
    })
}

fn created(new: &NewPlan) -> Result<AuditEvent, StoreError> {
    let steps = new.steps.iter().map(|step| CreatedStep {
        call_id: step.call,
        device: step.device.1.as_str(),
        tool: &step.tool,
        decision: &step.decision,
        arguments_digest: Digest::of(&step.arguments),
        after: step.after,
    });
    let body = Created {
        plan_id: new.id,
        hash: new.hash,
        requester: &new.caller.user,
        role: new.caller.role,
        keep_going: new.keep_going,
        steps: steps.collect(),
        expires_at: new.expires_at,
    };
    AuditEvent::new(new.created_at, "plan.created", String::new(), &body)
}

async fn insert(tx: &mut Tx, new: NewPlan) -> Result<(), StoreError> {
    tx.execute(
        sql("INSERT INTO plans (id, state, requester, role, hash, \
                 keep_going, created_at, expires_at) VALUES ($1, 'open', $2, \
                 $3, $4, $5, $6, $7)")
        .with(values![
            new.id,
            new.caller.user.as_str(),
            new.caller.role.as_str(),
            new.hash,
            new.keep_going,
            new.created_at,
            new.expires_at
        ]),
    )
    .await?;
    for (number, step) in (1_u32..).zip(new.steps) {
        let text =
            |value: Result<String, serde_json::Error>| value.map_err(|_| StoreError::Corrupt);
        tx.execute(
            sql("INSERT INTO plan_steps (plan_id, number, call_id, device_id, device_name, tool, \
             arguments, risk, touches_json, decision, rule, policy_version, preview, \
             observed_json, earlier_json, after_number, state) VALUES ($1, $2, $3, $4, $5, $6, $7, \
             $8, $9, $10, $11, $12, $13, $14, $15, $16, 'waiting')")
            .with(values![
                new.id,
                number,
                step.call,
                step.device.0,
                step.device.1,
                step.tool,
                step.arguments,
                step.risk.as_str(),
                text(serde_json::to_string(&step.touches))?,
                step.decision,
                step.rule,
                step.policy_version,
                step.preview,
                text(serde_json::to_string(&step.observed))?,
                text(serde_json::to_string(&step.earlier))?,
                step.after
            ]),
        )
        .await?;
        if let Some(asked) = step.asked {
            let (call, question) = *asked;
            calls::open(tx, call).await?;
            approvals::ask(tx, question).await?;
        }
    }
    Ok(())
}
