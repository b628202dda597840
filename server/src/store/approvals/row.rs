//! The row of an approval request.

use std::str::FromStr;

use orion_domain::rule::Approvers;
use orion_domain::{
    ApprovalBasis, ApprovalId, CallId, ConversationId, DeviceId, DeviceName, Digest, Observation,
    PlanId, Risk, RiskRaise, Role, UserName,
};
use serde::{Deserialize, Serialize};

use crate::store::Provenance;
use crate::store::columns::{digest, json, parsed, parsed_option, risk_option};
use crate::store::db::{DecodeError, FromRow, Row};

/// The state of an approval request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// It waits for votes.
    Open,
    /// Enough people approved.
    Approved,
    /// A person denied.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// Its call ended while the request was open.
    Withdrawn,
}

impl ApprovalState {
    /// Every state, in the order of the reference.
    pub const ALL: [Self; 5] =
        [Self::Open, Self::Approved, Self::Denied, Self::Expired, Self::Withdrawn];

    /// Returns the name that people, wire and database use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl FromStr for ApprovalState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| "not an approval's state".to_owned())
    }
}

/// What the approval card shows beside the call itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// The reasons of the risk, a sentence each.
    pub risk_because: Vec<String>,
    /// Whether the call can be undone.
    pub can_undo: bool,
    /// The untrusted content that may have influenced the call.
    pub provenance: Provenance,
    /// The number of files and folders that the call touches, from the preview. None if the preview does
    /// not say.
    pub entries: Option<u64>,
    /// The number of bytes in files, from the preview. None if the preview does not say.
    pub bytes: Option<u64>,
    /// Why the risk is higher than the tool's; an approval is bound to these reasons.
    pub raises: Vec<RiskRaise>,
}

/// One person's vote on an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// The voter.
    pub user: UserName,
    /// The voter's role at the time of the vote.
    pub role: Role,
    /// Whether the person approves.
    pub yes: bool,
    /// The person's reason. Empty if none was given.
    pub reason: String,
    /// Unix milliseconds.
    pub at: i64,
    /// Whether the voter's client showed the whole card. `None` where it does not say.
    pub details_shown: Option<bool>,
    /// The id of the passkey that signed the vote. None where none did.
    pub passkey: Option<String>,
}

/// A vote as JSON from the database.
#[derive(Deserialize)]
struct VoteForm {
    user: UserName,
    role: Role,
    yes: u8,
    reason: String,
    at: i64,
    #[serde(default)]
    details_shown: Option<u8>,
    #[serde(default)]
    passkey: Option<String>,
}

/// An approval that a person gave for a whole chat, and that applies to this call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingApproval {
    /// The approval request that it was given to.
    pub id: ApprovalId,
    /// Who gave it.
    pub by: UserName,
}

/// A stored approval request. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRow {
    /// Its id.
    pub id: ApprovalId,
    /// The one call that needs approval.
    pub call: CallId,
    /// Its state.
    pub state: ApprovalState,
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
    /// The approval request whose standing approval applies here. None if people are asked.
    pub standing: Option<ApprovalId>,
    /// Who wrote the arguments. None unless an approver changed the original call.
    pub written_by: Option<UserName>,
    /// The plan that the call is a step of; its requests are decided together. None outside a plan.
    pub plan: Option<PlanId>,
    /// The votes so far, oldest first.
    pub votes: Vec<Vote>,
    /// When it was created.
    pub created_at: i64,
    /// When it expires.
    pub expires_at: i64,
    /// Who decided. None until a decision.
    pub decided_by: Option<UserName>,
    /// When it was decided, expired or withdrawn. None while it is open.
    pub decided_at: Option<i64>,
    /// The deciding person's reason. None until a decision.
    pub reason: Option<String>,
    /// When the approval was used. None until the call is dispatched.
    pub consumed_at: Option<i64>,
}

impl ApprovalRow {
    /// Returns what the approvers were shown.
    #[must_use]
    pub const fn basis(&self) -> ApprovalBasis {
        match (&self.standing, &self.plan) {
            (Some(_), _) => ApprovalBasis::Standing,
            (None, Some(_)) => ApprovalBasis::Plan,
            (None, None) => ApprovalBasis::Preview,
        }
    }

    /// Returns the digest of everything that the card shows of the request: what the call is, why it needs approval,
    /// and who must give it. It stays the same until the request ends. A passkey signs it.
    #[must_use]
    pub fn shown_digest(&self) -> Digest {
        let Self { approvers, card, observed, touches, .. } = self;
        // Serialising plain structs cannot fail. If it did, the digest would be another one, and no signature would
        // count.
        let card = serde_json::to_vec(&(card, observed, touches, approvers)).unwrap_or_default();
        let conversation = self.conversation.map(|id| id.to_string()).unwrap_or_default();
        let plan = self.plan.map(|id| id.to_string()).unwrap_or_default();
        let text = |name: &Option<UserName>| name.as_ref().map(ToString::to_string);
        Digest::of_fields(
            "orion.approval.shown.v1",
            &[
                self.id.uuid().as_bytes(),
                self.call.uuid().as_bytes(),
                self.binding.as_bytes(),
                self.tool.as_bytes(),
                self.device.0.uuid().as_bytes(),
                self.device.1.as_str().as_bytes(),
                &self.arguments,
                self.risk.as_str().as_bytes(),
                self.rule.as_bytes(),
                self.requester.as_str().as_bytes(),
                conversation.as_bytes(),
                self.preview.as_deref().unwrap_or_default(),
                text(&self.written_by).unwrap_or_default().as_bytes(),
                plan.as_bytes(),
                &[u8::from(approvers.second_if_any), u8::from(self.may_stand)],
                &card,
                &self.created_at.to_be_bytes(),
                &self.expires_at.to_be_bytes(),
            ],
        )
    }
}

impl FromRow for ApprovalRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            id: parsed(row, "id")?,
            call: parsed(row, "call_id")?,
            state: parsed(row, "state")?,
            binding: digest(row, "binding")?,
            tool: row.get("tool")?,
            device: (parsed(row, "device_id")?, parsed(row, "device_name")?),
            arguments: row.get("arguments")?,
            risk: risk_option(row, "risk")?
                .ok_or_else(|| DecodeError::new("risk", "is missing"))?,
            touches: json(row, "touches_json")?,
            rule: row.get("rule")?,
            requester: parsed(row, "requester")?,
            conversation: parsed_option(row, "conversation_id")?,
            approvers: Approvers {
                role: parsed(row, "approver_role")?,
                count: row.get("approver_count")?,
                not_requester: row.get("not_requester")?,
                second_if_any: row.get("second_if_any")?,
                reason: row.get("reason_required")?,
                passkey: row.get("passkey_required")?,
            },
            may_stand: row.get("may_stand")?,
            preview: row.get("preview")?,
            observed: json(row, "observed_json")?,
            card: json(row, "card_json")?,
            standing: parsed_option(row, "standing_id")?,
            written_by: parsed_option(row, "written_by")?,
            plan: parsed_option(row, "plan_id")?,
            votes: votes(row)?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            decided_by: parsed_option(row, "decided_by")?,
            decided_at: row.get("decided_at")?,
            reason: row.get("reason")?,
            consumed_at: row.get("consumed_at")?,
        })
    }
}

fn votes(row: &Row) -> Result<Vec<Vote>, DecodeError> {
    let forms: Vec<VoteForm> = json(row, "votes_json")?;
    let mut votes: Vec<_> = forms
        .into_iter()
        .map(|VoteForm { user, role, yes, reason, at, details_shown, passkey }| Vote {
            user,
            role,
            yes: yes != 0,
            reason,
            at,
            details_shown: details_shown.map(|shown| shown != 0),
            passkey,
        })
        .collect();
    votes.sort_by_key(|vote| vote.at);
    Ok(votes)
}
