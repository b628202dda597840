//! An agent that dies again and again under calls: each call is done once or not at all, as is said of it.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use orion_domain::CallState;
use orion_tests::{Call, Client, World};
use orion_wire::v1;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::laptop::{FILES, Laptop};

/// Who calls, each into a file of their own.
const CALLERS: [&str; 3] = ["one", "two", "three"];
const KILLS: usize = 6;
/// How long calls are made at most.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a call waits for a device that is away.
const QUEUE_MS: u64 = 60_000;

/// Makes one call after the other, each of which adds a line with its number, until it is over and more of them
/// succeeded than there were kills.
async fn add_lines(client: &Client, name: &str, is_over: &AtomicBool) -> Vec<Call> {
    let mut calls = Vec::new();
    let until = Instant::now() + LONGEST;
    while Instant::now() < until && (!is_over.load(Ordering::Acquire) || done(&calls) <= KILLS) {
        let arguments = json!({
            "path": format!("{FILES}/{name}.txt"),
            "content": format!("{}\n", calls.len()),
            "append": true,
        });
        let request = v1::CallToolRequest {
            tool: "write_file".to_owned(),
            device: "laptop".to_owned(),
            arguments: arguments.to_string().into_bytes().into(),
            queue: true,
            queue_ms: QUEUE_MS,
            ..Default::default()
        };
        let asked = client.ask(request).await.unwrap();
        calls.push(client.ended(&asked.id).await.unwrap());
        // A person is not faster, and the record of a test need not be long.
        sleep(Duration::from_millis(5)).await;
    }
    calls
}

fn done(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.state == CallState::Succeeded).count()
}

/// Returns how often the line of a call is to be there, by what is said of the call.
fn times(call: &Call) -> RangeInclusive<usize> {
    if call.state == CallState::Succeeded {
        return 1..=1;
    }
    if call.state != CallState::Unknown {
        return 0..=0;
    }
    match call.error().details.get("established").and_then(|it| it.as_str()) {
        Some("changed") => 1..=1,
        Some("unchanged") => 0..=0,
        _ => 0..=1,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_done_once_and_told_as_they_were_while_the_agent_dies() {
    let world = World::new().await;
    let Some(mut laptop) = Laptop::new(&world).await else { return };
    let is_over = AtomicBool::new(false);
    let dying = async {
        for kill in (0..).take(KILLS) {
            sleep(Duration::from_millis(300) + Duration::from_millis(37) * kill).await;
            laptop.crash().await;
        }
        sleep(Duration::from_millis(300)).await;
        is_over.store(true, Ordering::Release);
    };
    let calling = CALLERS.map(|name| add_lines(world.admin(), name, &is_over));
    let (all, ()) = tokio::join!(futures_util::future::join_all(calling), dying);

    for (name, calls) in CALLERS.iter().zip(&all) {
        let text = std::fs::read_to_string(laptop.file(&format!("{name}.txt"))).unwrap();
        let mut found = 0;
        for (number, call) in calls.iter().enumerate() {
            let here = text.lines().filter(|line| *line == number.to_string()).count();
            assert!(times(call).contains(&here), "{name} {number} is there {here} times: {call:?}");
            found += here;
        }
        assert_eq!(found, text.lines().count(), "a line of no call in {name}.txt");
        assert!(done(calls) > KILLS, "{} of {} calls", done(calls), calls.len());
    }
    let names: Vec<_> = laptop.tree().into_keys().collect();
    assert_eq!(names, ["one.txt", "three.txt", "two.txt"], "something is left\n{}", laptop.log());
}
