//! Whether a request with a used key is for the same call as the earlier one.

use orion_catalog::find;
use serde_json::Value;

use crate::pipeline::Pipeline;
use crate::pipeline::audit::row::MAX_TOOL_NAME;
use crate::pipeline::call::CallContext;
use crate::pipeline::validate::complete;
use crate::store::CallRow;

/// Returns whether the request is for the same call as the earlier one. The earlier call may have been
/// stored before its device was found and its arguments were completed.
pub(super) async fn is_same(
    pipeline: &Pipeline,
    incoming: &CallContext,
    earlier: &CallRow,
) -> bool {
    let request = &incoming.request;
    let found = find(&request.tool);
    let tool = match found {
        Some((spec, _)) => spec.name == earlier.tool,
        None => request.tool.chars().take(MAX_TOOL_NAME).eq(earlier.tool.chars()),
    };
    let device = match (&request.device, &earlier.device) {
        (None, _) | (_, None) => true,
        (Some(wanted), Some((id, name))) => {
            wanted == name.as_str()
                || pipeline.fleet.find(wanted).is_ok_and(|known| known.id == *id)
        }
    };
    tool && device
        && request.dry_run == earlier.dry_run
        && (incoming.canonical().digest() == earlier.arguments_digest
            || completed(pipeline, incoming, earlier).await == Some(earlier.arguments_digest))
}

/// Returns the digest of the arguments with all defaults.
async fn completed(
    pipeline: &Pipeline,
    incoming: &CallContext,
    earlier: &CallRow,
) -> Option<orion_domain::Digest> {
    let known = pipeline.fleet.known(earlier.device.as_ref()?.0)?;
    let (spec, alias) = known.tool(&incoming.request.tool)?;
    let mut arguments: serde_json::Map<String, Value> = incoming.request.arguments.clone();
    spec.adapt_arguments(alias, &mut arguments);
    complete(&pipeline.config, spec, &mut arguments).await.ok()?;
    let parsed = spec.parse(arguments, known.places()?).ok()?;
    Some(parsed.arguments.digest())
}
