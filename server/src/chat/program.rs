//! Calls that a program makes in a session of its own, outside a turn of the chat: what its earlier calls returned
//! counts as in a chat.

use orion_domain::extract::ExtractedCall;
use orion_domain::{Caller, ConversationId, Digest};

use super::prompt;
use super::provenance::{self, Persons, TaintTracker};
use crate::pipeline::call::CallContext;
use crate::pipeline::{self, CallView, Pipeline, names};
use crate::store::{Store, StoreError};

/// Returns the context of a call that a program makes in the conversation of its session.
///
/// # Errors
/// The database cannot be read.
pub async fn program_call(
    pipeline: &Pipeline,
    caller: Caller,
    token: Digest,
    written: ExtractedCall,
) -> Result<CallContext, StoreError> {
    let conversation = caller.conversation.ok_or(StoreError::NotFound)?;
    let persons = Persons::said(&[], &provenance::devices(pipeline));
    let mut taint = TaintTracker::before(&pipeline.store, conversation, persons, false).await?;
    taint.add_described(&prompt::custom(pipeline, &caller, None));
    let mut request = pipeline::extract::request(written.clone());
    let alias = names::resolve(pipeline, &caller, &mut request).await?;
    let target = pipeline::validate::target(pipeline, &request).ok();
    let mut provenance = taint.about(&written, target.as_ref());
    if alias.is_some() {
        // Content may hold the call by either name.
        let (tool, arguments) = (request.tool.clone(), request.arguments.clone());
        let expanded = ExtractedCall { tool, arguments, ..written };
        provenance = provenance.and(taint.about(&expanded, target.as_ref()));
    }
    let context = CallContext::new(caller, request);
    Ok(CallContext { provenance, token: Some(token), alias, ..context })
}

/// Records the result of a call, before a program receives it in the conversation of its session.
///
/// # Errors
/// The database cannot be written.
pub async fn record_program_result(
    store: &Store,
    conversation: ConversationId,
    view: &CallView,
) -> Result<(), StoreError> {
    let mut taint = TaintTracker::default();
    taint.record_result(store, conversation, view).await
}
