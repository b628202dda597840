//! `orion devices invites`: the enrolment tokens that devices can still use.

use clap::Subcommand;
use clap_complete::ArgValueCandidates;
use orion_wire::v1;
use serde::Serialize;

use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{InviteView, invites_table};
use crate::text;

/// A withdrawn token for programs.
#[derive(Debug, Serialize)]
struct Revoked {
    #[serde(flatten)]
    invite: InviteView,
    /// The devices that used it and are still there.
    devices: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Invites {
    /// List tokens that devices can still use, without their secrets
    #[command(after_help = "\
Examples:
  orion devices invites list
  orion devices invites list -o wide                    with grants, labels and whole ids")]
    List,
    /// Withdraw one: no device can use it any more
    #[command(
        alias = "withdraw",
        after_help = "\
Example:
  orion devices invites revoke 0199b2c4-7f3e-7c11

Devices that used it stay, those that wait for approval too: `orion devices reject` turns those away."
    )]
    Revoke {
        /// The token's id, not its secret; may be shortened, to 8 characters at least
        #[arg(value_name = "ID", add = ArgValueCandidates::new(complete::invites))]
        id: String,
    },
}

impl Invites {
    /// Runs the command.
    ///
    /// # Errors
    /// The person is no admin, there is no such token, or the backend fails.
    pub(super) async fn run(self, app: &App<'_>, client: &Client) -> Result<u8, Failure> {
        match self {
            Self::List => list(app, client).await?,
            Self::Revoke { id: invite_id } => {
                let request = v1::RevokeInviteRequest { invite_id };
                let answer = client.ask(client.devices().revoke_invite(request)).await?;
                let v1::RevokeInviteResponse { invite, devices } = answer;
                let invite = InviteView::from(invite.unwrap_or_default());
                app.out.note(&format!(
                    "{GOOD}✓{GOOD:#} {} lets no device in any more; {} left",
                    text::one_line(&invite.invite_id, 40),
                    if invite.uses_left == 1 {
                        "one use was".to_owned()
                    } else {
                        format!("{} uses were", invite.uses_left)
                    },
                ));
                if !devices.is_empty() {
                    let names = text::one_line(&devices.join(", "), 2_000);
                    app.out.note(&format!("It had let in: {names}. They stay until `orion devices quarantine NAME` holds one, or `revoke` ends it."));
                }
                app.out.show(&Revoked { invite, devices }, String::new)?;
            }
        }
        Ok(0)
    }
}

async fn list(app: &App<'_>, client: &Client) -> Result<(), Failure> {
    let answer = client.ask(client.devices().list_invites(v1::ListInvitesRequest {})).await?;
    let v1::ListInvitesResponse { invites, has_more } = answer;
    let invites: Vec<_> = invites.into_iter().map(InviteView::from).collect();
    if invites.is_empty() {
        app.out.next("no invitation can be used now; `orion devices invite` makes one");
    }
    app.out.show(&invites, || invites_table(app.out, &invites))?;
    if has_more {
        app.out.note("There are more, which end later than these.");
    }
    Ok(())
}
