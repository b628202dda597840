//! `POST /v1/chat/completions`: one answer, whole or streamed.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::sse::Event;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::prompt::{self, Prompt};
use super::turn::{SoFar, Step, Turn};
use super::{request, sse};
use crate::chat::Chat;
use crate::clock::now_ms;

/// Answers the last messages of a person. The turn ends when the client disconnects; calls in flight continue.
pub(super) async fn create(State(chat): State<Arc<Chat>>, request: Request) -> Response {
    match begin(&chat, request).await {
        Ok((turn, true, wants_usage)) => sse::response(stream(turn, wants_usage)),
        Ok((turn, false, _)) => match whole(turn).await {
            Ok(answer) => Json(answer).into_response(),
            Err(error) => error.into_response(),
        },
        Err(error) => error.into_response(),
    }
}

/// Begins the turn. Returns it with whether it is streamed, and whether the stream ends with its usage.
async fn begin(chat: &Arc<Chat>, request: Request) -> Result<(Turn, bool, bool), ApiError> {
    let (by, parameters) = request::read::<Map<String, Value>>(request).await?;
    prompt::refuse(&parameters)?;
    let Some(Value::Array(messages)) = parameters.get("messages") else {
        return Err(ApiError::invalid("messages", "`messages` must be a list of messages."));
    };
    let mut sent = Vec::with_capacity(messages.len());
    for (n, message) in messages.iter().enumerate() {
        sent.extend(prompt::message(message, &format!("messages[{n}]"))?);
    }
    let prompt = Prompt::new(sent, prompt::conversation(&parameters)?, "messages")?;
    let model = prompt::model_name(chat, parameters.get("model").and_then(Value::as_str));
    let is = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
    let usage = parameters.get("stream_options").and_then(|it| it.get("include_usage"));
    let turn = Turn::begin(chat, by, prompt, model);
    Ok((turn, is(parameters.get("stream")), is(usage)))
}

/// The text of an answer so far.
#[derive(Debug, Default)]
struct Text {
    all: String,
    /// Whether a call came after the last text.
    is_interrupted: bool,
}

impl Text {
    /// Returns what a step adds to the text.
    fn take(&mut self, step: &Step) -> Option<String> {
        let more = match step {
            Step::Text(text) => text,
            Step::Waits(_, text) => {
                self.is_interrupted = true;
                text
            }
            Step::CallBegan(_) | Step::CallEnded(_) => {
                self.is_interrupted = true;
                return None;
            }
            Step::Began | Step::Done | Step::Failed(_) => return None,
        };
        let begins = std::mem::take(&mut self.is_interrupted) && !self.all.is_empty();
        self.is_interrupted = matches!(step, Step::Waits(..));
        let more = if begins { format!("\n\n{more}") } else { more.clone() };
        self.all.push_str(&more);
        Some(more)
    }
}

/// Returns the whole answer. It comes at once where a call waits for an approval, and says so.
async fn whole(mut turn: Turn) -> Result<Value, ApiError> {
    let mut text = Text::default();
    while let Some(step) = turn.next().await {
        text.take(&step);
        match step {
            Step::Failed(error) => return Err(error),
            Step::Waits(..) | Step::Done => break,
            Step::Began | Step::Text(_) | Step::CallBegan(_) | Step::CallEnded(_) => {}
        }
    }
    let message = json!({
        "role": "assistant", "content": text.all, "refusal": null, "annotations": [],
    });
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"});
    let mut answer = envelope(&turn.so_far, "chat.completion");
    answer["choices"] = json!([choice]);
    answer["usage"] = turn.so_far.usage_of_chat();
    answer["metadata"] = turn.so_far.metadata();
    answer["orion"] = turn.so_far.of_orion();
    Ok(answer)
}

fn envelope(so_far: &SoFar, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{}", so_far.turn_id()),
        "object": object,
        "created": now_ms() / 1000,
        "model": so_far.model,
    })
}

fn chunk(so_far: &SoFar, delta: Value, finish: Option<&str>) -> Value {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
    let mut chunk = envelope(so_far, "chat.completion.chunk");
    chunk["choices"] = json!([choice]);
    chunk
}

/// Streams the answer in chunks. It waits for approvals, and says so at once.
fn stream(
    turn: Turn,
    wants_usage: bool,
) -> impl futures_util::Stream<Item = Result<Event, Infallible>> + Send + 'static {
    let begun = (Some(turn), Text::default(), Vec::<String>::new(), wants_usage);
    futures_util::stream::unfold(begun, async |(mut turn, mut text, mut ready, wants_usage)| {
        while ready.is_empty() {
            let running = turn.as_mut()?;
            let step = running.next().await?;
            let more = text.take(&step);
            ready = chunks(&step, more, &running.so_far, wants_usage);
            if matches!(step, Step::Failed(_) | Step::Done) {
                turn = None;
            }
        }
        let first = ready.remove(0);
        Some((Ok(Event::default().data(first)), (turn, text, ready, wants_usage)))
    })
}

/// Returns what a step adds to the stream, with more of the text. Where the client wants the usage, every chunk has the
/// field, and a last chunk without a choice has it filled.
fn chunks(step: &Step, more: Option<String>, so_far: &SoFar, wants_usage: bool) -> Vec<String> {
    let mut chunks = Vec::new();
    if let Some(more) = more {
        chunks.push(chunk(so_far, json!({"content": more}), None));
    }
    match step {
        Step::Began => {
            let delta = json!({"role": "assistant", "content": "", "refusal": null});
            chunks.push(chunk(so_far, delta, None));
        }
        Step::Failed(error) => return vec![json!({"error": error.body()}).to_string()],
        Step::Done => {
            let mut last = chunk(so_far, json!({}), Some("stop"));
            last["metadata"] = so_far.metadata();
            last["orion"] = so_far.of_orion();
            chunks.push(last);
        }
        Step::Text(_) | Step::Waits(..) | Step::CallBegan(_) | Step::CallEnded(_) => {}
    }
    if wants_usage {
        chunks.iter_mut().for_each(|chunk| chunk["usage"] = Value::Null);
    }
    let is_done = matches!(step, Step::Done);
    if wants_usage && is_done {
        let mut last = envelope(so_far, "chat.completion.chunk");
        (last["choices"], last["usage"]) = (json!([]), so_far.usage_of_chat());
        chunks.push(last);
    }
    let end = is_done.then(|| "[DONE]".to_owned());
    chunks.iter().map(Value::to_string).chain(end).collect()
}
