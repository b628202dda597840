//! A new certificate before the old one ends, for the same key, asked on the same connection.

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

/// How long the backend may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Over how long the backend may spread the renewals that it asks for, at most.
const MOST_SPREAD: Duration = Duration::from_mins(1);
/// The least time from one renewal to the next that the backend asks for.
const SELDOM: Duration = Duration::from_secs(10);
/// When one that it asked for and that failed is tried again.
const AGAIN: Duration = Duration::from_mins(1);

/// A new certificate, checked to be this device's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewed {
    /// PEM.
    pub certificate: String,
    /// The authorities to trust from now on, PEM.
    pub authorities: String,
    /// Its last moment, Unix milliseconds.
    pub not_after: i64,
    /// How long it is good in all.
    pub lifetime: Duration,
}

/// Asks for a certificate.
///
/// # Errors
/// [`ConnectError`] when none is given, or one that is not for this device.
pub async fn renew(
    mut client: AgentServiceClient<Channel>,
    request: String,
) -> Result<v1::RenewCertificateResponse, ConnectError> {
    let request = v1::RenewCertificateRequest { certificate_request: request };
    match tokio::time::timeout(TIMEOUT, client.renew_certificate(request)).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(ConnectError::from_status(&status, None)),
        Err(_) => Err(ConnectError::Ended("the new certificate did not come in time".to_owned())),
    }
}

/// Checks what was given, whether on enrolment or on renewal: a certificate for this device and
/// this key, with authorities that a connection can be made by.
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

/// When to renew a certificate that was given at `now` and ends at `not_after` (Unix milliseconds):
/// at two thirds of its life, and a little before for some, so that devices that enrolled together
/// do not renew together. `random` is drawn evenly from 0 to 1.
///
/// What is left of it by this device's clock counts only where that can be: by a clock that is
/// ahead it would be over at once, by one that is behind too late. Then its `lifetime` counts.
#[must_use]
pub fn renew_at(now: i64, not_after: i64, lifetime: Duration, random: f64) -> i64 {
    let left = clock::until(not_after, now);
    let life = if left.is_zero() { lifetime } else { left.min(lifetime) };
    let wait = life.mul_f64(2.0 / 3.0 - 0.1 * random.clamp(0.0, 1.0));
    now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

/// Whether a certificate is to be renewed. One that was to be renewed after its end was given while
/// the clock was ahead; once the clock is not, it may be late already.
#[must_use]
pub const fn is_due(now: i64, renew_at: i64, not_after: i64) -> bool {
    now >= renew_at || (renew_at >= not_after && now < not_after)
}

/// When to ask again after a failure: ten times in what is left of the certificate, and not more
/// than once a second. Where nothing is left there is no hurry either.
#[must_use]
pub fn retry_in(now: i64, not_after: i64) -> Duration {
    let left = clock::until(not_after, now);
    if left.is_zero() {
        return Duration::from_mins(1);
    }
    (left / 10).clamp(Duration::from_secs(1), Duration::from_hours(1))
}

/// When to try again to connect with a certificate that was renewed, while the connection with the one
/// before stands: about a minute, and sooner where certificates are short-lived. `random` is drawn evenly
/// from 0 to 1.
#[must_use]
pub fn succeed_in(now: i64, not_after: i64, random: f64) -> Duration {
    retry_in(now, not_after).min(Duration::from_mins(1)).mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
}

/// How long to wait at the least after a renewal that gave a certificate which is good for `left`:
/// never at once again, even where the backend gives certificates that are almost over.
#[must_use]
pub fn pause(left: Duration) -> Duration {
    (left / 4).clamp(Duration::from_secs(1), Duration::from_secs(10))
}

/// A renewal that the backend asks for, because other authorities count than before. However often it asks,
/// there is a bound on how often that is done.
#[derive(Debug, Default)]
pub struct RequestedRenewal {
    due: Option<Instant>,
    last: Option<Instant>,
    /// Whether the one that is under way was asked for.
    is_under_way: bool,
}

impl RequestedRenewal {
    /// The backend asks, for a moment within this time. `random` is drawn evenly from 0 to 1.
    pub fn ask(&mut self, now: Instant, within: Duration, random: f64) {
        let wish = now + within.min(MOST_SPREAD).mul_f64(random.clamp(0.0, 1.0));
        let due = self.last.map_or(wish, |last| wish.max(last + SELDOM));
        // One that waits already answers this as well.
        self.due = Some(self.due.map_or(due, |waiting| waiting.min(due)));
    }

    /// When one is to be done; none where none is asked for.
    #[must_use]
    pub const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether one is to be done by now.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now >= due)
    }

    /// A renewal begins, whatever for: it is the one that was asked for.
    pub fn begin(&mut self, now: Instant) {
        self.is_under_way = self.due.take().is_some();
        self.last = Some(now);
    }

    /// It failed.
    pub fn failed(&mut self, now: Instant) {
        if self.is_under_way {
            self.due.get_or_insert(now + AGAIN);
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
        // Given at 1 s, for 30 s. The clock is far ahead, and is put right.
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
        // Asked again it is not put off, and a backend cannot put it off for ever.
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
        // One that nobody asked for is the renewal's own matter.
        asked.begin(begin + 90 * second);
        asked.failed(begin + 91 * second);
        assert_eq!(asked.due(), None);
    }
}
