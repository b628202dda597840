//! The lines on the devices against the record of the backend.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use orion_domain::{CallState, Envelope};
use orion_tests::{World, open_record};
use serde_json::Value;
use sqlx::Connection as _;
use tokio::time::{Instant, sleep};

use super::callers::{key, line};
use super::{FILES, Ground, Place};

/// How much of what is wrong is told.
const TELL: usize = 40;

/// See the module.
pub(super) struct Reckoning {
    /// How many calls ended how.
    pub(super) states: BTreeMap<String, usize>,
    /// Whatever does not join; empty where nothing was lost and nothing done twice.
    pub(super) wrong: Vec<String>,
}

/// A call as it stands in the record.
struct Row {
    id: String,
    key: String,
    device: String,
    state: CallState,
    envelope: Option<Envelope>,
    /// Whether the device said after the backend did that it does not know either.
    reported_late: bool,
}

impl Row {
    /// What the device itself says of a call that was cut off when it died. What the backend says
    /// where it has not heard of the device does not count.
    fn says_the_device(&self) -> bool {
        let error = self.envelope.as_ref().and_then(|envelope| envelope.error.as_ref());
        self.reported_late || error.is_some_and(|error| error.details.contains_key("idempotent"))
    }

    fn is_final(&self) -> bool {
        match self.state {
            CallState::Unknown => self.says_the_device(),
            CallState::Received
            | CallState::AwaitingApproval
            | CallState::Queued
            | CallState::Dispatched
            | CallState::Running => false,
            CallState::Denied
            | CallState::Succeeded
            | CallState::Failed
            | CallState::Refused
            | CallState::TimedOut
            | CallState::Cancelled => true,
        }
    }

    /// Whether its line must be there; none where nobody can know.
    fn is_done(&self) -> Option<bool> {
        match self.state {
            CallState::Succeeded => Some(true),
            CallState::Unknown => {
                let error = self.envelope.as_ref()?.error.as_ref()?;
                match error.details.get("established")?.as_str()? {
                    "changed" => Some(true),
                    "unchanged" => Some(false),
                    _ => None,
                }
            }
            CallState::Received
            | CallState::AwaitingApproval
            | CallState::Queued
            | CallState::Dispatched
            | CallState::Running
            | CallState::Denied
            | CallState::Failed
            | CallState::Refused
            | CallState::TimedOut
            | CallState::Cancelled => Some(false),
        }
    }

    fn told(&self) -> String {
        let said = self.envelope.as_ref().map(|envelope| envelope.message.as_str());
        format!("{} on {} ({}): {}, {said:?}", self.key, self.device, self.id, self.state)
    }
}

async fn rows(world: &World, only_open: bool) -> Vec<Row> {
    let mut record = open_record(&world.database()).await;
    type Found = (String, Option<String>, Option<String>, String, Option<Vec<u8>>, bool);
    let found: Vec<Found> = sqlx::query_as(
        "SELECT id, idempotency_key, device_name, state, result, id IN (SELECT call_id FROM audit \
         WHERE kind = 'call.late_result' AND body ->> '$.state' = 'unknown') FROM calls WHERE NOT $1 \
         OR state NOT IN ('denied', 'succeeded', 'failed', 'refused', 'timed_out', 'cancelled') \
         ORDER BY id",
    )
    .bind(only_open)
    .fetch_all(&mut record)
    .await
    .unwrap();
    record.close().await.unwrap();
    found
        .into_iter()
        .map(|(id, key, device, state, result, reported_late)| Row {
            reported_late,
            id,
            key: key.unwrap_or_default(),
            device: device.unwrap_or_default(),
            state: state.parse().unwrap(),
            envelope: result.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        })
        .collect()
}

/// Waits until every call has come to its end, and tells those that have not.
pub(super) async fn settle(world: &World, within: Duration) -> Vec<String> {
    let deadline = Instant::now() + within;
    loop {
        let mut open = rows(world, true).await;
        open.retain(|row| !row.is_final());
        if open.is_empty() || Instant::now() > deadline {
            return open.iter().map(|row| format!("no end: {}", row.told())).collect();
        }
        sleep(Duration::from_millis(250)).await;
    }
}

/// Holds what the backend noted against what each device noted, as an auditor would who has only the
/// exports, and tells in how many calls both agree.
pub(super) async fn join(ground: &Ground) -> Value {
    let world = &ground.world;
    let exported = world.cli().run(&["audit", "export", "--file", "audit.jsonl"]).await;
    assert_eq!(exported.code, 0, "{exported:?}");
    let key = world.cli().run(&["audit", "key"]).await.stdout;
    let mut words = ["audit", "verify", "--file", "audit.jsonl", "-o", "json", "--key", key.trim()]
        .map(str::to_owned)
        .to_vec();
    for Place { device, .. } in &ground.places {
        let file = world.folder().join(format!("{}.jsonl", device.name)).display().to_string();
        let exporting = device.agent_command(&["audit", "export", "--file", &file]);
        assert_eq!(exporting.exit_code().await, 0, "{}", exporting.log());
        words.extend(["--device".to_owned(), file]);
    }
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let verified = world.cli().run(&words).await;
    assert_eq!(verified.code, 0, "{verified:?}");
    verified.json()
}

impl Reckoning {
    /// Takes stock, with what never ended.
    pub(super) async fn make(ground: &Ground, calls: usize, open: Vec<String>) -> Self {
        let (mut states, mut wrong) = (BTreeMap::new(), open);
        let mut lines = lines(ground);
        let rows = rows(&ground.world, false).await;
        let mut numbers: BTreeMap<String, usize> = (0..calls).map(|n| (key(n), n)).collect();
        for row in &rows {
            let error = row.envelope.as_ref().and_then(|envelope| envelope.error.as_ref());
            let mut state = row.state.to_string();
            if let Some(error) = error.filter(|_| row.state != CallState::Cancelled) {
                write!(state, " {}", error.code).unwrap();
            }
            if row.state == CallState::Unknown {
                state += match row.is_done() {
                    Some(true) => " (and changed)",
                    Some(false) => " (and unchanged)",
                    None => "",
                };
            }
            *states.entry(state).or_insert(0) += 1;
            let Some(number) = numbers.remove(&row.key) else {
                wrong.push(format!("nobody's, or twice: {}", row.told()));
                continue;
            };
            let found = lines.remove(&line(number)).unwrap_or_default();
            let elsewhere = found.iter().any(|device| *device != row.device);
            match (row.is_done(), found.len()) {
                _ if elsewhere => wrong.push(format!("done on {found:?}: {}", row.told())),
                (Some(true), 0) => wrong.push(format!("not done: {}", row.told())),
                (Some(false), 1) => wrong.push(format!("done all the same: {}", row.told())),
                (_, 2..) => wrong.push(format!("done {} times: {}", found.len(), row.told())),
                (Some(true) | None, 1) | (Some(false) | None, 0) => {}
            }
        }
        wrong.extend(numbers.into_keys().map(|key| format!("not on the record: {key}")));
        wrong.extend(lines.into_keys().map(|line| format!("a line of no call: {line:?}")));
        let more = wrong.len().saturating_sub(TELL);
        wrong.truncate(TELL);
        if more > 0 {
            wrong.push(format!("and {more} more"));
        }
        Self { states, wrong }
    }
}

/// Every line of every device, with the devices that have it, each as often as they do.
fn lines(ground: &Ground) -> BTreeMap<String, Vec<String>> {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for place in &ground.places {
        for file in 0..FILES {
            let path = place.device.files().join(format!("log-{file:02}"));
            let text = std::fs::read_to_string(path).unwrap_or_default();
            for line in text.split_terminator('\n') {
                lines.entry(line.to_owned()).or_default().push(place.device.name.clone());
            }
        }
    }
    lines
}
