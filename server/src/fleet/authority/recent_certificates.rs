//! Keeps the certificates that devices received at enrollment for a moment. A device that retries because a
//! response was lost gets the same certificate, so a retry makes neither certificates nor audit rows.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use orion_domain::DeviceId;
use orion_mtls::{Fingerprint, IssuedCertificate};
use tokio::sync::{Mutex, MutexGuard};

/// How long a certificate is kept.
const REUSE_TIME: Duration = Duration::from_mins(1);

/// The recently issued certificates, by device.
#[derive(Debug, Default)]
pub struct RecentCertificates {
    certificates: DashMap<DeviceId, Certificate>,
    issue_lock: Mutex<()>,
}

#[derive(Debug)]
struct Certificate {
    issued: IssuedCertificate,
    authority: Fingerprint,
    at: Instant,
}

impl RecentCertificates {
    /// Locks the lookup and issue of a certificate that may have been issued already.
    pub async fn lock(&self) -> MutexGuard<'_, ()> {
        self.issue_lock.lock().await
    }

    /// Returns the certificate that this authority issued for this device and key a moment ago. The remaining
    /// lifetime must exceed the certificate's age, so that the device has time to connect.
    #[must_use]
    pub fn again(
        &self,
        device: DeviceId,
        key: &str,
        authority: Fingerprint,
        (now, now_ms): (Instant, i64),
    ) -> Option<IssuedCertificate> {
        let given = self.certificates.get(&device)?;
        let age = now.saturating_duration_since(given.at);
        let left = given.issued.not_after_ms.saturating_sub(now_ms);
        let is_young =
            age < REUSE_TIME && left > i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let is_same =
            given.authority == authority && given.issued.public_key_fingerprint.to_string() == key;
        (is_young && is_same).then(|| given.issued.clone())
    }

    /// Keeps a certificate that a device received, and drops old ones.
    pub fn note(
        &self,
        device: DeviceId,
        authority: Fingerprint,
        issued: IssuedCertificate,
        at: Instant,
    ) {
        self.certificates.retain(|_, given| at.saturating_duration_since(given.at) < REUSE_TIME);
        self.certificates.insert(device, Certificate { issued, authority, at });
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn who_asks_again_at_once_gets_the_same_and_only_for_its_own_key_and_from_who_signs() {
        let (given, begin) = (RecentCertificates::default(), Instant::now());
        let [key, other, authority, newer] = [1, 2, 3, 4].map(|byte| Fingerprint([byte; 32]));
        let device = |n| DeviceId::new(Uuid::from_u128(n));
        let issued = |not_after_ms| IssuedCertificate {
            cert_pem: "PEM".to_owned(),
            serial_hex: "0a".to_owned(),
            not_after_ms,
            public_key_fingerprint: key,
        };
        given.note(device(1), authority, issued(100_000), begin);
        let again = |n, key: Fingerprint, authority, seconds: u64| {
            let now =
                (begin + Duration::from_secs(seconds), 1_000 * i64::try_from(seconds).unwrap());
            given.again(device(n), &key.to_string(), authority, now)
        };
        assert_eq!(again(1, key, authority, 10), Some(issued(100_000)));
        assert_eq!(again(1, key, authority, 49), Some(issued(100_000)));
        assert_eq!(again(1, key, authority, 50), None, "the better half of it is over");
        assert_eq!(again(1, key, authority, 60), None);
        assert_eq!(again(1, other, authority, 10), None);
        assert_eq!(again(1, key, newer, 10), None);
        assert_eq!(again(2, key, authority, 10), None);
        // Old certificates are dropped.
        given.note(device(2), authority, issued(1), begin + REUSE_TIME);
        assert_eq!(given.certificates.len(), 1);
    }
}
