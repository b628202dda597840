//! Questions to people.

use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use super::short_arguments;
use crate::output::{Output, table};
use crate::text;

/// A question as programs read it; the comments in `proto/` say what the fields are.
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
    pub(crate) rule: String,
    pub(crate) requester: String,
    pub(crate) approver_role: String,
    pub(crate) created_at: i64,
    pub(crate) expires_at: i64,
    pub(crate) decided_by: String,
    pub(crate) decided_at: i64,
    pub(crate) reason: String,
    pub(crate) preview: Value,
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
            rule,
            requester,
            approver_role,
            created_at,
            expires_at,
            decided_by,
            decided_at,
            reason,
            preview: serde_json::from_slice(&preview).unwrap_or(Value::Null),
        }
    }
}

/// Questions for people.
pub(crate) fn approvals_table(out: &Output, approvals: &[ApprovalView]) -> String {
    let mut header = vec!["ID", "STATE", "RISK", "DEVICE", "TOOL", "ARGUMENTS", "BY", "EXPIRES"];
    if out.is_wide() {
        header.extend(["DECIDED BY", "REASON", "RULE", "CALL"]);
    }
    let row = |approval: &ApprovalView| {
        let id = if out.is_wide() {
            approval.approval_id.as_str()
        } else {
            text::short_id(&approval.approval_id)
        };
        let arguments = short_arguments(approval.arguments.to_string().as_bytes());
        let mut row = vec![
            id.to_owned(),
            approval.state.to_owned(),
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
    table(&header, approvals.iter().map(row))
}
