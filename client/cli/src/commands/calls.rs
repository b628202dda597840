//! `orion calls`: lists, follows and cancels calls.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use orion_wire::v1;

use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::follow::wait_for_end;
use crate::show::{self, CallView, call_page, calls_table};

/// What is under way, what waits for a device, and how a call goes on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion calls list --open
  orion calls show 0199b2c4-7f3e-7c11
  orion calls watch 0199b2c4-7f3e-7c11
  orion calls cancel 0199b2c4-7f3e-7c11

`orion call --background` begins a call and goes on at once; `orion call --queue` lets it wait for a
device that is not connected.")]
pub(crate) struct Calls {
    #[command(subcommand)]
    what: CallsCommand,
}

#[derive(Debug, Subcommand)]
enum CallsCommand {
    /// List the newest calls: your own, or everybody's for an admin
    #[command(after_help = "Example:\n  orion calls list --open --device laptop-123")]
    List {
        /// Only on this device
        #[arg(long, value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
        device: Option<String>,
        /// Only those that have not ended, or of which nobody knows how
        #[arg(long)]
        open: bool,
        /// Previews too, those that were made to ask a person included
        #[arg(long)]
        previews: bool,
        /// How many at most
        #[arg(long, value_name = "COUNT", default_value_t = 50)]
        limit: u32,
    },
    /// Show one call and its result, with the secrets in it hidden
    #[command(after_help = "\
Examples:
  orion calls show 0199b2c4-7f3e-7c11 -o json
  orion calls show 0199b2c4-7f3e-7c11 --reveal")]
    Show {
        /// The call's id; may be shortened
        #[arg(value_name = "CALL", add = ArgValueCandidates::new(complete::calls))]
        call: String,
        /// Show the secrets in the result; the audit log records that you saw them
        #[arg(long)]
        reveal: bool,
    },
    /// Follow a call to its end, and end as it does
    #[command(after_help = "Example:\n  orion calls watch 0199b2c4-7f3e-7c11")]
    Watch {
        /// The call's id; may be shortened
        #[arg(value_name = "CALL", add = ArgValueCandidates::new(complete::calls))]
        call: String,
    },
    /// Stop a call that has not ended
    #[command(after_help = "Example:\n  orion calls cancel 0199b2c4-7f3e-7c11")]
    Cancel {
        /// The call's id; may be shortened
        #[arg(value_name = "CALL", add = ArgValueCandidates::new(complete::calls))]
        call: String,
    },
}

impl Calls {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such call, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        match self.what {
            CallsCommand::List { device, open, previews, limit } => {
                let device = device.unwrap_or_default();
                list(app, client, v1::ListCallsRequest { device, open, limit, previews }).await
            }
            CallsCommand::Show { call, reveal } => show(app, client, call, reveal).await,
            CallsCommand::Watch { call } => {
                let deadline = app.timeout.map(|limit| tokio::time::Instant::now() + limit);
                let result = wait_for_end(app, client, &call, deadline, true).await?;
                result.print(app.out)?;
                Ok(result.exit_code())
            }
            CallsCommand::Cancel { call } => cancel(app, client, call).await,
        }
    }
}

async fn list(
    app: &App<'_>,
    client: &Client,
    request: v1::ListCallsRequest,
) -> Result<u8, Failure> {
    let open = request.open;
    let calls = client.ask(client.tools().list_calls(request)).await?.calls;
    let calls: Vec<_> = calls.into_iter().map(CallView::from).collect();
    if calls.is_empty() {
        app.out.note(if open { "nothing is under way" } else { "no calls yet" });
    }
    app.out.show(&calls, || {
        if calls.is_empty() { String::new() } else { calls_table(app.out, &calls) }
    })?;
    Ok(0)
}

async fn show(
    app: &App<'_>,
    client: &Client,
    call_id: String,
    reveal: bool,
) -> Result<u8, Failure> {
    let call = if reveal {
        let request = v1::RevealCallRequest { call_id };
        client.ask(client.tools().reveal_call(request)).await?.call
    } else {
        let request = v1::GetCallRequest { call_id, wait_ms: 0 };
        client.ask(client.tools().get_call(request)).await?.call
    };
    let call = CallView::from(call.unwrap_or_default());
    app.out.show(&call, || {
        let mut page = call_page(app.out, &call);
        if reveal {
            page.push('\n');
            page.push_str(&show::value(&call.result["data"]));
        }
        page
    })?;
    if !reveal && call.hides_secrets() {
        show::note_hidden_secrets(app.out, &call.call_id);
    }
    Ok(0)
}

async fn cancel(app: &App<'_>, client: &Client, call: String) -> Result<u8, Failure> {
    let request = v1::CancelCallRequest { call_id: call };
    let answer = client.ask(client.tools().cancel_call(request)).await?;
    let call = CallView::from(answer.call.unwrap_or_default());
    app.out.next(match call.state {
        "cancelled" => "the call is cancelled. Its result says whether it had started",
        "dispatched" | "running" => {
            "its device is asked to stop it; `orion calls watch` shows how it ends"
        }
        "unknown" => {
            "nobody knows how it ended; its device is asked to stop it when it is connected"
        }
        _ => "it has ended already",
    });
    app.out.show(&call, || call_page(app.out, &call))?;
    Ok(0)
}
