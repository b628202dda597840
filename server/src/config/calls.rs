//! `[calls]`: timeouts and limits, and what follows from them for one call.

use std::time::Duration;

use orion_catalog::ToolSpec;
use orion_domain::CallRequest;
use serde::{Deserialize, Serialize};

use super::Config;
use crate::store::QueueLimits;

/// The longest time of a call whose content moves beside it.
const MAX_TRANSFER_TIME: Duration = Duration::from_hours(24);

/// `[calls]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Calls {
    /// Whether every call that changes something is refused, on every device. Previews and stops work.
    pub read_only: bool,
    /// The timeout of a call that requests none, in seconds.
    pub timeout_seconds: u32,
    /// The longest timeout of a call, in seconds.
    pub max_timeout_seconds: u32,
    /// Whether a call that does not say so waits for a device that is not connected.
    pub queue: bool,
    /// How long a call that does not say so waits for its device, in seconds.
    pub queue_seconds: u32,
    /// The longest time that a call may wait for its device, in seconds.
    pub max_queue_seconds: u32,
    /// The most calls that wait for one device.
    pub queued_per_device: u32,
    /// The most waiting calls of one person, for all devices together.
    pub queued_per_person: u32,
    /// The most calls in flight on one device.
    pub in_flight_per_device: u32,
    /// The most calls in flight of one person, on all devices together.
    pub in_flight_per_person: u32,
    /// The most calls of one person in a second.
    pub per_person_per_second: u32,
    /// The most calls of one person at once, after a while without any.
    pub burst_per_person: u32,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            read_only: false,
            timeout_seconds: 30,
            max_timeout_seconds: 600,
            queue: false,
            queue_seconds: 24 * 3600,
            max_queue_seconds: 7 * 24 * 3600,
            queued_per_device: 1_000,
            queued_per_person: 500,
            in_flight_per_device: 16,
            in_flight_per_person: 256,
            per_person_per_second: 50,
            burst_per_person: 200,
        }
    }
}

impl Config {
    /// Returns the timeout of a call, from the requested milliseconds. None requests the default.
    #[must_use]
    pub fn call_timeout(&self, asked_ms: Option<u64>) -> Duration {
        let most = Duration::from_secs(self.calls.max_timeout_seconds.into());
        asked_ms
            .map_or(Duration::from_secs(self.calls.timeout_seconds.into()), Duration::from_millis)
            .min(most)
    }

    /// Returns the timeout of a call of this tool. Content that moves beside a call takes as long as it takes: the
    /// device ends a transfer that stands still.
    #[must_use]
    pub fn timeout_of(&self, spec: &ToolSpec, asked_ms: Option<u64>) -> Duration {
        if !spec.content.is_beside() {
            let own = spec.timeout.and_then(|time| u64::try_from(time.as_millis()).ok());
            return self.call_timeout(asked_ms.or(own));
        }
        asked_ms.map_or(MAX_TRANSFER_TIME, Duration::from_millis).min(MAX_TRANSFER_TIME)
    }

    /// Returns the limits of calls that wait for devices.
    #[must_use]
    pub const fn queue_limits(&self) -> QueueLimits {
        let Calls { queued_per_device: per_device, queued_per_person: per_person, .. } = self.calls;
        QueueLimits { per_device, per_person }
    }

    /// Returns how long a call waits for its device. None if it does not wait.
    #[must_use]
    pub fn queue_time(&self, request: &CallRequest) -> Option<Duration> {
        let waits = request.queue.unwrap_or(self.calls.queue) && !request.dry_run;
        let most = Duration::from_secs(self.calls.max_queue_seconds.into());
        let default = Duration::from_secs(self.calls.queue_seconds.into());
        waits.then(|| request.queue_ms.map_or(default, Duration::from_millis).min(most))
    }
}
