//! Renewal of the certificate before it expires, for the same key and on the same connection.

use std::time::Duration;

use orion_domain::DeviceId;
use orion_mtls::DeviceKey;
use orion_wire::v1;
use orion_wire::v1::agent_service_client::AgentServiceClient;
use tokio::time::Instant;
use tonic::transport::Channel;

use super::ConnectError;
use crate::clock;
use crate::state::{is_for, lifetime};

/// Timeout for the backend's answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time over which the backend may spread requested renewals.
const MAX_SPREAD: Duration = Duration::from_mins(1);
/// The shortest time from one renewal to the next requested one.
const MIN_INTERVAL: Duration = Duration::from_secs(10);
/// The wait before a failed requested renewal is retried.
const RETRY_INTERVAL: Duration = Duration::from_mins(1);

/// A new certificate, checked to be this device's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewed {
    /// The certificate, PEM.
    pub certificate: String,
    /// The authorities to trust from now on, PEM.
    pub authorities: String,
    /// When the certificate expires, Unix milliseconds.
    pub not_after: i64,
    /// How long the certificate is valid in total.
    pub lifetime: Duration,
}

/// Requests a certificate. `generation` is the counter of connections; 0 on a connection that is open already.
///
/// # Errors
/// [`ConnectError`] when the backend issues none.
pub async fn renew(
    mut client: AgentServiceClient<Channel>,
    request: String,
    generation: u64,
) -> Result<v1::RenewCertificateResponse, ConnectError> {
    let request = v1::RenewCertificateRequest { certificate_request: request, generation };
    match tokio::time::timeout(TIMEOUT, client.renew_certificate(request)).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(ConnectError::from_status(&status, None)),
        Err(_) => Err(ConnectError::Ended("the new certificate did not come in time".to_owned())),
    }
}

/// Checks an issued certificate, on enrolment and on renewal: it must be for this device and this key,
/// and its authorities must be usable for a connection.
///
/// # Errors
/// [`ConnectError::Protocol`] or [`ConnectError::Mtls`].
pub fn check(
    certificate: String,
    authorities: &[String],
    not_after: i64,
    device: DeviceId,
    key: &DeviceKey,
) -> Result<Renewed, ConnectError> {
    if !is_for(&certificate, device, key) {
        return Err(ConnectError::Protocol(
            "it gave a certificate that is not this device's".to_owned(),
        ));
    }
    orion_mtls::mutual(authorities, &certificate, key)?;
    let lifetime = lifetime(&certificate);
    Ok(Renewed { certificate, authorities: authorities.join("\n"), not_after, lifetime })
}

/// Returns when to renew a certificate that was issued at `now` and expires at `not_after` (both, and the
/// result, Unix milliseconds): at two thirds of its life, and up to a tenth earlier, so that devices
/// that enrolled together do not renew together. `random` is uniform between 0 and 1.
///
/// The time left by this device's clock counts only where it is plausible. A clock that is ahead would
/// make the renewal due at once, a clock that is behind too late. Then the certificate's `lifetime` counts.
#[must_use]
pub fn renew_at(now: i64, not_after: i64, lifetime: Duration, random: f64) -> i64 {
    let left = clock::until(not_after, now);
    let life = if left.is_zero() { lifetime } else { left.min(lifetime) };
    let wait = life.mul_f64(2.0 / 3.0 - 0.1 * random.clamp(0.0, 1.0));
    now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

/// Returns whether a renewal is due. A renewal time after the expiry was computed while the clock was
/// ahead; once the clock is right, the renewal may be late already.
#[must_use]
pub const fn is_due(now: i64, renew_at: i64, not_after: i64) -> bool {
    now >= renew_at || (renew_at >= not_after && now < not_after)
}

/// Returns the wait after a failed renewal: a tenth of the time left, at least a second and at most an
/// hour. After the expiry there is no hurry: one minute.
#[must_use]
pub fn retry_in(now: i64, not_after: i64) -> Duration {
    let left = clock::until(not_after, now);
    if left.is_zero() {
        return Duration::from_mins(1);
    }
    (left / 10).clamp(Duration::from_secs(1), Duration::from_hours(1))
}

/// Returns the wait before the next attempt to connect with a renewed certificate, while the old
/// connection is open: up to a minute, and less for short-lived certificates. `random` is uniform between
/// 0 and 1.
#[must_use]
pub fn succeed_in(now: i64, not_after: i64, random: f64) -> Duration {
    retry_in(now, not_after).min(Duration::from_mins(1)).mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
}

/// Returns the shortest wait after a renewal whose certificate is valid for `left`. It is never zero,
/// even if the backend issues certificates that are about to expire.
#[must_use]
pub fn pause(left: Duration) -> Duration {
    (left / 4).clamp(Duration::from_secs(1), Duration::from_secs(10))
}

/// A renewal that the backend requests because the trusted authorities changed. The rate of renewals is
/// limited, however often the backend requests one.
#[derive(Debug, Default)]
pub struct RequestedRenewal {
    due: Option<Instant>,
    last: Option<Instant>,
    /// Whether the renewal under way was requested.
    is_under_way: bool,
}

impl RequestedRenewal {
    /// Records a request for a renewal within this time. `random` is uniform between 0 and 1.
    pub fn ask(&mut self, now: Instant, within: Duration, random: f64) {
        let wish = now + within.min(MAX_SPREAD).mul_f64(random.clamp(0.0, 1.0));
        let due = self.last.map_or(wish, |last| wish.max(last + MIN_INTERVAL));
        // A renewal that is scheduled already serves this request as well.
        self.due = Some(self.due.map_or(due, |waiting| waiting.min(due)));
    }

    /// Returns when the requested renewal is due. None if none is requested.
    #[must_use]
    pub const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns whether a requested renewal is due.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now >= due)
    }

    /// Records that a renewal begins. It serves the request, whatever caused it.
    pub fn begin(&mut self, now: Instant) {
        self.is_under_way = self.due.take().is_some();
        self.last = Some(now);
    }

    /// Records that the renewal failed, and schedules a retry if it was requested.
    pub fn failed(&mut self, now: Instant) {
        if self.is_under_way {
            self.due.get_or_insert(now + RETRY_INTERVAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_renewed_at_two_thirds_of_its_life_or_a_little_before() {
        let life = Duration::from_secs(30);
        assert_eq!(renew_at(1_000, 31_000, life, 0.0), 21_000);
        assert_eq!(renew_at(1_000, 31_000, life, 1.0), 18_000);
        assert_eq!(renew_at(5_000, 1_000, Duration::ZERO, 0.5), 5_000);
    }

    #[test]
    fn a_clock_that_is_wrong_makes_a_renewal_neither_late_nor_endless() {
        let life = Duration::from_secs(30);
        // Issued at 1 s, for 30 s. The clock is far ahead, and is then corrected.
        let ahead = renew_at(901_000, 31_000, life, 0.0);
        assert_eq!(ahead, 921_000);
        assert!(!is_due(902_000, ahead, 31_000), "not again and again while it is ahead");
        assert!(is_due(2_000, ahead, 31_000), "and at once when it is right");
        // The clock is 29 seconds behind.
        assert_eq!(renew_at(-28_000, 31_000, life, 0.0), -8_000);
        assert!(is_due(21_000, 21_000, 31_000));
        assert!(!is_due(20_999, 21_000, 31_000));
    }

    #[test]
    fn a_failed_renewal_is_tried_again_while_there_is_time() {
        let hour = 60 * 60 * 1000;
        assert_eq!(retry_in(0, 8 * hour), Duration::from_mins(48));
        assert_eq!(retry_in(0, 100 * hour), Duration::from_hours(1));
        assert_eq!(retry_in(0, 40_000), Duration::from_secs(4));
        assert_eq!(retry_in(0, 1_000), Duration::from_secs(1));
        assert_eq!(succeed_in(0, 24 * 3_600_000, 1.0), Duration::from_mins(1));
        assert_eq!(succeed_in(0, 40_000, 0.0), Duration::from_secs(2));
        assert_eq!(retry_in(hour, 0), Duration::from_mins(1));
        assert_eq!(pause(Duration::from_hours(24)), Duration::from_secs(10));
        assert_eq!(pause(Duration::from_secs(12)), Duration::from_secs(3));
        assert_eq!(pause(Duration::ZERO), Duration::from_secs(1));
    }

    #[test]
    fn a_renewal_that_is_asked_for_comes_at_a_moment_within_the_time_and_never_often() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        let mut asked = RequestedRenewal::default();
        assert!(!asked.is_due(begin + 3600 * second));
        asked.ask(begin, 30 * second, 0.5);
        assert_eq!(asked.due(), Some(begin + 15 * second));
        // Another request does not delay the renewal, so a backend cannot delay it for ever.
        asked.ask(begin + second, Duration::MAX, 1.0);
        assert_eq!(asked.due(), Some(begin + 15 * second));
        assert_eq!([14, 15].map(|at| asked.is_due(begin + at * second)), [false, true]);
        asked.begin(begin + 15 * second);
        assert_eq!(asked.due(), None);
        for at in 15..40 {
            asked.ask(begin + at * second, Duration::ZERO, 0.0);
        }
        assert_eq!(asked.due(), Some(begin + 25 * second), "ten seconds after the one before");
        asked.begin(begin + 25 * second);
        asked.failed(begin + 26 * second);
        assert_eq!(asked.due(), Some(begin + 86 * second), "what failed is tried again");
        asked.begin(begin + 86 * second);
        // An unrequested renewal schedules its own retry.
        asked.begin(begin + 90 * second);
        asked.failed(begin + 91 * second);
        assert_eq!(asked.due(), None);
    }
}
