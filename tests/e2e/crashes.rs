//! kill -9 of either side in the middle of calls: every call comes to an end on the record, and
//! nothing is done twice.

mod told;

use std::collections::BTreeMap;
use std::time::Duration;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Device, Tree, World, audit_of, eventually};
use orion_wire::v1;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tonic::Status;

fn request(tool: &str, arguments: &Value) -> v1::CallToolRequest {
    v1::CallToolRequest {
        tool: tool.to_owned(),
        device: "kiosk".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        ..Default::default()
    }
}

type Asking = JoinHandle<Result<Call, Status>>;

fn calling(world: &World, request: v1::CallToolRequest) -> Asking {
    let admin = world.admin().clone();
    tokio::spawn(async move { admin.ask(request).await })
}

/// The newest rows of the audit, the last one first.
async fn newest(world: &World, limit: u32) -> Vec<v1::AuditRow> {
    let request = v1::ListAuditRequest { limit, ..Default::default() };
    world.admin().audit().list_audit(request).await.unwrap().into_inner().rows
}

/// The calls on the record by id, oldest first.
async fn calls(world: &World) -> Vec<Call> {
    let mut calls = Vec::new();
    for row in newest(world, 1000).await.iter().rev().filter(|row| row.kind == "call.opened") {
        calls.push(world.admin().recorded(&row.call_id).await.unwrap());
    }
    calls
}

/// A call that was made and is on record, and its id.
async fn opened(world: &World, request: v1::CallToolRequest) -> (Asking, String) {
    let after = newest(world, 1).await.first().map_or(0, |row| row.seq);
    let asking = calling(world, request);
    let call_id = eventually("a call on record", async || {
        let rows = newest(world, 50).await;
        let opened = rows.into_iter().find(|row| row.seq > after && row.kind == "call.opened");
        opened.map(|row| row.call_id)
    })
    .await;
    (asking, call_id)
}

/// The same, sent to a device that is frozen.
async fn sent(world: &World, request: v1::CallToolRequest) -> (Asking, String) {
    let opened = opened(world, request).await;
    leaves_the_backend().await;
    opened
}

/// What is on record may not have left the backend yet, and a frozen device cannot say that it came. This is
/// long for it.
async fn leaves_the_backend() {
    sleep(Duration::from_millis(500)).await;
}

async fn kinds(world: &World, call_id: &str) -> Vec<String> {
    audit_of(world.admin(), call_id).await.into_iter().map(|row| row.kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backend_dies_in_the_middle_of_a_call_and_is_told_later_how_it_ended() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.agent().freeze();
    let arguments = json!({"path": "log", "content": "once\n", "append": true});
    let (asking, call_id) = sent(&world, request("write_file", &arguments)).await;
    world.server().kill9().await;
    asking.await.unwrap().expect_err("an answer from a backend that is dead");

    world.restart_server().await;
    let unknown = world.admin().recorded(&call_id).await.unwrap();
    assert_eq!(unknown.end(), (CallState::Unknown, Some(ErrorCode::OutcomeUnknown)));
    kiosk.agent().thaw();
    let known = eventually("the truth", async || {
        let call = world.admin().recorded(&call_id).await.ok()?;
        (call.state != CallState::Unknown).then_some(call)
    })
    .await;
    assert_eq!(
        *known.data(),
        json!({"path": kiosk.path("log"), "size_bytes": 5, "mode": "append", "created": true})
    );
    assert_eq!(kinds(&world, &call_id).await, ["call.opened", "call.closed", "call.reconciled"]);
    assert_eq!(kiosk.tree(), Tree::from([("log".to_owned(), Some("once\n".to_owned()))]));
}

/// One line added to a file of its own: run twice, it would be there twice.
fn append_once(number: usize) -> v1::CallToolRequest {
    let path = format!("log-{number}");
    request("write_file", &json!({"path": path, "content": "once\n", "append": true}))
}

/// A call that was sent to a device which died before it arrived, and its id.
async fn lost(world: &World, kiosk: &Device) -> (Asking, String) {
    kiosk.agent().freeze();
    let sent = sent(world, append_once(1)).await;
    kiosk.agent().kill9().await;
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backend_dies_under_many_calls_and_each_is_done_at_most_once() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asking: Vec<_> = (0..40).map(|number| calling(&world, append_once(number))).collect();
    // Some are done, some under way, some not yet sent.
    eventually("the first files", async || (kiosk.tree().len() > 5).then_some(())).await;
    world.server().kill9().await;
    for one in asking {
        let _ = one.await.unwrap();
    }
    world.restart_server().await;
    kiosk.ready().await;
    // What was done becomes known, and so does what never reached the device.
    eventually("the end of every call", async || {
        let calls = calls(&world).await;
        calls.iter().all(|call| call.state != CallState::Unknown).then_some(())
    })
    .await;
    assert_done_once(&kiosk, &calls(&world).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_dies_under_many_calls_and_each_is_done_at_most_once() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asking: Vec<_> = (0..40)
        .map(|number| {
            calling(&world, v1::CallToolRequest { timeout_ms: 20_000, ..append_once(number) })
        })
        .collect();
    eventually("the first answers", async || {
        let calls = calls(&world).await;
        calls.iter().any(|call| call.state == CallState::Succeeded).then_some(())
    })
    .await;
    kiosk.agent().kill9().await;
    kiosk.run().await;
    let mut answered = Vec::new();
    for one in asking {
        answered.push(one.await.unwrap().unwrap());
    }
    // Those that never began were sent again, as far as there was time.
    assert!(answered.iter().all(|call| call.state.is_closed()), "{answered:?}");
    assert_done_once(&kiosk, &calls(&world).await);
}

fn path_of(call: &Call) -> &str {
    call.arguments["path"].as_str().unwrap()
}

/// What succeeded is there once; what is not known is there once or not at all.
fn assert_done_once(device: &Device, calls: &[Call]) {
    let files = device.tree();
    let mut states = BTreeMap::new();
    for call in calls {
        *states.entry(call.state).or_insert(0) += 1;
        let file = files.get(path_of(call));
        match call.state {
            CallState::Succeeded => {
                assert_eq!(file, Some(&Some("once\n".to_owned())), "{call:?}");
            }
            CallState::Unknown => {
                assert!(file.is_none_or(|text| *text == Some("once\n".to_owned())), "{call:?}");
            }
            CallState::Failed | CallState::TimedOut => assert_eq!(file, None, "{call:?}"),
            CallState::Received
            | CallState::Denied
            | CallState::AwaitingApproval
            | CallState::Queued
            | CallState::Dispatched
            | CallState::Running
            | CallState::Refused
            | CallState::Cancelled => panic!("{call:?}"),
        }
    }
    assert!(states.contains_key(&CallState::Succeeded), "{states:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_dies_while_it_writes_and_says_honestly_what_it_knows() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let before = "0123456789abcde\n".repeat(2 * 1024 * 1024);
    for round in 0..3 {
        let name = format!("big-{round}");
        kiosk.write_file(&name, &before);
        let arguments = json!({"path": name, "content": "once\n", "append": true});
        let (asking, call_id) = opened(&world, request("write_file", &arguments)).await;
        eventually("the call in the journal", async || {
            let journal = std::fs::read(kiosk.state_dir().join("journal.log")).ok()?;
            String::from_utf8_lossy(&journal).contains(&call_id).then_some(())
        })
        .await;
        kiosk.agent().kill9().await;
        kiosk.run().await;
        let call = asking.await.unwrap().unwrap();
        let content = std::fs::read_to_string(kiosk.files().join(&name)).unwrap();
        let (unchanged, once) = (content == before, content == format!("{before}once\n"));
        if call.state == CallState::Succeeded {
            assert!(once, "it did not happen, or not once");
        } else {
            assert_eq!(call.end(), (CallState::Unknown, Some(ErrorCode::OutcomeUnknown)));
            assert!(unchanged || once, "half of it happened, or twice");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_dies_before_it_began_leaves_an_honest_record() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.agent().freeze();
    let request = request("create_directory", &json!({"path": "x"}));
    let request = v1::CallToolRequest { timeout_ms: 500, ..request };
    let (asking, call_id) = sent(&world, request).await;
    kiosk.agent().kill9().await;
    let call = asking.await.unwrap().unwrap();
    assert_eq!(call.end(), (CallState::Unknown, Some(ErrorCode::OutcomeUnknown)));
    assert_eq!(call.id, call_id);
    kiosk.run().await;
    let known = eventually("the truth", async || {
        let call = world.admin().recorded(&call_id).await.ok()?;
        (call.state != CallState::Unknown).then_some(call)
    })
    .await;
    assert_eq!(known.end(), (CallState::Failed, Some(ErrorCode::DeviceOffline)));
    assert_eq!(known.error().details["established"], "never_ran");
    assert_eq!(kinds(&world, &call_id).await, ["call.opened", "call.closed", "call.reconciled"]);
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_lost_on_its_way_is_sent_again_within_its_time() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (asking, call_id) = lost(&world, &kiosk).await;
    kiosk.run().await;
    let call = asking.await.unwrap().unwrap();
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    assert_eq!(kinds(&world, &call_id).await, ["call.opened", "call.sent_again", "call.closed"]);
    assert_eq!(kiosk.tree(), Tree::from([("log-1".to_owned(), Some("once\n".to_owned()))]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_lost_on_its_way_is_not_sent_again_where_it_may_not_run_any_more() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (asking, _) = lost(&world, &kiosk).await;
    kiosk.offline().await;
    let text = "version: 1\nrules:\n  - {id: no, tools: [write_file], action: deny}\n".to_owned();
    let policy = v1::ApplyPolicyRequest { text, expected_version: -1, note: String::new() };
    world.admin().policy().apply_policy(policy).await.unwrap();
    kiosk.run().await;
    let call = asking.await.unwrap().unwrap();
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{call:?}");
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_cancelled_while_the_link_is_lost_is_not_sent_again() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (asking, call_id) = lost(&world, &kiosk).await;
    kiosk.offline().await;
    let request = v1::CancelCallRequest { call_id };
    world.admin().tools().cancel_call(request).await.unwrap();
    kiosk.run().await;
    let call = asking.await.unwrap().unwrap();
    assert_eq!(call.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)), "{call:?}");
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_outlives_the_one_who_asked() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.agent().freeze();
    let request = request("create_directory", &json!({"path": "x"}));
    let (asking, call_id) = opened(&world, request).await;
    asking.abort();
    let _ = asking.await;
    kiosk.agent().thaw();
    let call = world.admin().ended(&call_id).await.unwrap();
    assert_eq!(call.end(), (CallState::Succeeded, None));
    assert_eq!(kiosk.tree(), Tree::from([("x".to_owned(), None)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_cancelled_stops_on_the_device() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for folder in 0..60 {
        for file in 0..60 {
            kiosk.write_file(&format!("{folder}/{file}"), "");
        }
    }
    kiosk.agent().freeze();
    let request = request("search_files", &json!({"query": "none", "path": "."}));
    let (asking, call_id) = sent(&world, request).await;
    let request = v1::CancelCallRequest { call_id };
    world.admin().tools().cancel_call(request).await.unwrap();
    leaves_the_backend().await;
    kiosk.agent().thaw();
    let call = asking.await.unwrap().unwrap();
    assert_eq!(call.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_to_one_file_lose_nothing() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asking: Vec<_> = (0..12)
        .map(|number| {
            let arguments =
                json!({"path": "log", "content": format!("{number:02}\n"), "append": true});
            calling(&world, request("write_file", &arguments))
        })
        .collect();
    for one in asking {
        let call = one.await.unwrap().unwrap();
        assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    }
    let text = kiosk.tree().remove("log").flatten().unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, (0..12).map(|number| format!("{number:02}")).collect::<Vec<_>>());
}
