//! `/v1`: the chat as clients of OpenAI's API use it. A client sends messages and receives an answer; Orion makes
//! the calls itself, so no client reports or requests one.

mod chat_completions;
mod error;
mod models;
mod prompt;
mod request;
mod responses;
mod sse;
mod turn;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::chat::Chat;

/// The name that stands for the first configured model.
const DEFAULT_MODEL: &str = "orion";

/// Returns the routes of `/v1`.
pub(super) fn routes(chat: &Arc<Chat>) -> Router {
    Router::new()
        .route("/v1/models", get(models::list))
        .route("/v1/chat/completions", post(chat_completions::create))
        .route("/v1/responses", post(responses::create))
        .with_state(Arc::clone(chat))
}
