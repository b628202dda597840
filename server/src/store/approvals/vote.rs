//! One person's vote on an approval request: whether it counts, and whether it decides the request.

use orion_domain::visible::is_blank;
use orion_domain::{ApprovalId, Caller, Role, UserName};
use serde::Serialize;

use super::decide_error::DecideError;
use super::end::answered;
use super::habits::{self, VoteHabit};
use super::passkey;
use super::row::{ApprovalRow, ApprovalState, Vote};
use super::standing;
use super::standing_rules::{self, StandingRule};
use super::with_votes;
use crate::store::db::{AuditEvent, Durability, Tx, sql, values};
use crate::store::{Store, StoreError, passkeys};
use crate::webauthn::PasskeyProof;

/// Why an approval may not cover more than its call.
const ONLY_ONCE: &str = "it is of critical risk, needs a preview, several people, a reason or a passkey, or the chat has untrusted content";

/// The scope of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalScope {
    /// This call.
    Once,
    /// The chat, until this time, Unix milliseconds.
    ForChat(i64),
    /// A standing rule.
    AsRule(Box<StandingRule>),
}

/// A person's vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVote {
    /// The approval request.
    pub approval: ApprovalId,
    /// The voter.
    pub by: UserName,
    /// The highest role that the vote may use. If the person's stored role is lower by now, that one counts.
    pub role: Role,
    /// Whether the person approves.
    pub yes: bool,
    /// The person's reason. Empty if none was given.
    pub reason: String,
    /// The scope of an approval. `Once` for a denial.
    pub lasting: ApprovalScope,
    /// Unix milliseconds.
    pub at: i64,
    /// How the person came to the vote, and how often they may approve.
    pub habit: VoteHabit,
    /// What the person signed. None without a passkey.
    pub passkey: Option<PasskeyProof>,
}

/// The audit event of an approval that does not decide the request.
#[derive(Serialize)]
struct Voted<'a> {
    approval_id: ApprovalId,
    by: &'a UserName,
    role: Role,
    reason: &'a str,
    missing: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    details_shown: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passkey: Option<&'a str>,
}

impl Store {
    /// Stores a person's vote. The returned row is still open if more people have to approve.
    ///
    /// # Errors
    /// See [`DecideError`].
    pub async fn vote(&self, mut vote: NewVote) -> Result<ApprovalRow, DecideError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let Some(row) = find(tx, vote.approval).await? else {
                    return Ok(Err(DecideError::NotFound));
                };
                if let Some(plan) = row.plan {
                    return Ok(Err(DecideError::PartOfPlan(plan)));
                }
                // The role may have changed since the person was authenticated.
                let Some(role) = role_of(tx, &vote.by).await? else {
                    return Ok(Err(DecideError::role(&row)));
                };
                vote.role = vote.role.min(role);
                if let Err(error) = counts(tx, &row, &vote).await? {
                    return Ok(Err(error));
                }
                settle(tx, row, vote).await.map(Ok)
            })
        })
        .await?
    }

    /// Returns why this person's approval of an open request would not count, whatever else they give. None if it
    /// would.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn approver_refusal(
        &self,
        row: &ApprovalRow,
        by: &Caller,
    ) -> Result<Option<DecideError>, StoreError> {
        if let Some(plan) = row.plan {
            return Ok(Some(DecideError::PartOfPlan(plan)));
        }
        let people = match asks_for_others(row, &by.user) {
            true => self.db().query(sql(PEOPLE)).await?,
            false => Vec::new(),
        };
        Ok(not_approver(row, &by.user, by.role, &people))
    }
}

/// The names and roles of the people who may sign in.
const PEOPLE: &str = "SELECT name, role FROM users WHERE disabled_at IS NULL";

async fn find(tx: &mut Tx, id: ApprovalId) -> Result<Option<ApprovalRow>, StoreError> {
    let text = concat!("SELECT *, ", with_votes!(), " FROM approvals WHERE id = $1");
    tx.query_optional(sql(text).bind(id)).await
}

/// Returns whether this vote counts on this approval request.
pub(in crate::store) async fn counts(
    tx: &mut Tx,
    row: &ApprovalRow,
    vote: &NewVote,
) -> Result<Result<(), DecideError>, StoreError> {
    let refused = match row.state {
        ApprovalState::Open if row.expires_at > vote.at => None,
        ApprovalState::Open | ApprovalState::Expired => Some(DecideError::Expired),
        state @ (ApprovalState::Approved | ApprovalState::Denied | ApprovalState::Withdrawn) => {
            Some(DecideError::AlreadyDecided(state))
        }
    };
    if let Some(refused) = refused {
        return Ok(Err(refused));
    }
    if !vote.yes {
        return Ok(Ok(()));
    }
    let asked = row.approvers;
    let people = match asks_for_others(row, &vote.by) {
        true => tx.query(sql(PEOPLE)).await?,
        false => Vec::new(),
    };
    if let Some(refused) = not_approver(row, &vote.by, vote.role, &people) {
        return Ok(Err(refused));
    }
    if let Err(error) = passkey::counts(tx, row, vote).await? {
        return Ok(Err(error));
    }
    if asked.reason && is_blank(&vote.reason) {
        return Ok(Err(DecideError::ReasonMissing));
    }
    if let Some(budget) = vote.habit.budget
        && habits::is_spent(tx, &vote.by, budget, row.plan, vote.at).await?
    {
        return Ok(Err(DecideError::OverBudget(budget)));
    }
    if vote.lasting != ApprovalScope::Once && !row.may_stand {
        return Ok(Err(DecideError::OnlyOnce(ONLY_ONCE)));
    }
    if let ApprovalScope::AsRule(rule) = &vote.lasting
        && !standing_rules::has_room(tx, rule.device.0, vote.at).await?
    {
        return Ok(Err(DecideError::TooManyRules));
    }
    Ok(Ok(()))
}

/// Returns whether it depends on the other people whether this person may approve.
fn asks_for_others(row: &ApprovalRow, by: &UserName) -> bool {
    row.approvers.second_if_any && (*by == row.requester || row.written_by.as_ref() == Some(by))
}

/// Returns why a person is not among those who may approve a request. `people` are those who may sign in, where it
/// depends on them.
fn not_approver(
    row: &ApprovalRow,
    by: &UserName,
    role: Role,
    people: &[(String, String)],
) -> Option<DecideError> {
    let asked = row.approvers;
    if role < asked.role {
        return Some(DecideError::role(row));
    }
    let (asked_for, wrote) = (*by == row.requester, row.written_by.as_ref() == Some(by));
    if (asked_for || wrote)
        && (asked.not_requester
            || (asked.second_if_any && is_another(row, asked_for && !wrote, people)))
    {
        return Some(DecideError::OwnCall(asked.role));
    }
    row.votes.iter().any(|before| before.user == *by).then_some(DecideError::AlreadyVoted)
}

/// Returns the role of an enabled person.
pub(in crate::store) async fn role_of(
    tx: &mut Tx,
    user: &UserName,
) -> Result<Option<Role>, StoreError> {
    let found: Option<(String,)> = tx
        .query_optional(
            sql("SELECT role FROM users WHERE name = $1 AND disabled_at IS NULL")
                .bind(user.as_str()),
        )
        .await?;
    found.map(|(role,)| role.parse().map_err(|_| StoreError::Corrupt)).transpose()
}

/// Returns whether somebody else could approve. For a person who only requested a call that another wrote,
/// the author does not count: one of the two wrote the call and the other one sees it.
fn is_another(row: &ApprovalRow, only_asked: bool, people: &[(String, String)]) -> bool {
    let author = row.written_by.as_ref().unwrap_or(&row.requester);
    let asker = if only_asked { &row.requester } else { author };
    let may = |(name, role): &(String, String)| {
        name != author.as_str() && name != asker.as_str() && is_enough(role, row.approvers.role)
    };
    people.iter().any(may)
}

fn is_enough(role: &str, needed: Role) -> bool {
    role.parse::<Role>().is_ok_and(|role| role >= needed)
}

/// Returns how many earlier approvals still count: those of enabled people who still have the role and, where one is
/// needed, the passkey that signed.
async fn earlier(tx: &mut Tx, row: &ApprovalRow) -> Result<i64, StoreError> {
    let voters: Vec<(String,)> = tx
        .query(
            sql("SELECT users.role FROM votes JOIN users ON users.name = votes.user_name \
         WHERE votes.approval_id = $1 AND votes.yes AND users.disabled_at IS NULL \
         AND (NOT $2 OR EXISTS (SELECT 1 FROM passkeys \
         WHERE passkeys.id = votes.passkey_id AND passkeys.user_name = votes.user_name))")
            .bind(row.id)
            .bind(row.approvers.passkey),
        )
        .await?;
    let count = voters.iter().filter(|(role,)| is_enough(role, row.approvers.role)).count();
    Ok(i64::try_from(count).unwrap_or(0))
}

/// Returns whether the people who approved are still enough.
pub(in crate::store) async fn is_enough_still(
    tx: &mut Tx,
    row: &ApprovalRow,
) -> Result<bool, StoreError> {
    Ok(earlier(tx, row).await? >= i64::from(row.approvers.count.max(1)))
}

/// Reopens an approved request.
pub(in crate::store) async fn reopen(tx: &mut Tx, row: &mut ApprovalRow) -> Result<(), StoreError> {
    tx.execute(
        sql("UPDATE approvals SET state = 'open', decided_by = NULL, \
                 decided_at = NULL, reason = NULL WHERE id = $1 AND state = \
                 'approved' AND consumed_at IS NULL")
        .bind(row.id),
    )
    .await?;
    (row.state, row.decided_by, row.decided_at) = (ApprovalState::Open, None, None);
    Ok(())
}

/// Stores a vote that counts, and the decision that it leads to.
pub(in crate::store) async fn settle(
    tx: &mut Tx,
    row: ApprovalRow,
    vote: NewVote,
) -> Result<ApprovalRow, StoreError> {
    let missing = if vote.yes {
        i64::from(row.approvers.count.max(1)) - earlier(tx, &row).await? - 1
    } else {
        0
    };
    let signed = vote.passkey.as_ref().filter(|_| vote.yes);
    if let Some(proof) = signed {
        tx.execute(passkeys::signed(proof.passkey(), proof.sign_count(), vote.at)).await?;
    }
    tx.execute(
        sql("INSERT INTO votes (approval_id, user_name, role, yes, reason, at, details_shown, \
         passkey_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (approval_id, user_name) DO UPDATE \
         SET role = excluded.role, yes = excluded.yes, reason = excluded.reason, \
         at = excluded.at, details_shown = excluded.details_shown, \
         passkey_id = excluded.passkey_id")
        .with(values![
            row.id,
            vote.by.as_str(),
            vote.role.as_str(),
            vote.yes,
            vote.reason.as_str(),
            vote.at,
            vote.habit.details_shown,
            signed.map(PasskeyProof::passkey)
        ]),
    )
    .await?;
    if missing > 0 {
        let body = Voted {
            approval_id: row.id,
            by: &vote.by,
            role: vote.role,
            reason: &vote.reason,
            missing,
            details_shown: vote.habit.details_shown,
            passkey: signed.map(PasskeyProof::passkey),
        };
        tx.record(AuditEvent::new(vote.at, "approval.voted", row.call.to_string(), &body)?);
        let mut row = row;
        let passkey = signed.map(|proof| proof.passkey().to_owned());
        let NewVote { by: user, role, yes, reason, at, habit, .. } = vote;
        let details_shown = habit.details_shown;
        row.votes.push(Vote { user, role, yes, reason, at, details_shown, passkey });
        return Ok(row);
    }
    let state = if vote.yes { ApprovalState::Approved } else { ApprovalState::Denied };
    let decided: ApprovalRow = tx
        .query_one(
            sql(concat!(
                "UPDATE approvals SET state = $1, decided_by = $2, decided_at = $3, reason = $4 \
         WHERE id = $5 RETURNING *, ",
                with_votes!()
            ))
            .with(values![
                state.as_str(),
                vote.by.as_str(),
                vote.at,
                vote.reason.as_str(),
                row.id
            ]),
        )
        .await?;
    tx.record(answered("approval.decided", &decided, vote.at)?);
    match vote.lasting {
        ApprovalScope::Once => {}
        ApprovalScope::ForChat(until) => standing::give(tx, &decided, until, vote.at).await?,
        ApprovalScope::AsRule(rule) => standing_rules::make(tx, *rule, vote.at).await?,
    }
    Ok(decided)
}
