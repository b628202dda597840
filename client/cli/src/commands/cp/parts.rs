//! Moves parts of a file over connections that may be lost: a part is tried again until it arrives, or nothing has
//! arrived for too long.

use std::future::Future;
use std::time::Duration;

use orion_domain::{CallState, ErrorCode};
use orion_wire::{call_state_from, v1};
use tokio::time::Instant;
use tonic::{Code, Response, Status};

use super::Copying;
use crate::call_result::CallResult;
use crate::client::within;
use crate::failure::Failure;
use crate::terminal::Bar;

/// How long one part may take. The backend gives up after a minute.
const PART_TIMEOUT: Duration = Duration::from_secs(75);
/// How long a part is tried again. The device waits three minutes for the next one.
const RETRY_TIMEOUT: Duration = Duration::from_secs(150);
/// The wait before the next try.
const RETRY_INTERVAL: Duration = Duration::from_millis(300);
/// How long the end of a call is waited for whose content does not move any more.
const END_TIMEOUT_MS: u64 = 3_000;

/// The wait of one request for the end of a call.
const POLL_MS: u64 = 1_000;

/// What became of a part.
pub(super) enum Part<T> {
    /// It moved.
    Moved(T),
    /// The call has ended, and nothing moves any more.
    Ended(Box<CallResult>),
}

/// Sends one request until it is answered.
pub(super) async fn part<T, F>(
    copying: &Copying<'_>,
    call: &str,
    mut request: impl FnMut() -> F,
) -> Result<Part<T>, Failure>
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let until = Instant::now() + RETRY_TIMEOUT;
    loop {
        let failure = match within(PART_TIMEOUT, request()).await {
            Ok(answer) => return Ok(Part::Moved(answer)),
            Err(failure) => failure,
        };
        if is_passing(&failure) && Instant::now() < until {
            tokio::time::sleep(RETRY_INTERVAL).await;
            continue;
        }
        // The call says better why it ended.
        return match ended(copying, call).await {
            Ok(Some(result)) => Ok(Part::Ended(Box::new(result))),
            Ok(None) | Err(_) => Err(failure),
        };
    }
}

/// Returns whether the next try may succeed.
fn is_passing(failure: &Failure) -> bool {
    match failure.cause() {
        Failure::Tool(error) => {
            matches!(error.code, ErrorCode::DeviceOffline | ErrorCode::RateLimited)
        }
        Failure::Status { code, .. } => matches!(
            code,
            Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::Aborted
        ),
        Failure::Unreachable { .. } | Failure::TimedOut(_) => true,
        Failure::SignIn(_)
        | Failure::Usage(_)
        | Failure::NotFound(_)
        | Failure::Conflict(_)
        | Failure::Failed(_)
        | Failure::NotText(_)
        | Failure::Interrupted
        | Failure::ReaderGone
        | Failure::Hinted { .. } => false,
    }
}

/// Returns the result of a call, if it has ended. A call whose device is not connected may still run there.
async fn ended(copying: &Copying<'_>, call: &str) -> Result<Option<CallResult>, Failure> {
    let call = looked_at(copying, call, END_TIMEOUT_MS).await?;
    let state = call_state_from(call.state).unwrap_or(CallState::Unknown);
    let is_over = state.is_closed() && state != CallState::Unknown;
    if is_over { CallResult::of(call).map(Some) } else { Ok(None) }
}

/// Waits for the end of a call, also while a link is lost, and shows its progress.
pub(super) async fn end(
    copying: &Copying<'_>,
    call: &str,
    bar: &Bar,
) -> Result<CallResult, Failure> {
    let mut until = Instant::now() + RETRY_TIMEOUT;
    loop {
        let wait = match looked_at(copying, call, POLL_MS).await {
            Ok(now) => {
                if let Some(v1::CallAdvance { done, total, .. }) = &now.advance {
                    bar.begin(&now.device, *total);
                    bar.at(*done);
                }
                let state = call_state_from(now.state).unwrap_or(CallState::Unknown);
                // What became of it may be known once its device is back.
                let is_lost = state == CallState::Unknown;
                if state.is_closed() && (!is_lost || Instant::now() >= until) {
                    return CallResult::of(now);
                }
                if !is_lost {
                    until = Instant::now() + RETRY_TIMEOUT;
                }
                is_lost
            }
            Err(failure) if is_passing(&failure) && Instant::now() < until => true,
            Err(failure) => return Err(failure),
        };
        if wait {
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}

async fn looked_at(copying: &Copying<'_>, call: &str, wait_ms: u64) -> Result<v1::Call, Failure> {
    let request = v1::GetCallRequest { call_id: call.to_owned(), wait_ms };
    let answer = copying.client.ask(copying.client.tools().get_call(request)).await?;
    Ok(answer.call.unwrap_or_default())
}
