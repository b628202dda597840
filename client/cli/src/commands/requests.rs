//! `orion requests`: lists and answers requests for access.

use std::time::Duration;

use clap::{Args, Subcommand};
use orion_domain::ToolError;
use orion_wire::v1;
use serde::Serialize;

use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::global::long_duration;
use crate::output::{GOOD, Output};
use crate::show::{AccessRequestView, access_request_card, access_requests_table};
use crate::terminal;
use crate::text;

/// Requests for access, and their answers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion requests list
  orion requests show 0199b2c4-7f3e
  orion requests grant 0199b2c4-7f3e --for 1h
  orion requests refuse 0199b2c4-7f3e --reason \"Ask for a copy of the file\"")]
pub(crate) struct Requests {
    #[command(subcommand)]
    what: RequestsCommand,
}

#[derive(Debug, Subcommand)]
enum RequestsCommand {
    /// List your open and granted requests; for an admin everybody's
    #[command(after_help = "Example:\n  orion requests list --all -o wide")]
    List {
        /// Also what was refused, withdrawn, or is over
        #[arg(long)]
        all: bool,
    },
    /// Show what a request asks for
    #[command(after_help = "Example:\n  orion requests show 0199b2c4-7f3e")]
    Show {
        /// The request's id; may be shortened
        id: String,
    },
    /// Grant exactly what a request asks for, until it ends
    #[command(
        after_help = "Example:\n  orion requests grant 0199b2c4-7f3e --for 30m --reason \"For the incident\""
    )]
    Grant {
        /// The request's id; may be shortened
        id: String,
        /// For how long: 30m, 2h, 3d; as asked if not given, at most 30d
        #[arg(long = "for", value_name = "TIME", value_parser = long_duration)]
        time: Option<Duration>,
        /// A word to the requester
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Refuse a request
    #[command(
        after_help = "Example:\n  orion requests refuse 0199b2c4-7f3e --reason \"Ask for a copy of the file\""
    )]
    Refuse {
        /// The request's id; may be shortened
        id: String,
        /// Why; the requester reads it
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Withdraw a request, or end what was granted
    #[command(after_help = "Example:\n  orion requests end 0199b2c4-7f3e")]
    End {
        /// The request's id; may be shortened
        id: String,
    },
}

/// A request with what stands against it, for programs.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    request: AccessRequestView,
    #[serde(skip_serializing_if = "Option::is_none")]
    obstacle: Option<ToolError>,
}

impl Shown {
    fn card(&self, out: &Output) -> String {
        access_request_card(out, &self.request, self.obstacle.as_ref())
    }
}

impl Requests {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such request, it was answered before, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        match self.what {
            RequestsCommand::List { all } => list(app, client, all).await,
            RequestsCommand::Show { id } => {
                let (shown, _) = find(client, id).await?;
                app.out.show(&shown, || shown.card(app.out))?;
                Ok(0)
            }
            RequestsCommand::Grant { id, time, reason } => {
                grant(app, client, id, time.unwrap_or_default().as_secs(), reason).await
            }
            RequestsCommand::Refuse { id: request_id, reason } => {
                let request =
                    v1::DecideAccessRequestRequest { request_id, reason, ..Default::default() };
                let mut service = client.access_requests();
                let answer = client.ask(service.decide_access_request(request)).await?;
                answered(app, answer.request)
            }
            RequestsCommand::End { id: request_id } => {
                let request = v1::EndAccessRequestRequest { request_id };
                let mut service = client.access_requests();
                let answer = client.ask(service.end_access_request(request)).await?;
                answered(app, answer.request)
            }
        }
    }
}

async fn list(app: &App<'_>, client: &Client, all: bool) -> Result<u8, Failure> {
    let request = v1::ListAccessRequestsRequest { all };
    let list = client.ask(client.access_requests().list_access_requests(request)).await?;
    let requests: Vec<_> = list.requests.into_iter().map(AccessRequestView::from).collect();
    if requests.is_empty() {
        app.out.note("no access is requested or granted; --all shows earlier requests");
    }
    app.out.show(&requests, || access_requests_table(app.out, &requests))?;
    Ok(0)
}

/// Returns a request with the digest of what it shows.
async fn find(client: &Client, id: String) -> Result<(Shown, Vec<u8>), Failure> {
    let request = v1::GetAccessRequestRequest { request_id: id };
    let answer = client.ask(client.access_requests().get_access_request(request)).await?;
    let obstacle = serde_json::from_slice(&answer.obstacle).ok();
    let request = answer.request.unwrap_or_default();
    let digest = request.digest.to_vec();
    Ok((Shown { request: request.into(), obstacle }, digest))
}

/// Shows what is granted, asks at a terminal, and grants what was shown.
async fn grant(
    app: &App<'_>,
    client: &Client,
    id: String,
    seconds: u64,
    reason: String,
) -> Result<u8, Failure> {
    let (mut shown, digest) = find(client, id).await?;
    if let Some(error) = shown.obstacle {
        return Err(Failure::Tool(Box::new(error)));
    }
    let is_open = shown.request.state == "open";
    if seconds != 0 && is_open {
        // What is granted is shown, and not what was asked for.
        shown.request.seconds = seconds;
    }
    app.out.error_line(&shown.card(app.out));
    // What was answered is not asked about: the backend refuses it.
    let is_answered = !matches!(shown.request.state, "open" | "unknown");
    if !is_answered && !app.yes && terminal::is_interactive() {
        let time = crate::show::length(shown.request.seconds);
        if !terminal::confirm(&format!("Grant this for {time}?")).await? {
            return Err(Failure::Conflict("nothing was granted".to_owned()));
        }
    }
    let request = v1::DecideAccessRequestRequest {
        request_id: shown.request.request_id,
        grant: true,
        digest: digest.into(),
        seconds,
        reason,
    };
    let answer = client.ask(client.access_requests().decide_access_request(request)).await?;
    let request = said(app, answer.request);
    // The card stands above the answer already.
    app.out.show(&request, String::new)?;
    Ok(0)
}

fn answered(app: &App<'_>, request: Option<v1::AccessRequest>) -> Result<u8, Failure> {
    let request = said(app, request);
    app.out.show(&request, || access_request_card(app.out, &request, None))?;
    Ok(0)
}

/// Says what became of a request, and returns it.
fn said(app: &App<'_>, request: Option<v1::AccessRequest>) -> AccessRequestView {
    let request = AccessRequestView::from(request.unwrap_or_default());
    let (by, device) =
        (text::one_line(&request.requester, 80), text::one_line(&request.device, 80));
    let until = match (request.state, request.granted_until) {
        ("granted", until) => format!(" until {}", text::when(&app.out.zone, until)),
        _ => String::new(),
    };
    app.out.note(&format!("{GOOD}✓{GOOD:#} {}: access of {by} to {device}{until}", request.state));
    request
}
