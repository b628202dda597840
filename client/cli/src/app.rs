//! What every command gets: where the output goes, which backend, and how to ask.

use std::time::Duration;

use tokio::sync::OnceCell;

use crate::args::Global;
use crate::client::Client;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// How long an ordinary question to the backend may take.
const ORDINARY: Duration = Duration::from_secs(30);

/// What every command gets.
#[derive(Debug)]
pub(crate) struct App<'a> {
    /// Where the output goes.
    pub(crate) out: &'a Output,
    /// Which backend, and as whom.
    pub(crate) context: Context,
    /// Whether questions are answered with yes.
    pub(crate) yes: bool,
    /// How long the command may take, where it was said.
    pub(crate) timeout: Option<Duration>,
    client: OnceCell<Client>,
}

impl<'a> App<'a> {
    /// For one run of the program.
    pub(crate) fn new(out: &'a Output, global: &Global, context: Context) -> Self {
        Self { out, context, yes: global.yes, timeout: global.timeout, client: OnceCell::new() }
    }

    /// The connection, made at its first use.
    ///
    /// # Errors
    /// The backend does not answer, or its address cannot be used.
    pub(crate) async fn client(&self) -> Result<&Client, Failure> {
        self.client
            .get_or_try_init(|| Client::connect(&self.context, self.timeout.unwrap_or(ORDINARY)))
            .await
    }

    /// The same for commands that need a signed-in person.
    ///
    /// # Errors
    /// Also when nobody is signed in.
    pub(crate) async fn signed_in(&self) -> Result<&Client, Failure> {
        if self.context.token.is_none() {
            return Err(Failure::SignIn(format!(
                "nobody is signed in at {}; run `orion login`",
                self.context.backend
            )));
        }
        self.client().await
    }
}
