//! `orion chat`: chats with a model until the input ends.

use clap::Args;
use orion_wire::v1;

use super::undo::undo_turn;
use super::why::why_call;
use crate::app::App;
use crate::chat::{Aside, Choice, Session, converse, shown};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::DIM;
use crate::text;

/// Chats with a model that calls tools on devices.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion chat
  orion chat --model qwen
  orion chat --assistant gardener
  orion chat --resume
  orion chat --resume 0199b2c4-7f3e-7c11
  printf 'Make a folder Test\\nList my files\\n' | orion chat --yes")]
pub(crate) struct Chat {
    /// A model's name in the backend's configuration
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// An assistant's name in the backend's configuration: it narrows what the model may use
    #[arg(long, value_name = "NAME")]
    assistant: Option<String>,
    /// Go on with a chat: the newest, or the one with this id, which may be shortened
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,
}

/// The commands that a person can also give at the prompt.
pub(crate) struct Commands<'a>(pub(crate) &'a App<'a>);

impl Aside for Commands<'_> {
    async fn undo(&self, turn: String) -> Result<u8, Failure> {
        undo_turn(self.0, turn).await
    }

    async fn why(&self, call: v1::Call) -> Result<u8, Failure> {
        why_call(self.0, call).await
    }
}

impl Chat {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let models = client.ask(client.chat().list_models(v1::ListModelsRequest {})).await?.models;
        let chosen = match &self.model {
            Some(name) => models.iter().find(|model| model.name == *name),
            None => models.first(),
        };
        if let Some(model) = chosen
            && !model.is_language_model
        {
            app.out.note(
                "The built-in planner answers: it knows some everyday requests and is no language \
                 model. docs/models.md shows how an admin connects one.",
            );
        }
        let (conversation, can_go_on) = match self.resume {
            Some(chat) => {
                let (id, can_go_on) = resumed(app, client, chat).await?;
                (Some(id), can_go_on)
            }
            None => (None, false),
        };
        let choice = Choice { conversation, model: self.model, assistant: self.assistant };
        let mut session = Session::new(app, client, choice);
        let mut code = 0;
        if can_go_on {
            app.out.note("the last answer was not finished; going on with it");
            code = match session.go_on().await {
                Ok(answer) => shown(&session, &answer)?,
                Err(failure @ Failure::ReaderGone) => return Err(failure),
                Err(failure) => {
                    app.out.failure(&failure);
                    failure.exit_code()
                }
            };
        }
        converse(&Commands(app), &mut session, code).await
    }
}

/// Finds a chat, and shows where it was left. Returns its id, and whether its last answer is unfinished.
async fn resumed(app: &App<'_>, client: &Client, chat: String) -> Result<(String, bool), Failure> {
    let request = v1::GetChatRequest { conversation_id: chat };
    let found = client.ask(client.chat().get_chat(request)).await?;
    let last =
        |role: &str| found.messages.iter().rfind(|it| it.role == role && !it.text.is_empty());
    if let Some(said) = last("user") {
        let at = text::when(&app.out.zone, said.at);
        app.out.note(&format!("{DIM}{at}{DIM:#}"));
        app.out.note(&format!("› {}", text::one_line(&said.text, 400)));
    }
    if let Some(answer) = last("assistant") {
        app.out.note(&text::one_line(&answer.text, 400));
    }
    Ok((found.conversation_id, found.can_go_on))
}
