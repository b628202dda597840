//! `orion devices mode`: enforces a device's grants less strictly for a while.

use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use orion_wire::v1;

use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::global::long_duration;
use crate::output::{ASKS, GOOD};
use crate::show::DeviceView;
use crate::text;

/// Sets a device's mode: safe, or dangerous for a while.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion devices mode laptop-123 dangerous --for 15m --reason \"Trying out move_path\"
  orion devices mode laptop-123 safe

In the mode dangerous the grants' tool list and permissions restrict nothing. Paths, roles, approvals
and the owner's ceiling still apply. The mode ends by itself, on the device too.")]
pub(super) struct SetMode {
    /// The device's name or id
    #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    device: String,
    /// How strictly the grants are enforced
    #[arg(value_enum)]
    mode: Mode,
    /// For how long, 8h at most
    #[arg(long = "for", value_name = "TIME", value_parser = long_duration, default_value = "15m")]
    time: Duration,
    /// Why; it is recorded, and shown while it lasts
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// How strictly a device's grants are enforced.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    /// The grants apply in full
    Safe,
    /// The grants' tool list and permissions restrict nothing
    Dangerous,
}

impl SetMode {
    /// Returns the device's name or id as written.
    pub(super) fn device(&self) -> &str {
        &self.device
    }

    /// Runs the command.
    ///
    /// # Errors
    /// There is no such device, no reason, or the backend rejects the mode.
    pub(super) async fn run(self, app: &App<'_>, client: &Client) -> Result<u8, Failure> {
        let Self { device, mode, time, reason } = self;
        let dangerous = match mode {
            Mode::Safe => false,
            Mode::Dangerous => true,
        };
        let request =
            v1::SetDeviceModeRequest { device, dangerous, seconds: time.as_secs().max(1), reason };
        let answer = client.ask(client.devices().set_device_mode(request)).await?;
        let device = DeviceView::from(answer.device.unwrap_or_default());
        let name = text::one_line(&device.name, 80);
        match &device.dangerous {
            Some(mode) => app.out.note(&format!(
                "{ASKS}!{ASKS:#} {name} is in the mode dangerous until {}",
                text::when(&app.out.zone, mode.until)
            )),
            None => app.out.note(&format!("{GOOD}✓{GOOD:#} {name} is in the mode safe")),
        }
        app.out.show(&device, String::new)?;
        Ok(0)
    }
}
