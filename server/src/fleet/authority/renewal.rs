//! Decides which devices must renew their certificate after a change of the authorities. Issues none.

use orion_mtls::{CertificateAuthority, Fingerprint};
use tokio::sync::watch;

use super::Authority;

impl Authority {
    /// Returns whether a device must renew: its certificate is not by the signing authority, or it reports
    /// another set of trusted authorities. A device that reports none passes the second check.
    #[must_use]
    pub fn is_behind(&self, issuer: Fingerprint, trusts: &[Fingerprint]) -> bool {
        let set = self.set();
        let mut counts: Vec<_> = set.iter().map(CertificateAuthority::fingerprint).collect();
        let mut reported = trusts.to_vec();
        counts.sort_unstable();
        reported.sort_unstable();
        issuer != set.signer().name() || (!reported.is_empty() && reported != counts)
    }

    /// Waits until the authority of this name is no longer active.
    pub async fn disconnected(&self, name: Fingerprint) {
        let mut changes = self.changed.subscribe();
        while self.set.load().holds(&name) {
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Returns a receiver that is notified when the authorities change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}
