//! Asks the model of a turn; where it cannot be asked, the models that stand in for it.

use super::error::ChatError;
use super::turn::Turn;
use super::{prompt, relay, window};
use crate::config::Config;
use crate::model::{Answer, Model, ModelConfig, ModelError, Request};

impl Turn<'_> {
    /// Sends the conversation to the first model that can be asked. Returns the answer and the text that was
    /// shown already.
    pub(super) async fn ask(&mut self) -> Result<(Answer, String), ChatError> {
        let tools = if self.pipeline.config.chat.tools_enabled {
            let custom = prompt::custom(self.pipeline, &self.caller, self.assistant);
            self.taint.add_described(&custom);
            prompt::tools(self.pipeline, &self.caller, self.assistant)
        } else {
            Vec::new()
        };
        let mut request = Request { messages: Vec::new(), tools };
        loop {
            let models = self.models;
            let Some((name, model)) = models.get(self.current).copied() else {
                return Err(ChatError::NoModel(String::new()));
            };
            let Model::Remote(_) = model else {
                request.messages.clone_from(&self.messages);
                return relay::complete(model, &request, self.events).await;
            };
            let config = section(&self.pipeline.config, name);
            request.messages.clone_from(&self.messages);
            let is_cut = window::fit(&mut request.messages, &request.tools, room(&config));
            if is_cut && !self.is_cut {
                self.is_cut = true;
                self.note(
                    "The chat is longer than the model's window; its oldest part is left out.",
                )
                .await?;
            }
            let reserved = self.reserve(&config, &request).await?;
            let failure = match relay::complete(model, &request, self.events).await {
                Ok((answer, shown)) => {
                    self.settle(&config, &request, &answer, reserved).await?;
                    return Ok((answer, shown));
                }
                Err(ChatError::Model(failure)) => failure,
                Err(error) => return Err(error),
            };
            self.settle_failed(&config, &failure, reserved).await?;
            self.stand_in(name, failure).await?;
        }
    }

    /// Turns to the next model, for the rest of the turn.
    async fn stand_in(&mut self, failed: &str, failure: ModelError) -> Result<(), ChatError> {
        let next = self.models.get(self.current + 1).copied();
        let Some((name, _)) = next.filter(|_| failure.is_unavailable()) else {
            return Err(failure.into());
        };
        self.current += 1;
        tracing::warn!(model = failed, stand_in = name, %failure, "a model cannot be asked");
        self.note(&format!("The model {failed} cannot be asked now, so {name} answers: {failure}"))
            .await
    }
}

/// Returns the section of a model.
fn section(config: &Config, name: &str) -> ModelConfig {
    config
        .models
        .iter()
        .find(|model| model.name == name)
        .cloned()
        .unwrap_or_else(ModelConfig::planner)
}

/// Returns how many tokens a request may have.
fn room(config: &ModelConfig) -> usize {
    let room = config.context_tokens.saturating_sub(config.answer_tokens());
    usize::try_from(room).unwrap_or(usize::MAX)
}
