//! `orion whoami`: the signed-in person, and the session or token that speaks for them.

use clap::Args;
use orion_wire::v1;
use serde::Serialize;

use crate::app::App;
use crate::failure::Failure;
use crate::output::facts;
use crate::show::TokenView;
use crate::text;

/// Shows who is signed in, and where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion whoami
  orion whoami -o json | jq -r .role")]
pub(crate) struct WhoAmI {}

/// The signed-in person, for programs.
#[derive(Debug, Serialize)]
pub(crate) struct PersonView {
    pub(crate) user: String,
    pub(crate) role: String,
    pub(crate) backend: String,
    pub(crate) token: TokenView,
}

impl From<(v1::WhoAmIResponse, &str)> for PersonView {
    fn from((answer, backend): (v1::WhoAmIResponse, &str)) -> Self {
        let v1::WhoAmIResponse { user, role, token } = answer;
        let token = TokenView::from(token.unwrap_or_default());
        Self { user, role, backend: backend.to_owned(), token }
    }
}

impl PersonView {
    /// Returns what speaks for the person, in a few words.
    pub(crate) fn credential(&self) -> String {
        let TokenView { session, name, scopes, .. } = &self.token;
        match (session, name.as_str()) {
            (true, _) => "a session".to_owned(),
            (false, name) => format!("the token {name} ({})", scopes.join(", ")),
        }
    }
}

impl WhoAmI {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, or the backend does not answer.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let answer = client.ask(client.auth().who_am_i(v1::WhoAmIRequest {})).await?;
        let person = PersonView::from((answer, app.context.backend.as_str()));
        app.out.show(&person, || {
            facts([
                ("user", person.user.clone()),
                ("role", person.role.clone()),
                ("by", person.credential()),
                ("until", text::when(&app.out.zone, person.token.expires_at)),
                ("backend", person.backend.clone()),
            ])
        })?;
        Ok(0)
    }
}
