//! Notices that two authorities have been active for longer than a certificate lasts.

use std::sync::PoisonError;

use orion_mtls::{CertificateAuthority, Fingerprint};

use super::Authority;

/// How far an authority's certificate is backdated at most, in milliseconds.
const BACKDATED: i64 = 5 * 60 * 1000;

/// Two active authorities, while one replaces the other.
#[derive(Debug, Default)]
pub(super) struct Overlap {
    /// The name of the authority that is being replaced.
    of: Option<Fingerprint>,
    is_logged: bool,
}

impl Authority {
    /// Returns whether two authorities have been active for longer than `lifetime` milliseconds; `true` only
    /// once for each pair.
    pub fn takes_long(&self, lifetime: i64, now: i64) -> bool {
        let set = self.set();
        let mut overlap = self.overlap.lock().unwrap_or_else(PoisonError::into_inner);
        let of = set.retiring().map(CertificateAuthority::name);
        if overlap.of != of {
            *overlap = Overlap { of, is_logged: false };
        }
        let since = set.signer().not_before_ms().saturating_add(BACKDATED);
        let is_long = of.is_some() && since.saturating_add(lifetime) < now;
        is_long && !std::mem::replace(&mut overlap.is_logged, true)
    }
}
