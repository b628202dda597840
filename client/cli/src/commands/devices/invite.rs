//! `orion devices invite`: creates an enrolment token with the device's future grants.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{Args, ValueEnum};
use orion_domain::grants::PathGrant;
use orion_domain::{Access, Grants, Profile};
use orion_wire::v1;
use serde::Serialize;

use super::grants::{read_grants, to_json};
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
  orion devices invite -o json | jq -r .token | ssh kiosk orion-agent enroll -

Whoever has the token can enrol a device with it: hand it over as you would a password.")]
pub(crate) struct Invite {
    /// The name the device will have; it suggests one itself when nothing is said
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How long the token is good
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    valid: Duration,
    /// How often it can be used
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
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
    /// A first set of permissions
    #[arg(long, value_enum)]
    profile: Option<ProfileName>,
    /// A path to grant, as the device writes it; may be given again. Without --profile and --tool, its files may be
    /// read, written and deleted (operator)
    #[arg(long = "path", value_name = "PATH", value_parser = path_on_a_device)]
    paths: Vec<String>,
    /// A tool to grant, and no others; may be given again
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// An application to grant; may be given again
    #[arg(long = "app", value_name = "APP")]
    apps: Vec<String>,
    /// The grants as a file, JSON or YAML, instead of the four above
    #[arg(long, value_name = "@FILE|JSON", conflicts_with_all = ["profile", "paths", "tools", "apps"])]
    grants: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileName {
    /// Reads files and facts
    Reader,
    /// Reads, writes, deletes, opens applications
    Operator,
    /// An operator who also runs commands and developer tools
    Developer,
    /// An operator who also manages services
    Homelab,
    /// An operator whose every change is previewed and approved
    Strict,
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
        let grants = match &self.grants {
            Some(given) => Some(read_grants(given)?),
            None => self.flags(),
        };
        let request = v1::InviteDeviceRequest {
            name: self.name.clone().unwrap_or_default(),
            valid_seconds: self.valid.as_secs(),
            uses: self.uses,
            preapproved: self.preapproved,
            grants: grants.map(|grants| to_json(&grants)).transpose()?.unwrap_or_default(),
            platforms: self.platforms.clone(),
            networks: self.networks.clone(),
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
        if app.out.is_for_people() {
            self.show_qr(app, &invitation)?;
        }
        if !self.preapproved {
            app.out.note("Then compare fingerprints: orion devices pending");
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

    /// Returns the grants that the flags describe; `None` without flags.
    fn flags(&self) -> Option<Grants> {
        let Self { profile, paths, tools, apps, .. } = self;
        if profile.is_none() && paths.is_empty() && tools.is_empty() && apps.is_empty() {
            return None;
        }
        let every = BTreeSet::from([Access::Read, Access::Write, Access::Delete]);
        Some(Grants {
            // Paths without a capability would grant nothing.
            profile: match profile {
                None if tools.is_empty() && !paths.is_empty() => Some(Profile::Operator),
                None => None,
                Some(ProfileName::Reader) => Some(Profile::Reader),
                Some(ProfileName::Operator) => Some(Profile::Operator),
                Some(ProfileName::Developer) => Some(Profile::Developer),
                Some(ProfileName::Homelab) => Some(Profile::Homelab),
                Some(ProfileName::Strict) => Some(Profile::Strict),
            },
            tools: (!tools.is_empty()).then(|| tools.iter().cloned().collect()),
            paths: paths
                .iter()
                .map(|path| PathGrant { path: path.clone(), access: every.clone() })
                .collect(),
            apps: apps.iter().cloned().collect(),
            ..Grants::default()
        })
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

/// Checks that a path is whole: the device does not know where a relative one begins.
fn path_on_a_device(text: &str) -> Result<String, String> {
    let has_drive = text.as_bytes().get(1) == Some(&b':') && text.as_bytes().get(2).is_some();
    if text == "~" || text.starts_with(['/', '\\']) || text.starts_with("~/") || has_drive {
        return Ok(text.to_owned());
    }
    Err(format!("write the whole path, such as `~/{text}` or `/home/ann/{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;
    use serde_json::json;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        invite: Invite,
    }

    fn grants(line: &[&str]) -> Option<serde_json::Value> {
        let line = Line::try_parse_from(std::iter::once(&"invite").chain(line)).unwrap();
        line.invite.flags().map(|grants| serde_json::to_value(grants).unwrap())
    }

    #[test]
    fn flags_become_grants_and_nothing_lends_nothing() {
        assert_eq!(grants(&["--name", "x", "--preapproved"]), None);
        assert_eq!(
            grants(&["--profile", "operator", "--path", "~/a", "--path", "C:/b", "--app", "code"]),
            Some(json!({
                "profile": "operator",
                "paths": [
                    {"path": "~/a", "access": ["read", "write", "delete"]},
                    {"path": "C:/b", "access": ["read", "write", "delete"]},
                ],
                "apps": ["code"],
            }))
        );
        assert_eq!(
            grants(&["--path", "/srv"]),
            Some(json!({
                "profile": "operator",
                "paths": [{"path": "/srv", "access": ["read", "write", "delete"]}],
            }))
        );
        for relative in ["files", "./files", "../files", "~ann/files", "C:"] {
            let refused = Line::try_parse_from(["invite", "--path", relative]).unwrap_err();
            assert!(refused.to_string().contains("write the whole path"), "{refused}");
        }
        assert_eq!(grants(&["--tool", "read_file"]), Some(json!({"tools": ["read_file"]})));
        assert_eq!(grants(&["--profile", "strict"]), Some(json!({"profile": "strict"})));
    }
}
