//! Stores what devices report of their own audit chains, and which head of this backend's chain they saw.

use std::time::Instant;

use orion_domain::DeviceId;
use orion_domain::audit::AuditHead;

use crate::backend::Backend;

/// Stores a device's chain head and the backend head that it saw, on a connection that began at `since`.
/// Returns `false` where storing failed; no other report in the same message may be trusted then.
pub(super) async fn received(
    backend: &Backend,
    (device, since): (DeviceId, Instant),
    chain: Option<AuditHead>,
    saw: Option<AuditHead>,
) -> bool {
    let witnesses = backend.fleet.witnesses();
    let stored = async {
        if let Some(saw) = saw {
            witnesses.received_backend_head(&backend.store, device, saw).await?;
        }
        match chain {
            Some(chain) => witnesses.received(&backend.store, device, since, chain).await,
            None => Ok(()),
        }
    };
    match stored.await {
        Ok(()) => true,
        Err(error) => {
            tracing::error!(%device, %error, "what a device says of its chain could not be recorded");
            false
        }
    }
}
