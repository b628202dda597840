//! `orion chat`: chats with a model until the input ends.

use clap::Args;
use orion_wire::v1;

use crate::app::App;
use crate::chat::{Session, converse};
use crate::failure::Failure;

/// Chats with a model that calls tools on devices.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion chat
  orion chat --model qwen
  orion chat --conversation 0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e
  printf 'Make a folder Test\\nList my files\\n' | orion chat --yes")]
pub(crate) struct Chat {
    /// A model's name in the backend's configuration
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// A conversation to go on with
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
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
                 model. docs/configuration.md shows how an admin connects one.",
            );
        }
        let mut session = Session::new(app, client, self.conversation, self.model);
        converse(&mut session).await
    }
}
