//! Reads grants that a request carries as JSON.

use orion_domain::{ErrorCode, Grants, Hint};
use tonic::Status;

use crate::rpc::status;

/// Parses grants in JSON; an empty text grants nothing.
pub(in crate::rpc) fn parse_grants(json: &str) -> Result<Grants, Status> {
    if json.trim().is_empty() {
        return Ok(Grants::default());
    }
    let grants: Grants = serde_json::from_str(json)
        .map_err(|error| status::invalid(format!("these are no grants: {error}")))?;
    for tool in grants.tools.iter().flatten() {
        if orion_catalog::find(tool).is_none_or(|(spec, _)| spec.name != tool) {
            let clause = format!("there is no tool `{tool}` to grant");
            let near = Hint::did_you_mean(orion_catalog::nearest(tool));
            return Err(if near.values.is_empty() {
                status::invalid(clause)
            } else {
                status::hinted(ErrorCode::InvalidArgument, clause, near)
            });
        }
    }
    Ok(grants)
}
