//! What devices say of their own chains, and of what they saw of this backend's.

use std::time::Instant;

use orion_domain::DeviceId;
use orion_domain::audit::AuditHead;

use crate::backend::Backend;

/// Takes what a device says of its own chain on a connection of this age, and of what it saw of this
/// backend's; `false` where that could not be recorded, so that nothing else it says is to be believed.
pub(super) async fn received(
    backend: &Backend,
    (device, since): (DeviceId, Instant),
    chain: Option<AuditHead>,
    saw: Option<AuditHead>,
) -> bool {
    let witnesses = backend.fleet.witnesses();
    let heard = async {
        if let Some(saw) = saw {
            witnesses.received_backend_head(&backend.store, device, saw).await?;
        }
        match chain {
            Some(chain) => witnesses.received(&backend.store, device, since, chain).await,
            None => Ok(()),
        }
    };
    match heard.await {
        Ok(()) => true,
        Err(error) => {
            tracing::error!(%device, %error, "what a device says of its chain could not be recorded");
            false
        }
    }
}
