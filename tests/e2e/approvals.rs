//! The human gate: a question, one answer, one run.

use std::time::Duration;

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Device, World, audit_of};
use orion_wire::v1;
use serde_json::json;

/// Asks for a folder to be deleted, which waits for a person.
async fn ask(world: &World, device: &Device) -> Call {
    device.write_file("old/a.txt", "12345");
    let arguments = json!({"path": "old", "recursive": true, "confirm": true});
    world.admin().call(&device.name, "delete_directory", arguments).await
}

async fn kinds(world: &World, call: &Call) -> Vec<String> {
    audit_of(world.admin(), &call.id).await.into_iter().map(|row| row.kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_call_runs_once_and_the_approval_is_spent() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asked = ask(&world, &kiosk).await;
    assert_eq!(asked.end(), (CallState::AwaitingApproval, Some(ErrorCode::ApprovalRequired)));
    assert!(kiosk.files().join("old/a.txt").exists(), "it ran before anybody said yes");

    let card = v1::GetApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        ..Default::default()
    };
    let card = world.admin().approvals().get_approval(card).await.unwrap().into_inner();
    let card = card.approval.unwrap();
    assert_eq!(card.touches, [format!("delete {}", kiosk.path("old"))]);
    let preview: orion_domain::Envelope = serde_json::from_slice(&card.preview).unwrap();
    assert!(preview.dry_run);
    assert_eq!(preview.data.unwrap()["bytes"], 5);

    let decided = world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    assert_eq!(decided.state(), v1::ApprovalState::Approved);
    let done = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
    assert!(kiosk.tree().is_empty());

    kiosk.write_file("old/b.txt", "");
    let again = world.admin().decide(asked.approval_id(), true, "").await.unwrap_err();
    assert_eq!(again.code(), tonic::Code::FailedPrecondition);
    assert_eq!(again.message(), "This request was already approved.");
    assert!(kiosk.files().join("old/b.txt").exists(), "the same approval ran twice");
    assert_eq!(
        kinds(&world, &asked).await,
        ["call.opened", "approval.asked", "approval.decided", "approval.used", "call.closed"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_the_command_line_a_call_waits_until_somebody_approves_it() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "12345");
    let cli = world.cli();
    let words = [
        "call",
        "kiosk",
        "delete_directory",
        "path=old",
        "recursive=true",
        "confirm=true",
        "-o",
        "json",
    ];

    let waits = cli.run(&words).await;
    assert_eq!(waits.code, 6, "{waits:?}");
    assert!(kiosk.files().join("old/a.txt").exists());
    let approval = waits.json()["error"]["details"]["approval_id"].as_str().unwrap().to_owned();
    assert!(waits.stderr.contains(&format!("orion approvals approve {approval}")), "{waits:?}");

    let listed = cli.run(&["approvals", "list"]).await;
    assert!(listed.stdout.contains("delete_directory"), "{listed:?}");
    let shown = cli.run(&["approvals", "show", &approval]).await;
    insta::assert_snapshot!(world.seen().in_text(&shown.shown()));

    let approved = cli.run(&["approvals", "approve", &approval, "--wait"]).await;
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(kiosk.tree().is_empty());

    kiosk.write_file("old/b.txt", "");
    let again = cli.run(&["approvals", "approve", &approval]).await;
    assert_ne!(again.code, 0, "{again:?}");
    insta::assert_snapshot!(world.seen().in_text(&again.shown()));
    assert!(kiosk.files().join("old/b.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_tells_its_reason_and_nothing_runs() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asked = ask(&world, &kiosk).await;

    let denied =
        world.cli().run(&["approvals", "deny", asked.approval_id(), "--reason", "Not today"]).await;
    assert_eq!(denied.code, 0, "{denied:?}");
    let ended = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::ApprovalRejected)));
    assert_eq!(ended.error().message, "admin did not approve this call: Not today");
    assert!(kiosk.files().join("old/a.txt").exists());

    let late = world.admin().decide(asked.approval_id(), true, "").await.unwrap_err();
    assert_eq!(late.code(), tonic::Code::FailedPrecondition);
    assert!(kiosk.files().join("old/a.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_nobody_answers_expires() {
    let world = World::configured("[approvals]\nexpire_seconds = 1\n").await;
    let kiosk = world.device("kiosk").start().await;
    let asked = ask(&world, &kiosk).await;

    let ended = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::ApprovalExpired)));
    let late = world.admin().decide(asked.approval_id(), true, "").await.unwrap_err();
    assert_eq!(late.code(), tonic::Code::FailedPrecondition, "{late:?}");
    assert!(kiosk.files().join("old/a.txt").exists());
    assert_eq!(
        kinds(&world, &asked).await,
        ["call.opened", "approval.asked", "approval.expired", "call.closed"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_cancelled_takes_its_question_away() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asked = ask(&world, &kiosk).await;

    let request = v1::CancelCallRequest { call_id: asked.id.clone() };
    world.admin().tools().cancel_call(request).await.unwrap();
    let ended = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)));
    let late = world.admin().decide(asked.approval_id(), true, "").await.unwrap_err();
    assert_eq!(late.code(), tonic::Code::FailedPrecondition, "{late:?}");
    assert!(kiosk.files().join("old/a.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_does_not_outlive_the_permissions_it_was_given_under() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asked = ask(&world, &kiosk).await;

    // Still allowed, but no longer what was looked at. The request ends by itself, or when somebody answers it.
    kiosk.grant(&json!({"profile": "operator", "paths": ["{files}"], "apps": ["code"]})).await;
    let late = world.admin().decide(asked.approval_id(), true, "").await.unwrap_err();
    assert!(late.message().contains("permissions, paths or rules"), "{late:?}");
    let ended = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::ApprovalExpired)));

    let asked = ask(&world, &kiosk).await;
    assert_eq!(world.admin().recorded(&asked.id).await.unwrap().state, CallState::AwaitingApproval);
    // The backend looks at open requests every second, and compares them with its last look.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    kiosk.grant(&json!({"profile": "reader", "paths": ["{files}"]})).await;
    let ended = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));
    assert!(open(&world).await.is_empty());
    let late = world.admin().decide(asked.approval_id(), true, "").await.unwrap_err();
    assert!(late.message().contains("already withdrawn"), "{late:?}");
    assert!(kiosk.files().join("old/a.txt").exists());
    let seen = kinds(&world, &asked).await;
    assert!(seen.contains(&"approval.withdrawn".to_owned()), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_a_device_in_quarantine_is_approved_and_its_request_stays_open() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (denied, call) = (ask(&world, &kiosk).await, ask(&world, &kiosk).await);
    let held = world.cli().run(&["devices", "quarantine", "kiosk", "--yes"]).await;
    assert_eq!(held.code, 0, "{held:?}");
    kiosk.offline().await;
    let id = call.approval_id();
    let refused = world.cli().run(&["approvals", "approve", id]).await;
    assert_eq!(refused.code, 5, "{refused:?}");
    let why = "request is still open: kiosk is quarantined and takes no calls";
    assert!(refused.stderr.contains(why), "{refused:?}");
    // A no counts at any time, and what was denied is not called open.
    world.admin().decide(denied.approval_id(), false, "").await.unwrap();
    let late = world.admin().decide(denied.approval_id(), true, "").await.unwrap_err();
    assert!(late.message().contains("already denied"), "{late:?}");
    let freed = world.cli().run(&["devices", "approve", "kiosk", "--yes"]).await;
    assert_eq!(freed.code, 0, "{freed:?}");
    kiosk.ready().await;
    world.admin().decide(id, true, "").await.unwrap();
    let ended = world.admin().ended(&call.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Succeeded, None), "{ended:?}");
}

/// Returns the open requests.
async fn open(world: &World) -> Vec<v1::Approval> {
    let request = v1::ListApprovalsRequest { all: false };
    world.admin().approvals().list_approvals(request).await.unwrap().into_inner().approvals
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_requests_of_a_disabled_person_end_and_those_of_others_stay() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let bob = world.person("bob", Role::Operator).await;
    kiosk.write_file("a.txt", "x");
    let arguments = json!({"path": "a.txt", "confirm": true});
    let gone = bob.call("kiosk", "delete_file", arguments).await;
    let other = ask(&world, &kiosk).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let disable = v1::DisableUserRequest { user: "bob".to_owned() };
    world.admin().auth().disable_user(disable).await.unwrap();
    let ended = world.admin().ended(&gone.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{ended:?}");
    let open: Vec<_> = open(&world).await.into_iter().map(|it| it.call_id).collect();
    assert_eq!(open, std::slice::from_ref(&other.id));
    world.admin().decide(other.approval_id(), true, "").await.unwrap();
    let done = world.admin().ended(&other.id).await.unwrap();
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
}

/// Makes an API token of the admin, and a client with it.
async fn spare(world: &World) -> orion_tests::Client {
    let request = v1::CreateTokenRequest {
        name: "spare".to_owned(),
        scopes: vec![v1::Scope::Call.into()],
        ..v1::CreateTokenRequest::default()
    };
    let made = world.admin().auth().create_token(request).await.unwrap().into_inner();
    world.admin().with_token(&made.secret)
}

async fn take_back(world: &World) {
    let request = v1::RevokeTokenRequest { token: "spare".to_owned(), user: String::new() };
    world.admin().auth().revoke_token(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_requests_of_a_session_end_with_it_and_those_of_others_stay() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "x");
    let arguments = json!({"path": "a.txt", "confirm": true});
    let gone = spare(&world).await.call("kiosk", "delete_file", arguments).await;
    let other = ask(&world, &kiosk).await;
    // The backend has looked at both by then, once a second.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    take_back(&world).await;
    let ended = world.admin().ended(&gone.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{ended:?}");
    assert!(ended.error().message.contains("the session or token that admin used"), "{ended:?}");
    let open: Vec<_> = open(&world).await.into_iter().map(|it| it.call_id).collect();
    assert_eq!(open, [other.id]);
    assert!(kiosk.files().join("a.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ended_a_request_in_quarantine_ends_it_once_the_device_is_back() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "x");
    let arguments = json!({"path": "a.txt", "confirm": true});
    let asked = spare(&world).await.call("kiosk", "delete_file", arguments).await;
    let held = world.cli().run(&["devices", "quarantine", "kiosk", "--yes"]).await;
    assert_eq!(held.code, 0, "{held:?}");
    take_back(&world).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let waiting: Vec<_> = open(&world).await.into_iter().map(|it| it.call_id).collect();
    assert_eq!(waiting, std::slice::from_ref(&asked.id), "nothing is decided in quarantine");
    let freed = world.cli().run(&["devices", "approve", "kiosk", "--yes"]).await;
    assert_eq!(freed.code, 0, "{freed:?}");
    let ended = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{ended:?}");
    assert!(open(&world).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_approves_nothing() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let bob = world.person("bob", Role::Viewer).await;
    let asked = ask(&world, &kiosk).await;
    let refused = bob.decide(asked.approval_id(), true, "").await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    assert_eq!(world.admin().recorded(&asked.id).await.unwrap().state, CallState::AwaitingApproval);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_survives_a_restart_of_the_backend() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asked = ask(&world, &kiosk).await;

    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let done = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_answers_at_once_one_counts() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asked = ask(&world, &kiosk).await;
    let answers: Vec<_> = (0..16)
        .map(|turn| {
            let (admin, question) = (world.admin().clone(), asked.approval_id().to_owned());
            tokio::spawn(async move { admin.decide(&question, turn % 2 == 0, "").await.is_ok() })
        })
        .collect();
    let mut counted = 0;
    for answer in answers {
        counted += u32::from(answer.await.unwrap());
    }
    assert_eq!(counted, 1);
    let ended = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(ended.state == CallState::Succeeded, kiosk.tree().is_empty(), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_chat_the_model_waits_for_the_answer_and_is_told_it() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "");
    let talking = {
        let admin = world.admin().clone();
        tokio::spawn(async move { admin.say("verwijder de map old met alles erin").await })
    };
    let question = orion_tests::eventually("a question", async || {
        if talking.is_finished() {
            return Some(None);
        }
        let request = v1::ListApprovalsRequest { all: false };
        let open = world.admin().approvals().list_approvals(request).await.ok()?.into_inner();
        open.approvals.into_iter().next().map(|card| Some(card.approval_id))
    })
    .await;
    let question = question.unwrap_or_else(|| panic!("the chat ended without a question"));
    world.admin().decide(&question, false, "Keep it").await.unwrap();
    let answer = talking.await.unwrap();
    let [call] = &answer.calls[..] else { panic!("one call: {answer:?}") };
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::ApprovalRejected)));
    assert!(kiosk.files().join("old/a.txt").exists());
    insta::assert_snapshot!(world.seen().in_text(&answer.text));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_asked_about_a_call_that_would_come_to_nothing() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "12345");
    let cases = [
        (json!({"path": "old", "confirm": true}), ErrorCode::NotEmpty),
        (json!({"path": "gone", "confirm": true}), ErrorCode::DirectoryNotFound),
    ];
    for (arguments, code) in cases {
        let call = world.admin().call(&kiosk.name, "delete_directory", arguments).await;
        assert_eq!(call.end(), (CallState::Failed, Some(code)), "{call:?}");
        assert_eq!(kinds(&world, &call).await, ["call.opened", "call.closed"]);
    }
    let all = v1::ListApprovalsRequest { all: true };
    let questions = world.admin().approvals().list_approvals(all).await.unwrap().into_inner();
    assert_eq!(questions.approvals, []);
    assert!(kiosk.files().join("old/a.txt").exists());
}
