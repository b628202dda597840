//! `orion demo`: a backend and a device on this machine, as separate programs over real mTLS, and a chat
//! with them. Everything is in one folder; the device may access one folder in it.

mod enrolment;
mod folder;
mod model;
mod program;
mod ready;

use std::path::{Path, PathBuf};
use std::pin::pin;

use clap::Args;
use orion_domain::{CallState, ErrorCode, Hint, ToolError, visible};
use orion_wire::{call_state_from, v1};
use serde_json::Value;

pub(crate) use program::sibling;

use super::chat::Commands;
use crate::app::App;
use crate::approval::waiting;
use crate::chat::{Choice, Session, converse, said};
use crate::client::Client;
use crate::commands::page;
use crate::failure::{Failure, quoted};
use crate::global::Global;
use crate::output::{DIM, Output};
use crate::terminal::{Restore, Spinner};

use enrolment::DEVICE;
use folder::Folder;
use model::{ModelServer, of_ollama};
use program::Programs;
use ready::{Demonstration, start};

/// Starts a backend and a device on this machine, and talks to them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion demo                                              a chat
  orion demo --say \"Make a folder Test\" --yes             one message, then ends
  orion demo --model-url http://127.0.0.1:11434/v1 --model qwen3   a chat with a language model
  orion demo --dir /tmp/d --serve                         runs until Ctrl-C, prints `ready`
  ORION_CONTEXT=/tmp/d/context.toml orion call demo-device list_directory

The device is called demo-device and may touch only the folder `files` in --dir. What was made there
is found again the next time.")]
pub(crate) struct Demo {
    /// Where everything is kept
    #[arg(long, value_name = "FOLDER", default_value = "./orion-demo")]
    dir: PathBuf,
    /// Say this and end with the last call's exit code; may be given again
    #[arg(long, value_name = "TEXT", conflicts_with = "serve")]
    say: Vec<String>,
    /// Open no chat; print `ready` when calls can be made, and run until a signal
    #[arg(long)]
    serve: bool,
    /// The port for people; a free one when nothing is said
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// The port for devices; a free one when nothing is said
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    device_port: u16,
    #[command(flatten)]
    model: ModelServer,
}

impl Demo {
    /// Runs the command. The programs that it started are always stopped first.
    ///
    /// # Errors
    /// A program is missing or fails, another demo uses the folder, or the chat fails.
    pub(crate) async fn run(self, out: &Output, global: &Global) -> Result<u8, Failure> {
        let folder = Folder::take(&self.dir)?;
        let mut programs = Programs::default();
        let terminal = Restore::later();
        // A signal ends a chat or a service as requested; with `--say`, messages stay unsent.
        let wanted = if self.say.is_empty() { Ok(0) } else { Err(Failure::Interrupted) };
        let end = tokio::select! {
            end = self.work(out, global, &folder, &mut programs) => end,
            () = terminated() => {
                terminal.now(out);
                wanted
            }
        };
        programs.stop().await;
        end
    }

    async fn work(
        self,
        out: &Output,
        global: &Global,
        folder: &Folder,
        programs: &mut Programs,
    ) -> Result<u8, Failure> {
        let model = self.model.wanted()?;
        let waiting = Spinner::on(out, "starting the backend and the device");
        let ports = (self.port, self.device_port);
        // One listener for the whole command: a Ctrl-C between two listeners would be lost.
        let mut interrupted = pin!(tokio::signal::ctrl_c());
        let started = tokio::select! {
            started = start(out, folder, ports, model.as_ref(), programs) => started,
            _ = &mut interrupted => Err(Failure::Interrupted),
        };
        drop(waiting);
        let Demonstration { context, device } = started?;
        out.note(&format!("{DIM}everything is in{DIM:#}      {}", folder.root.display()));
        out.note(&format!("{DIM}the device may use{DIM:#}    {}", folder.files.display()));
        out.note(&format!(
            "{DIM}as its owner says in{DIM:#}  {} (orion-agent --config FILE allow FOLDER)",
            folder.agent.join("agent.toml").display()
        ));
        out.note(&format!(
            "{DIM}from elsewhere{DIM:#}        ORION_CONTEXT={} orion call {device} list_directory",
            folder.context.display()
        ));
        if device != DEVICE {
            out.note(&format!("the device is called {device}, for {DEVICE} is taken"));
        }

        let app = App::new(out, global, context);
        if self.say.is_empty() {
            say_where_the_page_is(out, &app).await?;
        }
        if self.serve {
            out.line("ready")?;
            return tokio::select! {
                failure = programs.fail() => Err(failure),
                _ = interrupted => Ok(0),
            };
        }
        let client = app.signed_in().await?;
        if self.say.is_empty() && self.model.model.is_none() {
            say_who_answers(out, client).await?;
        }
        let mut session =
            Session::new(&app, client, Choice { model: self.model.model, ..Choice::default() });
        if self.say.is_empty() {
            return match converse(&Commands(&app), &mut session, 0).await {
                Ok(code) => Ok(code),
                Err(failure) => Err(nobody_approves(client, failure, &self.dir).await),
            };
        }
        let mut code = 0;
        for text in &self.say {
            code = match said(&mut session, text).await {
                Ok(code) => code,
                Err(failure) => return Err(nobody_approves(client, failure, &self.dir).await),
            };
        }
        Ok(code)
    }
}

/// Cancels a call whose approval is missing, because the backend ends with the demo, and says what to type instead.
async fn nobody_approves(client: &Client, failure: Failure, dir: &Path) -> Failure {
    let Failure::Tool(error) = failure else { return failure };
    if error.code != ErrorCode::ApprovalRequired {
        return Failure::Tool(error);
    }
    let approval = error.details.get("approval_id").and_then(Value::as_str).unwrap_or_default();
    let became = match cancel(client, approval).await {
        Ok(CallState::Cancelled) => ", so the call was cancelled",
        Ok(_) | Err(_) => "",
    };
    let message = format!("{} The demo ends now{became}.", error.message);
    let chat = format!("orion demo --dir {}", quoted(&dir.display().to_string()));
    ToolError { message, hints: Vec::new(), ..*error }
        .hint(Hint::run("answer its questions in a chat", chat))
        .hint("say it again with --yes, which approves it")
        .into()
}

/// Cancels the call that waits for an approval, and returns its state then.
async fn cancel(client: &Client, approval_id: &str) -> Result<CallState, Failure> {
    let (approval, _) = waiting(client, approval_id).await?;
    let request = v1::CancelCallRequest { call_id: approval.call_id };
    let call = client.ask(client.tools().cancel_call(request)).await?.call.unwrap_or_default();
    Ok(call_state_from(call.state).unwrap_or(CallState::Unknown))
}

/// Says where the page is, with a link that signs in once.
async fn say_where_the_page_is(out: &Output, app: &App<'_>) -> Result<(), Failure> {
    let client = app.signed_in().await?;
    match page::link(client, &app.context.backend).await? {
        Some((url, _)) => out.note(&format!("{DIM}the page{DIM:#}              {url}")),
        None => out.note(&format!(
            "{DIM}the page{DIM:#}              is not part of this build: `make page` builds it (it needs Node.js and npm)"
        )),
    }
    Ok(())
}

/// Says which model answers, and what to type for a language model where there is none.
async fn say_who_answers(out: &Output, client: &Client) -> Result<(), Failure> {
    let models = client.ask(client.chat().list_models(v1::ListModelsRequest {})).await?.models;
    match models.first() {
        Some(first) if first.is_language_model => {
            out.note(&format!("{} answers.", visible(&first.name)));
            if let Some(planner) = models.iter().find(|model| !model.is_language_model) {
                let name = visible(&planner.name);
                out.note(&format!(
                    "{DIM}To talk to the built-in planner instead:{DIM:#} orion demo --model {name}"
                ));
            }
        }
        Some(_) | None => {
            out.note(
                "The built-in planner answers: it knows some everyday requests, such as “make a folder Test”, and is \
                 no language model.",
            );
            let (found, command) = match of_ollama().await {
                Some(command) => ("Ollama runs here; to talk to it", command),
                None => {
                    let command = "orion demo --model-url URL --model NAME".to_owned();
                    ("To talk to a language model", command)
                }
            };
            out.note(&format!("{DIM}{found}:{DIM:#} {command}"));
        }
    }
    Ok(())
}

/// Returns when a signal other than Ctrl-C ends the program; the chat handles Ctrl-C.
async fn terminated() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let (Ok(mut terminate), Ok(mut hangup)) =
            (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        {
            tokio::select! {
                _ = terminate.recv() => return,
                _ = hangup.recv() => return,
            }
        }
    }
    std::future::pending().await
}
