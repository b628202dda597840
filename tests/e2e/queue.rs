//! Calls that wait for a device that is away: they survive restarts, end at their time, can be
//! stopped, and are judged anew before they run.

mod lines;
mod raised;

use std::time::Duration;

use orion_domain::{CallState, Envelope, ErrorCode, Meta, Role};
use orion_tests::{Call, Client, LyingAgent, Tree, World, audit_of, eventually, open_record};
use orion_wire::v1;
use orion_wire::v1::link_request::Message;
use serde_json::json;
use sqlx::Connection as _;

/// A folder to be made once the device is back.
fn folder(name: &str) -> v1::CallToolRequest {
    v1::CallToolRequest {
        tool: "create_directory".to_owned(),
        device: "kiosk".to_owned(),
        arguments: json!({"path": name}).to_string().into_bytes().into(),
        queue: true,
        ..Default::default()
    }
}

/// A folder to be deleted then, which a person is asked about.
fn deletion(name: &str) -> v1::CallToolRequest {
    let arguments = json!({"path": name, "recursive": true, "confirm": true});
    v1::CallToolRequest {
        tool: "delete_directory".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        ..folder("")
    }
}

async fn queue(person: &Client, request: v1::CallToolRequest) -> Call {
    let call = person.ask(request).await.unwrap();
    assert_eq!(call.end(), (CallState::Queued, Some(ErrorCode::DeviceOffline)), "{call:?}");
    call
}

fn made(names: &[&str]) -> Tree {
    names.iter().map(|name| ((*name).to_owned(), None)).collect()
}

/// A call that waited and wants a person, now that its device is back.
async fn asked_by_now(world: &World, call: &Call) -> Call {
    eventually("a person to be asked", async || {
        let call = world.admin().recorded(&call.id).await.ok()?;
        (call.state == CallState::AwaitingApproval).then_some(call)
    })
    .await
}

async fn kinds(world: &World, call: &Call) -> Vec<String> {
    audit_of(world.admin(), &call.id).await.into_iter().map(|row| row.kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_device_survives_a_restart_and_runs_once_when_it_is_back() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.stop().await;
    let without = v1::CallToolRequest { queue: false, ..folder("none") };
    let refused = world.admin().ask(without).await.unwrap();
    assert_eq!(refused.end(), (CallState::Failed, Some(ErrorCode::DeviceOffline)));

    let keyed = v1::CallToolRequest { idempotency_key: "one".to_owned(), ..folder("a") };
    let first = queue(world.admin(), keyed.clone()).await;
    let second = queue(world.admin(), folder("b")).await;
    assert_eq!(queue(world.admin(), keyed).await.id, first.id, "the same key is the same call");

    world.server().kill9().await;
    world.restart_server().await;
    let request = v1::ListCallsRequest { open: true, ..Default::default() };
    let open = world.admin().tools().list_calls(request).await.unwrap().into_inner().calls;
    let ids: Vec<_> = open.iter().map(|call| call.call_id.as_str()).collect();
    assert_eq!(ids, [second.id.as_str(), first.id.as_str()]);
    assert!(open.iter().all(|call| call.queued_until > call.created_at), "{open:?}");

    kiosk.run().await;
    for call in [&first, &second] {
        let done = world.admin().ended(&call.id).await.unwrap();
        assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
        assert_eq!(kinds(&world, call).await, ["call.opened", "call.closed"]);
    }
    assert_eq!(kiosk.tree(), made(&["a", "b"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_can_be_stopped_runs_out_and_does_not_run_afterwards() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.stop().await;
    let stopped = queue(world.admin(), folder("stopped")).await;
    let request = v1::CancelCallRequest { call_id: stopped.id.clone() };
    world.admin().tools().cancel_call(request).await.unwrap();
    let late = queue(world.admin(), v1::CallToolRequest { queue_ms: 300, ..folder("late") }).await;
    let late = world.admin().ended(&late.id).await.unwrap();
    assert_eq!(late.end(), (CallState::TimedOut, Some(ErrorCode::Timeout)), "{late:?}");
    let last = queue(world.admin(), folder("last")).await;
    kiosk.run().await;
    world.admin().ended(&last.id).await.unwrap();
    let stopped = world.admin().recorded(&stopped.id).await.unwrap();
    assert_eq!(stopped.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)));
    assert_eq!(kiosk.tree(), made(&["last"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ran_out_while_the_backend_was_down_does_not_run_when_both_are_back() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.stop().await;
    let late = queue(world.admin(), v1::CallToolRequest { queue_ms: 1, ..folder("late") }).await;
    world.server().kill9().await;
    let _agent = kiosk.launch();
    world.restart_server().await;
    kiosk.ready().await;
    let late = world.admin().ended(&late.id).await.unwrap();
    assert_eq!(late.end(), (CallState::TimedOut, Some(ErrorCode::Timeout)), "{late:?}");
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waited_is_judged_by_what_holds_when_it_is_sent() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let bob = world.person("bob", Role::Operator).await;
    kiosk.stop().await;
    let of_bob = queue(&bob, folder("of-bob")).await;
    let forbidden = queue(world.admin(), folder("forbidden")).await;
    let asked = queue(world.admin(), folder("asked")).await;
    let free = queue(world.admin(), folder("free")).await;

    let rule = |id: &str, action: &str| {
        let path = kiosk.path(id);
        format!(
            "  - {{id: {id}, tools: [create_directory], paths: [\"{path}\"], action: {action}}}\n"
        )
    };
    let text = format!("version: 1\nrules:\n{}{}", rule("forbidden", "deny"), rule("asked", "ask"));
    let policy = v1::ApplyPolicyRequest { text, expected_version: -1, note: String::new() };
    world.admin().policy().apply_policy(policy).await.unwrap();
    let gone = v1::DisableUserRequest { user: "bob".to_owned() };
    world.admin().auth().disable_user(gone).await.unwrap();

    kiosk.run().await;
    let asked = asked_by_now(&world, &asked).await;
    world.admin().decide(asked.approval_id(), false, "").await.unwrap();
    let mut ends = Vec::new();
    for call in [of_bob, forbidden, asked, free] {
        ends.push(world.admin().ended(&call.id).await.unwrap().end());
    }
    assert_eq!(
        ends,
        [
            (CallState::Denied, Some(ErrorCode::PermissionDenied)),
            (CallState::Denied, Some(ErrorCode::PermissionDenied)),
            (CallState::Denied, Some(ErrorCode::ApprovalRejected)),
            (CallState::Succeeded, None),
        ]
    );
    assert_eq!(kiosk.tree(), made(&["free"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_is_not_spent_before_the_device_is_there() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "12345");
    let asked = world.admin().ask(deletion("old")).await.unwrap();
    assert_eq!(asked.end(), (CallState::AwaitingApproval, Some(ErrorCode::ApprovalRequired)));
    kiosk.stop().await;
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    eventually("the approved call to wait for its device", async || {
        let call = world.admin().recorded(&asked.id).await.ok()?;
        (call.state == CallState::Queued).then_some(())
    })
    .await;
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.run().await;
    let done = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_than_so_many_calls_wait_for_a_device() {
    let world = World::configured("[calls]\nqueued_per_device = 3\nqueue = true\n").await;
    let kiosk = world.device("kiosk").start().await;
    std::fs::create_dir(kiosk.files().join("old")).unwrap();
    let asked = world.admin().ask(deletion("old")).await.unwrap();
    kiosk.stop().await;
    // The configuration lets calls wait that do not say so.
    let unsaid = |name| v1::CallToolRequest { queue: false, ..folder(name) };
    for name in ["a", "b", "c"] {
        queue(world.admin(), unsaid(name)).await;
    }
    let full = world.admin().ask(unsaid("d")).await.unwrap();
    assert_eq!(full.error().code, ErrorCode::ResourceExhausted, "{full:?}");
    // Nor do more wait that a person said yes to.
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let full = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(full.error().code, ErrorCode::ResourceExhausted, "{full:?}");
    assert!(full.error().message.contains("its queue is full (3 calls)"), "{full:?}");
    let preview = v1::CallToolRequest { dry_run: true, ..folder("e") };
    let preview = world.admin().ask(preview).await.unwrap();
    assert_eq!(preview.end(), (CallState::Failed, Some(ErrorCode::DeviceOffline)));
    kiosk.run().await;
    eventually("all that waited", async || {
        (kiosk.tree() == made(&["a", "b", "c", "old"])).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_person_does_not_take_all_places_of_those_who_wait() {
    let world = World::configured("[calls]\nqueued_per_person = 2\n").await;
    let (kiosk, laptop) =
        (world.device("kiosk").start().await, world.device("laptop").start().await);
    let bob = world.person("bob", Role::Operator).await;
    kiosk.stop().await;
    laptop.stop().await;
    queue(&bob, folder("a")).await;
    queue(&bob, v1::CallToolRequest { device: "laptop".to_owned(), ..folder("b") }).await;
    let full = bob.ask(folder("c")).await.unwrap();
    assert_eq!(full.error().code, ErrorCode::ResourceExhausted, "{full:?}");
    assert!(full.error().message.contains("bob has the maximum of 2 waiting calls"), "{full:?}");
    queue(world.admin(), folder("d")).await;
    kiosk.run().await;
    eventually("all that waited", async || (kiosk.tree() == made(&["a", "d"])).then_some(())).await;
    laptop.run().await;
    eventually("the other", async || (laptop.tree() == made(&["b"])).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_queued_with_a_token_is_not_run_once_that_is_taken_back_or_over() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    std::fs::create_dir(kiosk.files().join("old")).unwrap();
    let token = async |name: &str, valid_seconds| {
        let scopes = vec![v1::Scope::Call.into()];
        let (name, user) = (name.to_owned(), String::new());
        let request = v1::CreateTokenRequest { name, scopes, valid_seconds, user };
        let made = world.admin().auth().create_token(request).await.unwrap().into_inner();
        (world.admin().with_token(&made.secret), made.token.unwrap().expires_at)
    };
    let (lost, _) = token("lost", 3_600).await;
    let (short, over_at) = token("short", 10).await;
    let (good, _) = token("good", 3_600).await;
    let asked = lost.ask(deletion("old")).await.unwrap();
    kiosk.stop().await;
    let of_short = queue(&short, folder("of-short")).await;
    let of_lost = queue(&lost, folder("of-lost")).await;
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let of_good = queue(&good, folder("of-good")).await;
    let of_session = queue(world.admin(), folder("of-session")).await;
    let revoke = v1::RevokeTokenRequest { token: "lost".to_owned(), user: String::new() };
    world.admin().auth().revoke_token(revoke).await.unwrap();
    eventually("the end of the short token", async || {
        (orion_tests::now_ms() > over_at).then_some(())
    })
    .await;

    kiosk.run().await;
    let denied = (CallState::Denied, Some(ErrorCode::PermissionDenied));
    for call in [of_short, of_lost, asked] {
        let ended = world.admin().ended(&call.id).await.unwrap();
        assert_eq!(ended.end(), denied, "{ended:?}");
        assert!(ended.error().message.contains("the session or token that"), "{ended:?}");
    }
    for call in [of_good, of_session] {
        let ended = world.admin().ended(&call.id).await.unwrap();
        assert_eq!(ended.end(), (CallState::Succeeded, None), "{ended:?}");
    }
    assert_eq!(kiosk.tree(), made(&["of-good", "of-session", "old"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_depends_on_how_much_it_touches_waits_and_is_judged_when_the_device_can_tell() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("small/a.txt", "");
    for name in ["a", "b", "c", "d"] {
        kiosk.write_file(&format!("big/{name}.txt"), "");
    }
    let text = "version: 1\nrules:\n  - {id: much, tools: [copy_path], action: deny, above: {entries: 3}}\n";
    let policy =
        v1::ApplyPolicyRequest { text: text.to_owned(), expected_version: -1, note: String::new() };
    let applied = world.admin().policy().apply_policy(policy).await.unwrap().into_inner();
    assert!(applied.is_applied, "{:?}", applied.findings);
    kiosk.ready().await;
    kiosk.stop().await;
    let copy = async |from: &str| {
        let arguments = json!({"source": from, "destination": format!("{from}-copy")});
        let arguments = arguments.to_string().into_bytes().into();
        let tool = "copy_path".to_owned();
        queue(world.admin(), v1::CallToolRequest { tool, arguments, ..folder("") }).await
    };
    let (small, big, none) = (copy("small").await, copy("big").await, copy("none").await);
    kiosk.run().await;
    let ended = async |call: &Call| world.admin().ended(&call.id).await.unwrap();
    assert_eq!(ended(&small).await.end(), (CallState::Succeeded, None));
    let big = ended(&big).await;
    assert_eq!(big.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{big:?}");
    // What its device says of it is what is told.
    let none = ended(&none).await;
    assert_eq!(none.error().code, ErrorCode::PathNotFound, "{none:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_call_again_waits_for_its_own_time_though_the_first_one_waited_for_its_device() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    let agent = LyingAgent::connect(&kiosk, &world.device_address(), 1).await.unwrap();
    kiosk.ready().await;
    drop(agent);
    kiosk.offline().await;
    let keyed =
        v1::CallToolRequest { idempotency_key: "one".to_owned(), timeout_ms: 1_000, ..folder("a") };
    let first = queue(world.admin(), keyed.clone()).await;
    let made_at = orion_tests::now_ms();
    eventually("the time of a call made then to be over", async || {
        (orion_tests::now_ms() > made_at + 1_200).then_some(())
    })
    .await;
    let mut agent = LyingAgent::connect(&kiosk, &world.device_address(), 2).await.unwrap();
    assert_eq!(agent.order().await.call_id, first.id);
    let admin = world.admin().clone();
    let again = v1::CallToolRequest { timeout_ms: 30_000, ..keyed };
    let mut again = tokio::spawn(async move { admin.ask(again).await.unwrap() });
    let soon = tokio::time::timeout(Duration::from_millis(500), &mut again).await;
    assert!(soon.is_err(), "it did not wait: {soon:?}");
    let envelope = Envelope::success("Done.", json!({}), false, Meta::default());
    agent
        .say(Message::CallResult(v1::CallResult {
            call_id: first.id.clone(),
            state: v1::CallState::Succeeded.into(),
            result: serde_json::to_vec(&envelope).unwrap().into(),
            duration_us: 1,
            ..v1::CallResult::default()
        }))
        .await;
    let again = again.await.unwrap();
    assert_eq!((again.id.as_str(), again.end().1), (first.id.as_str(), None), "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_strangers_had_to_do_with_a_call_is_not_forgotten_while_it_waits() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.stop().await;
    let call = queue(world.admin(), folder("quoted")).await;
    // As a chat that read a file leaves it.
    let mut record = open_record(&world.database()).await;
    let sql = "UPDATE calls SET tainted = 1, quoted = 1 WHERE id = $1";
    sqlx::query(sql).bind(&call.id).execute(&mut record).await.unwrap();
    record.close().await.unwrap();
    kiosk.run().await;
    asked_by_now(&world, &call).await;
    assert!(kiosk.tree().is_empty());
}

fn call_of(response: Option<v1::WatchCallResponse>) -> Call {
    match response.unwrap().event.unwrap() {
        v1::watch_call_response::Event::Call(call) => call.into(),
        v1::watch_call_response::Event::Output(output) => panic!("{output:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_the_background_is_followed_to_its_end() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.agent().freeze();
    let request = v1::CallToolRequest { background: true, ..folder("x") };
    let begun = world.admin().ask(request).await.unwrap();
    assert_eq!(begun.state, CallState::Dispatched);
    let watched = v1::WatchCallRequest { call_id: begun.id.clone(), output: false };
    let mut states = world.admin().tools().watch_call(watched).await.unwrap().into_inner();
    let first: Call = call_of(states.message().await.unwrap());
    assert_eq!(first.state, CallState::Dispatched);
    kiosk.agent().thaw();
    let last: Call = call_of(states.message().await.unwrap());
    assert_eq!(last.end(), (CallState::Succeeded, None), "{last:?}");
    assert_eq!(states.message().await.unwrap(), None);
    let bob = world.person("bob", Role::Operator).await;
    let watched = v1::WatchCallRequest { call_id: begun.id, output: false };
    let refused = bob.tools().watch_call(watched).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::NotFound);
}
