//! The first step: turns tool calls that a model wrote into call requests. The parser is pure and lives in
//! `orion_domain`.

use orion_domain::CallRequest;
use orion_domain::extract::ExtractedCall;

/// Returns the request of an extracted call.
#[must_use]
pub fn request(call: ExtractedCall) -> CallRequest {
    let ExtractedCall { tool, device, dry_run, queue, arguments, recovered, id: _ } = call;
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
