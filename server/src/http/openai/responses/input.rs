//! The input of a response: texts, items and the response that it follows.

use axum::http::StatusCode;
use orion_domain::{Caller, ConversationId, TurnId};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::http::openai::error::ApiError;
use crate::http::openai::prompt::{self, Prompt, Sent};
use crate::store::{Store, StoreError};

/// How many of the newest messages are searched for a response.
const MAX_READ: u32 = 500;

/// How the id of a response begins.
const PREFIX: &str = "resp_";

/// Items by which clients send back what a response held. Orion has its own record of these and reads none.
const RECORDED: [&str; 4] = ["mcp_call", "mcp_list_tools", "reasoning", "item_reference"];

/// Reads what is answered.
pub(super) async fn prompt(
    store: &Store,
    caller: &Caller,
    parameters: &Map<String, Value>,
) -> Result<Prompt, ApiError> {
    let mut sent = Vec::new();
    if let Some(instructions) = parameters.get("instructions").filter(|it| !it.is_null()) {
        sent.push(Sent::System(prompt::content(instructions, "instructions")?));
    }
    match parameters.get("input") {
        Some(Value::String(text)) => sent.push(Sent::User(text.clone())),
        Some(Value::Array(items)) => {
            for (n, item) in items.iter().enumerate() {
                sent.extend(read(item, &format!("input[{n}]"))?);
            }
        }
        _ => return Err(ApiError::invalid("input", "`input` must be a text or a list of items.")),
    }
    let follows = follows(store, caller, parameters).await?;
    let named = prompt::conversation(parameters)?;
    if follows.is_some() && named.is_some() && follows != named {
        let message = "The earlier response is of another conversation. Name one of both.";
        return Err(ApiError::invalid("previous_response_id", message));
    }
    Prompt::new(sent, follows.or(named), "input")
}

/// Reads an item. `None` for one that Orion has its own record of.
fn read(item: &Value, param: &str) -> Result<Option<Sent>, ApiError> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => prompt::message(item, param),
        kind if RECORDED.contains(&kind) => Ok(None),
        "mcp_approval_response" => {
            let message =
                "An API client approves nothing. A person approves with `orion approvals show ID`.";
            Err(ApiError::unsupported(param, message))
        }
        _ => {
            let message = "Only messages are read. Orion calls its own tools and records their results itself.";
            Err(ApiError::unsupported(param, message))
        }
    }
}

/// Returns the conversation of the response that this one follows, which must be its newest.
async fn follows(
    store: &Store,
    caller: &Caller,
    parameters: &Map<String, Value>,
) -> Result<Option<ConversationId>, ApiError> {
    const PARAM: &str = "previous_response_id";
    let Some(value) = parameters.get(PARAM).filter(|it| !it.is_null()) else { return Ok(None) };
    let missing = || ApiError {
        param: PARAM.to_owned(),
        ..ApiError::new(
            StatusCode::NOT_FOUND,
            "previous_response_not_found",
            "There is no such response of yours. Begin anew without this parameter.",
        )
    };
    let (conversation, turn) = value.as_str().and_then(parse).ok_or_else(missing)?;
    let messages = match store.messages(conversation, &caller.user, MAX_READ).await {
        Ok(messages) => messages,
        Err(StoreError::NotFound) => return Err(missing()),
        Err(error) => return Err(error.into()),
    };
    if messages.iter().all(|message| message.turn != Some(turn)) {
        return Err(missing());
    }
    if messages.last().and_then(|message| message.turn) != Some(turn) {
        let message = "The conversation has gone on since this response, and Orion continues it at its end only. Name its newest response.";
        return Err(ApiError::invalid(PARAM, message));
    }
    Ok(Some(conversation))
}

/// Returns the id of the response of a turn.
pub(super) fn id(conversation: Option<ConversationId>, turn: Option<TurnId>) -> String {
    let part = |id: Option<String>| id.unwrap_or_default().replace('-', "");
    let (conversation, turn) =
        (conversation.map(|it| it.to_string()), turn.map(|it| it.to_string()));
    format!("{PREFIX}{}{}", part(conversation), part(turn))
}

fn parse(id: &str) -> Option<(ConversationId, TurnId)> {
    let (conversation, turn) = id.strip_prefix(PREFIX)?.split_at_checked(32)?;
    let read = |text: &str| Uuid::try_parse(text).ok().filter(|_| text.len() == 32);
    Some((ConversationId::new(read(conversation)?), TurnId::new(read(turn)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_response_names_its_conversation_and_its_turn() {
        let (conversation, turn) =
            (ConversationId::new(Uuid::from_u128(1)), TurnId::new(Uuid::from_u128(2)));
        let id = id(Some(conversation), Some(turn));
        assert_eq!(parse(&id), Some((conversation, turn)));
        for wrong in ["", "resp_", "resp_1", &id[5..], &id[..id.len() - 1], &format!("{id}0")] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
