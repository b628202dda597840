//! A new approval request.

use orion_domain::rule::Approvers;
use orion_domain::{
    ApprovalId, CallId, ConversationId, DeviceId, DeviceName, Digest, Observation, PlanId, Risk,
    UserName,
};

use super::row::{ApprovalState, Card, StandingApproval};
use crate::store::StoreError;
use crate::store::db::{Statement, sql, values};

/// Stores a request where the limits leave room: $30 open ones of all people, $31 of the requester.
const INSERT: &str = "INSERT INTO approvals (id, call_id, state, binding, tool, device_id, device_name, \
    arguments, risk, touches_json, rule, requester, approver_role, preview, created_at, \
    expires_at, approver_count, not_requester, second_if_any, reason_required, may_stand, \
    conversation_id, card_json, standing_id, decided_by, decided_at, written_by, plan_id, \
    observed_json, passkey_required) \
    SELECT $1, $2, $16, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $17, \
    $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $32 WHERE $30 IS NULL OR \
    ($30 > (SELECT COUNT(*) FROM approvals WHERE state = 'open' AND plan_id IS NULL) AND \
    $31 > (SELECT COUNT(*) FROM approvals WHERE state = 'open' AND plan_id IS NULL \
    AND requester = $11))";

/// A new approval request. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApproval {
    /// Its id.
    pub id: ApprovalId,
    /// The one call that needs approval.
    pub call: CallId,
    /// The digest of everything that an approval is bound to.
    pub binding: Digest,
    /// The tool's name.
    pub tool: String,
    /// The device that the call runs on.
    pub device: (DeviceId, DeviceName),
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// The call's risk.
    pub risk: Risk,
    /// What the call would touch, a line each.
    pub touches: Vec<String>,
    /// The policy rule that asks.
    pub rule: String,
    /// Who made the call.
    pub requester: UserName,
    /// The chat that the call came from. None outside a chat.
    pub conversation: Option<ConversationId>,
    /// Who has to approve.
    pub approvers: Approvers,
    /// Whether an approval may apply to more than this call.
    pub may_stand: bool,
    /// The dry run's envelope, JSON. None if the device could not preview the call.
    pub preview: Option<Vec<u8>>,
    /// What the preview observed of each path. It must still be true when the call runs.
    pub observed: Vec<Observation>,
    /// What else the card shows.
    pub card: Card,
    /// The standing approval that applies, so that nobody is asked. None if people are asked.
    pub standing: Option<StandingApproval>,
    /// Who wrote the arguments. None unless an approver changed the original call.
    pub written_by: Option<UserName>,
    /// The plan that the call is a step of. None outside a plan.
    pub plan: Option<PlanId>,
    /// When it is created.
    pub created_at: i64,
    /// When it expires.
    pub expires_at: i64,
}

impl NewApproval {
    /// Returns the statement that stores the request; it stores none if as many are open already as these
    /// limits, of all people and of this one, allow.
    pub(super) fn insert(self, limits: Option<(i64, i64)>) -> Result<Statement, StoreError> {
        let text =
            |value: Result<String, serde_json::Error>| value.map_err(|_| StoreError::Corrupt);
        let state = match self.standing {
            Some(_) => ApprovalState::Approved,
            None => ApprovalState::Open,
        };
        let (by, at) = match &self.standing {
            Some(standing) => (Some(standing.by.clone()), Some(self.created_at)),
            None => (None, None),
        };
        Ok(sql(INSERT).with(values![
            self.id,
            self.call,
            self.binding,
            self.tool,
            self.device.0,
            self.device.1,
            self.arguments,
            self.risk.as_str(),
            text(serde_json::to_string(&self.touches))?,
            self.rule,
            self.requester,
            self.approvers.role.as_str(),
            self.preview,
            self.created_at,
            self.expires_at,
            state.as_str(),
            self.approvers.count,
            self.approvers.not_requester,
            self.approvers.second_if_any,
            self.approvers.reason,
            self.may_stand,
            self.conversation,
            text(serde_json::to_string(&self.card))?,
            self.standing.map(|standing| standing.id),
            by,
            at,
            self.written_by,
            self.plan,
            text(serde_json::to_string(&self.observed))?,
            limits.map(|(all, _)| all),
            limits.map(|(_, own)| own),
            self.approvers.passkey
        ]))
    }
}
