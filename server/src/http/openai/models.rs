//! `GET /v1/models`: the models that a chat can use.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::DEFAULT_MODEL;
use crate::chat::Chat;

/// Lists the models: first `orion`, the configured default.
pub(super) async fn list(State(chat): State<Arc<Chat>>) -> Json<Value> {
    let configured = chat.models.iter().map(|(name, _)| name.as_str());
    let names = std::iter::once(DEFAULT_MODEL).chain(configured.filter(|it| *it != DEFAULT_MODEL));
    let models: Vec<_> = names
        .map(|id| json!({"id": id, "object": "model", "created": 0, "owned_by": "orion"}))
        .collect();
    Json(json!({"object": "list", "data": models}))
}
