//! `orion devices invite`: creates an enrolment token with the device's future grants.

use std::time::Duration;

use clap::Args;
use orion_wire::v1;
use serde::Serialize;

use super::grant_flags::GrantFlags;
use super::qr::{fits, qr};
use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::global::duration;
use crate::text;

/// Makes an enrolment token.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion devices invite --name laptop-123
  orion devices invite --name laptop-123 --profile operator --path '~/Projects' --app code
  orion devices invite --uses 20 --valid 8h --preapproved --grants @kiosk.yaml
  orion devices invite --uses 5 --from 192.168.1.0/24 --platform linux-aarch64
  orion devices invite --uses 5 --label env=lab --label group=laptops
  orion devices invite -o json | jq -r .token | ssh kiosk orion-agent enroll -

Whoever has the token can enrol a device with it: hand it over as you would a password. `orion devices invites`
lists those that can still be used, and withdraws them.")]
pub(crate) struct Invite {
    /// The name the device will have, with a number after it where another device has it; without this, the device
    /// suggests its own
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How long the token is good
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    valid: Duration,
    /// How often it can be used
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    uses: u32,
    /// Let devices in at once, without comparing fingerprints
    #[arg(long)]
    preapproved: bool,
    /// A platform of devices that may use it, such as linux-x86_64; may be given again. A device states its platform
    /// itself: this prevents mistakes, not theft
    #[arg(long = "platform", value_name = "PLATFORM")]
    platforms: Vec<String>,
    /// A network, or an address, that it may be used from, such as 10.0.0.0/8; may be given again
    #[arg(long = "from", value_name = "NETWORK")]
    networks: Vec<String>,
    /// Print the QR code of the line with curl, also where it is wider than the terminal
    #[arg(long)]
    qr: bool,
    #[command(flatten)]
    grants: GrantFlags,
}

/// A token for programs.
#[derive(Debug, Serialize)]
struct Invitation {
    token: String,
    invite_id: String,
    expires_at: i64,
    /// The command on a device that has the agent.
    command: String,
    /// The lines that install the agent and enrol the device. Null where the backend serves no agent.
    install_with_curl: Option<String>,
    install_with_wget: Option<String>,
    /// The same for PowerShell. Null where the backend serves no agent for Windows.
    install_with_powershell: Option<String>,
}

impl Invite {
    /// Runs the command.
    ///
    /// # Errors
    /// The grants cannot be read, or the backend rejects them.
    pub(crate) async fn run(self, app: &App<'_>, client: &Client) -> Result<u8, Failure> {
        let grants = self.grants.to_json()?;
        let request = v1::InviteDeviceRequest {
            name: self.name.clone().unwrap_or_default(),
            valid_seconds: self.valid.as_secs(),
            uses: self.uses,
            preapproved: self.preapproved,
            grants,
            platforms: self.platforms.clone(),
            networks: self.networks.clone(),
            labels: self.grants.labels.clone(),
        };
        let answer = client.ask(client.devices().invite_device(request)).await?;
        let v1::InviteDeviceResponse {
            token,
            invite_id,
            expires_at,
            command,
            install_with_curl,
            install_with_wget,
            install_with_powershell,
        } = answer;
        let given = |line: String| (!line.is_empty()).then_some(line);
        let invitation = Invitation {
            token,
            invite_id,
            expires_at,
            command,
            install_with_curl: given(install_with_curl),
            install_with_wget: given(install_with_wget),
            install_with_powershell: given(install_with_powershell),
        };
        let until = text::when(&app.out.zone, invitation.expires_at);
        let lines = (&invitation.install_with_curl, &invitation.install_with_powershell);
        app.out.note(&match lines {
            (Some(_), None) => format!(
                "Run one of these on the device before {until}. The first two install the agent, the third is for a device that has it."
            ),
            (_, Some(_)) => format!(
                "Run one of these on the device before {until}. The first two install the agent on Linux, the third does in PowerShell on Windows, and the fourth is for a device that has it."
            ),
            (None, None) => format!("Run this on the device before {until}:"),
        });
        app.out.show(&invitation, || invitation.lines())?;
        if lines == (&None, &None) {
            app.out.note("A line that also installs the agent is printed where the backend serves it to devices: `orion-server releases add`, and `url` in [downloads].");
        }
        if app.out.is_for_people() {
            self.show_qr(app, &invitation)?;
        }
        if let Some(name) = &self.name
            && let Ok(known) = super::get(client, name.clone()).await
        {
            let name = text::one_line(&known.name, 80);
            app.out.note(&if matches!(known.state, "rejected" | "revoked") {
                format!(
                    "If this is for the {name} that was {}: end the agent there, and run the line for a device that has it with --force, and without --allow-path. What its owner allows in agent.toml stays as it is.",
                    known.state
                )
            } else { format!(
                "A device is called {name} already: as long as it is, the new one gets a number after that name, which no line of a policy file for {name} is about."
            ) });
        }
        if !self.preapproved {
            app.out.next("Then compare fingerprints: orion devices pending");
        }
        Ok(0)
    }

    /// Shows the QR code of the first line: where it was asked for, and where it fits.
    fn show_qr(&self, app: &App<'_>, invitation: &Invitation) -> Result<(), Failure> {
        let line = invitation.install_with_curl.as_ref().unwrap_or(&invitation.command);
        match qr(line) {
            Some(code) if self.qr || fits(&code) => app.out.line(&code),
            None if self.qr => {
                app.out.note("The line is too long for a QR code.");
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Invitation {
    /// Returns the lines for the device, those that install the agent first.
    fn lines(&self) -> String {
        let Self { command, install_with_curl: curl, install_with_wget: wget, .. } = self;
        let powershell = &self.install_with_powershell;
        let lines = curl.iter().chain(wget).chain(powershell).chain([command]);
        lines.map(|line| text::plain(line)).collect::<Vec<_>>().join("\n")
    }
}
