//! The life of an honest connection (lost, drained, renewed, revoked), and of calls across connections.

use orion_agent::journal::{Begin, Journal};
use orion_agent::state::{Identity, StateError};
use orion_domain::CallState;
use orion_wire::v1;
use orion_wire::v1::link_request::Message as FromDevice;
use orion_wire::v1::link_response::Message as ToDevice;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::world::{World, id, now_ms};

#[tokio::test]
async fn a_call_starts_runs_and_is_reported_with_its_envelope() {
    let mut world = World::enrolled().await;
    world.start();
    let (mut session, hello) = world.session().await;
    assert_eq!((hello.generation, hello.unfinished_calls.len()), (1, 0));
    assert!(hello.tools.contains(&"create_directory".to_owned()));
    let files = world.files().to_str().unwrap().to_owned();
    assert_eq!(hello.facts.unwrap().workspace, files);
    let ceiling: serde_json::Value = serde_json::from_slice(&hello.ceiling).unwrap();
    assert_eq!(ceiling["profile"], "operator");
    assert_eq!(session.policy(&world.policy()).await, "");

    let target = world.files().join("Test");
    session.send(ToDevice::Dispatch(world.make(1, &target))).await;
    let started = FromDevice::CallStarted(v1::CallStarted { call_id: id(1) });
    assert_eq!(session.receive().await, Some(started));
    let answer = session.result().await;
    assert_eq!((answer.state, answer.code.as_str()), (CallState::Succeeded, ""));
    assert_eq!(answer.envelope.meta.call_id, id(1));
    assert_eq!(answer.envelope.meta.device, "laptop-123");
    assert!(target.is_dir());
    world.stop().await;
}

#[tokio::test]
async fn a_preview_changes_nothing_and_is_not_held_for_an_effect() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    let target = world.files().join("Test");
    let preview = v1::Dispatch { dry_run: true, ..world.make(1, &target) };
    let answer = session.run(preview).await;
    assert_eq!(answer.state, CallState::Succeeded);
    assert!(answer.envelope.dry_run && !target.exists());
    assert_eq!(std::fs::read(world.state_dir().join("journal.log")).unwrap(), b"");
    world.stop().await;
}

#[tokio::test]
async fn sixteen_calls_at_once_are_each_answered_once() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    for number in 0..16 {
        let target = world.files().join(number.to_string());
        session.send(ToDevice::Dispatch(world.make(number, &target))).await;
    }
    let mut answered = Vec::new();
    for _ in 0..16 {
        let answer = session.result().await;
        assert_eq!(answer.state, CallState::Succeeded);
        answered.push(answer.call);
    }
    answered.sort();
    assert_eq!(answered, (0..16).map(id).collect::<Vec<_>>());
    world.stop().await;
}

#[tokio::test]
async fn a_result_that_was_not_acknowledged_comes_again_on_the_next_connection() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    let first = session.run(world.make(1, &world.files().join("x"))).await;
    drop(session);
    let (mut session, hello) = world.session().await;
    assert_eq!(hello.generation, 2);
    assert_eq!(session.result().await, first);
    session.acknowledge(&id(1)).await;
    // The device handles messages in order, so this answer follows the acknowledgement.
    assert_eq!(session.policy(&world.policy()).await, "");
    // The acknowledged result is not sent after a restart either.
    world.stop().await;
    world.start();
    let (mut session, hello) = world.session().await;
    assert_eq!((hello.generation, hello.unfinished_calls.len()), (3, 0));
    assert_eq!(session.policy(&world.policy()).await, "");
    world.stop().await;
}

#[tokio::test]
async fn a_call_that_was_running_when_the_agent_died_is_reported_unknown() {
    let mut world = World::enrolled().await;
    // The journal on disk when the process dies between the entry and the end.
    let path = world.state_dir().join("journal.log");
    let mut journal = Journal::open(&path, now_ms(), |_| unreachable!()).await.unwrap();
    let begin = Begin {
        call: id(7).parse().unwrap(),
        tool: "delete_directory".to_owned(),
        approval: None,
        has_effects: true,
        idempotent: false,
        at: now_ms(),
    };
    journal.begin(begin).await.unwrap().wait().await.unwrap();
    drop(journal);

    world.start();
    let (mut session, hello) = world.session().await;
    assert_eq!(hello.unfinished_calls, [id(7)]);
    let answer = session.result().await;
    assert_eq!((answer.state, answer.code.as_str()), (CallState::Unknown, "OUTCOME_UNKNOWN"));
    assert!(answer.envelope.message.contains("delete_directory"));
    session.acknowledge(&id(7)).await;
    assert_eq!(session.policy(&world.policy()).await, "");
    world.stop().await;
}

#[tokio::test]
async fn a_stopping_backend_sends_its_devices_to_another_address() {
    let mut world = World::new().await;
    let authority = std::sync::Arc::clone(&world.authority);
    let (other, mut streams) = world.listen_by(&authority).await;
    world.enroll(&[world.address, other], now_ms() + 3_600_000);
    world.start();
    let mut session = world.ready().await;
    session.send(ToDevice::Drain(v1::Drain { reconnect_ms: 10 })).await;
    assert_eq!(session.receive().await, None);
    assert!(streams.recv().await.is_some());
    world.stop().await;
}

#[tokio::test]
async fn a_certificate_is_renewed_with_the_same_key_and_used_at_once() {
    let mut world = World::new().await;
    world.enroll(&[world.address], 0);
    let before = Identity::read(&world.state_dir()).unwrap().unwrap();
    world.start();
    let mut before_it = world.ready().await;
    // The new connection is open before the old one ends.
    let mut session = world.ready().await;
    assert_eq!(before_it.receive().await, None);
    let after = Identity::read(&world.state_dir()).unwrap().unwrap();
    assert_ne!(after.certificate, before.certificate);
    assert_eq!(after.key.fingerprint(), before.key.fingerprint());
    assert!(after.renew_at > now_ms());
    let answer = session.run(world.call(1, "get_datetime", &json!({}))).await;
    assert_eq!(answer.state, CallState::Succeeded);
    world.stop().await;
}

#[tokio::test]
async fn a_backend_that_asks_for_a_renewal_again_and_again_gets_one() {
    let mut world = World::enrolled().await;
    world.start();
    let session = world.ready().await;
    let ask = || ToDevice::RenewCertificate(v1::RenewCertificate { within_ms: 1 });
    for _ in 0..3 {
        session.send(ask()).await;
    }
    let mut renewed = world.ready().await;
    for _ in 0..50 {
        renewed.send(ask()).await;
    }
    // The device has received all requests when it answers, and renews again only after ten seconds.
    let answer = renewed.run(world.call(1, "get_datetime", &json!({}))).await;
    assert_eq!(answer.state, CallState::Succeeded);
    assert_eq!(world.script.lock().unwrap().requests.len(), 1);
    world.stop().await;
}

#[tokio::test]
async fn a_device_says_in_its_greeting_which_authorities_it_trusts() {
    let mut world = World::enrolled().await;
    world.start();
    let hello = world.session().await.1;
    assert_eq!(hello.authorities, [world.authority.fingerprint().0.to_vec()]);
    world.stop().await;
}

#[tokio::test]
async fn a_revoked_device_says_so_in_words() {
    let mut world = World::enrolled().await;
    world.revoke();
    world.start();
    let status = world.says("revoked").await;
    assert_eq!(status.connected_to, None);
    world.stop().await;
}

#[tokio::test]
async fn one_state_directory_runs_one_agent() {
    let mut world = World::enrolled().await;
    world.start();
    world.ready().await;
    let second = orion_agent::run(world.config(), CancellationToken::new()).await.unwrap_err();
    assert!(matches!(second.downcast_ref(), Some(StateError::Busy { .. })), "{second:?}");
    world.stop().await;
}

#[tokio::test]
async fn a_device_that_is_not_enrolled_says_how_to_be() {
    let world = World::new().await;
    let error = orion_agent::run(world.config(), CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("orion-agent enroll"), "{error}");
}
