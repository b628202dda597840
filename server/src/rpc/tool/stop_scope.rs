//! Which calls a request stops or resumes.

use orion_domain::{Caller, DeviceName, Role, UserName};
use tonic::Status;

use super::ToolApi;
use crate::rpc::status;
use crate::store::StopScope;

/// Returns the scope that a request names, with the name of its device: one device or all, and the calls of one
/// person or everybody. Only an admin names another person.
pub(super) async fn stop_scope(
    api: &ToolApi,
    caller: &Caller,
    (device, all_devices): (&str, bool),
    user: &str,
) -> Result<(StopScope, Option<DeviceName>), Status> {
    let device = match (device, all_devices) {
        ("", true) => None,
        ("", false) => return Err(status::invalid("name a device, or all devices")),
        (_, true) => return Err(status::invalid("name either a device or all devices")),
        (device, false) => Some(api.pipeline.fleet.find(device).map_err(status::tool_error)?),
    };
    let is_admin = caller.role == Role::Admin;
    let user = match user {
        "" if is_admin => None,
        "" => Some(caller.user.clone()),
        name => {
            let name: UserName = name.parse().map_err(status::invalid)?;
            if name != caller.user && !is_admin {
                return Err(status::denied("only an admin stops or resumes the calls of others"));
            }
            api.pipeline.store.user(&name).await.map_err(status::store)?;
            Some(name)
        }
    };
    let (device, name) = device.map(|it| (it.id, it.name.clone())).unzip();
    Ok((StopScope { user, device }, name))
}
