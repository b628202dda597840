//! Formats approval requests.

use orion_domain::CallState;
use orion_wire::{call_state_from, v1};
use serde::Serialize;
use serde_json::Value;

use super::short_arguments;
use crate::output::{Output, table};
use crate::text;

/// An approval request for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ApprovalView {
    pub(crate) approval_id: String,
    pub(crate) call_id: String,
    pub(crate) state: &'static str,
    pub(crate) tool: String,
    pub(crate) device: String,
    pub(crate) arguments: Value,
    pub(crate) risk: &'static str,
    pub(crate) touches: Vec<String>,
    /// The words that can be read as others.
    pub(crate) look_alikes: Vec<String>,
    pub(crate) rule: String,
    pub(crate) requester: String,
    pub(crate) approver_role: String,
    pub(crate) created_at: i64,
    pub(crate) expires_at: i64,
    pub(crate) decided_by: String,
    pub(crate) decided_at: i64,
    pub(crate) reason: String,
    pub(crate) preview: Value,
    pub(crate) approver_count: u32,
    pub(crate) not_requester: bool,
    pub(crate) second_if_any: bool,
    pub(crate) reason_required: bool,
    pub(crate) passkey_required: bool,
    pub(crate) votes: Vec<VoteView>,
    pub(crate) may_stand: bool,
    pub(crate) conversation_id: String,
    pub(crate) risk_because: Vec<String>,
    pub(crate) can_undo: bool,
    pub(crate) content: Vec<LabelView>,
    pub(crate) occurs_in_content: Vec<String>,
    pub(crate) quoted: bool,
    pub(crate) entries: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) by_standing_answer: bool,
    pub(crate) is_cut: bool,
    pub(crate) plan_id: String,
    pub(crate) written_by: String,
    pub(crate) copied_from: Vec<LabelView>,
    /// What became of the approved call; empty unless the request was approved and asked about alone.
    pub(crate) call_state: &'static str,
    pub(crate) call_code: String,
}

/// One person's decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct VoteView {
    pub(crate) user: String,
    pub(crate) role: String,
    pub(crate) yes: bool,
    pub(crate) reason: String,
    pub(crate) at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) details_shown: Option<bool>,
    pub(crate) by_passkey: bool,
}

impl From<v1::Vote> for VoteView {
    fn from(vote: v1::Vote) -> Self {
        let v1::Vote { user, role, yes, reason, at, details_shown, by_passkey } = vote;
        Self { user, role, yes, reason, at, details_shown, by_passkey }
    }
}

/// The source of untrusted content.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LabelView {
    pub(crate) call_id: String,
    pub(crate) tool: String,
    pub(crate) device: String,
    pub(crate) place: String,
}

impl From<v1::ContentLabel> for LabelView {
    fn from(label: v1::ContentLabel) -> Self {
        let v1::ContentLabel { call_id, tool, device, place } = label;
        Self { call_id, tool, device, place }
    }
}

/// A rule that a person created from an approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct StandingRuleView {
    pub(crate) approval_id: String,
    pub(crate) device: String,
    pub(crate) tool: String,
    pub(crate) user: String,
    pub(crate) paths: Vec<String>,
    pub(crate) made_by: String,
    pub(crate) created_at: i64,
    pub(crate) expires_at: i64,
}

impl From<v1::StandingRule> for StandingRuleView {
    fn from(rule: v1::StandingRule) -> Self {
        let v1::StandingRule {
            approval_id,
            device,
            tool,
            user,
            paths,
            made_by,
            created_at,
            expires_at,
        } = rule;
        Self { approval_id, device, tool, user, paths, made_by, created_at, expires_at }
    }
}

/// Formats what a rule approves, until when, and how to end it.
pub(crate) fn rule_line(out: &Output, rule: &StandingRuleView) -> String {
    let short = |text: &str| text::one_line(text, 80);
    let paths: Vec<_> = rule.paths.iter().map(|path| text::one_line(path, 200)).collect();
    format!(
        "a rule approves {} of {} on {} in {} until {}; `orion approvals rules revoke {}` ends it",
        short(&rule.tool),
        short(&rule.user),
        short(&rule.device),
        paths.join(", "),
        text::when(&out.zone, rule.expires_at),
        text::one_line(&rule.approval_id, 40),
    )
}

/// Formats rules created from approvals, for people.
pub(crate) fn rules_table(out: &Output, rules: &[StandingRuleView]) -> String {
    let header = ["APPROVAL", "DEVICE", "TOOL", "CALLS OF", "PATHS", "MADE BY", "UNTIL"];
    let row = |rule: &StandingRuleView| {
        vec![
            rule.approval_id.clone(),
            rule.device.clone(),
            rule.tool.clone(),
            rule.user.clone(),
            rule.paths.join("\n"),
            rule.made_by.clone(),
            text::when(&out.zone, rule.expires_at),
        ]
    };
    table(&header, rules.iter().map(row))
}

impl From<v1::Approval> for ApprovalView {
    fn from(approval: v1::Approval) -> Self {
        let v1::Approval {
            approval_id,
            call_id,
            state,
            tool,
            device,
            arguments,
            risk,
            touches,
            rule,
            requester,
            created_at,
            expires_at,
            decided_by,
            decided_at,
            reason,
            preview,
            approver_role,
            approver_count,
            not_requester,
            second_if_any,
            reason_required,
            votes,
            may_stand,
            conversation_id,
            risk_because,
            can_undo,
            content,
            occurs_in_content,
            quoted,
            entries,
            bytes,
            by_standing_answer,
            is_cut,
            plan_id,
            written_by,
            copied_from,
            passkey_required,
            call_state,
            call_code,
            look_alikes,
            // Signed on the page alone.
            shown_digest: _,
        } = approval;
        Self {
            approval_id,
            call_id,
            state: match v1::ApprovalState::try_from(state) {
                Ok(v1::ApprovalState::Open) => "open",
                Ok(v1::ApprovalState::Approved) => "approved",
                Ok(v1::ApprovalState::Denied) => "denied",
                Ok(v1::ApprovalState::Expired) => "expired",
                Ok(v1::ApprovalState::Withdrawn) => "withdrawn",
                Ok(v1::ApprovalState::Unspecified) | Err(_) => "unknown",
            },
            tool,
            device,
            arguments: serde_json::from_slice(&arguments).unwrap_or(Value::Null),
            risk: super::tool::risk(risk),
            touches,
            look_alikes,
            rule,
            requester,
            approver_role,
            created_at,
            expires_at,
            decided_by,
            decided_at,
            reason,
            preview: serde_json::from_slice(&preview).unwrap_or(Value::Null),
            approver_count,
            not_requester,
            second_if_any,
            reason_required,
            passkey_required,
            votes: votes.into_iter().map(VoteView::from).collect(),
            may_stand,
            conversation_id,
            risk_because,
            can_undo,
            content: content.into_iter().map(LabelView::from).collect(),
            occurs_in_content,
            quoted,
            entries,
            bytes,
            by_standing_answer,
            is_cut,
            plan_id,
            written_by,
            copied_from: copied_from.into_iter().map(LabelView::from).collect(),
            call_state: call_state_from(call_state).map(CallState::as_str).unwrap_or_default(),
            call_code,
        }
    }
}

impl ApprovalView {
    /// Returns what became of the approved call. Empty where it is not known.
    pub(crate) fn call_words(&self) -> String {
        let state = self.call_state.replace('_', " ");
        let code = text::one_line(&self.call_code, 60);
        if code.is_empty() { state } else { format!("{state} ({code})") }
    }
}

/// Formats approval requests for people.
pub(crate) fn approvals_table(out: &Output, approvals: &[ApprovalView]) -> String {
    let mut header = vec!["ID", "STATE", "RISK", "DEVICE", "TOOL", "ARGUMENTS", "BY", "EXPIRES"];
    if out.is_wide() {
        header.extend(["DECIDED BY", "REASON", "RULE", "CALL"]);
    }
    let ids: Vec<_> = approvals.iter().map(|approval| &*approval.approval_id).collect();
    let row = |(approval, id): (&ApprovalView, &str)| {
        let arguments = if approval.is_cut {
            "(see `orion approvals show`)".to_owned()
        } else {
            short_arguments(&approval.tool, approval.arguments.to_string().as_bytes())
        };
        let is_signed = approval.passkey_required && approval.state == "open";
        let mut row = vec![
            id.to_owned(),
            if is_signed { "open, passkey" } else { approval.state }.to_owned(),
            approval.risk.to_owned(),
            approval.device.clone(),
            approval.tool.clone(),
            if out.is_wide() { arguments } else { text::one_line(&arguments, 48) },
            approval.requester.clone(),
            text::when(&out.zone, approval.expires_at),
        ];
        if out.is_wide() {
            row.extend([
                approval.decided_by.clone(),
                approval.reason.clone(),
                approval.rule.clone(),
                approval.call_id.clone(),
            ]);
        }
        row
    };
    table(&header, approvals.iter().zip(text::listed_ids(&ids, out.is_wide())).map(row))
}
