//! `orion stop`: ends calls and refuses new ones until `orion resume`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use orion_domain::Hint;
use orion_wire::v1;
use serde::Serialize;

use crate::app::App;
use crate::complete;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{StopView, stops_table};
use crate::text;

/// End what runs and waits, and refuse new calls until they are resumed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion stop --all
  orion stop laptop-123 --reason \"It deletes the wrong files\"
  orion stop --all --user bob
  orion stop --list

You stop your own calls. An admin stops everybody's, or with --user one person's. `orion resume` lets them
run again.")]
pub(crate) struct Stop {
    #[command(flatten)]
    what: What,
    /// Show what is stopped
    #[arg(long, conflicts_with_all = ["device", "all", "user", "reason"])]
    list: bool,
    /// Why; it is recorded, and shown to those whose calls are refused
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// Which calls are stopped or resumed.
#[derive(Debug, Args)]
pub(super) struct What {
    /// On one device: its name or id
    #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    pub(super) device: Option<String>,
    /// On every device, and the backend
    #[arg(long, conflicts_with = "device")]
    pub(super) all: bool,
    /// Whose calls; for admins
    #[arg(long, value_name = "NAME")]
    pub(super) user: Option<String>,
}

/// What a stop did, for programs.
#[derive(Debug, Serialize)]
struct StopResult {
    #[serde(flatten)]
    stop: StopView,
    was_stopped: bool,
    calls: u32,
    plans: u32,
    is_ending: bool,
}

impl What {
    /// Returns the device and whether every device is meant.
    ///
    /// # Errors
    /// Neither is named.
    pub(super) fn place(self, command: &str) -> Result<(String, bool, String), Failure> {
        let Self { device, all, user } = self;
        if device.is_none() && !all {
            let failure = Failure::Usage("the command names no device".to_owned());
            return Err(failure
                .hint(Hint::run(
                    "name one of `orion devices list`",
                    format!("orion {command} DEVICE"),
                ))
                .hint(Hint::run("or name every device", format!("orion {command} --all"))));
        }
        Ok((device.unwrap_or_default(), all, user.unwrap_or_default()))
    }
}

impl Stop {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such device or person, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { what, list: is_list, reason } = self;
        if is_list {
            return list(app).await;
        }
        let (device, all_devices, user) = what.place("stop")?;
        let client = app.signed_in().await?;
        let request = v1::StopCallsRequest { device, all_devices, user, reason };
        let answer = client.ask(client.tools().stop_calls(request)).await?;
        let v1::StopCallsResponse { stop, was_stopped, calls, plans, is_ending } = answer;
        let stop = StopView::from(stop.unwrap_or_default());
        let result = StopResult { stop, was_stopped, calls, plans, is_ending };
        app.out.note(&result.sentence());
        app.out.show(&result, String::new)?;
        Ok(0)
    }
}

impl StopResult {
    fn sentence(&self) -> String {
        let (calls, plans) = (
            text::counted(self.calls, "call", "calls"),
            text::counted(self.plans, "plan", "plans"),
        );
        let ended = match (self.is_ending, self.calls, self.plans) {
            (true, ..) => "Calls under way are still being cancelled.".to_owned(),
            (false, 0, 0) => "No call was under way.".to_owned(),
            (false, _, 0) => format!("Cancelled {calls}."),
            (false, ..) => format!("Cancelled {calls} and {plans}."),
        };
        let again = if self.was_stopped { "were stopped already" } else { "are stopped" };
        format!("{GOOD}✓{GOOD:#} {} {again}. {ended}", self.stop.sentence())
    }
}

async fn list(app: &App<'_>) -> Result<u8, Failure> {
    let client = app.signed_in().await?;
    let answer = client.ask(client.tools().list_stops(v1::ListStopsRequest {})).await?;
    let stops: Vec<_> = answer.stops.into_iter().map(StopView::from).collect();
    if stops.is_empty() {
        app.out.note("nothing is stopped");
    }
    app.out.show(&stops, || {
        if stops.is_empty() { String::new() } else { stops_table(app.out, &stops) }
    })?;
    Ok(0)
}
