//! The person at the device is asked before calls run, and nothing of a backend replaces the answer.

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Device, World, eventually};
use orion_wire::v1;
use serde_json::{Value, json};

use super::{developer, owner};

mod answers;
mod waiting;

const ASKS: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n\n[consent]\ntools = [\"write_file\", \"delete_file\"]\ntimeout = 60\n";
/// Asks before reads too.
const ASKS_BEFORE_READS: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n\n[consent]\ntools = [\"write_file\", \"read_file\"]\ntimeout = 60\n";
const DENIED: (CallState, Option<ErrorCode>) =
    (CallState::Refused, Some(ErrorCode::ApprovalRejected));
const DONE: (CallState, Option<ErrorCode>) = (CallState::Succeeded, None);

/// Returns the questions that wait, as `orion-agent consent list` prints them.
async fn questions(device: &Device) -> Vec<Value> {
    let said = owner(device, &["consent", "list", "-o", "json"]).await;
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Waits for the one question that waits.
async fn question(device: &Device) -> Value {
    eventually("a question", async || questions(device).await.pop()).await
}

fn id(question: &Value) -> &str {
    question["id"].as_str().unwrap()
}

/// Answers the next question.
async fn answer(device: &Device, word: &str) -> Value {
    let question = question(device).await;
    owner(device, &["consent", word, id(&question)]).await;
    question
}

/// Starts a call that waits for the person, and returns its end.
fn calling(world: &World, tool: &str, arguments: Value) -> tokio::task::JoinHandle<Call> {
    calling_within(world, tool, arguments, 60_000)
}

/// Does the same with this deadline.
fn calling_within(
    world: &World,
    tool: &str,
    arguments: Value,
    timeout_ms: u64,
) -> tokio::task::JoinHandle<Call> {
    let client = world.admin().clone();
    let request = v1::CallToolRequest {
        tool: tool.to_owned(),
        device: "kiosk".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        timeout_ms,
        ..Default::default()
    };
    tokio::spawn(async move { client.ask(request).await.unwrap() })
}

fn write(device: &Device, name: &str) -> Value {
    json!({"path": device.path(name), "content": "new\n"})
}
