//! Enrols the demo's device as a person would: with an invitation and the device's own program.

use std::ffi::OsString;

use orion_domain::Grants;
use orion_wire::v1;

use super::folder::Folder;
use super::program::run_once;
use crate::client::Client;
use crate::commands::devices;
use crate::failure::Failure;

/// The device's name.
pub(super) const DEVICE: &str = "demo-device";

/// Enrols the device and returns its name.
///
/// # Errors
/// The backend makes no token, or the device's program fails.
pub(super) async fn enrol(
    client: &Client,
    folder: &Folder,
    grants: &Grants,
) -> Result<String, Failure> {
    // An identity whose key is lost must not hold the name.
    if let Ok(old) = devices::get(client, DEVICE.to_owned()).await {
        let reason = "The demo's device enrols again.".to_owned();
        let request = v1::RevokeDeviceRequest { device: old.device_id, reason };
        client.ask(client.devices().revoke_device(request)).await?;
    }
    folder.put_state_aside()?;
    let request = v1::InviteDeviceRequest {
        name: DEVICE.to_owned(),
        valid_seconds: 300,
        uses: 1,
        preapproved: true,
        grants: devices::to_json(grants)?,
        ..v1::InviteDeviceRequest::default()
    };
    let invitation = client.ask(client.devices().invite_device(request)).await?;
    let arguments: [OsString; 6] = [
        "enroll".into(),
        "-".into(),
        "--state-dir".into(),
        folder.state().into(),
        "--config".into(),
        folder.agent.join("agent.toml").into(),
    ];
    let log = folder.logs.join("agent.log");
    run_once("orion-agent", &arguments, &invitation.token, &log).await?;
    folder.enrolled().map(|enrolled| enrolled.name).ok_or_else(|| {
        Failure::Failed(format!(
            "orion-agent enrolled and left no identity in {}, according to its log {}",
            folder.state().display(),
            log.display()
        ))
    })
}
