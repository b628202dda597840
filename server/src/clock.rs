//! Time and identifiers: the one place where the backend reads the clock and creates ids.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

thread_local! {
    static PRETENDED: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Sets the time of this thread, in Unix milliseconds; None is the real time. For simulations.
#[doc(hidden)]
pub fn pretend(now: Option<i64>) {
    PRETENDED.set(now);
}

/// Returns the time, Unix milliseconds.
#[must_use]
pub fn now_ms() -> i64 {
    if let Some(pretended) = PRETENDED.get() {
        return pretended;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a UUIDv7 (RFC 9562): ordered by time, otherwise random.
#[must_use]
pub fn new_uuid() -> Uuid {
    Uuid::now_v7()
}

/// Returns a UUIDv7 for something that is made together with others of one command, such as a plan with its steps. Those
/// of [`new_uuid`] count up within a millisecond, so that their first characters are alike; those of this one differ.
#[must_use]
pub fn new_uuid_unlike_others() -> Uuid {
    Uuid::new_v7(uuid::Timestamp::now(uuid::NoContext))
}
