//! A chat of two rounds (a call, then the answer) through Orion, beside a bare loop with the same HTTP client that
//! asks the same model server with the same bodies and runs nothing. The model answers at once, so that the
//! difference is Orion's own time: rights, prompt, call, audit, history.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use orion_domain::{ConversationId, TurnId};
use orion_server::backend::Backend;
use orion_server::clock::{new_uuid, now_ms};
use orion_server::model::Message;
use orion_wire::v1;
use orion_wire::v1::chat_service_client::ChatServiceClient;
use orion_wire::v1::send_message_response::Event;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};

use super::measure::median;
use super::{enroll_one, light, orion, sign_in};

/// How many turns a round has.
const TURNS: usize = 40;
/// How many rounds there are, alternating.
const ROUNDS: usize = 5;

/// What the model server saw.
#[derive(Debug, Default)]
struct Seen {
    /// The bodies of the newest turn.
    bodies: Vec<Vec<u8>>,
    /// When the last byte of an answer with a call was written.
    called_at: Option<Instant>,
}

type Shared = Arc<Mutex<Seen>>;

fn locked(seen: &Shared) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Measures, and prints a table.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
pub(crate) async fn run() -> anyhow::Result<Value> {
    let (address, seen) = model().await?;
    let section = format!(
        "[[models]]\nname = \"bench\"\nkind = \"openai\"\nurl = \"http://{address}/v1\"\nmodel = \"m\"\n"
    );
    let folder = tempfile::tempdir()?;
    let (backend, people, shutdown, serving) = orion(folder.path(), &section).await?;
    let token = sign_in(&backend, folder.path()).await?;
    let tls = enroll_one(&backend, "bench-0").await?;
    let device = backend.enrollment.addresses.first().context("no address")?;
    light::run(device, tls, true).await?;
    let channel = Endpoint::from_shared(format!("http://{people}"))?.connect().await?;
    let mut door = Door { chats: ChatServiceClient::new(channel), token };
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("http://{address}/v1/chat/completions");

    let (short, long) = (filled(&backend, 10).await?, filled(&backend, 200).await?);
    let (mut of_short, mut of_long, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (chats, times) in [(&short, &mut of_short), (&long, &mut of_long)] {
            let orion = turns(&mut door, chats, &seen, &mut starts).await?;
            let bodies = locked(&seen).bodies.clone();
            times.push((orion, bare(&client, &url, &bodies).await?));
        }
    }
    shutdown.cancel();
    serving.await??;
    println!(
        "\na chat of two rounds with one call; the model answers at once; medians of {ROUNDS}, with spread"
    );
    println!("{:<34}{:>14}{:>14}{:>14}", "", "orion, µs", "bare loop, µs", "own time, µs");
    let short = row("a round in a chat of 10 messages", &of_short);
    let long = row("a round in a chat of 200 messages", &of_long);
    let both = || of_short.iter().zip(&of_long);
    let ratio = ratio_row("200 messages instead of 10", both().map(|(one, two)| two.0 / one.0));
    let own = |(orion, bare): &(f64, f64)| orion - bare;
    let own = ratio_row("the same of its own time", both().map(|(one, two)| own(two) / own(one)));
    let (start, least, most) = median(starts);
    println!("{:<34}{start:>14.0} ({least:.0}–{most:.0})", "model's last byte to device, µs");
    Ok(json!({"round_of_10": short, "round_of_200": long, "ratio": ratio, "own_ratio": own,
        "to_device_us": start}))
}

/// Prints and returns the microseconds of a round, of the bare loop, and what is Orion's own of it. A turn has two
/// rounds.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn row(what: &str, turns: &[(f64, f64)]) -> Value {
    let half = |of: fn(&(f64, f64)) -> f64| median(turns.iter().map(|it| of(it) / 2.0).collect()).0;
    let (orion, bare, own) = (half(|it| it.0), half(|it| it.1), half(|it| it.0 - it.1));
    println!("{what:<34}{orion:>14.0}{bare:>14.0}{own:>14.0}");
    json!({"orion_us": orion, "bare_us": bare, "own_us": own})
}

/// Prints and returns a ratio with its spread.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn ratio_row(what: &str, ratios: impl Iterator<Item = f64>) -> Value {
    let (ratio, least, most) = median(ratios.collect());
    println!("{what:<34}{ratio:>14.2} ({least:.2}–{most:.2})");
    json!({"median": ratio, "least": least, "most": most})
}

struct Door {
    chats: ChatServiceClient<Channel>,
    token: String,
}

impl Door {
    async fn say(&mut self, chat: ConversationId) -> anyhow::Result<()> {
        let mut request = tonic::Request::new(v1::SendMessageRequest {
            conversation_id: chat.to_string(),
            text: "what time is it".to_owned(),
            ..Default::default()
        });
        let value = MetadataValue::try_from(format!("Bearer {}", self.token))?;
        request.metadata_mut().insert("authorization", value);
        let mut events = self.chats.send_message(request).await?.into_inner();
        while let Some(v1::SendMessageResponse { event }) = events.message().await? {
            if let Some(Event::Done(done)) = event {
                if done.tools_used.len() != 1 {
                    bail!("a turn made {} calls", done.tools_used.len());
                }
                return Ok(());
            }
        }
        bail!("a turn did not end")
    }
}

/// Creates chats with this many messages each, one for each turn, so that none grows.
async fn filled(backend: &Backend, messages: usize) -> anyhow::Result<Vec<ConversationId>> {
    let user = "admin".parse()?;
    let mut chats = Vec::new();
    for _ in 0..TURNS {
        let chat = ConversationId::new(new_uuid());
        backend.store.create_conversation(chat, &user, now_ms()).await?;
        for number in 0..messages {
            let text = "some words that were said before ".repeat(5);
            let (role, message) = match number % 2 {
                0 => ("user", Message::user(text)),
                _ => ("assistant", Message::assistant(text, Vec::new())),
            };
            let content = serde_json::to_string(&message)?;
            let turn = TurnId::new(new_uuid());
            backend.store.append_message(chat, turn, (role, &content), now_ms()).await?;
        }
        chats.push(chat);
    }
    Ok(chats)
}

/// Returns the microseconds of a turn.
async fn turns(
    door: &mut Door,
    chats: &[ConversationId],
    seen: &Shared,
    starts: &mut Vec<f64>,
) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for chat in chats {
        locked(seen).bodies.clear();
        let began = Instant::now();
        door.say(*chat).await?;
        times.push(micros(began.elapsed()));
        if let (Some(called), Some(started)) = (locked(seen).called_at, light::dispatched()) {
            starts.push(micros(started.saturating_duration_since(called)));
        }
    }
    Ok(median(times).0)
}

/// Returns the microseconds of the same requests without anything between them.
async fn bare(client: &reqwest::Client, url: &str, bodies: &[Vec<u8>]) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..TURNS {
        let began = Instant::now();
        for body in bodies {
            client.post(url).body(body.clone()).send().await?.bytes().await?;
        }
        times.push(micros(began.elapsed()));
    }
    Ok(median(times).0)
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Starts a model that calls a tool once and then answers.
async fn model() -> anyhow::Result<(String, Shared)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let seen = Shared::default();
    let shared = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let seen = Arc::clone(&shared);
            tokio::spawn(async move {
                // Ends when the caller closes its connection.
                let _ = answer(stream, &seen).await;
            });
        }
    });
    Ok((address, seen))
}

async fn answer(mut stream: TcpStream, seen: &Shared) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = Vec::new();
    loop {
        let (head, length) = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
                let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
                break (end + 4, length.context("no length")?.parse::<usize>()?);
            }
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        };
        while bytes.len() < head + length {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
        }
        let rest = bytes.split_off(head + length);
        let body = bytes.split_off(head);
        bytes = rest;
        let asked: Value = serde_json::from_slice(&body)?;
        let is_result = asked["messages"]
            .as_array()
            .and_then(|it| it.last())
            .is_some_and(|it| it["role"] == "tool");
        let delta = if is_result {
            json!({"content": "It is midnight."})
        } else {
            json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "get_datetime", "arguments": "{\"device\":\"bench-0\"}"}}]})
        };
        let event = json!({"choices": [{"delta": delta, "finish_reason": "stop"}]});
        let text = format!("data: {event}\n\ndata: [DONE]\n\n");
        let length = text.len();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream";
        stream
            .write_all(format!("{head}\r\nContent-Length: {length}\r\n\r\n{text}").as_bytes())
            .await?;
        let mut seen = locked(seen);
        seen.bodies.push(body);
        if !is_result {
            seen.called_at = Some(Instant::now());
        }
    }
}
