//! `POST /v1/responses`: one answer as items, whole or streamed.

mod input;
mod output;

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::sse::Event;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value};

use self::output::Output;
use super::error::ApiError;
use super::turn::{Step, Turn};
use super::{prompt, request, sse};
use crate::chat::Chat;

/// Answers the input of a person. The turn ends when the client disconnects; calls in flight continue.
pub(super) async fn create(State(chat): State<Arc<Chat>>, request: Request) -> Response {
    match begin(&chat, request).await {
        Ok((turn, output, true)) => sse::response(stream(turn, output)),
        Ok((turn, output, false)) => match whole(turn, output).await {
            Ok(answer) => Json(answer).into_response(),
            Err(error) => error.into_response(),
        },
        Err(error) => error.into_response(),
    }
}

/// Begins the turn. Returns it with its output so far, and whether it is streamed.
async fn begin(chat: &Arc<Chat>, request: Request) -> Result<(Turn, Output, bool), ApiError> {
    let (by, parameters) = request::read::<Map<String, Value>>(request).await?;
    prompt::refuse(&parameters)?;
    let prompt = input::prompt(&chat.pipeline.store, &by.caller, &parameters).await?;
    let model = prompt::model_name(chat, parameters.get("model").and_then(Value::as_str));
    let is_streamed = parameters.get("stream").and_then(Value::as_bool).unwrap_or(false);
    let limit = chat.pipeline.config.chat.result_limit;
    let output = Output::new(&parameters, limit);
    Ok((Turn::begin(chat, by, prompt, model), output, is_streamed))
}

/// Returns the whole answer. It comes at once where a call waits for an approval, and says so.
async fn whole(mut turn: Turn, mut output: Output) -> Result<Value, ApiError> {
    while let Some(step) = turn.next().await {
        if let Step::Failed(error) = step {
            return Err(error);
        }
        let ends = matches!(step, Step::Waits(..) | Step::Done);
        output.take(&step, &turn.so_far);
        if ends {
            break;
        }
    }
    output.close();
    Ok(output.response(&turn.so_far, "completed"))
}

/// Streams the answer's events. It waits for approvals, and says so at once.
fn stream(
    turn: Turn,
    output: Output,
) -> impl futures_util::Stream<Item = Result<Event, Infallible>> + Send + 'static {
    let begun = (Some(turn), output, Vec::<Value>::new());
    futures_util::stream::unfold(begun, async |(mut turn, mut output, mut ready)| {
        while ready.is_empty() {
            let running = turn.as_mut()?;
            let step = running.next().await?;
            let is_over = matches!(step, Step::Done | Step::Failed(_));
            output.take(&step, &running.so_far);
            if is_over {
                turn = None;
            }
            ready = output.events();
        }
        let first = ready.remove(0);
        let name = first["type"].as_str().unwrap_or_default().to_owned();
        let event = Event::default().event(name).data(first.to_string());
        Some((Ok(event), (turn, output, ready)))
    })
}
