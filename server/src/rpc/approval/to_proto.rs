//! Converts approval requests and the rules that they made to their wire form.

use orion_domain::look_alike::look_alikes_of_call;
use orion_wire::{risk, v1};

use crate::store::{ApprovalRow, ApprovalState, Card, Label, Provenance, StandingRule, Vote};

/// Converts an approval request, with the words that can be read as others.
pub(in crate::rpc) fn approval(row: ApprovalRow) -> v1::Approval {
    with_look_alikes(unread(row))
}

/// Adds the words of a card that can be read as others.
pub(super) fn with_look_alikes(card: v1::Approval) -> v1::Approval {
    v1::Approval { look_alikes: look_alikes_of_call(&card.touches, &card.arguments), ..card }
}

/// Converts an approval request, its `look_alikes` left out.
pub(super) fn unread(row: ApprovalRow) -> v1::Approval {
    let shown_digest = row.shown_digest().as_bytes().to_vec().into();
    // `raises` is left out: `risk_because` names what raises the risk.
    let Card { risk_because, can_undo, provenance, entries, bytes, raises: _ } = row.card;
    // What it raises is in `risk_because` as well.
    let Provenance { content, occurs, quoted, raises: _, copied_from } = provenance;
    v1::Approval {
        approval_id: row.id.to_string(),
        call_id: row.call.to_string(),
        state: state(row.state).into(),
        tool: row.tool,
        device: row.device.1.to_string(),
        arguments: row.arguments.into(),
        risk: risk(row.risk).into(),
        touches: row.touches,
        rule: row.rule,
        requester: row.requester.to_string(),
        created_at: row.created_at,
        expires_at: row.expires_at,
        decided_by: row.decided_by.map(String::from).unwrap_or_default(),
        decided_at: row.decided_at.unwrap_or_default(),
        reason: row.reason.unwrap_or_default(),
        preview: row.preview.unwrap_or_default().into(),
        approver_role: row.approvers.role.to_string(),
        approver_count: row.approvers.count.into(),
        not_requester: row.approvers.not_requester,
        second_if_any: row.approvers.second_if_any,
        reason_required: row.approvers.reason,
        votes: row.votes.into_iter().map(vote).collect(),
        may_stand: row.may_stand,
        conversation_id: row.conversation.map(|id| id.to_string()).unwrap_or_default(),
        risk_because,
        can_undo,
        content: content.into_iter().map(label).collect(),
        occurs_in_content: occurs,
        quoted,
        entries,
        bytes,
        by_standing_answer: row.standing.is_some(),
        is_cut: false,
        plan_id: row.plan.map(|plan| plan.to_string()).unwrap_or_default(),
        written_by: row.written_by.map(String::from).unwrap_or_default(),
        copied_from: copied_from.into_iter().map(label).collect(),
        passkey_required: row.approvers.passkey,
        shown_digest,
        call_state: v1::CallState::Unspecified.into(),
        call_code: String::new(),
        look_alikes: Vec::new(),
    }
}

fn vote(vote: Vote) -> v1::Vote {
    let Vote { user, role, yes, reason, at, details_shown, passkey } = vote;
    v1::Vote {
        user: user.to_string(),
        role: role.to_string(),
        yes,
        reason,
        at,
        details_shown,
        by_passkey: passkey.is_some(),
    }
}

fn label(label: Label) -> v1::ContentLabel {
    let Label { call, tool, device, place } = label;
    v1::ContentLabel { call_id: call.to_string(), tool, device, place }
}

/// Converts a rule that an approval made.
pub(super) fn rule(standing: StandingRule) -> v1::StandingRule {
    let StandingRule { id, device, rule, made_by, created_at, expires_at } = standing;
    v1::StandingRule {
        approval_id: id.to_string(),
        device: device.1.to_string(),
        tool: rule.tools.join(", "),
        user: rule.users.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        paths: rule.paths,
        made_by: made_by.to_string(),
        created_at,
        expires_at,
    }
}

const fn state(state: ApprovalState) -> v1::ApprovalState {
    match state {
        ApprovalState::Open => v1::ApprovalState::Open,
        ApprovalState::Approved => v1::ApprovalState::Approved,
        ApprovalState::Denied => v1::ApprovalState::Denied,
        ApprovalState::Expired => v1::ApprovalState::Expired,
        ApprovalState::Withdrawn => v1::ApprovalState::Withdrawn,
    }
}
