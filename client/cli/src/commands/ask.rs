//! `orion ask`: sends a model one message.

use clap::Args;
use orion_wire::v1;

use crate::app::App;
use crate::chat::{Choice, Session, said};
use crate::client::Client;
use crate::failure::Failure;
use crate::input;

/// Sends a model one message, and prints its answer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion ask \"Make a folder Test\"
  orion ask --yes \"Delete the folder Old with everything in it\"
  orion ask @request.txt -o json

The exit code is the last call's, and 2 if the built-in planner did not understand or asks something:
its question is answered with another message and --conversation. Without a terminal and without --yes, a call that needs approval
ends the command with 6; `orion approvals` shows what waits.")]
pub(crate) struct Ask {
    /// What to say; @file or - for standard input
    #[arg(value_name = "TEXT")]
    text: String,
    /// A model's name in the backend's configuration
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// An assistant's name in the backend's configuration: it narrows what the model may use
    #[arg(long, value_name = "NAME")]
    assistant: Option<String>,
    /// A chat to go on with, by its id, which may be shortened
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
}

impl Ask {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, nobody approves, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let text = input::value(&self.text)?;
        if text.trim().is_empty() {
            return Err(Failure::Usage("the text is empty".to_owned()));
        }
        let client = app.signed_in().await?;
        let Self { conversation, model, assistant, .. } = self;
        let conversation = match conversation {
            Some(chat) => Some(whole_id(client, chat).await?),
            None => None,
        };
        let mut session = Session::new(app, client, Choice { conversation, model, assistant });
        let code = said(&mut session, text.trim()).await?;
        session.say_how_to_undo();
        session.say_how_to_go_on();
        Ok(code)
    }
}

/// Returns the whole id of a chat.
async fn whole_id(client: &Client, chat: String) -> Result<String, Failure> {
    let request = v1::GetChatRequest { conversation_id: chat };
    Ok(client.ask(client.chat().get_chat(request)).await?.conversation_id)
}
