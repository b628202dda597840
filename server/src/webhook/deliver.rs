//! Delivers the notification of one approval request or access request: signed, and tried again a few times.

use std::time::Duration;

use orion_domain::Secret;
use ring::hmac;
use serde_json::json;

use super::Webhook;
use crate::bus::CallNotice;
use crate::clock::now_ms;
use crate::store::{AccessRequestRow, AccessRequestState, ApprovalRow, ApprovalState};

/// The header with the signature: `t=SECONDS,v1=HEX`, HMAC-SHA256 over `SECONDS.BODY`.
const SIGNATURE: &str = "orion-signature";

/// The most attempts for one message.
const MAX_ATTEMPTS: u32 = 3;

/// How long to wait before the first retry; the second waits four times as long.
const BACKOFF: Duration = Duration::from_millis(500);

impl Webhook {
    pub(super) fn body(&self, row: &ApprovalRow) -> String {
        let event = if row.state == ApprovalState::Open { "opened" } else { "ended" };
        json!({
            "event": format!("approval.{event}"),
            "approval_id": row.id,
            "call_id": row.call,
            "state": row.state,
            "tool": row.tool,
            "device": row.device.1,
            "risk": row.risk,
            "requester": row.requester,
            "touches": row.touches,
            "decided_by": row.decided_by,
            "expires_at": row.expires_at,
            "link": format!("{}/approvals/{}", self.page, row.id),
        })
        .to_string()
    }

    pub(super) async fn deliver(&self, id: &str, body: &str) {
        let mut wait = BACKOFF;
        for attempt in 1..=MAX_ATTEMPTS {
            let signature = signature(&self.secret, now_ms() / 1000, body);
            let sent = self
                .client
                .post(self.url.clone())
                .header("content-type", "application/json")
                .header(SIGNATURE, signature)
                .body(body.to_owned())
                .send()
                .await;
            let problem = match sent {
                Ok(response) if response.status().is_success() => return,
                Ok(response) => format!("it answered {}", response.status().as_u16()),
                // The address may contain a secret of its own.
                Err(error) => error.without_url().to_string(),
            };
            tracing::warn!(id, attempt, problem, "the webhook was not notified");
            if attempt < MAX_ATTEMPTS {
                tokio::time::sleep(wait).await;
                wait *= 4;
            }
        }
    }
}

/// Returns the message about a request for access, with its state at a moment.
pub(super) fn access_request_body(row: &AccessRequestRow, now: i64) -> String {
    let state = row.state_at(now);
    let event = if state == AccessRequestState::Open { "opened" } else { state.as_str() };
    json!({
        "event": format!("access_request.{event}"),
        "request_id": row.id,
        "call_id": row.call,
        "state": state,
        "tool": row.grant.tool,
        "device": row.device.1,
        "requester": row.requester,
        "grants": row.grant.lines(),
        "decided_by": row.decided_by,
        "granted_until": row.granted_until,
        "expires_at": row.expires_at,
    })
    .to_string()
}

/// Returns the message about a call that a rule or its risk reports.
pub(super) fn notice_body(notice: &CallNotice) -> String {
    let CallNotice { call, user, device, tool, touches, rules } = notice;
    json!({
        "event": "call.notice",
        "call_id": call,
        "user": user,
        "device": device,
        "tool": tool,
        "touches": touches,
        "rules": rules,
    })
    .to_string()
}

/// Returns the header's value for a body that is sent at this time, Unix seconds.
fn signature(secret: &Secret, seconds: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let tag = hmac::sign(&key, format!("{seconds}.{body}").as_bytes());
    format!("t={seconds},v1={}", hex::encode(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_other_programs_compute() {
        // printf '1700000000.{}' | openssl dgst -sha256 -hmac 'a secret that signs'
        assert_eq!(
            signature(&Secret::new("a secret that signs"), 1_700_000_000, "{}"),
            "t=1700000000,v1=bfaa0b4595fb6daee6818504fa3ba608968e8a9864b3ed5281b29eac47a3d902"
        );
    }
}
