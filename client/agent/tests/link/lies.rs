//! A lying backend gets a refusal, and nothing that it asked for happens.

use orion_domain::CallState;
use orion_mtls::CertificateAuthority;
use orion_wire::v1::link_response::Message as ToDevice;
use orion_wire::{DevicePolicy, PROTOCOL, v1};
use serde_json::json;
use uuid::Uuid;

use crate::world::{World, id, now_ms};

#[tokio::test]
async fn a_backend_that_does_not_greet_first_is_left_and_its_call_is_not_run() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.stream().await;
    session.hello().await;
    let target = world.files().join("x");
    session.send(ToDevice::Dispatch(world.make(1, &target))).await;
    world.says("did not greet first").await;
    assert!(!target.exists());
    // The device reconnects, and accepts an honest `Welcome`.
    let mut session = world.ready().await;
    assert_eq!(session.run(world.make(1, &target)).await.state, CallState::Succeeded);
    world.stop().await;
}

#[tokio::test]
async fn without_a_policy_every_call_is_refused() {
    let mut world = World::enrolled().await;
    world.start();
    let (mut session, _) = world.session().await;
    let target = world.files().join("x");
    assert_eq!(session.refused(world.make(1, &target)).await, "PERMISSION_DENIED");
    assert!(!target.exists());
    world.stop().await;
}

#[tokio::test]
async fn what_the_ceiling_does_not_leave_is_refused_whatever_the_policy_lends() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    let outside = world.folder.path().join("outside");
    let state = world.state_dir().join("mine");
    for (number, (call, code)) in [
        (world.make(1, &outside), "PATH_NOT_ALLOWED"),
        (world.make(2, &state), "PATH_NOT_ALLOWED"),
        (world.make(3, &world.files().join("../outside")), "PATH_NOT_ALLOWED"),
        (world.make(4, &world.folder.path().join("files2")), "PATH_NOT_ALLOWED"),
        (world.call(5, "read_file", &json!({"path": "/etc/passwd"})), "PATH_NOT_ALLOWED"),
        (world.call(6, "open_app", &json!({"app": "chrome"})), "APP_NOT_WHITELISTED"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(session.refused(call).await, code, "call {number}");
    }
    assert!(!outside.exists() && !state.exists());
    world.stop().await;
}

#[tokio::test]
async fn a_call_that_is_not_what_it_should_be_is_refused() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    let target = world.files().join("x");
    let honest = |number| world.make(number, &target);
    let raw = |number, arguments: &str| v1::Dispatch {
        arguments: arguments.as_bytes().to_vec().into(),
        ..honest(number)
    };
    let path = target.to_str().unwrap();
    for (call, code) in [
        (v1::Dispatch { device_id: id(9), ..honest(1) }, "PERMISSION_DENIED"),
        (v1::Dispatch { time_left_ms: 0, ..honest(2) }, "TIMEOUT"),
        (v1::Dispatch { tool: "format_disk".to_owned(), ..honest(3) }, "TOOL_NOT_FOUND"),
        (v1::Dispatch { role: "root".to_owned(), ..honest(4) }, "INVALID_ARGUMENT"),
        (v1::Dispatch { role: "viewer".to_owned(), ..honest(5) }, "PERMISSION_DENIED"),
        (v1::Dispatch { risk: 99, ..honest(6) }, "INVALID_ARGUMENT"),
        (raw(7, &format!("{{\"path\": {path:?}, \"parents\":false}}")), "INVALID_ARGUMENT"),
        (raw(8, &format!("{{\"path\":{path:?}}}")), "INVALID_ARGUMENT"),
        (raw(9, "[]"), "INVALID_ARGUMENT"),
        (raw(10, "{"), "INVALID_ARGUMENT"),
        (raw(11, &"{\"a\":".repeat(100_000)), "INVALID_ARGUMENT"),
    ] {
        let number = call.call_id.clone();
        assert_eq!(session.refused(call).await, code, "{number}");
    }
    // A call with an invalid id is dropped, and the next call is served.
    session.send(ToDevice::Dispatch(v1::Dispatch { call_id: "x".to_owned(), ..honest(12) })).await;
    assert!(!target.exists());
    assert_eq!(session.run(honest(13)).await.state, CallState::Succeeded);
    world.stop().await;
}

#[tokio::test]
async fn an_approval_is_for_one_call_once_also_after_a_restart() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    for name in ["a", "b", "c"] {
        std::fs::create_dir(world.files().join(name)).unwrap();
    }
    let approved = |number, approval, name: &str| {
        let call = world.delete(number, &world.files().join(name));
        let proof = world.approve(approval, &call);
        v1::Dispatch { approval: Some(proof), ..call }
    };
    let unapproved = world.delete(1, &world.files().join("a"));
    assert_eq!(session.refused(unapproved).await, "APPROVAL_REQUIRED");
    // A proof for another folder, and a proof with a changed byte.
    let swapped = v1::Dispatch { approval: approved(2, 50, "b").approval, ..approved(2, 51, "a") };
    assert_eq!(session.refused(swapped).await, "APPROVAL_REQUIRED");
    let mut bent = approved(3, 52, "a");
    let proof = bent.approval.as_mut().unwrap();
    let mut binding = proof.binding.to_vec();
    binding[0] ^= 1;
    proof.binding = binding.into();
    assert_eq!(session.refused(bent).await, "APPROVAL_REQUIRED");
    assert!(world.files().join("a").exists());

    let answer = session.run(approved(4, 53, "a")).await;
    assert_eq!(answer.state, CallState::Succeeded, "{answer:?}");
    assert!(!world.files().join("a").exists());
    assert_eq!(session.refused(approved(5, 53, "b")).await, "APPROVAL_REQUIRED");
    session.acknowledge(&id(4)).await;
    // The device handles messages in order, so this answer follows the acknowledgement.
    assert_eq!(session.policy(&world.policy()).await, "");
    world.stop().await;
    world.start();
    let mut session = world.ready().await;
    let again = {
        let call = world.delete(6, &world.files().join("c"));
        let proof = world.approve(53, &call);
        v1::Dispatch { approval: Some(proof), ..call }
    };
    assert_eq!(session.refused(again).await, "APPROVAL_REQUIRED");
    assert!(world.files().join("b").exists() && world.files().join("c").exists());
    world.stop().await;
}

#[tokio::test]
async fn a_call_that_is_sent_again_is_answered_and_never_run_again() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    let target = world.files().join("x");
    let first = session.run(world.make(1, &target)).await;
    assert_eq!(first.state, CallState::Succeeded);
    std::fs::remove_dir(&target).unwrap();
    assert_eq!(session.run(world.make(1, &target)).await, first);
    // The same id with other arguments is still the same call.
    assert_eq!(session.run(world.make(1, &world.files().join("y"))).await, first);
    session.acknowledge(&id(1)).await;
    // The call ran, so its state is never `refused`.
    let answer = session.run(world.make(1, &target)).await;
    assert_eq!((answer.state, answer.code.as_str()), (CallState::Unknown, "OUTCOME_UNKNOWN"));
    world.stop().await;
    world.start();
    let mut session = world.ready().await;
    assert_eq!(session.refused(world.make(1, &target)).await, "OUTCOME_UNKNOWN");
    assert!(!target.exists() && !world.files().join("y").exists());
    world.stop().await;
}

#[tokio::test]
async fn a_device_that_lost_or_forgot_what_it_ran_runs_none_of_that_time_and_reads_all_the_same() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    let target = world.files().join("x");
    assert_eq!(session.run(world.make(1, &target)).await.state, CallState::Succeeded);
    world.stop().await;
    std::fs::remove_dir(&target).unwrap();
    for file in ["journal.log", "audit.jsonl"] {
        std::fs::remove_file(world.state_dir().join(file)).unwrap();
    }
    for _ in 0..2 {
        world.start();
        let mut session = world.ready().await;
        let asked = v1::CallQuery { call_ids: vec![id(1)] };
        session.send(ToDevice::CallQuery(asked)).await;
        let answer = session.run(world.make(1, &target)).await;
        assert_eq!((answer.state, answer.code.as_str()), (CallState::Unknown, "OUTCOME_UNKNOWN"));
        let path = world.files();
        let read = session.run(world.call(2, "list_directory", &json!({"path": path}))).await;
        assert_eq!(read.state, CallState::Succeeded);
        world.stop().await;
    }
    // Calls that are made from here on run.
    world.start();
    let mut session = world.ready().await;
    let now = Uuid::now_v7().as_u128();
    assert_eq!(session.run(world.make(now, &target)).await.state, CallState::Succeeded);
    assert!(target.exists());
    world.stop().await;
}

/// The journal has no rejected calls, and may be lost; the device's own audit log covers both cases.
#[tokio::test]
async fn what_the_devices_own_audit_knows_is_neither_run_nor_noted_again() {
    let mut world = World::enrolled().await;
    let (refused, ran) = (world.files().join("refused"), world.files().join("ran"));
    world.start();
    let (mut session, _) = world.session().await;
    assert_eq!(session.refused(world.make(1, &refused)).await, "PERMISSION_DENIED");
    assert_eq!(session.policy(&world.policy()).await, "");
    assert_eq!(session.run(world.make(2, &ran)).await.state, CallState::Succeeded);
    world.stop().await;
    std::fs::remove_file(world.state_dir().join("journal.log")).unwrap();
    std::fs::remove_dir(&ran).unwrap();

    world.start();
    let mut session = world.ready().await;
    let asked = v1::CallQuery { call_ids: vec![id(1), id(2)] };
    session.send(ToDevice::CallQuery(asked)).await;
    let mut answers = vec![session.result().await, session.result().await];
    answers.push(session.run(world.make(1, &refused)).await);
    answers.push(session.run(world.make(2, &ran)).await);
    for answer in &answers {
        assert_eq!((answer.state, answer.code.as_str()), (CallState::Unknown, "OUTCOME_UNKNOWN"));
        let error = answer.envelope.error.as_ref().unwrap();
        let established = error.details.get("established").and_then(|word| word.as_str());
        let expected = (answer.call == id(1)).then_some("unchanged");
        assert_eq!(established, expected, "{}", answer.envelope.message);
    }
    assert!(!refused.exists() && !ran.exists());
    world.stop().await;
    let kept = orion_agent::chain::read(&world.state_dir()).unwrap().unwrap();
    let noted = kept.entries.iter().map(|entry| (entry.what.call_id.clone(), entry.what.state));
    let expected = [(id(1), CallState::Refused), (id(2), CallState::Succeeded)];
    assert_eq!(noted.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_connection_and_not_the_agent() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    let target = world.files().join("x");
    let large =
        v1::Dispatch { arguments: vec![b' '; 5 * 1024 * 1024].into(), ..world.make(1, &target) };
    session.send(ToDevice::Dispatch(large)).await;
    assert_eq!(session.receive().await, None);
    let mut session = world.ready().await;
    assert_eq!(session.run(world.make(2, &target)).await.state, CallState::Succeeded);
    world.stop().await;
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_is_refused_and_the_one_before_holds() {
    let mut world = World::enrolled().await;
    world.start();
    let mut session = world.ready().await;
    for bad in [
        r#"{"grants":{},"ceiling":{"paths":["/"]}}"#,
        r#"{"grants":{"profil":"reader"}}"#,
        r#"{"rules":[]}"#,
        "",
    ] {
        let version = DevicePolicy::version_of(bad.as_bytes());
        let error = session.policy_bytes(&version, bad.as_bytes().to_vec()).await;
        assert!(error.contains("can't be read"), "{error}");
    }
    let error = session.policy_bytes("0123456789abcdef", world.policy().to_bytes()).await;
    assert!(error.contains("version"), "{error}");
    let answer = session.run(world.make(1, &world.files().join("x"))).await;
    assert_eq!(answer.state, CallState::Succeeded);
    world.stop().await;
}

#[tokio::test]
async fn what_is_not_this_devices_backend_gets_no_word_from_it() {
    let mut world = World::new().await;
    let stranger = CertificateAuthority::create(now_ms()).unwrap();
    let (address, mut strangers) = world.listen_by(&stranger).await;
    world.enroll(&[address, world.address], now_ms() + 3_600_000);
    world.start();
    // The second address is the right backend.
    let mut session = world.ready().await;
    let answer = session.run(world.make(1, &world.files().join("x"))).await;
    assert_eq!(answer.state, CallState::Succeeded);
    assert!(strangers.try_recv().is_err());
    world.stop().await;
}

#[tokio::test]
async fn a_backend_that_means_another_device_or_speaks_otherwise_is_left() {
    let mut world = World::enrolled().await;
    world.start();
    let welcome = v1::Welcome {
        protocol_major: PROTOCOL.major,
        protocol_minor: PROTOCOL.minor,
        device_name: "laptop-123".to_owned(),
        device_id: Uuid::from_u128(9).to_string(),
        ..v1::Welcome::default()
    };
    let mut session = world.stream().await;
    session.hello().await;
    session.send(ToDevice::Welcome(welcome.clone())).await;
    world.says("takes this device for another").await;
    let mut session = world.stream().await;
    session.hello().await;
    session.send(ToDevice::Welcome(v1::Welcome { protocol_major: 7, ..welcome })).await;
    world.says(&format!("speaks version 7.{}", PROTOCOL.minor)).await;
    world.stop().await;
}
