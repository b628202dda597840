//! `orion resume`: lets stopped calls run again.

use clap::Args;
use orion_wire::v1;

use super::stop::What;
use crate::app::App;
use crate::failure::Failure;
use crate::output::{ASKS, GOOD};
use crate::show::StopView;

/// Let stopped calls run again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion resume --all
  orion resume laptop-123
  orion resume --all --user bob

Only an admin resumes what an admin stopped. What was cancelled stays cancelled.")]
pub(crate) struct Resume {
    #[command(flatten)]
    what: What,
}

impl Resume {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, nothing of that is stopped, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let (device, all_devices, user) = self.what.place("resume")?;
        let client = app.signed_in().await?;
        let request = v1::ResumeCallsRequest { device, all_devices, user };
        let answer = client.ask(client.tools().resume_calls(request)).await?;
        let lifted: Vec<_> = answer.lifted.into_iter().map(StopView::from).collect();
        for stop in &lifted {
            app.out.note(&format!("{GOOD}✓{GOOD:#} {} can run again", stop.sentence()));
        }
        for stop in answer.remaining.into_iter().map(StopView::from) {
            app.out.note(&format!("{ASKS}!{ASKS:#} {} are still stopped", stop.sentence()));
        }
        app.out.show(&lifted, String::new)?;
        Ok(0)
    }
}
