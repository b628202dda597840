//! `orion request`: asks an admin for access that a device's grants deny.

use std::time::Duration;

use clap::Args;
use orion_domain::CallState;
use orion_wire::v1;

use super::call::Target;
use crate::app::App;
use crate::call_result::CallResult;
use crate::client::Client;
use crate::failure::Failure;
use crate::global::long_duration;
use crate::output::GOOD;
use crate::show::{AccessRequestView, access_request_card};
use crate::text;

/// Ask an admin for access that was denied.
#[derive(Debug, Args)]
#[command(
    override_usage = "orion request [OPTIONS] CALL_ID\n       orion request [OPTIONS] DEVICE TOOL [NAME=VALUE]...",
    after_help = "\
Examples:
  orion request 0199b2c4-7f3e --reason \"The site is down\"
  orion request web-1 read_file path=/var/log/nginx/error.log --for 1h

The smallest grant that lets this very call run is asked for: for you, this tool and what the call touches,
until it ends. `orion requests list` shows the answer. With a device and a tool, a dry run finds out what is
denied."
)]
pub(crate) struct Request {
    #[command(flatten)]
    target: Target,
    /// Why; the admin reads it
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// For how long: 30m, 2h, 3d; two hours if not given, at most 30d
    #[arg(long = "for", value_name = "TIME", value_parser = long_duration)]
    time: Option<Duration>,
}

impl Request {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, the call was not denied by grants, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { target, reason, time } = self;
        let client = app.signed_in().await?;
        let call_id = match target.only_word() {
            Some(id) if is_id(id) => id.to_owned(),
            Some(_) | None => denied_call(client, target).await?,
        };
        let seconds = time.map_or(0, |time| time.as_secs());
        let request = v1::RequestAccessRequest { call_id, reason, seconds };
        let answer = client.ask(client.access_requests().request_access(request)).await?;
        let request = AccessRequestView::from(answer.request.unwrap_or_default());
        app.out.show(&request, || access_request_card(app.out, &request, None))?;
        let id = text::short_id(&request.request_id);
        let answer = app.out.options.add_to(&format!("orion requests show {id}"));
        app.out.note(&format!(
            "{GOOD}✓{GOOD:#} an admin can grant it: orion requests grant {id}; \
             the answer is in: {answer}"
        ));
        Ok(0)
    }
}

fn is_id(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Makes the call as a dry run, and returns its id if it is denied.
async fn denied_call(client: &Client, target: Target) -> Result<String, Failure> {
    let request = v1::CallToolRequest { dry_run: true, ..target.request(client).await? };
    let answer = client.ask(client.tools().call_tool(request)).await?;
    let call = answer.call.unwrap_or_default();
    // Access is asked for on a device; where the backend found none, its denial says what is missing.
    let is_denied = orion_wire::call_state_from(call.state) == Ok(CallState::Denied);
    if is_denied && !call.device.is_empty() {
        return Ok(call.call_id);
    }
    let result = CallResult::of(call)?;
    // What fails for another reason, such as a device that is away, is told as such.
    Err(match result.envelope.error {
        Some(error) => error.into(),
        None => {
            Failure::Conflict("this call is allowed, so there is nothing to ask for".to_owned())
                .hint("make the call")
        }
    })
}
