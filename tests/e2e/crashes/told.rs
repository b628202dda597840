//! What a device says of calls when their link was lost: what it is asked, how often a call is sent again,
//! and what becomes of its word.

use std::fmt::Write as _;

use orion_domain::{CallState, Envelope, ErrorCode, Meta, ToolError};
use orion_tests::{Device, LyingAgent, World, eventually, open_record};
use orion_wire::v1;
use orion_wire::v1::link_request::Message;
use orion_wire::v1::link_response;
use serde_json::json;
use sqlx::Connection as _;

use super::{Asking, calling, kinds, request};

async fn world() -> (World, Device, LyingAgent) {
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    let agent = back(&world, &kiosk, 1).await;
    kiosk.ready().await;
    (world, kiosk, agent)
}

/// The device on a new connection, whose counter says this.
async fn back(world: &World, kiosk: &Device, generation: u64) -> LyingAgent {
    LyingAgent::connect(kiosk, &world.device_address(), generation).await.unwrap()
}

fn making(world: &World, timeout_ms: u64) -> Asking {
    let request = request("create_directory", &json!({"path": "x"}));
    calling(world, v1::CallToolRequest { timeout_ms, ..request })
}

/// The calls that it is asked about next.
async fn asked(agent: &mut LyingAgent) -> Vec<String> {
    loop {
        match agent.receive().await {
            Ok(Some(link_response::Message::CallQuery(v1::CallQuery { call_ids }))) => {
                return call_ids;
            }
            Ok(Some(link_response::Message::Dispatch(order))) => panic!("a call: {order:?}"),
            Ok(Some(_)) => {}
            ended => panic!("instead of a question: {ended:?}"),
        }
    }
}

fn not_seen(call_ids: &[String]) -> Message {
    Message::CallsNotSeen(v1::CallsNotSeen { call_ids: call_ids.to_vec() })
}

fn ended(call_id: &str, state: v1::CallState, envelope: &Envelope) -> Message {
    let code = envelope.error.as_ref().map(|error| error.code.to_string()).unwrap_or_default();
    Message::CallResult(v1::CallResult {
        call_id: call_id.to_owned(),
        state: state.into(),
        code,
        result: serde_json::to_vec(envelope).unwrap().into(),
        duration_us: 1,
        ..v1::CallResult::default()
    })
}

fn done(call_id: &str) -> Message {
    let envelope = Envelope::success("Done.", json!({}), false, Meta::default());
    ended(call_id, v1::CallState::Succeeded, &envelope)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_never_arrives_is_sent_again_five_times_and_then_it_ends() {
    let (world, kiosk, mut agent) = world().await;
    let asking = making(&world, 60_000);
    let mut call_id = String::new();
    for generation in 2..=7 {
        call_id = agent.order().await.call_id;
        agent = back(&world, &kiosk, generation).await;
        assert_eq!(asked(&mut agent).await, std::slice::from_ref(&call_id));
        agent.say(not_seen(std::slice::from_ref(&call_id))).await;
    }
    let call = asking.await.unwrap().unwrap();
    assert_eq!(call.end(), (CallState::Failed, Some(ErrorCode::DeviceOffline)), "{call:?}");
    let mut expected = vec!["call.sent_again"; 5];
    expected.insert(0, "call.opened");
    expected.push("call.closed");
    assert_eq!(kinds(&world, &call_id).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_device_established_of_a_call_that_nobody_waits_for_any_more_is_on_the_record() {
    let (world, kiosk, mut agent) = world().await;
    let asking = making(&world, 100);
    let call_id = agent.order().await.call_id;
    drop(agent);
    kiosk.offline().await;
    let given_up = asking.await.unwrap().unwrap();
    assert_eq!(given_up.end(), (CallState::Unknown, Some(ErrorCode::OutcomeUnknown)));
    assert_eq!(given_up.error().details.get("established"), None);

    let mut agent = back(&world, &kiosk, 2).await;
    assert_eq!(asked(&mut agent).await, std::slice::from_ref(&call_id));
    let error = ToolError::new(ErrorCode::OutcomeUnknown, "The agent died in the middle.");
    let error = error.with("established", "changed");
    let envelope = Envelope::failure(error.clone(), false, Meta::default());
    agent.say(ended(&call_id, v1::CallState::Unknown, &envelope)).await;
    agent.acknowledged(&call_id).await;
    let told = world.admin().recorded(&call_id).await.unwrap();
    assert_eq!((told.state, told.error()), (CallState::Unknown, &error));
    assert_eq!(kinds(&world, &call_id).await, ["call.opened", "call.closed", "call.reconciled"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_calls_that_it_was_not_asked_about_a_device_is_not_heard() {
    let (world, kiosk, mut agent) = world().await;
    let asking = making(&world, 60_000);
    let call_id = agent.order().await.call_id;
    // Under way, and never asked about; and others that nobody made.
    let mut made_up = vec![call_id.clone()];
    made_up.extend((0..255).map(|_| uuid::Uuid::now_v7().to_string()));
    agent.say(not_seen(&made_up)).await;
    agent.say(done(&call_id)).await;
    let call = asking.await.unwrap().unwrap();
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    assert_eq!(kinds(&world, &call_id).await, ["call.opened", "call.closed"]);

    // Asked once and answered twice, it is sent again once.
    let asking = making(&world, 60_000);
    let call_id = agent.order().await.call_id;
    let mut agent = back(&world, &kiosk, 2).await;
    assert_eq!(asked(&mut agent).await, std::slice::from_ref(&call_id));
    agent.say(not_seen(&[call_id.clone(), call_id.clone()])).await;
    assert_eq!(agent.order().await.call_id, call_id);
    agent.say(done(&call_id)).await;
    asking.await.unwrap().unwrap();
    assert_eq!(kinds(&world, &call_id).await, ["call.opened", "call.sent_again", "call.closed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_is_asked_about_more_calls_when_it_has_answered_of_those_before() {
    const MANY: usize = 600;
    let (world, kiosk, mut agent) = world().await;
    let asking = making(&world, 100);
    let call_id = agent.order().await.call_id;
    drop(agent);
    kiosk.offline().await;
    asking.await.unwrap().unwrap();
    // As many as an outage of a busy backend leaves.
    world.expect_broken_audit_log();
    let mut sql = format!("CREATE TEMP TABLE one AS SELECT * FROM calls WHERE id = '{call_id}';");
    for _ in 1..MANY {
        let id = uuid::Uuid::now_v7();
        write!(sql, "UPDATE one SET id = '{id}'; INSERT INTO calls SELECT * FROM one;").unwrap();
    }
    let mut record = open_record(&world.database()).await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("BEGIN; {sql} COMMIT;")))
        .execute(&mut record)
        .await
        .unwrap();
    record.close().await.unwrap();

    let mut agent = back(&world, &kiosk, 2).await;
    let (mut heard, mut sizes) = (0, Vec::new());
    while heard < MANY {
        let ids = asked(&mut agent).await;
        heard += ids.len();
        sizes.push(ids.len());
        if sizes.len() == 1 {
            // The next thing that it is told is no further question.
            let asking = making(&world, 60_000);
            let order = agent.receive().await.unwrap();
            let Some(link_response::Message::Dispatch(order)) = order else { panic!("{order:?}") };
            agent.say(done(&order.call_id)).await;
            asking.await.unwrap().unwrap();
        }
        agent.say(not_seen(&ids)).await;
    }
    assert_eq!(sizes, [256, 256, 88]);
    eventually("the end of each", async || {
        let request = v1::ListCallsRequest { open: true, ..Default::default() };
        let open = world.admin().tools().list_calls(request).await.ok()?.into_inner().calls;
        open.is_empty().then_some(())
    })
    .await;
}

/// A call that was sent to a device which went away, and for which nobody waits any more.
async fn given_up() -> (World, Device, String) {
    let (world, kiosk, mut agent) = world().await;
    let asking = making(&world, 100);
    let call_id = agent.order().await.call_id;
    drop(agent);
    kiosk.offline().await;
    assert_eq!(asking.await.unwrap().unwrap().state, CallState::Unknown);
    (world, kiosk, call_id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_stopped_while_its_device_is_away_is_stopped_when_that_is_back() {
    let (world, kiosk, call_id) = given_up().await;
    let request = v1::CancelCallRequest { call_id: call_id.clone() };
    world.admin().tools().cancel_call(request).await.unwrap();

    let mut agent = back(&world, &kiosk, 2).await;
    assert_eq!(asked(&mut agent).await, std::slice::from_ref(&call_id));
    let heard = agent.receive().await.unwrap();
    let Some(link_response::Message::CancelCall(stop)) = heard else {
        panic!("instead of a stop: {heard:?}")
    };
    assert_eq!(stop.call_id, call_id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_stays_is_asked_again_about_what_is_not_settled() {
    let (world, kiosk, call_id) = given_up().await;
    let mut agent = back(&world, &kiosk, 2).await;
    for _ in 0..2 {
        // Its first answer is lost.
        assert_eq!(asked(&mut agent).await, std::slice::from_ref(&call_id));
    }
    agent.say(done(&call_id)).await;
    agent.acknowledged(&call_id).await;
    let told = world.admin().recorded(&call_id).await.unwrap();
    assert_eq!(told.state, CallState::Succeeded);
}
