//! The webhook: notifies another system when an approval request opens and ends. A call never waits for it,
//! and messages that cannot be sent in time are dropped.

use std::time::Duration;

use anyhow::{Context as _, bail};
use orion_domain::{ApprovalId, Secret};
use orion_mtls::secret_file;
use reqwest::{Client, Url, redirect};
use ring::hmac;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::bus::Bus;
use crate::clock::now_ms;
use crate::config::Approvals;
use crate::store::{ApprovalRow, ApprovalState, Store};

/// The header with the signature: `t=SECONDS,v1=HEX`, HMAC-SHA256 over `SECONDS.BODY`.
const SIGNATURE: &str = "orion-signature";
/// How long one attempt may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The most attempts for one message.
const MAX_ATTEMPTS: u32 = 3;
/// How long to wait before the first retry; the second waits four times as long.
const BACKOFF: Duration = Duration::from_millis(500);
/// The most waiting messages; more are dropped.
const MAX_QUEUED: usize = 256;

/// The address of the webhook and the secret that signs its messages.
#[derive(Debug)]
pub struct Webhook {
    client: Client,
    url: Url,
    secret: Secret,
    page: String,
}

impl Webhook {
    /// Returns the webhook of a configuration, or `None` if none is set. `page` is the address of the web
    /// page.
    ///
    /// # Errors
    /// The address or the secret cannot be used.
    pub fn prepare(config: &Approvals, page: &str) -> anyhow::Result<Option<Self>> {
        let (url, secret) = match (&config.webhook_url, &config.webhook_secret_file) {
            (None, None) => return Ok(None),
            (Some(url), Some(secret)) => (url, secret),
            (Some(_), None) | (None, Some(_)) => {
                bail!(
                    "[approvals] `webhook_url` and `webhook_secret_file` go together; one of them is missing"
                )
            }
        };
        let url: Url = url.parse().context("[approvals] webhook_url is no address")?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            bail!("[approvals] webhook_url must begin with https:// or http://");
        }
        let secret = secret_file::read_text(secret).context("[approvals] webhook_secret_file")?;
        let secret = Secret::new(secret.expose().trim().to_owned());
        if secret.expose().len() < 16 {
            bail!("[approvals] webhook_secret_file must hold at least 16 characters");
        }
        let client =
            Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none()).build()?;
        let page = config.page_url.clone().unwrap_or_else(|| page.to_owned());
        Ok(Some(Self { client, url, secret, page: page.trim_end_matches('/').to_owned() }))
    }

    fn body(&self, row: &ApprovalRow) -> String {
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

    async fn deliver(&self, id: ApprovalId, body: &str) {
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
            tracing::warn!(approval = %id, attempt, problem, "the webhook was not told");
            if attempt < MAX_ATTEMPTS {
                tokio::time::sleep(wait).await;
                wait *= 4;
            }
        }
    }
}

/// Returns the header's value for a body that is sent at this time, Unix seconds.
fn signature(secret: &Secret, seconds: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let tag = hmac::sign(&key, format!("{seconds}.{body}").as_bytes());
    format!("t={seconds},v1={}", hex::encode(tag))
}

/// Sends notifications until the backend stops.
pub async fn run(webhook: Webhook, store: Store, bus: Bus, shutdown: CancellationToken) {
    let mut changes = bus.watch_approvals();
    let (sender, mut waiting) = mpsc::channel::<(ApprovalId, String)>(MAX_QUEUED);
    let delivering = async {
        while let Some((id, body)) = waiting.recv().await {
            webhook.deliver(id, &body).await;
        }
    };
    let listening = async {
        loop {
            let id = match changes.recv().await {
                Ok(id) => id,
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "too many changes at once; the webhook may miss some");
                    continue;
                }
                Err(RecvError::Closed) => return,
            };
            let Ok(row) = store.approval(&id.to_string()).await else { continue };
            let is_voted = row.state == ApprovalState::Open && !row.votes.is_empty();
            if row.standing.is_some() || is_voted {
                continue;
            }
            if sender.try_send((id, webhook.body(&row))).is_err() {
                tracing::warn!(approval = %id, "too much waits for the webhook; it is not told");
            }
        }
    };
    tokio::select! {
        () = delivering => {}
        () = listening => {}
        () = shutdown.cancelled() => {}
    }
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

    #[test]
    fn half_a_webhook_is_refused() {
        let config = Approvals {
            webhook_url: Some("https://x.example/".to_owned()),
            ..Approvals::default()
        };
        let error = Webhook::prepare(&config, "").unwrap_err().to_string();
        assert!(error.contains("go together"), "{error}");
        assert!(Webhook::prepare(&Approvals::default(), "").unwrap().is_none());
    }
}
