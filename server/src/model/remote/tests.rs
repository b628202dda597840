//! Tests with a small server that sends the exact bytes that real servers were seen to send.

mod refusals;
mod server;
mod split;
mod streams;

use std::time::Duration;

use super::Remote;
use super::conversation::Conversation;
use super::draft::Draft;
use super::form::{Form, Wishes};
use super::stream::{Decoder, Frame};
use crate::model::{
    Answer, Message, ModelConfig, ModelError, NativeCall, ProviderState, Request, ToolDefinition,
};

/// Creates a model at `address` with `more` in its section.
fn model(address: &str, more: &str) -> Remote {
    let config: ModelConfig = toml::from_str(&format!(
        "name = \"test\"\nkind = \"openai\"\nurl = \"http://{address}/v1/\"\nmodel = \"m\"\n{more}"
    ))
    .unwrap();
    config.check().unwrap();
    Remote { backoff: Duration::from_millis(1), ..Remote::new(&config).unwrap() }
}

fn request() -> Request {
    Request {
        messages: vec![Message::user("Make a folder")],
        tools: vec![ToolDefinition {
            name: "create_directory".to_owned(),
            description: "Makes a folder.".to_owned(),
            parameters: serde_json::json!({"type": "object"}),
        }],
    }
}

/// Returns the answer and whether tools were offered natively, after checking that its text equals the streamed
/// text.
async fn asked(model: &Remote) -> Result<(Answer, bool), ModelError> {
    let mut streamed = String::new();
    let answer = model.complete(&request(), &mut |text| streamed.push_str(text)).await?;
    assert_eq!(streamed, answer.text);
    let natively = answer.offered_natively;
    Ok((Answer { offered_natively: false, ..answer }, natively))
}

/// Returns the answer alone.
async fn ask(model: &Remote) -> Result<Answer, ModelError> {
    Ok(asked(model).await?.0)
}

/// Reads a stream in a form, cut at every byte, and returns the one answer.
pub(super) fn read(form: Form, stream: &str) -> Result<Answer, ModelError> {
    let whole = read_pieces(form, &[stream.as_bytes()]);
    let single: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
    assert_eq!(read_pieces(form, &single), whole, "byte by byte");
    whole
}

fn read_pieces(form: Form, pieces: &[&[u8]]) -> Result<Answer, ModelError> {
    let mut decoder = Decoder::new(100_000);
    let mut draft = Draft::new(&request().tools, 50_000);
    let mut streamed = String::new();
    let mut frames = Vec::new();
    for piece in pieces {
        frames.extend(decoder.push(piece).unwrap());
    }
    frames.extend(decoder.finish().unwrap());
    for frame in frames {
        if let Frame::Chunk(value) = frame {
            form.take(&value, &mut draft, &mut |text: &str| streamed.push_str(text))?;
        }
    }
    let state = |items| ProviderState { origin: "test".to_owned(), items };
    let answer = draft.finish(form.expected(), state, &mut |text: &str| streamed.push_str(text))?;
    assert_eq!(streamed, answer.text);
    Ok(answer)
}

/// Returns the body for a conversation in which one call with this state was made and answered.
pub(super) fn sent(form: Form, state: Vec<serde_json::Value>) -> serde_json::Value {
    let call = |id: &str, path: &str| NativeCall {
        id: id.to_owned(),
        name: "create_directory".to_owned(),
        arguments: serde_json::json!({ "path": path }).to_string(),
    };
    let state = Some(ProviderState { origin: "test".to_owned(), items: state });
    let other = Some(ProviderState { origin: "other".to_owned(), items: vec!["secret".into()] });
    let messages = vec![
        Message::system("Be brief."),
        Message::user("Before"),
        Message { state: other, ..Message::assistant("", vec![call("old id!", "z")]) },
        Message::tool("old id!", "{}"),
        Message::assistant("Done.", Vec::new()),
        Message::user("Make a and b"),
        Message { state, ..Message::assistant("", vec![call("x", "a"), call("y", "b")]) },
        Message::tool("x", r#"{"success":true}"#),
        Message::tool("y", "cut off"),
    ];
    let request = Request { messages, ..request() };
    let wishes = Wishes { model: "m", max_output_tokens: Some(100), extras: true };
    form.body(&Conversation::native(&request, "test"), wishes)
}

fn said(text: &str) -> Answer {
    Answer { text: text.to_owned(), ..Answer::default() }
}
