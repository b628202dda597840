//! The step that approving, rejecting, revoking and quarantine share.

use orion_domain::{Caller, DeviceId, DeviceName, Hint};
use orion_wire::v1;
use tonic::Status;

use super::{DeviceApi, to_proto};
use crate::fleet::enrollment::set_state;
use crate::rpc::status;
use crate::store::{DeviceState, StoreError};

/// Moves a device from one of these states to another, and returns it as it is then.
pub(super) async fn change_state(
    api: &DeviceApi,
    by: &Caller,
    device: &str,
    from: &[DeviceState],
    to: DeviceState,
    reason: &str,
) -> Result<v1::Device, Status> {
    let known = api.devices.store.device(device).await.map_err(status::device)?;
    if known.id == DeviceId::BACKEND {
        return Err(status::managed_elsewhere(
            "this is the backend itself, which does not enrol and is neither held nor revoked",
            Hint::run("stop every call", "orion stop --all"),
        ));
    }
    let row = match set_state(&api.devices, device, from, to, by, reason).await {
        Err(StoreError::Conflict) => {
            let now = api.devices.store.device_by_id(known.id).await.map_err(status::device)?;
            return Err(status::managed_elsewhere(
                format!(
                    "the device {} is {}, so this cannot be done",
                    now.name,
                    now.state.as_str()
                ),
                next_step(&now.name, now.state, to),
            ));
        }
        row => row.map_err(status::device)?,
    };
    Ok(to_proto::device(&api.devices.fleet, row))
}

/// Returns what can be done with a device in this state, for a person who wanted to move it to another.
fn next_step(name: &DeviceName, now: DeviceState, wanted: DeviceState) -> Hint {
    if now == DeviceState::Approved && wanted == DeviceState::Rejected {
        return Hint::run(
            format!(
                "only a pending device can be rejected; `orion devices revoke {name}` ends an identity for good; to block it for now"
            ),
            format!("orion devices quarantine {name}"),
        );
    }
    if now == DeviceState::Pending && wanted == DeviceState::Quarantined {
        let reject = format!("orion devices reject {name}");
        return Hint::run("it may do nothing before it is approved; turn it away", reject);
    }
    if now == DeviceState::Quarantined {
        return Hint::run("let it in again", format!("orion devices approve {name}"));
    }
    Hint::run("see its state", format!("orion devices show {name}"))
}
