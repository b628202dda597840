//! One person's vote on a plan: it decides the approval requests of all steps, or of none.

use orion_domain::{ApprovalId, Caller, Digest, PlanId, Role, UserName};
use serde::Serialize;

use super::{PlanRow, PlanState, plans, progress};
use crate::store::approvals::{
    self, ApprovalRow, ApprovalScope, ApprovalState, DecideError, NewVote, OF_PLAN, VoteHabit,
};
use crate::store::db::{AuditEvent, Durability, Tx, sql, values};
use crate::store::{Store, StoreError};
use crate::webauthn::PasskeyProof;

/// Why a vote on a plan does not count. Nothing was decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecidePlanError {
    /// No such plan exists.
    #[error("there is no such plan")]
    NotFound,
    /// The hash belongs to another plan.
    #[error("the hash is not this plan's")]
    OtherHash,
    /// The plan's state does not allow this vote.
    #[error("the plan is {} already", .0.as_str())]
    NotOpen(PlanState),
    /// Its time is over.
    #[error("the plan has expired")]
    Expired,
    /// Only the plan's requester can do this.
    #[error("only the person who asked for the plan can do this")]
    NotRequester,
    /// The vote does not count for one of its steps.
    #[error("step {number}: {error}")]
    Step {
        /// The step's number.
        number: u32,
        /// The reason.
        error: DecideError,
    },
    /// A step can no longer run as it was shown, so the plan has ended.
    #[error(
        "nothing was approved, and the plan has ended: since it was made, the device of step {0}, its permissions or paths, its tool, or the requester's account have changed"
    )]
    Outdated(u32),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A person's vote on a plan. If their stored role is lower by now, that one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlanVote {
    /// The plan.
    pub plan: PlanId,
    /// The hash of the plan that the person saw.
    pub hash: Digest,
    /// The voter, with the role of the session.
    pub by: Caller,
    /// Whether the person approves.
    pub yes: bool,
    /// The person's reason. Empty if none was given.
    pub reason: String,
    /// Unix milliseconds.
    pub at: i64,
    /// How the person came to the vote, and how often they may approve.
    pub habit: VoteHabit,
    /// What the person signed. None without a passkey.
    pub passkey: Option<PasskeyProof>,
}

/// The audit event of a decision.
#[derive(Serialize)]
struct Decided<'a> {
    plan_id: PlanId,
    hash: Digest,
    state: PlanState,
    by: &'a UserName,
    role: Role,
    yes: bool,
    reason: &'a str,
}

impl Store {
    /// Stores a person's vote on a plan. Returns the state that results: still open if more people have to
    /// approve. A denial of a running plan keeps its next steps from starting.
    ///
    /// # Errors
    /// See [`DecidePlanError`].
    pub async fn decide_plan(&self, mut vote: NewPlanVote) -> Result<PlanState, DecidePlanError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let text = plans!("WHERE id = $1");
                let plan: Option<PlanRow> = tx.query_optional(sql(text).bind(vote.plan)).await?;
                let Some(plan) = plan else { return Ok(Err(DecidePlanError::NotFound)) };
                if plan.hash != vote.hash {
                    return Ok(Err(DecidePlanError::OtherHash));
                }
                // The role may have changed since the person was authenticated.
                let Some(role) = approvals::role_of(tx, &vote.by.user).await? else {
                    return Ok(Err(DecidePlanError::NotRequester));
                };
                vote.by.role = vote.by.role.min(role);
                match (plan.state, vote.yes) {
                    (PlanState::Open, _) if plan.expires_at <= vote.at => {
                        Ok(Err(DecidePlanError::Expired))
                    }
                    (PlanState::Open, true) => approve(tx, &plan, &vote).await,
                    (PlanState::Open, false) => deny(tx, &plan, &vote).await,
                    (PlanState::Running, false) => stop(tx, &plan, &vote).await,
                    (PlanState::Expired, _) => Ok(Err(DecidePlanError::Expired)),
                    (state, _) => Ok(Err(DecidePlanError::NotOpen(state))),
                }
            })
        })
        .await?
    }
}

type DecideResult = Result<Result<PlanState, DecidePlanError>, StoreError>;

async fn questions(tx: &mut Tx, plan: &PlanRow) -> Result<Vec<ApprovalRow>, StoreError> {
    tx.query(sql(OF_PLAN).bind(plan.id)).await
}

async fn number(tx: &mut Tx, question: &ApprovalRow) -> Result<u32, StoreError> {
    let (number,): (u32,) = tx
        .query_one(sql("SELECT number FROM plan_steps WHERE call_id = $1").bind(question.call))
        .await?;
    Ok(number)
}

fn vote_row(approval: ApprovalId, vote: &NewPlanVote) -> NewVote {
    NewVote {
        approval,
        by: vote.by.user.clone(),
        role: vote.by.role,
        yes: vote.yes,
        reason: vote.reason.clone(),
        lasting: ApprovalScope::Once,
        at: vote.at,
        habit: vote.habit,
        passkey: vote.passkey.clone(),
    }
}

async fn approve(tx: &mut Tx, plan: &PlanRow, vote: &NewPlanVote) -> DecideResult {
    let mut questions = questions(tx, plan).await?;
    for question in questions.iter_mut().filter(|it| it.state == ApprovalState::Approved) {
        // An approver may be disabled by now. The request is open again then.
        if !approvals::is_enough_still(tx, question).await? {
            approvals::reopen(tx, question).await?;
        }
    }
    if questions.is_empty() && vote.by.user != plan.caller.user {
        return Ok(Err(DecidePlanError::NotRequester));
    }
    let open: Vec<_> =
        questions.into_iter().filter(|it| it.state != ApprovalState::Approved).collect();
    for question in &open {
        let step_vote = vote_row(question.id, vote);
        if let Err(error) = approvals::counts(tx, question, &step_vote).await? {
            let number = number(tx, question).await?;
            return Ok(Err(DecidePlanError::Step { number, error }));
        }
    }
    let mut is_enough = true;
    for question in open {
        let step_vote = vote_row(question.id, vote);
        let decided = approvals::settle(tx, question, step_vote).await?;
        is_enough &= decided.state == ApprovalState::Approved;
    }
    if !is_enough {
        progress::touch(tx, plan.id).await?;
        record(tx, plan, vote, PlanState::Open)?;
        return Ok(Ok(PlanState::Open));
    }
    decided(tx, plan, vote, PlanState::Running).await?;
    record(tx, plan, vote, PlanState::Running)?;
    Ok(Ok(PlanState::Running))
}

async fn deny(tx: &mut Tx, plan: &PlanRow, vote: &NewPlanVote) -> DecideResult {
    if vote.by.user != plan.caller.user && vote.by.role < Role::Operator {
        return Ok(Err(DecidePlanError::NotRequester));
    }
    for question in questions(tx, plan).await? {
        if question.state == ApprovalState::Open {
            let step_vote = vote_row(question.id, vote);
            approvals::settle(tx, question, step_vote).await?;
        }
    }
    decided(tx, plan, vote, PlanState::Denied).await?;
    record(tx, plan, vote, PlanState::Denied)?;
    progress::end(tx, plan.id, PlanState::Denied, vote.at).await?;
    Ok(Ok(PlanState::Denied))
}

async fn stop(tx: &mut Tx, plan: &PlanRow, vote: &NewPlanVote) -> DecideResult {
    if vote.by.user != plan.caller.user && vote.by.role < Role::Admin {
        return Ok(Err(DecidePlanError::NotRequester));
    }
    tx.execute(
        sql("UPDATE plans SET stopped_by = $1, revision = revision + 1 WHERE id = $2")
            .bind(vote.by.user.as_str())
            .bind(plan.id),
    )
    .await?;
    record(tx, plan, vote, PlanState::Running)?;
    Ok(Ok(PlanState::Running))
}

async fn decided(
    tx: &mut Tx,
    plan: &PlanRow,
    vote: &NewPlanVote,
    state: PlanState,
) -> Result<(), StoreError> {
    tx.execute(
        sql("UPDATE plans SET state = $1, decided_by = $2, decided_at = $3, reason = $4, \
         revision = revision + 1 WHERE id = $5")
        .with(values![
            state.as_str(),
            vote.by.user.as_str(),
            vote.at,
            vote.reason.as_str(),
            plan.id
        ]),
    )
    .await?;
    Ok(())
}

fn record(
    tx: &mut Tx,
    plan: &PlanRow,
    vote: &NewPlanVote,
    state: PlanState,
) -> Result<(), StoreError> {
    let NewPlanVote { plan: _, hash: _, by, yes, reason, at, habit: _, passkey: _ } = vote;
    let (role, by) = (by.role, &by.user);
    let body = Decided { plan_id: plan.id, hash: plan.hash, state, by, role, yes: *yes, reason };
    tx.record(AuditEvent::new(*at, "plan.decided", String::new(), &body)?);
    Ok(())
}
