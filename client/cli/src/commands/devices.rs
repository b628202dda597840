//! `orion devices`: the fleet, enrolment, and each device's grants.

mod enroll;
mod grant_flags;
mod grants;
mod invite;
mod invites;
mod label;
mod mode;
mod near;
mod permissions;
mod qr;
mod review;

pub(crate) use grants::to_json;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use orion_domain::Hint;
use orion_wire::v1;

use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::output::{DIM, GOOD};
use crate::show::{DeviceView, devices_table, pending_table};
use crate::terminal;
use crate::text;

/// The devices, and what is granted on them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion devices list
  orion devices invite --name laptop-123 --profile operator --path '~/Projects' --preapproved
  orion devices pending
  orion devices approve laptop-123
  orion devices permissions get laptop-123 > grants.yaml
  orion devices review laptop-123
  orion devices rename laptop-123 laptop-ann
  orion devices label laptop-123 env=prod
  orion devices mode laptop-123 dangerous --for 15m --reason \"Trying out move_path\"")]
pub(crate) struct Devices {
    #[command(subcommand)]
    what: DevicesCommand,
}

/// One device by name or id.
#[derive(Debug, Args)]
struct DeviceArgument {
    /// The device's name or id; an id may be shortened
    #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    device: String,
}

/// One device, and why.
#[derive(Debug, Args)]
struct NamedWithReason {
    /// The device's name or id; an id may be shortened
    #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    device: String,
    /// Why; it is recorded
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

#[derive(Debug, Subcommand)]
enum DevicesCommand {
    /// List devices
    #[command(after_help = "Example:\n  orion devices list -o wide")]
    List,
    /// Show one device
    #[command(after_help = "Example:\n  orion devices show laptop-123")]
    Show(DeviceArgument),
    /// Make an enrolment token
    Invite(invite::Invite),
    /// Enrolment tokens that devices can still use
    #[command(after_help = "Example:\n  orion devices invites list")]
    Invites {
        #[command(subcommand)]
        what: invites::Invites,
    },
    /// Let in a device that shows a code; compare its words first
    Enroll(enroll::Enroll),
    /// List devices that wait for approval
    #[command(after_help = "Example:\n  orion devices pending")]
    Pending,
    /// Let a pending or quarantined device in; compare its fingerprint first
    #[command(
        alias = "unquarantine",
        after_help = "\
Example:
  orion devices approve laptop-123

In a script it needs --yes; compare the words with those on the device before."
    )]
    Approve(DeviceArgument),
    /// Turn a pending device away
    #[command(after_help = "Example:\n  orion devices reject laptop-123")]
    Reject(DeviceArgument),
    /// Hold a device: it stays enrolled and gets no calls
    #[command(
        after_help = "Example:\n  orion devices quarantine laptop-123 --reason \"Left in a train\""
    )]
    Quarantine(NamedWithReason),
    /// End a device's identity for good
    #[command(after_help = "Example:\n  orion devices revoke laptop-123 --reason Sold")]
    Revoke(NamedWithReason),
    /// Give a device another name; it stays the same device
    #[command(after_help = "\
Example:
  orion devices rename laptop-123 laptop-ann

Identity, grants, calls and approvals belong to the device and stay. The policy file speaks of names: a
rename is refused where it says something else of the new name.")]
    Rename {
        /// The device's name or id; an id may be shortened
        #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
        device: String,
        /// Its new name: lower-case letters, digits, `-`, `_` and `.`
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Set and remove labels of a device
    Label(label::Label),
    /// End a device's identity for good, and list it no more
    #[command(after_help = "Example:\n  orion devices remove laptop-123 --reason Sold")]
    Remove(NamedWithReason),
    /// Set a device's mode: safe, or dangerous for a while
    Mode(mode::SetMode),
    /// What of a device's grants is used, and what could be narrower
    #[command(after_help = "\
Examples:
  orion devices review laptop-123
  orion devices review laptop-123 -o wide               with the calls that prove it")]
    Review(DeviceArgument),
    /// The permissions of a device
    Permissions(permissions::Permissions),
}

impl Devices {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such device, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let wanted = self.what.device().map(ToOwned::to_owned);
        match (self.what.run(app, client).await, wanted) {
            (Err(failure), Some(wanted)) => Err(near::suggested(client, failure, &wanted).await),
            (end, _) => end,
        }
    }
}

impl DevicesCommand {
    /// Returns the device's name or id as written.
    fn device(&self) -> Option<&str> {
        match self {
            Self::Show(DeviceArgument { device })
            | Self::Approve(DeviceArgument { device })
            | Self::Review(DeviceArgument { device })
            | Self::Reject(DeviceArgument { device }) => Some(device),
            Self::Quarantine(NamedWithReason { device, .. })
            | Self::Revoke(NamedWithReason { device, .. })
            | Self::Remove(NamedWithReason { device, .. })
            | Self::Rename { device, .. } => Some(device),
            Self::Label(command) => Some(command.device()),
            Self::Mode(command) => Some(command.device()),
            Self::Permissions(command) => Some(command.device()),
            Self::List
            | Self::Invite(_)
            | Self::Invites { .. }
            | Self::Enroll(_)
            | Self::Pending => None,
        }
    }

    async fn run(self, app: &App<'_>, client: &Client) -> Result<u8, Failure> {
        match self {
            Self::List => list(app, client, false).await,
            Self::Pending => list(app, client, true).await,
            Self::Show(DeviceArgument { device }) => {
                let device = get(client, device).await?;
                app.out.show(&device, || device.page(app.out))?;
                Ok(0)
            }
            Self::Invite(command) => command.run(app, client).await,
            Self::Invites { what } => what.run(app, client).await,
            Self::Enroll(command) => command.run(app, client).await,
            Self::Approve(DeviceArgument { device }) => {
                let before = get(client, device).await?;
                if !app.yes && matches!(before.state, "pending" | "quarantined") {
                    compare_fingerprint(app, &before).await?;
                }
                let request = v1::ApproveDeviceRequest { device: before.device_id };
                let answer = client.ask(client.devices().approve_device(request)).await?;
                let approved = answer.device.clone().unwrap_or_default();
                let code = changed(app, answer.device)?;
                if let Ok(granted) = serde_json::from_str(&approved.grants)
                    && approved.policy_source.is_empty()
                {
                    grants::note_no_tool(app, &approved.name, &granted);
                }
                Ok(code)
            }
            Self::Reject(DeviceArgument { device }) => {
                let request = v1::RejectDeviceRequest { device };
                let answer = client.ask(client.devices().reject_device(request)).await?;
                changed(app, answer.device)
            }
            Self::Quarantine(NamedWithReason { device, reason }) => {
                let request = v1::QuarantineDeviceRequest { device, reason };
                let answer = client.ask(client.devices().quarantine_device(request)).await?;
                let held = answer.device.as_ref().map(|it| text::one_line(&it.name, 80));
                let code = changed(app, answer.device)?;
                if let Some(held) = held {
                    app.out.next(&format!(
                        "{DIM}let it in again:{DIM:#} orion devices approve {held}"
                    ));
                }
                Ok(code)
            }
            Self::Revoke(NamedWithReason { device, reason }) => {
                confirm(app, &device, "revoke", "It must be enrolled again afterwards, and what it did before cannot be taken back.").await?;
                let request = v1::RevokeDeviceRequest { device, reason };
                let answer = client.ask(client.devices().revoke_device(request)).await?;
                changed(app, answer.device)
            }
            Self::Rename { device, name } => {
                let DeviceView { name: before, online: was_online, .. } =
                    get(client, device).await?;
                let request = v1::RenameDeviceRequest { device: before.clone(), name };
                let answer = client.ask(client.devices().rename_device(request)).await?;
                let device = DeviceView::from(answer.device.unwrap_or_default());
                app.out.note(&format!(
                    "{GOOD}✓{GOOD:#} {} is now {}{}",
                    text::one_line(&before, 80),
                    text::one_line(&device.name, 80),
                    if was_online { "; it reconnects under this name in a moment" } else { "" }
                ));
                app.out.show(&device, String::new)?;
                Ok(0)
            }
            Self::Remove(NamedWithReason { device, reason }) => {
                refuse_ambiguous(client, &device, "remove").await?;
                let before = get(client, device).await?;
                let online = if before.online { "It is connected now. " } else { "" };
                let what = format!("{online}Its identity ends, and it is listed no more.");
                confirm(app, &before.name, "remove", &what).await?;
                let request = v1::RemoveDeviceRequest { device: before.device_id.clone(), reason };
                client.ask(client.devices().remove_device(request)).await?;
                let name = text::one_line(&before.name, 80);
                app.out.note(&format!(
                    "{GOOD}✓{GOOD:#} {name} is removed; the audit log and its calls keep the name"
                ));
                app.out.show(&before, String::new)?;
                Ok(0)
            }
            Self::Label(command) => command.run(app, client).await,
            Self::Mode(command) => command.run(app, client).await,
            Self::Review(DeviceArgument { device }) => review::run(app, client, device).await,
            Self::Permissions(command) => command.run(app, client).await,
        }
    }
}

/// Asks whether a new device shows the words of the key that waits for approval.
async fn compare_fingerprint(app: &App<'_>, device: &DeviceView) -> Result<(), Failure> {
    let words = text::one_line(&device.fingerprint_words, 400);
    let name = text::one_line(&device.name, 80);
    if !terminal::is_interactive() {
        let message = format!(
            "{name} was not approved: nobody has confirmed that it shows the fingerprint {words}"
        );
        let command = format!("orion devices approve {name} --yes");
        return Err(Failure::Usage(message)
            .hint(Hint::run("compare the words with those on the device, then confirm", command)));
    }
    if !device.pending_reason.is_empty() {
        let reason = text::one_line(&device.pending_reason, 400);
        app.out.error_line(&format!("it waits because {reason}"));
    }
    app.out.error_line(&format!("fingerprint: {words}"));
    if terminal::confirm("Does the device show the same words?").await? {
        return Ok(());
    }
    let command = format!("orion devices reject {name}");
    Err(Failure::Conflict(format!("{name} was not approved")).hint(Hint::run("reject it", command)))
}

/// Refuses a name that several listed devices have: one was enrolled again after the other was revoked, and either may be
/// meant.
async fn refuse_ambiguous(client: &Client, name: &str, what: &str) -> Result<(), Failure> {
    let request = v1::ListDevicesRequest { pending_only: false };
    let list = client.ask(client.devices().list_devices(request)).await?;
    let all = list.devices.into_iter().filter(|device| device.name == name);
    let same: Vec<_> = all.map(DeviceView::from).collect();
    if same.len() < 2 {
        return Ok(());
    }
    let name = text::one_line(name, 80);
    let each = same.iter().map(|device| {
        let online = if device.online { ", connected now" } else { "" };
        format!("{} ({}{online})", device.device_id, device.state)
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let mut failure =
        Failure::Conflict(format!("{} devices are called {name}: {each}", same.len()));
    for device in &same {
        let command = format!("orion devices {what} {}", device.device_id);
        failure = failure.hint(Hint::run(format!("{what} the {} one", device.state), command));
    }
    Err(failure)
}

/// Asks whether to do what cannot be undone.
async fn confirm(app: &App<'_>, device: &str, what: &str, follows: &str) -> Result<(), Failure> {
    let device = text::one_line(device, 80);
    if app.yes {
        return Ok(());
    }
    if !terminal::is_interactive() {
        let message = format!(
            "there is no terminal to confirm that you want to {what} {device}, which cannot be undone"
        );
        return Err(Failure::Usage(message).hint("repeat the command with --yes to do it"));
    }
    if terminal::confirm(&format!("Do you want to {what} {device}? {follows}")).await? {
        return Ok(());
    }
    Err(Failure::Conflict(format!("{device} was left as it is"))
        .hint(Hint::run("hold it instead", format!("orion devices quarantine {device}"))))
}

/// Fetches one device by name, id or prefix of an id.
///
/// # Errors
/// There is none, or the backend fails.
pub(crate) async fn get(client: &Client, device: String) -> Result<DeviceView, Failure> {
    let name = device.clone();
    let answer = client.ask(client.devices().get_device(v1::GetDeviceRequest { device })).await?;
    answer
        .device
        .map(DeviceView::from)
        .ok_or_else(|| Failure::NotFound(format!("there is no device {name}")))
}

async fn list(app: &App<'_>, client: &Client, pending_only: bool) -> Result<u8, Failure> {
    let request = v1::ListDevicesRequest { pending_only };
    let list = client.ask(client.devices().list_devices(request)).await?;
    let devices: Vec<_> = list.devices.into_iter().map(DeviceView::from).collect();
    if devices.is_empty() {
        app.out.next(if pending_only {
            "no device waits for approval"
        } else {
            "there is no device yet; `orion devices invite` makes a token for one"
        });
    }
    app.out.show(&devices, || {
        if pending_only && !app.out.is_wide() {
            pending_table(app.out, &devices)
        } else {
            devices_table(app.out, &devices)
        }
    })?;
    Ok(0)
}

fn changed(app: &App<'_>, device: Option<v1::Device>) -> Result<u8, Failure> {
    let device = DeviceView::from(device.unwrap_or_default());
    app.out.note(&format!(
        "{GOOD}✓{GOOD:#} {} is {}",
        text::one_line(&device.name, 80),
        device.state
    ));
    app.out.show(&device, String::new)?;
    Ok(0)
}
