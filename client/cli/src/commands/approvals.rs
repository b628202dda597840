//! `orion approvals`: what waits for a person's yes.

use clap::{Args, Subcommand};
use orion_wire::v1;

use super::call::wait_for_end;
use crate::app::App;
use crate::card::card;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{ApprovalView, approvals_table};
use crate::text;

/// What waits for a person's yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion approvals list
  orion approvals show 0199b2c4-7f3e-7c11
  orion approvals approve 0199b2c4-7f3e-7c11 --wait
  orion approvals deny 0199b2c4-7f3e-7c11 --reason \"Not on a Friday\"")]
pub(crate) struct Approvals {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List what waits
    #[command(after_help = "Example:\n  orion approvals list --all -o wide")]
    List {
        /// Also what was decided
        #[arg(long)]
        all: bool,
    },
    /// Show one card
    #[command(after_help = "Example:\n  orion approvals show 0199b2c4-7f3e-7c11")]
    Show {
        /// The approval's id; may be shortened
        id: String,
    },
    /// Say yes, once, to exactly this call
    #[command(after_help = "Example:\n  orion approvals approve 0199b2c4-7f3e-7c11 --wait")]
    Approve {
        /// The approval's id; may be shortened
        id: String,
        /// Wait for the call's end, print its result and take over its exit code
        #[arg(long)]
        wait: bool,
    },
    /// Say no
    #[command(
        after_help = "Example:\n  orion approvals deny 0199b2c4-7f3e-7c11 --reason \"Wrong folder\""
    )]
    Deny {
        /// The approval's id; may be shortened
        id: String,
        /// Why; the model is told
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Show questions as they come and go
    #[command(after_help = "Example:\n  orion approvals watch -o json")]
    Watch,
}

impl Approvals {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such question, it was decided before, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        match self.what {
            What::List { all } => {
                let request = v1::ListApprovalsRequest { all };
                let list = client.ask(client.approvals().list_approvals(request)).await?;
                let approvals: Vec<_> =
                    list.approvals.into_iter().map(ApprovalView::from).collect();
                if approvals.is_empty() {
                    app.out.note("nothing waits for approval");
                }
                app.out.show(&approvals, || approvals_table(app.out, &approvals))?;
                Ok(0)
            }
            What::Show { id } => {
                let request = v1::GetApprovalRequest { approval_id: id };
                let answer = client.ask(client.approvals().get_approval(request)).await?;
                let approval = ApprovalView::from(answer.approval.unwrap_or_default());
                app.out.show(&approval, || card(app.out, &approval))?;
                Ok(0)
            }
            What::Approve { id, wait } => {
                let approval = decide(app, client, id, true, String::new()).await?;
                if !wait {
                    app.out.show(&approval, String::new)?;
                    return Ok(0);
                }
                let deadline = app.timeout.map(|limit| tokio::time::Instant::now() + limit);
                let result = wait_for_end(app, client, &approval.call_id, deadline).await?;
                result.print(app.out)?;
                Ok(result.exit_code())
            }
            What::Deny { id, reason } => {
                let approval = decide(app, client, id, false, reason).await?;
                app.out.show(&approval, String::new)?;
                Ok(0)
            }
            What::Watch => watch(app, client).await,
        }
    }
}

async fn decide(
    app: &App<'_>,
    client: &Client,
    approval_id: String,
    approve: bool,
    reason: String,
) -> Result<ApprovalView, Failure> {
    let request = v1::DecideApprovalRequest { approval_id, approve, reason };
    let answer = client.ask(client.approvals().decide_approval(request)).await?;
    let approval = ApprovalView::from(answer.approval.unwrap_or_default());
    app.out.note(&format!(
        "{GOOD}✓{GOOD:#} {}: {} on {}",
        approval.state,
        text::one_line(&approval.tool, 80),
        text::one_line(&approval.device, 80)
    ));
    Ok(approval)
}

async fn watch(app: &App<'_>, client: &Client) -> Result<u8, Failure> {
    let mut changes =
        client.ask(client.approvals().watch_approvals(v1::WatchApprovalsRequest {})).await?;
    app.out.note("watching; Ctrl-C ends it");
    while let Some(v1::WatchApprovalsResponse { approval }) = changes.message().await? {
        let Some(approval) = approval.map(ApprovalView::from) else { continue };
        app.out.show_one_of_many(&approval, || {
            if approval.state == "open" {
                card(app.out, &approval)
            } else {
                let id = text::short_id(&approval.approval_id);
                let by = text::one_line(&approval.decided_by, 80);
                format!("{id} {} {by}", approval.state).trim_end().to_owned()
            }
        })?;
    }
    Err(Failure::Failed("the backend ended the stream; run it again to go on".to_owned()))
}
