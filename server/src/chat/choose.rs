//! Chooses the assistant and the models of a turn: what the message names, else what the chat had.

use orion_domain::ConversationId;

use super::{Chat, ChatError, Said};
use crate::config::Assistant;
use crate::model::Model;

/// What a turn is made with.
#[derive(Debug)]
pub(super) struct Chosen<'a> {
    /// The models by name, the one to ask first, then those that stand in for it.
    pub(super) models: Vec<(&'a str, &'a Model)>,
    /// The assistant. None for everything that the person may use.
    pub(super) assistant: Option<&'a Assistant>,
    /// What the person should know of the choice.
    pub(super) note: Option<String>,
}

/// Chooses, and remembers the choice for the chat.
///
/// # Errors
/// There is no such model or assistant, or the database fails. An assistant that is gone is an error also
/// where the chat had it: without it the model could do more.
pub(super) async fn choose<'a>(
    chat: &'a Chat,
    conversation: Option<ConversationId>,
    said: &Said,
) -> Result<Chosen<'a>, ChatError> {
    let store = &chat.pipeline.store;
    let config = &chat.pipeline.config;
    let (had_model, had_assistant) = match conversation {
        Some(conversation) => store.chosen(conversation).await?,
        None => (None, None),
    };
    let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    let wanted = named(&said.assistant).or(had_assistant);
    let assistant = match &wanted {
        Some(name) => {
            let found = config.assistants.iter().find(|it| it.name == *name);
            Some(found.ok_or_else(|| ChatError::NoAssistant(name.chars().take(64).collect()))?)
        }
        None => None,
    };
    let find = |name: &str| chat.models.iter().find(|(known, _)| known == name);
    let mut note = None;
    let model = match (named(&said.model), had_model) {
        (Some(name), _) => {
            find(&name).ok_or_else(|| ChatError::NoModel(name.chars().take(64).collect()))?
        }
        (None, Some(name)) if find(&name).is_none() => {
            let first = chat.models.first().ok_or_else(|| ChatError::NoModel(String::new()))?;
            note = Some(format!(
                "The model {name} of this chat is no longer configured, so {} answers.",
                first.0
            ));
            first
        }
        (None, had) => {
            let name = had.or_else(|| assistant.and_then(|it| it.model.clone()));
            let found = match name {
                Some(name) => find(&name),
                None => chat.models.first(),
            };
            found.ok_or_else(|| ChatError::NoModel(String::new()))?
        }
    };
    let section = config.models.iter().find(|it| it.name == model.0);
    let stand_ins = section.into_iter().flat_map(|it| &it.fallback).filter_map(|name| find(name));
    let models = std::iter::once(model).chain(stand_ins);
    Ok(Chosen {
        models: models.map(|(name, model)| (name.as_str(), model)).collect(),
        assistant,
        note,
    })
}

/// Remembers what the message named, for the messages after it.
pub(super) async fn remember(
    chat: &Chat,
    conversation: ConversationId,
    said: &Said,
) -> Result<(), ChatError> {
    if said.model.is_empty() && said.assistant.is_empty() {
        return Ok(());
    }
    let store = &chat.pipeline.store;
    let (model, assistant) = store.chosen(conversation).await?;
    let or_had = |named: &str, had: Option<String>| {
        if named.is_empty() { had } else { Some(named.to_owned()) }
    };
    let (model, assistant) = (or_had(&said.model, model), or_had(&said.assistant, assistant));
    Ok(store.choose(conversation, model.as_deref(), assistant.as_deref()).await?)
}
