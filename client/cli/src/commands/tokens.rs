//! `orion tokens`: the tokens that programs sign in with.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use orion_wire::v1;
use serde::Serialize;

use crate::app::App;
use crate::complete;
use crate::failure::Failure;
use crate::global::duration;
use crate::output::GOOD;
use crate::show::{TokenView, tokens_table};
use crate::text;

/// What programs sign in with.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion tokens create --name ci --scope read --scope call --expires 30d
  ORION_TOKEN=$(orion tokens create --name cron --scope chat) orion ask \"How full are the disks?\"
  orion tokens list
  orion tokens revoke ci

A token never holds more than its person, and never approves anything.")]
pub(crate) struct Tokens {
    #[command(subcommand)]
    what: TokensCommand,
}

#[derive(Debug, Subcommand)]
enum TokensCommand {
    /// Make a token; its secret is printed once
    #[command(after_help = "\
Examples:
  orion tokens create --name ci --scope read,call --expires 30d
  orion tokens create --name backup --scope read --user bob")]
    Create {
        /// What you call it
        #[arg(long, value_name = "NAME")]
        name: String,
        /// What it is good for; may be given again
        #[arg(
            long = "scope",
            value_name = "SCOPE",
            value_enum,
            value_delimiter = ',',
            required = true
        )]
        scopes: Vec<ScopeName>,
        /// How long it is good: 12h, 30d, 8w; at most 365d
        #[arg(long, value_name = "TIME", default_value = "90d", value_parser = days)]
        expires: Duration,
        /// Whose token it is; your own when nothing is said
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
    },
    /// List tokens, without their secrets
    #[command(after_help = "Example:\n  orion tokens list --all --sessions")]
    List {
        /// Whose tokens; your own when nothing is said
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// Everybody's
        #[arg(long, conflicts_with = "user")]
        all: bool,
        /// Sessions as well: where people are signed in
        #[arg(long)]
        sessions: bool,
    },
    /// Revoke a token or session, at once
    #[command(after_help = "Example:\n  orion tokens revoke 3f9a1c")]
    Revoke {
        /// Its name or id; an id may be shortened
        #[arg(value_name = "TOKEN", add = ArgValueCandidates::new(complete::tokens))]
        token: String,
        /// Whose it is, where several people have one of that name
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
    },
}

/// A scope, for people who complete words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeName {
    /// Lists and shows
    Read,
    /// Calls tools
    Call,
    /// Sends chat messages, which can call tools
    Chat,
    /// Changes devices, permissions and accounts
    Admin,
}

impl ScopeName {
    const fn on_wire(self) -> v1::Scope {
        match self {
            Self::Read => v1::Scope::Read,
            Self::Call => v1::Scope::Call,
            Self::Chat => v1::Scope::Chat,
            Self::Admin => v1::Scope::Admin,
        }
    }
}

/// A new token for programs.
#[derive(Debug, Serialize)]
struct CreatedToken {
    secret: String,
    #[serde(flatten)]
    token: TokenView,
}

impl Tokens {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such token, or the backend rejects the request.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        match self.what {
            TokensCommand::Create { name, scopes, expires, user } => {
                let request = v1::CreateTokenRequest {
                    name,
                    scopes: scopes.into_iter().map(|scope| scope.on_wire().into()).collect(),
                    valid_seconds: expires.as_secs().max(1),
                    user: user.unwrap_or_default(),
                };
                let answer = client.ask(client.auth().create_token(request)).await?;
                let token = TokenView::from(answer.token.unwrap_or_default());
                app.out.note(&format!(
                    "{GOOD}✓{GOOD:#} {} is good for {} until {}; its secret is shown this once:",
                    text::one_line(&token.name, 80),
                    token.scopes.join(", "),
                    text::when(&app.out.zone, token.expires_at),
                ));
                let made = CreatedToken { secret: answer.secret, token };
                app.out.show(&made, || text::plain(&made.secret))?;
                Ok(0)
            }
            TokensCommand::List { user, all, sessions } => {
                let user = user.unwrap_or_default();
                let request = v1::ListTokensRequest { user, all, sessions };
                let list = client.ask(client.auth().list_tokens(request)).await?;
                let tokens: Vec<_> = list.tokens.into_iter().map(TokenView::from).collect();
                if tokens.is_empty() {
                    app.out.next("there is no token; `orion tokens create` makes one");
                }
                app.out.show(&tokens, || tokens_table(app.out, &tokens))?;
                Ok(0)
            }
            TokensCommand::Revoke { token, user } => {
                let request = v1::RevokeTokenRequest { token, user: user.unwrap_or_default() };
                let answer = client.ask(client.auth().revoke_token(request)).await?;
                let token = TokenView::from(answer.token.unwrap_or_default());
                app.out.note(&format!(
                    "{GOOD}✓{GOOD:#} {} {} of {} is revoked",
                    if token.session { "session" } else { "token" },
                    text::one_line(if token.session { &token.token_id } else { &token.name }, 80),
                    text::one_line(&token.user, 80)
                ));
                app.out.show(&token, String::new)?;
                Ok(0)
            }
        }
    }
}

/// Parses `30d` and `8w` in addition to ordinary durations.
pub(super) fn days(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 24 * 3600;
    let text = text.trim();
    for (unit, seconds) in [('d', DAY), ('w', 7 * DAY)] {
        if let Some(number) = text.strip_suffix(unit)
            && let Ok(number) = number.trim().parse::<u32>()
        {
            return Ok(Duration::from_secs(u64::from(number) * seconds));
        }
    }
    duration(text).map_err(|_| "write a time like 12h, 30d or 8w".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_weeks_are_times() {
        assert_eq!(days("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(days("8w"), Ok(Duration::from_secs(56 * 86_400)));
        assert_eq!(days("12h"), Ok(Duration::from_secs(12 * 3600)));
        assert!(days("a year").is_err());
        assert!(days("-3d").is_err());
    }
}
