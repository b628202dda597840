//! People who want each of their calls done once: they ask until they are answered, always under the
//! call's own key, and some change their minds.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::CallState;
use orion_tests::{Call, Client};
use orion_wire::v1;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use tokio::time::{sleep, timeout};
use tonic::{Code, Status};

use super::FILES;
use super::pace::Pace;

/// How long any answer may take. The longest way is through a queue and over a dead link.
const ANSWER_WITHIN: Duration = Duration::from_secs(100);
/// How long a call may wait for its device, and how long one may that is in a hurry.
const QUEUE_MS: u64 = 60_000;
const SHORT_QUEUE_MS: u64 = 400;
/// How long a call may take.
const TIMEOUT_MS: u64 = 10_000;

/// What callers heard besides answers.
#[derive(Default)]
pub(super) struct CallerReport {
    /// Requests that went unanswered and were made again.
    pub(super) repeated: usize,
    /// What should not be heard, whatever dies.
    pub(super) odd: Vec<String>,
}

impl CallerReport {
    pub(super) fn add(&mut self, other: Self) {
        self.repeated += other.repeated;
        self.odd.extend(other.odd);
    }

    /// Takes an error for the backend's death, where it can be that.
    async fn lost(&mut self, number: usize, status: &Status) {
        self.repeated += 1;
        let may_be = matches!(
            status.code(),
            Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal
        );
        if !may_be {
            self.odd.push(format!("call {number}: {status:?}"));
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// The text that a call appends.
pub(super) fn line(number: usize) -> String {
    format!("{number:06}")
}

/// The key of a call.
pub(super) fn key(number: usize) -> String {
    format!("chaos-{number:06}")
}

/// Makes calls to one device until there are none left.
pub(super) async fn run(
    client: Client,
    device: String,
    pace: Arc<Pace>,
    seed: u64,
) -> CallerReport {
    let mut heard = CallerReport::default();
    while let Some(number) = pace.next().await {
        // By its number, so that the same call is made whoever comes to make it.
        let mixed = seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = Xoshiro256PlusPlus::seed_from_u64(mixed);
        let made = make(&client, &device, number, random, &mut heard);
        let Ok(state) = timeout(ANSWER_WITHIN, made).await else {
            heard.odd.push(format!("call {number}: no end after {ANSWER_WITHIN:?}"));
            pace.end();
            continue;
        };
        pace.end();
        if state == Some(CallState::Denied) {
            // The device is away, and is so for a moment more.
            sleep(Duration::from_millis(150)).await;
        }
    }
    heard
}

fn request(device: &str, number: usize, random: &mut Xoshiro256PlusPlus) -> v1::CallToolRequest {
    let arguments = json!({
        "path": format!("log-{:02}", number % FILES),
        "content": format!("{}\n", line(number)),
        "append": true,
    });
    let request = v1::CallToolRequest {
        tool: "write_file".to_owned(),
        device: device.to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        timeout_ms: TIMEOUT_MS,
        idempotency_key: key(number),
        ..Default::default()
    };
    match random.random_range(0..10) {
        // Whoever does not queue is turned away where the device is.
        0..3 => request,
        3..7 => v1::CallToolRequest { queue: true, queue_ms: QUEUE_MS, ..request },
        7 => v1::CallToolRequest { queue: true, queue_ms: SHORT_QUEUE_MS, ..request },
        _ => v1::CallToolRequest { queue: true, queue_ms: QUEUE_MS, background: true, ..request },
    }
}

/// One call from its first request to its end, or to the first end that the backend knows.
async fn make(
    client: &Client,
    device: &str,
    number: usize,
    mut random: Xoshiro256PlusPlus,
    heard: &mut CallerReport,
) -> Option<CallState> {
    let request = request(device, number, &mut random);
    let mut regrets = random.random_bool(0.08);
    let mut call = loop {
        match client.ask(request.clone()).await {
            Ok(call) => break call,
            Err(status) => heard.lost(number, &status).await,
        }
    };
    while !call.state.is_closed() {
        if std::mem::take(&mut regrets) {
            let request = v1::CancelCallRequest { call_id: call.id.clone() };
            // Too late is no error of the caller's.
            drop(client.tools().cancel_call(request).await);
        }
        call = match look(client, &call).await {
            Ok(call) => call,
            Err(status) => {
                heard.lost(number, &status).await;
                if status.code() == Code::NotFound {
                    return None;
                }
                call
            }
        };
    }
    Some(call.state)
}

async fn look(client: &Client, call: &Call) -> Result<Call, Status> {
    let request = v1::GetCallRequest { call_id: call.id.clone(), wait_ms: 3_000 };
    Ok(client.tools().get_call(request).await?.into_inner().call.unwrap().into())
}
