//! `DecidePlan`: a person's answer to a plan.

use orion_domain::Digest;
use orion_wire::v1;
use tonic::Status;

use super::{PlanApi, to_proto};
use crate::pipeline::plan;
use crate::rpc::signed::Signed;
use crate::rpc::{passkey, status};

/// Approves or denies a plan as it was shown: `hash` is the hash of what the person saw, and another one is
/// refused. When enough people have approved every step, the plan runs in the background.
pub(super) async fn decide_plan(
    api: &PlanApi,
    request: Signed<v1::DecidePlanRequest>,
) -> Result<v1::DecidePlanResponse, Status> {
    let Signed { identity, message } = request;
    status::not_stopping(&api.pipeline.tasks)?;
    let v1::DecidePlanRequest { plan_id, hash, approve, reason, passkey } = message;
    let hash = Digest::from_slice(&hash)
        .ok_or_else(|| status::invalid("the hash of the plan as it was shown has 32 bytes"))?;
    let by = &identity.caller;
    let seen = plan::visible(&api.pipeline, by, &plan_id).await.map_err(status::store)?;
    let proof = passkey::checked(&api.passkeys, &api.pipeline.store, &identity, passkey).await?;
    let id = seen.id.to_string();
    let row = plan::decide(&api.pipeline, by, &id, hash, approve, &reason, proof).await.map_err(
        |error| status::decide_plan(seen.id, error, &format!("{}/plans/{id}", api.passkeys.page())),
    )?;
    Ok(v1::DecidePlanResponse { plan: Some(to_proto::plan(row)) })
}
