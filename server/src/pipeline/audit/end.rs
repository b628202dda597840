//! Ends calls from the backend's side: denied, refused before they were sent, or broken off. The end that a
//! device reports is stored by [`crate::pipeline::result`].

use orion_domain::{Actor, CallState, ErrorCode, Hint, ToolError};
use serde_json::Value;

use super::row;
use crate::bus::Change;
use crate::pipeline::Pipeline;
use crate::pipeline::call::{CallContext, StoredCall};
use crate::pipeline::validate::Target;
use crate::pipeline::verdict::{Subject, Verdict};
use crate::pipeline::view::CallView;
use crate::store::{CloseCall, ClosedBy, StoreError};

/// Stores a denied call that was not evaluated.
///
/// # Errors
/// The database cannot be written.
pub(in crate::pipeline) async fn deny(
    pipeline: &Pipeline,
    context: CallContext,
    target: Option<Target>,
    error: ToolError,
) -> Result<CallView, StoreError> {
    denied(pipeline, &Subject::Unread { context: Box::new(context), target }, error).await
}

/// Stores a denial: a new call is opened and closed at once, a stored one is closed.
pub(in crate::pipeline) async fn denied(
    pipeline: &Pipeline,
    subject: &Subject,
    error: ToolError,
) -> Result<CallView, StoreError> {
    if let Some(StoredCall { row, .. }) = subject.context().stored_call() {
        let view = CallView::from(row.clone());
        if subject.context().was_sent() {
            return close(pipeline, view, error).await;
        }
        close_unsent(pipeline, &view, error).await?;
        return pipeline.store.call(view.call).await.map(CallView::from);
    }
    let error = offering_request(subject, error);
    let verdict = Verdict::Denied(error.clone());
    let row = row::new_row(pipeline, subject, &verdict, CallState::Received);
    let view = CallView::of_new(&row);
    let end = closing_unsent(&view, error);
    let view = view.ended(end.state, end.result.clone(), end.at);
    tracing::info!(
        call = %view.call, user = %view.caller.user, tool = ?view.tool, code = ?end.code,
        "a call was denied"
    );
    pipeline.store.open_and_close_call(row, end).await?;
    pipeline.bus.publish(Change::CallClosed(view.call));
    Ok(view)
}

/// Adds how the person asks for access, where an admin can grant it for a while.
fn offering_request(subject: &Subject, error: ToolError) -> ToolError {
    let context = subject.context();
    let is_possible = match subject {
        Subject::Evaluated(call) => call.is_requestable(),
        // The grants deny the tool, whatever its arguments.
        Subject::Unread { target, .. } => {
            let by_grants = error.details.get("layer").and_then(Value::as_str) == Some("grants");
            // Where the owner's ceiling denies as well, no admin can grant it.
            let by_owner = error.hints.iter().any(|hint| hint.who == Actor::Owner);
            let is_denied = by_grants && error.code == ErrorCode::PermissionDenied;
            target.is_some() && is_denied && !by_owner
        }
    };
    if !is_possible || context.is_preview() || context.plan().is_some() {
        return error;
    }
    error.hint(Hint::run("ask for temporary access", format!("orion request {}", context.id)))
}

/// Ends a stored call from the backend's side and wakes its waiters. A call that has ended already is not
/// changed.
///
/// # Errors
/// The database cannot be written.
pub(in crate::pipeline) async fn close(
    pipeline: &Pipeline,
    view: CallView,
    error: ToolError,
) -> Result<CallView, StoreError> {
    let end = view.closing(error);
    let (state, result, at) = (end.state, end.result.clone(), end.at);
    if !pipeline.store.close_call(end, ClosedBy::Backend).await? {
        return pipeline.store.call(view.call).await.map(CallView::from);
    }
    pipeline.bus.publish(Change::CallClosed(view.call));
    Ok(view.ended(state, result, at))
}

/// Ends a call that was not sent. A call that was sent ends with the result of its device. Returns whether
/// the call ended here.
///
/// # Errors
/// The database cannot be written.
pub(in crate::pipeline) async fn close_unsent(
    pipeline: &Pipeline,
    view: &CallView,
    error: ToolError,
) -> Result<bool, StoreError> {
    let end = closing_unsent(view, error);
    let is_end = pipeline.store.close_call(end, ClosedBy::BackendUnsent).await?;
    if is_end {
        pipeline.bus.publish(Change::CallClosed(view.call));
    }
    Ok(is_end)
}

/// Returns how a call ends that was not sent. It cannot time out by itself, even if a preview of it did.
fn closing_unsent(view: &CallView, error: ToolError) -> CloseCall {
    let end = view.closing(error);
    let is_possible = end.state.is_closed() && view.state.can_become(end.state);
    CloseCall { state: if is_possible { end.state } else { CallState::Denied }, ..end }
}

/// Ends a call that was not sent because the database failed, if the database allows that by now.
pub(in crate::pipeline) async fn break_off(pipeline: &Pipeline, view: &CallView) {
    let error = ToolError::new(
        ErrorCode::Internal,
        "The database could not be written, so the call was not sent.",
    )
    .hint("run it again");
    if let Err(error) = close_unsent(pipeline, view, error).await {
        tracing::error!(call = %view.call, %error, "a call that broke off could not be ended");
    }
}
