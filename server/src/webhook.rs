//! The webhook: notifies another system when an approval request opens and ends. A call never waits for it,
//! and messages that cannot be sent in time are dropped.

mod deliver;

use std::time::Duration;

use anyhow::{Context as _, bail};
use orion_domain::Secret;
use orion_mtls::secret_file;
use reqwest::{Client, Url, redirect};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::deliver::{access_request_body, notice_body};
use crate::bus::Bus;
use crate::clock::now_ms;
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
    let (mut approvals, mut requests) = (bus.watch_approvals(), bus.watch_access_requests());
    let (sender, mut waiting) = mpsc::channel::<(String, String)>(MAX_QUEUED);
    let delivering = async {
        while let Some((id, body)) = waiting.recv().await {
            webhook.deliver(&id, &body).await;
        }
    };
    let send = |id: String, body: String| {
        if let Err(error) = sender.try_send((id, body)) {
            let id = error.into_inner().0;
            tracing::warn!(id, "too much waits for the webhook; it is not told");
        }
    };
    let listening = async {
        while let Some(id) = next(&mut approvals).await {
            let Ok(row) = store.approval(id).await else { continue };
            let is_voted = row.state == ApprovalState::Open && !row.votes.is_empty();
            if row.standing.is_none() && !is_voted {
                send(id.to_string(), webhook.body(&row));
            }
        }
    };
    let listening_to_requests = async {
        while let Some(id) = next(&mut requests).await {
            let Ok(row) = store.find_access_request(&id.to_string()).await else { continue };
            send(id.to_string(), access_request_body(&row, now_ms()));
        }
    };
    let mut notices = bus.watch_notices();
    let listening_to_notices = async {
        while let Some(notice) = next(&mut notices).await {
            send(notice.call.to_string(), notice_body(&notice));
        }
    };
    tokio::select! {
        () = listening_to_notices => {}
        () = delivering => {}
        () = listening => {}
        () = listening_to_requests => {}
        () = shutdown.cancelled() => {}
    }
}

/// Returns the next change. None if there will be no other.
async fn next<T: Clone>(changes: &mut Receiver<T>) -> Option<T> {
    loop {
        match changes.recv().await {
            Ok(id) => return Some(id),
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "too many changes at once; the webhook may miss some");
            }
            Err(RecvError::Closed) => return None,
        }
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
