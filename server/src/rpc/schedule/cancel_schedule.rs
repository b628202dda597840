//! `CancelSchedule`: ends a task of the caller, or anybody's for an admin.

use orion_domain::{ErrorCode, Hint};
use orion_wire::v1;
use tonic::Status;

use super::{ScheduleApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::schedules::{self, MIN_PREFIX};
use crate::store::StoreError;

/// Cancels the task whose id begins like this.
pub(super) async fn cancel_schedule(
    api: &ScheduleApi,
    request: Signed<v1::CancelScheduleRequest>,
) -> Result<v1::CancelScheduleResponse, Status> {
    let Signed { identity, message } = request;
    let (store, id) = (&api.store, &message.schedule_id);
    if id.len() < MIN_PREFIX || id.len() > 36 {
        return Err(status::invalid(format!(
            "give the id of a task, or its first {MIN_PREFIX} characters or more"
        )));
    }
    let row = match schedules::find(store, &identity.caller, id).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => {
            let hint = Hint::run("list your tasks", "orion schedule list");
            return Err(status::hinted(ErrorCode::NotFound, "you have no such task", hint));
        }
        Err(error) => return Err(status::store(error)),
    };
    let by = &identity.caller.user;
    if !store.cancel_schedule(&row, by, None, now_ms()).await.map_err(status::store)? {
        return Err(status::hinted(
            ErrorCode::PreconditionFailed,
            "the task has ended already",
            "a task that has ended makes no calls",
        ));
    }
    let row = schedules::find(store, &identity.caller, &row.id.to_string()).await;
    let row = row.map_err(status::store)?;
    Ok(v1::CancelScheduleResponse { schedule: Some(to_proto::schedule(row)) })
}
