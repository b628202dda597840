//! A device that says 100 MB a second: results of calls that nobody made, and how far one call is.

use std::fmt;
use std::time::Duration;

use orion_domain::{Envelope, Meta};
use orion_tests::{Device, LyingAgent, World};
use orion_wire::v1;
use orion_wire::v1::link_request::Message;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How much is said, in bytes a second, and how often so much of it.
const RATE: usize = 100_000_000;
const EVERY: Duration = Duration::from_millis(10);
/// The size of one result and of one note, in bytes; and how many notes go with a result.
const RESULT: usize = 64 * 1024;
const NOTE: usize = 4 * 1024;
const NOTES: usize = 16;

/// How much the backend took.
pub(super) struct Taken {
    bytes: usize,
    during: Duration,
    cut_off: bool,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, during, cut_off } = self;
        let rate = *bytes as f64 / 1e6 / during.as_secs_f64();
        let end = if *cut_off { ", and then it was cut off" } else { "" };
        write!(f, "{rate:.0} MB/s taken of 100 said{end}")
    }
}

/// Connects the device from elsewhere, and floods the backend until `stop`, or until it is cut off.
pub(super) async fn begin(
    elsewhere: &Runtime,
    world: &World,
    device: Device,
    stop: CancellationToken,
) -> JoinHandle<Taken> {
    let (address, admin, name) =
        (world.device_address(), world.admin().clone(), device.name.clone());
    let connecting = elsewhere.spawn(async move {
        let agent = LyingAgent::connect(&device, &address, 1).await.unwrap();
        (device, agent)
    });
    let (device, mut agent) = connecting.await.unwrap();
    device.ready().await;
    // A call of which it tells how far it is, for ever.
    let asking = tokio::spawn(async move { admin.call(&name, "get_datetime", json!({})).await });
    elsewhere.spawn(async move {
        let call_id = agent.order().await.call_id;
        let voice = agent.voice();
        let hearing = tokio::spawn(async move { while let Ok(Some(_)) = agent.receive().await {} });
        let (began, mut bytes, mut cut_off) = (Instant::now(), 0, false);
        let mut ticks = interval(EVERY);
        // What was not taken in time is not said later.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let round = round(&call_id);
        let size = RESULT + NOTES * NOTE;
        'flooding: while !stop.is_cancelled() {
            ticks.tick().await;
            let mut said = 0;
            while said < RATE / 100 {
                for message in &round {
                    let message = v1::LinkRequest { message: Some(message.clone()) };
                    tokio::select! {
                        () = stop.cancelled() => break 'flooding,
                        sent = voice.send(message) => if sent.is_err() {
                            cut_off = true;
                            break 'flooding;
                        },
                    }
                }
                said += size;
                bytes += size;
            }
        }
        let during = began.elapsed();
        let meta = Meta { call_id: call_id.clone(), ..Meta::default() };
        let envelope = Envelope::success("It is late.", json!({}), false, meta);
        let end = result(&call_id, serde_json::to_vec(&envelope).unwrap());
        drop(voice.send(v1::LinkRequest { message: Some(end) }).await);
        drop(asking.await);
        hearing.abort();
        Taken { bytes, during, cut_off }
    })
}

/// What is said over and over.
fn round(call_id: &str) -> Vec<Message> {
    let note = |done| v1::CallProgress {
        call_id: call_id.to_owned(),
        done,
        total: NOTES as u64,
        note: "n".repeat(NOTE),
    };
    let notes = (0..NOTES as u64).map(|done| Message::CallProgress(note(done)));
    let result = result(&uuid::Uuid::now_v7().to_string(), vec![b'x'; RESULT]);
    std::iter::once(result).chain(notes).collect()
}

fn result(call_id: &str, result: Vec<u8>) -> Message {
    Message::CallResult(v1::CallResult {
        call_id: call_id.to_owned(),
        state: v1::CallState::Succeeded.into(),
        result: result.into(),
        ..Default::default()
    })
}
