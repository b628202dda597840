//! A device that lies: whatever it says about calls that are not its own, or says twice, or cannot
//! be meant, changes nothing on the record, and the backend goes on.

use orion_domain::{CallState, Envelope, Meta};
use orion_tests::{Call, Device, LyingAgent, World};
use orion_wire::v1;
use orion_wire::v1::link_request::Message;
use orion_wire::v1::link_response;
use serde_json::json;
use tokio::task::JoinHandle;

fn result(call_id: &str, state: v1::CallState, code: &str) -> v1::CallResult {
    let meta = Meta { call_id: call_id.to_owned(), ..Meta::default() };
    let envelope = Envelope::success("A lie.", json!({"lie": true}), false, meta);
    v1::CallResult {
        call_id: call_id.to_owned(),
        state: state.into(),
        code: code.to_owned(),
        result: serde_json::to_vec(&envelope).unwrap().into(),
        duration_us: 1,
        ..v1::CallResult::default()
    }
}

fn lie(call_id: &str) -> Message {
    Message::CallResult(result(call_id, v1::CallState::Succeeded, ""))
}

/// A device that lies beside one that does not.
async fn world_with_a_liar() -> (World, Device, Device, LyingAgent) {
    let world = World::new().await;
    let honest = world.device("honest").start().await;
    let liar = world.device("liar").enroll().await;
    let agent = LyingAgent::connect(&liar, &world.device_address(), 1).await.unwrap();
    liar.ready().await;
    (world, honest, liar, agent)
}

fn calling(world: &World, device: &str) -> JoinHandle<Call> {
    let (admin, device) = (world.admin().clone(), device.to_owned());
    tokio::spawn(async move { admin.call(&device, "get_datetime", json!({})).await })
}

/// The liar answers a call of its own, which shows that everything before it was heard.
async fn everything_was_heard(world: &World, agent: &mut LyingAgent) {
    let waiting = calling(world, "liar");
    let order = agent.order().await;
    agent.say(lie(&order.call_id)).await;
    agent.acknowledged(&order.call_id).await;
    assert_eq!(waiting.await.unwrap().data(), &json!({"lie": true}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_for_another_devices_call_is_dropped() {
    let (world, honest, _liar, mut agent) = world_with_a_liar().await;
    let done = world.admin().call("honest", "get_datetime", json!({})).await;
    // One that has ended, and one that is under way.
    agent.say(lie(&done.id)).await;
    honest.agent().freeze();
    let waiting = calling(&world, "honest");
    let open = orion_tests::eventually("the call under way", async || {
        let request = v1::ListAuditRequest { limit: 1, ..Default::default() };
        let rows = world.admin().audit().list_audit(request).await.ok()?.into_inner().rows;
        rows.into_iter().find(|row| row.kind == "call.opened").map(|row| row.call_id)
    })
    .await;
    agent.say(lie(&open)).await;
    everything_was_heard(&world, &mut agent).await;
    assert_eq!(world.admin().recorded(&open).await.unwrap().state, CallState::Dispatched);
    honest.agent().thaw();

    let truth = waiting.await.unwrap();
    assert_eq!(truth.id, open);
    assert!(truth.data()["unix"].is_i64(), "{truth:?}");
    assert_eq!(world.admin().recorded(&done.id).await.unwrap(), done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_for_calls_that_do_not_exist_are_dropped() {
    let (world, _honest, _liar, mut agent) = world_with_a_liar().await;
    for call_id in [&uuid::Uuid::now_v7().to_string(), "", "x", "../../etc", &"9".repeat(100_000)] {
        agent.say(lie(call_id)).await;
    }
    everything_was_heard(&world, &mut agent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_answer_stands() {
    let (world, _honest, _liar, mut agent) = world_with_a_liar().await;
    let waiting = calling(&world, "liar");
    let order = agent.order().await;
    agent.say(lie(&order.call_id)).await;
    let first = waiting.await.unwrap();
    agent
        .say(Message::CallResult(result(&order.call_id, v1::CallState::Failed, "EXECUTION_FAILED")))
        .await;
    agent.say(lie(&order.call_id)).await;
    everything_was_heard(&world, &mut agent).await;
    assert_eq!(world.admin().recorded(&order.call_id).await.unwrap(), first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_no_end_is_dropped() {
    let (world, _honest, _liar, mut agent) = world_with_a_liar().await;
    let waiting = calling(&world, "liar");
    let order = agent.order().await;
    for (state, code) in [
        (v1::CallState::AwaitingApproval, "APPROVAL_REQUIRED"),
        (v1::CallState::Received, ""),
        (v1::CallState::Denied, "PERMISSION_DENIED"),
        (v1::CallState::Unspecified, ""),
        (v1::CallState::Failed, ""),
        (v1::CallState::Failed, "NO_SUCH_CODE"),
        (v1::CallState::Succeeded, "INTERNAL"),
    ] {
        agent.say(Message::CallResult(result(&order.call_id, state, code))).await;
    }
    let beyond =
        v1::CallResult { state: 99, ..result(&order.call_id, v1::CallState::Succeeded, "") };
    agent.say(Message::CallResult(beyond)).await;
    agent.say(lie(&order.call_id)).await;
    assert_eq!(waiting.await.unwrap().data(), &json!({"lie": true}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_and_far_too_much_are_not_taken_for_results() {
    let (world, _honest, _liar, mut agent) = world_with_a_liar().await;
    let waiting = calling(&world, "liar");
    let order = agent.order().await;
    let whole = result(&order.call_id, v1::CallState::Succeeded, "");
    for bytes in [vec![b'{'; 3 * 1024 * 1024], b"not json".to_vec(), vec![0xff; 64], Vec::new()] {
        let garbage = v1::CallResult { result: bytes.into(), ..whole.clone() };
        agent.say(Message::CallResult(garbage)).await;
    }
    agent.say(Message::CallResult(whole)).await;
    assert_eq!(waiting.await.unwrap().data(), &json!({"lie": true}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_talks_out_of_turn_is_cut_off_and_nobody_else() {
    let (world, _honest, liar, agent) = world_with_a_liar().await;
    agent.say(Message::Hello(v1::Hello::default())).await;
    liar.offline().await;
    let call = world.admin().call("honest", "get_datetime", json!({})).await;
    assert_eq!(call.end(), (CallState::Succeeded, None));
    let call = world.admin().call("liar", "get_datetime", json!({})).await;
    assert_eq!(call.error().code.as_str(), "DEVICE_OFFLINE");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_tells_another_ceiling_again_and_again_is_cut_off_and_stays_out() {
    let (world, _honest, liar, mut agent) = world_with_a_liar().await;
    let mut told = 0;
    'telling: loop {
        told += 1;
        assert!(told < 100, "it was never cut off");
        let ceiling = json!({"read_only": told % 2 == 0}).to_string().into_bytes().into();
        let (workspace, fault) = (String::new(), String::new());
        let update = v1::CeilingUpdate {
            ceiling,
            workspace,
            fault,
            number: told,
            ..v1::CeilingUpdate::default()
        };
        agent.say(Message::CeilingUpdate(update)).await;
        loop {
            match agent.receive().await {
                Ok(Some(link_response::Message::CeilingAck(ack))) if ack.number == told => break,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break 'telling,
            }
        }
    }
    // The first was in its greeting.
    assert_eq!(told, 30);
    liar.offline().await;
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    let id = world.admin().device("liar").await.unwrap().device_id;
    let own = |row: &&v1::AuditRow| row.kind == "device.ceiling_told" && row.body.contains(&id);
    assert_eq!(rows.iter().filter(own).count(), 30);

    // A new connection does not help; and it may come back with the ceiling and workspace that are known.
    let hello = |generation, ceiling: &str, workspace: &str| {
        let hello = orion_tests::hello(&liar, generation);
        let facts = hello.facts.clone().unwrap();
        v1::Hello {
            ceiling: ceiling.as_bytes().to_vec().into(),
            facts: Some(v1::DeviceFacts { workspace: workspace.to_owned(), ..facts }),
            ..hello
        }
    };
    let address = world.device_address();
    let again = LyingAgent::greet(&liar, &address, hello(2, "{\"apps\":[\"x\"]}", "")).await;
    assert_eq!(again.unwrap_err().code(), tonic::Code::ResourceExhausted);
    let known = json!({"read_only": false}).to_string();
    let elsewhere = LyingAgent::greet(&liar, &address, hello(3, &known, "/elsewhere")).await;
    assert_eq!(elsewhere.unwrap_err().code(), tonic::Code::ResourceExhausted);
    assert!(LyingAgent::greet(&liar, &address, hello(4, &known, "")).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_counter_that_runs_backwards_is_a_copied_state() {
    let world = World::new().await;
    let liar = world.device("liar").enroll().await;
    let first = LyingAgent::connect(&liar, &world.device_address(), 7).await.unwrap();
    drop(first);
    let copied = LyingAgent::connect(&liar, &world.device_address(), 6).await.unwrap_err();
    assert_eq!(copied.code(), tonic::Code::Unauthenticated);
    assert!(copied.message().contains("ran backwards"), "{copied:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_it_says_of_its_chain_is_noted_and_does_not_fill_the_audit() {
    let (world, _honest, _liar, mut agent) = world_with_a_liar().await;
    let waiting = calling(&world, "liar");
    let order = agent.order().await;
    agent.say(lie(&order.call_id)).await;
    agent.acknowledged(&order.call_id).await;
    waiting.await.unwrap();
    // Calls that nobody made, ends that come too late, and heads that jump about.
    for n in 0..150_u128 {
        let unknown = uuid::Uuid::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0000 + n);
        for call in [unknown.to_string(), order.call_id.clone()] {
            let seq = i64::try_from(n % 7).unwrap();
            let head = v1::ChainHead { seq, hash: vec![u8::try_from(n).unwrap(); 32].into() };
            let (chain, chain_entry) = (Some(head), 1 + i64::try_from(n).unwrap());
            let failed = Envelope::failure(
                orion_domain::ToolError::new(orion_domain::ErrorCode::Timeout, "Late."),
                false,
                Meta::default(),
            );
            agent
                .say(Message::CallResult(v1::CallResult {
                    chain,
                    chain_entry,
                    result: serde_json::to_vec(&failed).unwrap().into(),
                    ..result(&call, v1::CallState::TimedOut, "TIMEOUT")
                }))
                .await;
            agent.acknowledged(&call).await;
        }
    }
    everything_was_heard(&world, &mut agent).await;
    let request = v1::ListAuditRequest { limit: 1_000, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    let of = |kind: &str| rows.iter().filter(|row| row.kind == kind).count();
    assert_eq!(of("device.unknown_call"), 100);
    // With the call's opening and its end, sixteen rows are about it.
    assert_eq!(of("call.late_result"), 14);
    assert_eq!(of("device.chain_broken"), 1);
}
