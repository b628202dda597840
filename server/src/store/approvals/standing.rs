//! Approvals that stand for a chat: they apply to one person's calls of one tool on one device. Each has the id
//! of the approval request that it was given to.

use orion_domain::{ApprovalId, ConversationId, DeviceId, Role, UserName};
use serde::Serialize;

use super::row::{ApprovalRow, StandingApproval};
use crate::store::db::{AuditEvent, Tx, sql, values};
use crate::store::{Store, StoreError};

/// What a standing approval for a chat and a call must have in common.
#[derive(Debug, Clone, Copy)]
pub struct StandingKey<'a> {
    /// Who makes the calls.
    pub requester: &'a UserName,
    /// The chat.
    pub conversation: ConversationId,
    /// The device.
    pub device: DeviceId,
    /// The tool's name.
    pub tool: &'a str,
    /// The version of the policy that asks.
    pub policy_version: &'a str,
    /// The policy rule that asks.
    pub rule: &'a str,
}

/// The audit event of a standing approval for a chat.
#[derive(Serialize)]
struct StandingApprovalEvent<'a> {
    approval_id: ApprovalId,
    by: Option<&'a UserName>,
    requester: &'a UserName,
    conversation: ConversationId,
    device: &'a str,
    tool: &'a str,
    expires_at: i64,
}

/// Stores a standing approval for a chat. Fails for an approval request without a chat.
pub(super) async fn give(
    tx: &mut Tx,
    row: &ApprovalRow,
    until: i64,
    now: i64,
) -> Result<(), StoreError> {
    let Some(conversation) = row.conversation else { return Err(StoreError::Conflict) };
    tx.execute(
        sql("INSERT INTO standing_answers (id, requester, conversation_id, \
                 device_id, tool, given_by, created_at, expires_at, rule, \
                 policy_version) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, \
                 policy_version FROM calls WHERE id = $10")
        .with(values![
            row.id,
            row.requester.as_str(),
            conversation,
            row.device.0,
            row.tool.as_str(),
            row.decided_by.as_ref().map(UserName::as_str),
            now,
            until,
            row.rule.as_str(),
            row.call
        ]),
    )
    .await?;
    let body = StandingApprovalEvent {
        approval_id: row.id,
        by: row.decided_by.as_ref(),
        requester: &row.requester,
        conversation,
        device: row.device.1.as_str(),
        tool: &row.tool,
        expires_at: until,
    };
    tx.record(AuditEvent::new(now, "approval.stands", row.call.to_string(), &body)?);
    Ok(())
}

impl Store {
    /// Returns the standing approval for this chat that applies to a call. The same policy rule must ask,
    /// its giver must be enabled with at least this role, and it must not have expired.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn standing_answer(
        &self,
        like: &StandingKey<'_>,
        role: Role,
        now: i64,
    ) -> Result<Option<StandingApproval>, StoreError> {
        let rows: Vec<(String, String, String)> = self
            .db()
            .query(
                sql("SELECT standing_answers.id, given_by, users.role FROM standing_answers \
             JOIN users ON users.name = given_by WHERE conversation_id = $1 AND device_id = $2 \
             AND tool = $3 AND requester = $4 AND expires_at > $5 AND disabled_at IS NULL \
             AND policy_version = $6 AND rule = $7 \
             ORDER BY standing_answers.created_at DESC LIMIT 20")
                .with(values![
                    like.conversation,
                    like.device,
                    like.tool,
                    like.requester.as_str(),
                    now,
                    like.policy_version,
                    like.rule
                ]),
            )
            .await?;
        let held = rows.into_iter().find_map(|(id, by, held)| {
            let enough = held.parse::<Role>().is_ok_and(|held| held >= role);
            enough.then(|| Some(StandingApproval { id: id.parse().ok()?, by: by.parse().ok()? }))?
        });
        Ok(held)
    }
}
