//! `orion login`: signs in with a password, or with a one-time secret (for the first admin or a reset
//! account), and saves the session.

use std::path::PathBuf;

use clap::Args;
use orion_domain::{Hint, Secret};
use orion_wire::v1;

use super::password::{self, PasswordSource};
use crate::app::App;
use crate::client::Client;
use crate::context::{Context, ContextFile, Contexts, name_for};
use crate::failure::Failure;
use crate::global::token_variable;
use crate::input;
use crate::output::GOOD;
use crate::terminal::{self, Wanted};
use crate::text;

/// Signs in, and remembers where and as whom.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion login --secret @first-admin-secret              become the first admin of a backend on this machine
  orion login --user ann                                sign in with a password
  orion login --user ann --password @password.txt       the same without a terminal
  orion login --secret @admin-reset-secret              back in after `orion-server admin reset`
  orion --backend https://orion.example login --ca ca.pem --user ann
  orion --context work --backend https://orion.example login --user ann

The session is kept in a file that only you may read, the context; `orion status` says which. It is good
for 30 days. `orion logout` ends it. At another backend, the sign-in makes a context of its own.")]
pub(crate) struct Login {
    /// A one-time secret that the backend wrote to a file, at its first start or for a reset; @file, or - for standard input
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// Your account's name; with a secret, the one it is for or admin
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    password: PasswordSource,
    /// PEM file with the authority that signed the backend's certificate
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    ca: Option<PathBuf>,
}

impl Login {
    /// Runs the command.
    ///
    /// # Errors
    /// The secret or the password is wrong, or the backend does not answer.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { secret, user, password, ca } = self;
        let password = password.read()?;
        let (path, name) = place(app)?;
        let path = &path;
        let kept = if path.exists() { ContextFile::read(path)? } else { ContextFile::default() };
        if kept.data_dir.is_some() && kept.backend.as_deref() != Some(&app.context.backend) {
            let message = format!("another sign-in in {} would lock the demo out", path.display());
            return Err(Failure::Usage(message).hint("name another file with --context"));
        }
        let ca_file = match ca {
            Some(path) => Some(std::path::absolute(&path).unwrap_or(path)),
            None => app.context.file.ca_file.clone(),
        };
        let file = ContextFile { ca_file, ..app.context.file.clone() };
        let before = Context { token: None, file: file.clone(), ..app.context.clone() };
        let client = Client::connect(&before, std::time::Duration::from_secs(30)).await?;

        if password.is_none() && terminal::is_interactive() {
            reach(&client).await?;
        }
        let (user, token) = match secret {
            Some(secret) => with_secret(&client, &secret, user, password).await?,
            None => sign_in(&client, user, password).await?,
        };
        let signed_in = Context { token: Some(Secret::new(token.as_str())), ..before };
        let client = Client::connect(&signed_in, std::time::Duration::from_secs(30)).await?;
        let v1::WhoAmIResponse { user: _, role, token: _ } =
            client.ask(client.auth().who_am_i(v1::WhoAmIRequest {})).await?;
        let backend = Some(app.context.backend.clone());
        let replaced = kept.token.and(kept.user).filter(|before| *before != user);
        ContextFile { backend, token: Some(token), user: Some(user.clone()), ..file }
            .write(path)?;
        if let Some((contexts, name)) = name {
            contexts.set_current(&name)?;
        }
        app.out.note(&format!(
            "{GOOD}✓{GOOD:#} signed in at {} as {user}, {role}; kept in {}",
            app.context.backend,
            path.display()
        ));
        if let Some(before) = replaced {
            app.out.note(&format!("{} was signed in there before", text::one_line(&before, 80)));
        }
        if token_variable().is_some() {
            app.out.note("ORION_TOKEN is set, and is used instead: to use this sign-in, unset it");
        }
        Ok(0)
    }
}

/// Returns the file that the session is kept in. A sign-in at another backend than that of the context makes a
/// context of its own, unless `--context` names one; its name is returned, and it is in use from then on.
fn place(app: &App<'_>) -> Result<(PathBuf, Option<(Contexts, String)>), Failure> {
    let kept = app.context.path.clone();
    let Some(contexts) = Contexts::of_person().filter(|_| !app.names_context) else {
        return Ok((kept, None));
    };
    let is_own = contexts.name_of(&kept).is_some();
    if !is_own || !app.context.found {
        return Ok((kept, None));
    }
    let before = ContextFile::read(&kept)?.backend;
    let before = before.as_deref().map(|it| it.trim_end_matches('/'));
    if before.is_none() {
        return Ok((kept, None));
    }
    if before == Some(app.context.backend.as_str()) {
        let name = contexts.name_of(&kept);
        return Ok((kept, name.map(|name| (contexts, name))));
    }
    let name = contexts.free_name(&name_for(&app.context.backend));
    Ok((contexts.file(&name), Some((contexts, name))))
}

/// Checks that a backend answers there, before anything is asked for that a person would type in vain.
async fn reach(client: &Client) -> Result<(), Failure> {
    match client.ask(client.auth().who_am_i(v1::WhoAmIRequest {})).await {
        // Nobody is signed in yet.
        Err(failure) if failure.exit_code() == 4 => Ok(()),
        answer => answer.map(drop),
    }
}

async fn with_secret(
    client: &Client,
    secret: &str,
    user: Option<String>,
    password: Option<Secret>,
) -> Result<(String, String), Failure> {
    let secret = input::value(secret).map_err(|failure| {
        if !matches!(failure.cause(), Failure::NotFound(_)) {
            return failure;
        }
        failure.hint(Hint::run(
            "or, where its secret was used already, sign in with your password",
            "orion login --user NAME",
        ))
    })?;
    let secret = secret.trim().to_owned();
    // A reset secret contains its account: reset:NAME:…
    let named = secret.strip_prefix("reset:").and_then(|rest| rest.split(':').next());
    let user = user.unwrap_or_else(|| named.unwrap_or("admin").to_owned());
    let password = match password {
        Some(password) => password,
        None if terminal::is_interactive() && named.is_some() => {
            password::ask_new(
                "New password (12 characters or more, empty to leave it):",
                Wanted::NewOrNone,
            )
            .await?
        }
        None if terminal::is_interactive() => {
            password::ask_new(
                "New password (12 characters or more, empty for none):",
                Wanted::NewOrNone,
            )
            .await?
        }
        None => Secret::new(""),
    };
    let request = v1::CreateFirstAdminRequest {
        secret,
        user: user.clone(),
        password: password.expose().to_owned(),
    };
    match client.ask(client.auth().create_first_admin(request)).await {
        Ok(answer) => Ok((user, answer.token)),
        // The refusal says where a secret is, and to sign in is what was tried.
        Err(failure) if failure.exit_code() == 4 => Err(Failure::SignIn(failure.to_string())),
        Err(failure) => Err(failure),
    }
}

async fn sign_in(
    client: &Client,
    user: Option<String>,
    password: Option<Secret>,
) -> Result<(String, String), Failure> {
    let interactive = terminal::is_interactive();
    let missing = |what: &str, option: &str| {
        Failure::Usage(format!("there is no terminal to ask for {what}"))
            .hint(format!("give {option}, or --secret @file"))
    };
    let user = match user {
        Some(user) => user,
        None if interactive => terminal::ask("User:").await?,
        None => return Err(missing("a user", "--user NAME and --password @file")),
    };
    let password = match password {
        Some(password) => password,
        None if interactive => Secret::new(terminal::password("Password:", Wanted::Known).await?),
        None => return Err(missing("a password", "--password @file")),
    };
    let request = v1::LoginRequest { user: user.clone(), password: password.expose().to_owned() };
    match client.ask(client.auth().login(request)).await {
        Ok(answer) => Ok((user, answer.token)),
        // A failed sign-in needs no hint to sign in.
        Err(failure) if failure.exit_code() == 4 => Err(Failure::SignIn(failure.to_string())
            .hint(Hint::run("let an admin set a new password", "orion users password NAME"))
            .hint(Hint::run(
                "or enable the account, where it is disabled",
                "orion users enable NAME",
            ))
            .hint(Hint::run(
                "or, where you are the only admin, on the backend's machine",
                "orion-server admin reset --data-dir DIR",
            ))),
        Err(failure) => Err(failure),
    }
}
