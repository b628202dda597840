//! `orion audit key`: prints the key that verifies the backend's signatures.

use clap::Args;
use orion_wire::v1;

use crate::app::App;
use crate::failure::Failure;

/// Prints the key that verifies what the backend signs.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  orion audit key > audit.key.pub

Keep it elsewhere: whoever has the backend's machine can sign again, with this key or another.")]
pub(crate) struct Key {}

impl Key {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, or the backend fails.
    pub(super) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let answer = client.ask(client.audit().get_audit_key(v1::GetAuditKeyRequest {})).await?;
        app.out.show(&answer.key, || answer.key.clone())?;
        Ok(0)
    }
}
