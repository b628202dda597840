//! Tests with a small server that sends the exact bytes that real servers were seen to send.

mod refusals;
mod server;
mod split;
mod streams;

use std::time::Duration;

use super::OpenAi;
use crate::model::{Answer, Message, ModelConfig, ModelError, Request, ToolDefinition};

/// Creates a model at `address` with `more` in its section.
fn model(address: &str, more: &str) -> OpenAi {
    let config: ModelConfig = toml::from_str(&format!(
        "name = \"test\"\nkind = \"openai\"\nurl = \"http://{address}/v1/\"\nmodel = \"m\"\n{more}"
    ))
    .unwrap();
    config.check().unwrap();
    OpenAi { backoff: Duration::from_millis(1), ..OpenAi::new(&config).unwrap() }
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
async fn asked(model: &OpenAi) -> Result<(Answer, bool), ModelError> {
    let mut streamed = String::new();
    let answer = model.complete(&request(), &mut |text| streamed.push_str(text)).await?;
    assert_eq!(streamed, answer.text);
    let natively = answer.offered_natively;
    Ok((Answer { offered_natively: false, ..answer }, natively))
}

/// Returns the answer alone.
async fn ask(model: &OpenAi) -> Result<Answer, ModelError> {
    Ok(asked(model).await?.0)
}

fn said(text: &str) -> Answer {
    Answer { text: text.to_owned(), ..Answer::default() }
}
