//! `orion context`: the backends that this person has signed in at.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use orion_domain::{Hint, Secret};
use orion_wire::v1;
use serde::Serialize;

use crate::client::Client;
use crate::complete;
use crate::context::{Context, ContextFile, Contexts, DEFAULT, DEFAULT_BACKEND, Environment};
use crate::failure::Failure;
use crate::global::Global;
use crate::output::{GOOD, Output, table};

/// How long a backend may take to end a session of a context that is removed.
const SIGN_OUT_TIMEOUT: Duration = Duration::from_secs(5);

/// The backends that you have signed in at.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion context list
  orion context use orion.example
  orion --context orion.example devices list            another one, for one command
  orion context remove orion.example

`orion login` at another backend makes a context. ORION_CONTEXT and --context name one for a command, or
the path of a file.")]
pub(crate) struct ContextCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the contexts, the one in use marked
    #[command(after_help = "Example:\n  orion context list -o json")]
    List,
    /// Use a context from now on
    #[command(after_help = "Example:\n  orion context use orion.example")]
    Use(Named),
    /// Sign out of a context, and delete its file
    #[command(after_help = "Example:\n  orion context remove orion.example")]
    Remove(Named),
}

/// One context.
#[derive(Debug, Args)]
struct Named {
    /// The context's name
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::contexts))]
    name: String,
}

/// A context for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ContextView {
    name: String,
    in_use: bool,
    backend: String,
    user: String,
    signed_in: bool,
    path: PathBuf,
}

impl ContextView {
    fn read(name: String, path: &Path, in_use: bool) -> Result<Self, Failure> {
        let file = ContextFile::read(path)?;
        Ok(Self {
            name,
            in_use,
            backend: file.backend.unwrap_or_else(|| DEFAULT_BACKEND.to_owned()),
            user: file.user.unwrap_or_default(),
            signed_in: file.token.is_some(),
            path: path.to_owned(),
        })
    }
}

impl ContextCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// There is no such context, or its file cannot be read or written.
    pub(crate) async fn run(self, out: &Output, global: &Global) -> Result<u8, Failure> {
        let contexts = Contexts::of_person().ok_or_else(|| {
            Failure::Failed("this system names no folder for settings".to_owned())
                .hint("set HOME, or name a file with --context")
        })?;
        match self.what {
            What::List => list(out, global, &contexts),
            What::Use(Named { name }) => {
                let path = existing(&contexts, &name).map_err(|failure| {
                    let make = format!("orion --context {name} login --backend URL");
                    failure.hint(Hint::run("make it", make))
                })?;
                contexts.set_current(&name)?;
                let view = ContextView::read(name, &path, true)?;
                out.note(&format!("{GOOD}✓{GOOD:#} {} at {} is in use", view.name, view.backend));
                if global.named_context().is_some() {
                    out.note(
                        "ORION_CONTEXT or --context names another one, and counts for this shell",
                    );
                }
                out.show(&view, String::new)?;
                Ok(0)
            }
            What::Remove(Named { name }) => remove(out, &contexts, name).await,
        }
    }
}

/// Returns the file of a context that exists.
fn existing(contexts: &Contexts, name: &str) -> Result<PathBuf, Failure> {
    let path = contexts.file(name);
    let names = contexts.names()?;
    if names.iter().any(|known| known == name) {
        return Ok(path);
    }
    let near = names.iter().map(|known| (strsim::jaro_winkler(name, known), known));
    let near = near.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0));
    let failure = Failure::NotFound(format!("there is no context {name}"));
    let failure = match near {
        Some((_, near)) => failure.hint(Hint::did_you_mean(vec![near.clone()])),
        None => failure,
    };
    Err(failure.hint(Hint::run("list them", "orion context list")))
}

fn list(out: &Output, global: &Global, contexts: &Contexts) -> Result<u8, Failure> {
    let used = Context::resolve(Environment::of_process(global)).ok().filter(|used| used.found);
    let mut views = Vec::new();
    for name in contexts.names()? {
        let path = contexts.file(&name);
        let in_use = used.as_ref().is_some_and(|used| used.path == path);
        match ContextView::read(name, &path, in_use) {
            Ok(view) => views.push(view),
            // One broken file does not hide the others.
            Err(failure) => out.error_line(&format!("not listed: {failure}")),
        }
    }
    // A file that was named, or the demo's, is no context of this folder.
    if let Some(used) = used.filter(|used| contexts.name_of(&used.path).is_none()) {
        let name = used.path.display().to_string();
        views.push(ContextView::read(name, &used.path, true)?);
    }
    if views.is_empty() {
        out.note("there is no context yet; `orion login --backend URL` makes one");
    }
    let row = |view: &ContextView| {
        vec![
            if view.in_use { "→" } else { "" }.to_owned(),
            view.name.clone(),
            view.backend.clone(),
            view.user.clone(),
            if view.signed_in { "yes" } else { "no" }.to_owned(),
        ]
    };
    out.show(&views, || {
        table(&["", "NAME", "BACKEND", "USER", "SIGNED IN"], views.iter().map(row))
    })?;
    Ok(0)
}

async fn remove(out: &Output, contexts: &Contexts, name: String) -> Result<u8, Failure> {
    let path = existing(contexts, &name)?;
    let view = ContextView::read(name, &path, false)?;
    let file = ContextFile::read(&path)?;
    if let Some(token) = &file.token {
        let context = Context {
            backend: view.backend.clone(),
            token: Some(Secret::new(token.trim())),
            file: file.clone(),
            path: path.clone(),
            found: true,
        };
        if let Err(failure) = sign_out(&context).await.map_or_else(ended_already, Ok) {
            out.error_line(&format!(
                "the session at {} was not ended, and is good until it expires: {failure}",
                view.backend
            ));
        }
    }
    std::fs::remove_file(&path).map_err(|error| {
        Failure::Failed(format!("{} cannot be deleted: {error}", path.display()))
            .hint("delete the file yourself")
    })?;
    if contexts.current()? == view.name {
        contexts.set_current(DEFAULT)?;
    }
    out.note(&format!("{GOOD}✓{GOOD:#} {} is removed", view.name));
    out.show(&view, String::new)?;
    Ok(0)
}

/// Accepts that a session was over already.
fn ended_already(failure: Failure) -> Result<(), Failure> {
    if failure.exit_code() == 4 { Ok(()) } else { Err(failure) }
}

async fn sign_out(context: &Context) -> Result<(), Failure> {
    let client = Client::connect(context, SIGN_OUT_TIMEOUT).await?;
    client.ask(client.auth().logout(v1::LogoutRequest { all: false })).await.map(drop)
}
