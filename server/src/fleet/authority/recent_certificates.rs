//! The certificates that devices were given as they enrolled, for a moment: who asks again because an answer
//! was lost gets the same one, so that asking makes neither certificates nor rows of the audit.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use orion_domain::DeviceId;
use orion_mtls::{Fingerprint, IssuedCertificate};
use tokio::sync::{Mutex, MutexGuard};

/// For how long the same one is given.
const FOR: Duration = Duration::from_mins(1);

/// See the module.
#[derive(Debug, Default)]
pub struct RecentCertificates {
    certificates: DashMap<DeviceId, Certificate>,
    turn: Mutex<()>,
}

#[derive(Debug)]
struct Certificate {
    issued: IssuedCertificate,
    authority: Fingerprint,
    at: Instant,
}

impl RecentCertificates {
    /// Whoever asks for a certificate that may have been given already looks and issues while it holds this.
    pub async fn lock(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// What this authority gave a device for this key a moment ago, where it is good for as long again as a
    /// device needs to come with it.
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
        let is_young = age < FOR && left > i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let is_same =
            given.authority == authority && given.issued.public_key_fingerprint.to_string() == key;
        (is_young && is_same).then(|| given.issued.clone())
    }

    /// A device was given this.
    pub fn note(
        &self,
        device: DeviceId,
        authority: Fingerprint,
        issued: IssuedCertificate,
        at: Instant,
    ) {
        self.certificates.retain(|_, given| at.saturating_duration_since(given.at) < FOR);
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
        // What is old is forgotten.
        given.note(device(2), authority, issued(1), begin + FOR);
        assert_eq!(given.certificates.len(), 1);
    }
}
