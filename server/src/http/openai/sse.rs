//! Streams of server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::Stream;

/// How often a comment is sent while nothing else is, so that nobody takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Returns a response that streams these events.
pub(super) fn response(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("waiting");
    Sse::new(events).keep_alive(keep_alive).into_response()
}
