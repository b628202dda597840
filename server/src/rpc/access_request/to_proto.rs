//! Converts requests for access to their wire form.

use orion_wire::v1;

use crate::clock::now_ms;
use crate::store::{AccessRequestRow, AccessRequestState};

/// Converts a request, with its state of this moment.
pub(super) fn request(row: AccessRequestRow) -> v1::AccessRequest {
    let state = row.state_at(now_ms());
    v1::AccessRequest {
        request_id: row.id.to_string(),
        state: state_of(state).into(),
        requester: row.requester.to_string(),
        call_id: row.call.to_string(),
        device: row.device.1.to_string(),
        grants: row.grant.lines(),
        tool: row.grant.tool,
        digest: row.digest.as_bytes().to_vec().into(),
        reason: row.reason,
        seconds: u64::try_from(row.seconds).unwrap_or_default(),
        created_at: row.created_at,
        expires_at: row.expires_at,
        decided_by: row.decided_by.map(String::from).unwrap_or_default(),
        decided_at: row.decided_at.unwrap_or_default(),
        decision_reason: row.decision_reason.unwrap_or_default(),
        granted_until: row.granted_until.unwrap_or_default(),
    }
}

const fn state_of(state: AccessRequestState) -> v1::AccessRequestState {
    match state {
        AccessRequestState::Open => v1::AccessRequestState::Open,
        AccessRequestState::Granted => v1::AccessRequestState::Granted,
        AccessRequestState::Refused => v1::AccessRequestState::Refused,
        AccessRequestState::Withdrawn => v1::AccessRequestState::Withdrawn,
        AccessRequestState::Expired => v1::AccessRequestState::Expired,
        AccessRequestState::Ended => v1::AccessRequestState::Ended,
    }
}
