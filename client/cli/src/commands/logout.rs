//! `orion logout`: ends the session at the backend, and deletes it here.

use clap::Args;
use orion_wire::v1;

use crate::app::App;
use crate::context::ContextFile;
use crate::failure::Failure;
use crate::output::GOOD;

/// Signs out, here or everywhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion logout                  end this session
  orion logout --all            end all of your sessions, on every machine

API tokens stay good; `orion tokens revoke` takes them back.")]
pub(crate) struct Logout {
    /// End all of your sessions, not only this one
    #[arg(long)]
    all: bool,
}

impl Logout {
    /// Runs the command.
    ///
    /// # Errors
    /// The backend does not answer: then the session is still valid.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { all } = self;
        let path = &app.context.path;
        let kept = if path.exists() { ContextFile::read(path)? } else { ContextFile::default() };
        let is_kept = app.context.token.as_ref().is_some_and(|token| {
            kept.token.as_deref().is_some_and(|kept| kept.trim() == token.expose())
        });
        if is_kept && kept.data_dir.is_some() && !app.yes {
            let message = format!("signing out of {} locks the demo out", path.display());
            return Err(Failure::Usage(message).hint("repeat the command with --yes to do it"));
        }
        if app.context.token.is_none() {
            app.out.note(&format!("nobody is signed in at {}; nothing to do", app.context.backend));
            return Ok(0);
        }
        let client = app.signed_in().await?;
        let request = v1::LogoutRequest { all };
        let ended = match client.ask(client.auth().logout(request)).await {
            Ok(v1::LogoutResponse { ended }) => ended,
            // The session had ended already: only the local copy is left to delete.
            Err(failure) if failure.exit_code() == 4 && is_kept => 0,
            Err(failure) => return Err(failure),
        };
        if is_kept {
            ContextFile { token: None, user: None, ..kept }.write(path)?;
        }
        let sessions = match ended {
            0 => "the session was over already".to_owned(),
            1 => "signed out".to_owned(),
            more => format!("signed out of {more} sessions"),
        };
        app.out.note(&format!("{GOOD}✓{GOOD:#} {sessions} at {}", app.context.backend));
        Ok(0)
    }
}
