//! `ListStops`: what is stopped.

use orion_wire::v1;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::rpc::signed::Signed;

/// Lists the stops that cover the caller's calls, or for an admin every stop.
pub(super) fn list_stops(
    api: &ToolApi,
    request: Signed<v1::ListStopsRequest>,
) -> Result<v1::ListStopsResponse, Status> {
    let stops = api.pipeline.stops.visible(&request.identity.caller);
    Ok(v1::ListStopsResponse { stops: stops.into_iter().map(to_proto::stop).collect() })
}
