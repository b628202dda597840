//! The first step: what a model wrote becomes requests for calls. The reading itself is pure and
//! lives in the domain; here it meets aliases.

use orion_domain::CallRequest;
use orion_domain::extract::ExtractedCall;

/// The request that an extracted call makes.
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
