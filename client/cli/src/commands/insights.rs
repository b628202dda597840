//! `orion insights`: how often tools were used, and what would save typing or asking.

use clap::Args;
use orion_wire::v1;

use crate::app::App;
use crate::failure::Failure;
use crate::show::{InsightsView, insights_page};

/// How often tools were used, and what would save typing or asking.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion insights
  orion insights --days 7
  orion insights --all -o json

It counts the newest 5,000 calls at most. A suggestion changes nothing until you run its command.")]
pub(crate) struct Insights {
    /// How many days back
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=365))]
    days: u32,
    /// Everybody's use, for an admin
    #[arg(long)]
    all: bool,
}

impl Insights {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, or the backend rejects the request.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { days, all } = self;
        let client = app.signed_in().await?;
        let request = v1::GetInsightsRequest { days, all };
        let view = InsightsView::from(client.ask(client.insights().get_insights(request)).await?);
        if view.calls == 0 {
            app.out.note("there are no calls in this time");
        } else if view.truncated {
            app.out.note("only the newest calls of this time are counted");
        }
        app.out.show(&view, || insights_page(&view))?;
        Ok(0)
    }
}
