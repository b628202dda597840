//! `orion page`: the address of the backend's page, with a one-time secret that signs this person in.

use clap::Args;
use orion_domain::Hint;
use orion_wire::v1;
use serde::Serialize;

use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::facts;
use crate::text;

/// Prints a link to the backend's page that signs you in, once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion page
  xdg-open \"$(orion page -o json | jq -r .url)\"

The link is good once and for a quarter of an hour, and only while you are signed in here.")]
pub(crate) struct Page {}

/// The link, for programs.
#[derive(Debug, Serialize)]
struct PageView {
    url: String,
    expires_at: i64,
}

impl Page {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, the backend does not answer, or it was built without the page.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let Some((url, expires_at)) = link(client, &app.context.backend).await? else {
            return Err(Failure::NotFound("this backend was built without the page".to_owned())
                .hint(Hint::run("build the page where the backend is built", "make page"))
                .hint("build orion-server again, and restart it"));
        };
        app.out.show(&PageView { url: url.clone(), expires_at }, || {
            facts([("page", url.clone()), ("good until", text::when(&app.out.zone, expires_at))])
        })?;
        Ok(0)
    }
}

/// Returns a link that signs the client's person in to the page, and until when it is good. `None` where the backend
/// was built without the page.
///
/// # Errors
/// The backend refuses or does not answer.
pub(crate) async fn link(client: &Client, backend: &str) -> Result<Option<(String, i64)>, Failure> {
    let request = v1::CreateSignInLinkRequest {};
    let made = client.ask(client.auth().create_sign_in_link(request)).await?;
    let v1::CreateSignInLinkResponse { secret, expires_at, has_page } = made;
    // What follows `#` stays in the browser, and is in no log.
    let url = format!("{}/sign-in#{secret}", backend.trim_end_matches('/'));
    Ok(has_page.then_some((url, expires_at)))
}
