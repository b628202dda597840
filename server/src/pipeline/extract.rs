//! The first step: turns tool calls that a model wrote into call requests. The parser is pure and lives in
//! `orion_domain`.

use orion_domain::extract::ExtractedCall;
use orion_domain::{CallRequest, Caller};

use super::{Pipeline, names, validate};
use crate::store::StoreError;

/// Returns the request of an extracted call.
#[must_use]
pub fn request(call: ExtractedCall) -> CallRequest {
    let ExtractedCall { tool, device, dry_run, queue, arguments, untyped: _, recovered, id: _ } =
        call;
    CallRequest {
        tool,
        device,
        arguments,
        dry_run,
        timeout_ms: None,
        idempotency_key: None,
        queue,
        queue_ms: None,
        recovered,
    }
}

/// Gives the arguments of a call the types of its tool's schema, where the form that the model writes in has
/// only texts. Those of an unknown tool stay texts; such a call is refused.
///
/// # Errors
/// The database cannot be read.
pub async fn typed(
    pipeline: &Pipeline,
    caller: &Caller,
    mut call: ExtractedCall,
) -> Result<ExtractedCall, StoreError> {
    if call.untyped {
        let mut request = request(call.clone());
        names::resolve(pipeline, caller, &mut request).await?;
        if let Ok(target) = validate::find_target(pipeline, &request) {
            target.spec.type_texts(&mut call.arguments);
        }
    }
    Ok(call)
}
