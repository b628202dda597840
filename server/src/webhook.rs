//! The webhook: notifies another system when an approval request opens and ends. A call never waits for it,
//! and messages that cannot be sent in time are dropped.

mod deliver;

use std::time::Duration;

use anyhow::{Context as _, bail};
use orion_domain::{ApprovalId, Secret};
use orion_mtls::secret_file;
use reqwest::{Client, Url, redirect};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::bus::Bus;
use crate::config::Approvals;
use crate::store::{ApprovalState, Store};

/// How long one attempt may take.
const TIMEOUT: Duration = Duration::from_secs(5);

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
            let Ok(row) = store.approval(id).await else { continue };
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
