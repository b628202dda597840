//! The context of every command: its output, its backend and its connection.

use std::time::Duration;

use orion_domain::Hint;
use tokio::sync::OnceCell;

use crate::client::Client;
use crate::context::Context;
use crate::failure::Failure;
use crate::global::Global;
use crate::output::Output;

/// The timeout of an ordinary request to the backend.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The context of every command.
#[derive(Debug)]
pub(crate) struct App<'a> {
    /// The output.
    pub(crate) out: &'a Output,
    /// The backend, and the signed-in person.
    pub(crate) context: Context,
    /// Whether confirmations are answered with yes.
    pub(crate) yes: bool,
    /// The command's timeout. `None` means the default of each request.
    pub(crate) timeout: Option<Duration>,
    /// Whether the command line or the environment names the context.
    pub(crate) names_context: bool,
    client: OnceCell<Client>,
}

impl<'a> App<'a> {
    /// Creates the context for one run of the program.
    pub(crate) fn new(out: &'a Output, global: &Global, context: Context) -> Self {
        Self {
            out,
            context,
            yes: global.yes,
            timeout: global.timeout,
            names_context: global.named_context().is_some(),
            client: OnceCell::new(),
        }
    }

    /// Returns the connection, opened on first use.
    ///
    /// # Errors
    /// The backend does not answer, or its address is invalid.
    pub(crate) async fn client(&self) -> Result<&Client, Failure> {
        self.client
            .get_or_try_init(|| {
                Client::connect(&self.context, self.timeout.unwrap_or(REQUEST_TIMEOUT))
            })
            .await
    }

    /// Returns the connection, for commands that need a signed-in person.
    ///
    /// # Errors
    /// As [`Self::client`], and when nobody is signed in.
    pub(crate) async fn signed_in(&self) -> Result<&Client, Failure> {
        // Who cannot reach the backend could not sign in there either.
        let client = self.client().await?;
        if self.context.token.is_none() {
            let failure =
                Failure::SignIn(format!("nobody is signed in at {}", self.context.backend));
            return Err(failure.hint(Hint::run("sign in", "orion login")));
        }
        Ok(client)
    }
}
