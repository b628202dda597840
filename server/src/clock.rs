//! Time and identifiers: the one place where the backend reads the clock and draws ids.

use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

/// Unix milliseconds.
#[must_use]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A UUIDv7 (RFC 9562): ordered by time, the rest random.
#[must_use]
pub fn new_uuid() -> Uuid {
    Uuid::now_v7()
}
