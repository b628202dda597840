//! Begins the call of one file: makes it, decides its approval request as the command line says, and waits until it
//! runs.

use std::sync::PoisonError;
use std::time::Duration;

use jiff::Timestamp;
use orion_domain::{Actor, CallState, ErrorCode};
use orion_wire::{call_state_from, v1};
use serde_json::Value;

use super::Copying;
use crate::approval::{WhenStopped, decide, how_to_approve};
use crate::call_result::CallResult;
use crate::client::within;
use crate::failure::Failure;
use crate::terminal::Spinner;

/// How long the answer to a new call may take: its preview on the device included.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a waiting call is looked at. Once it runs, its device waits for the content.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// A begun call.
pub(super) enum Begun {
    /// It runs, and its content can move.
    Runs(String),
    /// It has ended, or waits for somebody else.
    Ended(Box<CallResult>),
}

/// Makes a call whose content this client moves.
pub(super) async fn begin(
    copying: &Copying<'_>,
    tool: &str,
    device: &str,
    arguments: &Value,
) -> Result<Begun, Failure> {
    let Copying { app, client, wait, .. } = copying;
    let timeout_ms =
        app.timeout.map_or(0, |limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
    let request = v1::CallToolRequest {
        tool: tool.to_owned(),
        device: device.to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        timeout_ms,
        background: true,
        moves_content: true,
        // The same key finds the call that replaced this one.
        idempotency_key: format!("cp {} {}", std::process::id(), Timestamp::now().as_nanosecond()),
        ..v1::CallToolRequest::default()
    };
    let waiting = Spinner::on(app.out, &format!("{tool} on {device}"));
    let mut is_decided = false;
    let mut ended: Option<CallResult> = None;
    loop {
        let called = within(BEGIN_TIMEOUT, client.tools().call_tool(request.clone())).await;
        let mut call = match called {
            Ok(answer) => answer.call.unwrap_or_default(),
            Err(Failure::Tool(error)) => {
                let result = CallResult::refused(*error, tool, device, false);
                return Ok(Begun::Ended(Box::new(result)));
            }
            Err(failure) => return Err(failure),
        };
        if let Some(result) = ended.take_if(|it| it.envelope.meta.call_id == call.call_id) {
            return Ok(Begun::Ended(Box::new(result)));
        }
        *copying.current.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(call.call_id.clone());
        loop {
            match call_state_from(call.state).unwrap_or(CallState::Unknown) {
                CallState::Dispatched | CallState::Running => {
                    return Ok(Begun::Runs(call.call_id));
                }
                CallState::AwaitingApproval if !is_decided => {
                    is_decided = true;
                    let stopped = WhenStopped::Cancelled;
                    let deciding = decide(app, client, &call.approval_id, *wait, stopped);
                    if !waiting.suspend(deciding).await? {
                        if tool != "transfer_file" {
                            // Without this program nothing would move once it is approved.
                            copying.cancel().await;
                            return Ok(Begun::Ended(Box::new(nobody_waits(call, tool, device)?)));
                        }
                        let how = how_to_approve(app.out, client, &call.approval_id).await;
                        app.out.error_line(&how);
                        return Ok(Begun::Ended(Box::new(CallResult::of(call)?)));
                    }
                }
                CallState::Received | CallState::AwaitingApproval | CallState::Queued => {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                CallState::Denied
                | CallState::Succeeded
                | CallState::Failed
                | CallState::Refused
                | CallState::TimedOut
                | CallState::Cancelled
                | CallState::Unknown => break,
            }
            let request = v1::GetCallRequest { call_id: call.call_id.clone(), wait_ms: 0 };
            let answer = client.ask(client.tools().get_call(request)).await?;
            call = answer.call.unwrap_or_default();
        }
        let result = CallResult::of(call)?;
        let error = result.envelope.error.as_ref().map(|error| error.code);
        if error != Some(ErrorCode::ApprovalRequired) || is_decided {
            return Ok(Begun::Ended(Box::new(result)));
        }
        // The device found a higher risk, so the backend may have made the call once more, to ask about it.
        ended = Some(result);
    }
}

/// Returns the result of a call that was cancelled because nobody approved it while this program ran.
fn nobody_waits(call: v1::Call, tool: &str, device: &str) -> Result<CallResult, Failure> {
    let result = CallResult::of(call)?;
    let Some(mut error) = result.envelope.error else { return Ok(result) };
    error.details.remove("approval_id");
    error.details.remove("expires_at");
    error.hints.retain(|hint| hint.who != Actor::Approver);
    let error = error
        .hint("copy it again with --wait, which waits until somebody approves it")
        .hint("or with --yes, which approves it where you may");
    Ok(CallResult::refused(error, tool, device, false))
}
