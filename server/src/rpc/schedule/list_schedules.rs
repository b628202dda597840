//! `ListSchedules`: the caller's tasks, or everybody's for an admin.

use orion_domain::{ErrorCode, Role};
use orion_wire::v1;
use tonic::Status;

use super::{ScheduleApi, to_proto};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Lists tasks, the newest first.
pub(super) async fn list_schedules(
    api: &ScheduleApi,
    request: Signed<v1::ListSchedulesRequest>,
) -> Result<v1::ListSchedulesResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ListSchedulesRequest { schedule_id, all } = message;
    if schedule_id.len() > 36 {
        return Err(status::invalid("the id of a task has 36 characters at most"));
    }
    if all && identity.caller.role != Role::Admin {
        return Err(status::hinted(
            ErrorCode::PermissionDenied,
            "only an admin lists everybody's tasks",
            "list your own",
        ));
    }
    let whose = (!all).then_some(&identity.caller.user);
    let found = api.store.schedules(whose, &schedule_id).await.map_err(status::store)?;
    Ok(v1::ListSchedulesResponse { schedules: found.into_iter().map(to_proto::schedule).collect() })
}
