//! `orion users`: the accounts and their roles.

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use orion_domain::{Hint, Role, Secret};
use orion_wire::v1;
use serde::Serialize;

use super::password::{self, PasswordSource};
use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{UserView, users_table};
use crate::terminal::{self, Wanted};
use crate::text;

/// Who may sign in, and as what.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion users list
  orion users create bob --role operator
  orion users role bob viewer
  orion users disable bob
  orion users delete bob
  orion users password                                  change your own")]
pub(crate) struct Users {
    #[command(subcommand)]
    what: UsersCommand,
}

#[derive(Debug, Subcommand)]
enum UsersCommand {
    /// List accounts
    #[command(after_help = "Example:\n  orion users list -o wide")]
    List,
    /// Make an account
    #[command(
        alias = "add",
        after_help = "\
Examples:
  orion users create bob --role operator                asks for a password
  orion users create bob --role operator --password-stdin < password.txt
  orion users create ci --role viewer --no-password     for tokens only"
    )]
    Create {
        /// Lower-case letters, digits, `-`, `_` and `.`
        #[arg(value_name = "NAME")]
        user: String,
        /// What it may do at most
        #[arg(long, value_enum)]
        role: RoleName,
        #[command(flatten)]
        password: PasswordSource,
        /// Give it no password: it has tokens only
        #[arg(long, conflicts_with_all = ["password", "password_stdin"])]
        no_password: bool,
    },
    /// Give an account another role; it counts at once
    #[command(after_help = "Example:\n  orion users role bob viewer")]
    Role {
        /// The account
        #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::users))]
        user: String,
        /// What it may do at most
        #[arg(value_enum)]
        role: RoleName,
    },
    /// Keep an account out: its sessions and tokens end
    #[command(after_help = "Example:\n  orion users disable bob")]
    Disable(UserArgument),
    /// Enable an account, which must sign in again
    #[command(after_help = "Example:\n  orion users enable bob")]
    Enable(UserArgument),
    /// Delete an account for good: nobody gets its name again, which the audit log keeps
    #[command(after_help = "\
Examples:
  orion users delete bob
  orion users delete bob --yes                          without asking")]
    Delete(UserArgument),
    /// Set a password: your own, or as an admin another's; other sessions end
    #[command(after_help = "\
Examples:
  orion users password                                  your own
  orion users password bob                              another's, who is then signed out
  orion users password --old-password @old.txt --password @new.txt")]
    Password {
        /// The account; your own when nothing is said
        #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::users))]
        user: Option<String>,
        /// @file with your password as it is; asked for at a terminal
        #[arg(long, value_name = "@FILE")]
        old_password: Option<String>,
        #[command(flatten)]
        password: PasswordSource,
    },
}

/// One account.
#[derive(Debug, Args)]
struct UserArgument {
    /// The account
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::users))]
    user: String,
}

/// A role, for people who complete words.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleName {
    /// Reads
    Viewer,
    /// Works, and approves
    Operator,
    /// Everything, accounts and permissions included
    Admin,
}

/// A deleted account, for programs.
#[derive(Debug, Serialize)]
struct DeletedView {
    user: String,
    deleted: bool,
}

impl RoleName {
    fn word(self) -> String {
        let role = match self {
            Self::Viewer => Role::Viewer,
            Self::Operator => Role::Operator,
            Self::Admin => Role::Admin,
        };
        role.to_string()
    }
}

impl Users {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such account, or the backend rejects the request.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        match self.what {
            UsersCommand::List => {
                let list = client.ask(client.auth().list_users(v1::ListUsersRequest {})).await?;
                let users: Vec<_> = list.users.into_iter().map(UserView::from).collect();
                app.out.show(&users, || users_table(app.out, &users))?;
                Ok(0)
            }
            UsersCommand::Create { user, role, password, no_password } => {
                let password = if no_password {
                    Secret::new("")
                } else {
                    new_password(&password, "say --no-password for an account with tokens only")
                        .await?
                };
                let request = v1::CreateUserRequest {
                    user,
                    role: role.word(),
                    password: password.expose().to_owned(),
                };
                let answer = client.ask(client.auth().create_user(request)).await?;
                changed(app, answer.user)
            }
            UsersCommand::Role { user, role } => {
                let request = v1::SetUserRoleRequest { user, role: role.word() };
                let answer = client.ask(client.auth().set_user_role(request)).await?;
                changed(app, answer.user)
            }
            UsersCommand::Disable(UserArgument { user }) => disable(app, client, user).await,
            UsersCommand::Enable(UserArgument { user }) => {
                let request = v1::EnableUserRequest { user };
                let answer = client.ask(client.auth().enable_user(request)).await?;
                changed(app, answer.user)
            }
            UsersCommand::Delete(UserArgument { user }) => delete(app, client, user).await,
            UsersCommand::Password { user, old_password, password } => {
                set_password(app, client, user.unwrap_or_default(), old_password, &password).await
            }
        }
    }
}

async fn disable(app: &App<'_>, client: &Client, user: String) -> Result<u8, Failure> {
    if !app.yes && terminal::is_interactive() {
        let me = client.ask(client.auth().who_am_i(v1::WhoAmIRequest {})).await?.user;
        let question = "Disable your own account? You are signed out, and another admin has to enable it again.";
        if user == me && !terminal::confirm(question).await? {
            return Err(Failure::Conflict(format!(
                "{} was not disabled",
                text::one_line(&user, 80)
            )));
        }
    }
    let answer = client.ask(client.auth().disable_user(v1::DisableUserRequest { user })).await?;
    changed(app, answer.user)
}

async fn delete(app: &App<'_>, client: &Client, user: String) -> Result<u8, Failure> {
    let shown = text::one_line(&user, 80);
    if !app.yes && !terminal::is_interactive() {
        return Err(Failure::Usage(format!(
            "deleting {shown} cannot be undone, and there is no terminal to confirm it"
        ))
        .hint("repeat the command with --yes to do it")
        .hint(Hint::run(
            "or keep the account out for a while",
            format!("orion users disable {shown}"),
        )));
    }
    if !app.yes {
        let question = format!(
            "Delete {shown}? The account cannot come back, and its name is not given again."
        );
        if !terminal::confirm(&question).await? {
            return Err(Failure::Conflict(format!("{shown} was not deleted")).hint(Hint::run(
                "keep the account out instead",
                format!("orion users disable {shown}"),
            )));
        }
    }
    client.ask(client.auth().delete_user(v1::DeleteUserRequest { user: user.clone() })).await?;
    app.out.note(&format!(
        "{GOOD}✓{GOOD:#} {shown} is deleted, with its sessions, tokens, passkeys, aliases, memories, tasks and macros; the audit log keeps the name"
    ));
    app.out.show(&DeletedView { user, deleted: true }, String::new)?;
    Ok(0)
}

async fn set_password(
    app: &App<'_>,
    client: &Client,
    user: String,
    old: Option<String>,
    new: &PasswordSource,
) -> Result<u8, Failure> {
    let me = client.ask(client.auth().who_am_i(v1::WhoAmIRequest {})).await?.user;
    let is_own = user.is_empty() || user == me;
    let old = match old {
        Some(given) => password::read(&given)?,
        None if is_own && terminal::is_interactive() => Secret::new(
            terminal::password("Old password (empty where there is none):", Wanted::Known).await?,
        ),
        None => Secret::new(""),
    };
    let hint = if is_own {
        "your old one goes into --old-password @file"
    } else {
        "their other sessions end"
    };
    let new = new_password(new, hint).await?;
    let request = v1::SetPasswordRequest {
        user,
        old_password: old.expose().to_owned(),
        password: new.expose().to_owned(),
    };
    let v1::SetPasswordResponse { ended } = client.ask(client.auth().set_password(request)).await?;
    let signed_out = match ended {
        0 => String::new(),
        1 => "; one session ended".to_owned(),
        more => format!("; {more} sessions ended"),
    };
    app.out.note(&format!("{GOOD}✓{GOOD:#} the password is set{signed_out}"));
    Ok(0)
}

async fn new_password(given: &PasswordSource, hint: &str) -> Result<Secret, Failure> {
    match given.read()? {
        Some(password) if password.expose().is_empty() => {
            Err(Failure::Usage("the password is empty".to_owned()).hint(hint))
        }
        Some(password) => Ok(password),
        None if terminal::is_interactive() => {
            password::ask_new("New password (12 characters or more):", Wanted::New).await
        }
        None => Err(Failure::Usage("there is no terminal to ask for a password".to_owned())
            .hint("give --password @file or --password-stdin")
            .hint(hint)),
    }
}

fn changed(app: &App<'_>, user: Option<v1::User>) -> Result<u8, Failure> {
    let user = UserView::from(user.unwrap_or_default());
    app.out.note(&format!(
        "{GOOD}✓{GOOD:#} {} is {}{}",
        text::one_line(&user.user, 80),
        text::one_line(&user.role, 80),
        if user.disabled_at > 0 { ", disabled" } else { "" }
    ));
    app.out.show(&user, String::new)?;
    Ok(0)
}
