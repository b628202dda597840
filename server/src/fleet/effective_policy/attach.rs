//! Attaches an accepted link to its device, with the policy of that moment.

use tokio_util::sync::CancellationToken;

use crate::bus::Change;
use crate::fleet::{DeviceLink, DeviceSnapshot, Devices};

/// Attaches a link that was accepted with the snapshot `greeted`. The link ends immediately where the
/// device lost its approval since, where a newer link is live, or where the device hung up. A policy that
/// changed since is sent.
pub async fn attach(
    devices: &Devices,
    greeted: &DeviceSnapshot,
    link: &DeviceLink,
    hung_up: &CancellationToken,
) {
    let _turn = devices.fleet.reload_lock(greeted.id).await;
    if hung_up.is_cancelled() {
        // The device's older connection may be live, and must not end because of this one.
        return link.end();
    }
    if !devices.fleet.attach(greeted.id, link.clone()) {
        return;
    }
    match devices.fleet.known(greeted.id) {
        Some(known) if known.is_approved() => {
            if known.policy.version != greeted.policy.version
                && link.send(known.policy_message()).is_err()
            {
                devices.fleet.disconnect(greeted.id);
            }
        }
        Some(_) | None => devices.fleet.disconnect(greeted.id),
    }
    devices.bus.publish(Change::Device(greeted.id));
}
