//! What a yes is not enough for: a call that asks for more by then, one that somebody else wrote, and
//! one whose person changed while it waited.

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Client, Device, World, eventually};
use orion_wire::v1;
use orion_wire::v1::decide_approval_request::More;
use serde_json::json;

async fn apply(world: &World, kiosk: &Device, rules: &str) {
    let text = format!("version: 1\nrules:\n{rules}");
    let request = v1::ApplyPolicyRequest { text, expected_version: -1, note: String::new() };
    let applied = world.admin().policy().apply_policy(request).await.unwrap().into_inner();
    assert!(applied.is_applied, "{:?}", applied.findings);
    kiosk.ready().await;
}

async fn delete(person: &Client, kiosk: &Device, name: &str) -> Call {
    let arguments = json!({"path": name, "recursive": true, "confirm": true});
    person.call(&kiosk.name, "delete_directory", arguments).await
}

async fn change(
    person: &Client,
    question: &str,
    path: &str,
) -> Result<v1::DecideApprovalResponse, tonic::Status> {
    let arguments = json!({"path": path, "recursive": true, "confirm": true});
    let arguments = serde_json::to_vec(&arguments).unwrap().into();
    let request = v1::DecideApprovalRequest {
        approval_id: question.to_owned(),
        approve: true,
        reason: "this one instead".to_owned(),
        more: Some(More::ChangedArguments(v1::ChangedArguments { arguments })),
        details_shown: None,
        passkey: None,
    };
    person.approvals().decide_approval(request).await.map(tonic::Response::into_inner)
}

async fn kinds(world: &World, call_id: &str) -> Vec<String> {
    let request =
        v1::ListAuditRequest { call_id: call_id.to_owned(), limit: 50, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    rows.into_iter().rev().map(|row| row.kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_is_not_spent_on_a_call_that_needs_more_people_by_then() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let rules = "
  - id: many
    tools: [delete_directory]
    action: ask
    limit: { calls: 1, per: 1h }
    approvers: { role: admin, count: 2 }
    because: More than one an hour is for two admins.
";
    apply(&world, &kiosk, rules).await;
    let ann = world.person("ann", Role::Operator).await;
    for name in ["a", "b"] {
        kiosk.write_file(&format!("{name}/x.txt"), "");
    }
    // Both are asked about while nothing has been done, so one yes of an operator seems to do.
    let (a, b) = (delete(&ann, &kiosk, "a").await, delete(&ann, &kiosk, "b").await);
    ann.decide(a.approval_id(), true, "").await.unwrap();
    assert_eq!(ann.ended(&a.id).await.unwrap().end(), (CallState::Succeeded, None));
    ann.decide(b.approval_id(), true, "").await.unwrap();
    let ended = ann.ended(&b.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::ApprovalExpired)), "{ended:?}");
    assert!(ended.error().message.contains("needs more"), "{ended:?}");
    assert!(!kiosk.files().join("a").exists() && kiosk.files().join("b/x.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_changed_a_call_is_not_the_second_person_who_looks_at_it() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let rules = "
  - id: two-eyes
    tools: [delete_directory]
    action: ask
    approvers: { role: operator, not_requester: true }
  - id: not-bob
    tools: [delete_directory]
    paths: [\"~/secret\"]
    users: [bob]
    action: deny
";
    let rules = rules.replace("~/secret", &kiosk.path("secret"));
    apply(&world, &kiosk, &rules).await;
    let ann = world.person("ann", Role::Operator).await;
    let bob = world.person("bob", Role::Operator).await;
    let eve = world.person("eve", Role::Viewer).await;
    for name in ["old", "other", "secret"] {
        kiosk.write_file(&format!("{name}/x.txt"), "");
    }
    let asked = delete(&ann, &kiosk, "old").await;

    // Through ann's name bob gets nowhere that he does not get in his own.
    let refused = change(&bob, asked.approval_id(), "secret").await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
    // Who may not approve may not change, and is on record for having tried.
    let refused = change(&eve, asked.approval_id(), "other").await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");

    let changed = change(&bob, asked.approval_id(), "other").await.unwrap().changed.unwrap();
    let ended = ann.ended(&asked.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::ApprovalRejected)));
    assert_eq!(changed.state(), v1::CallState::AwaitingApproval, "{changed:?}");
    for own in [&bob, &ann] {
        let own = own.decide(&changed.approval_id, true, "").await.unwrap_err();
        assert_eq!(own.code(), tonic::Code::PermissionDenied, "{own:?}");
    }
    assert!(kiosk.files().join("other/x.txt").exists());
    world.admin().decide(&changed.approval_id, true, "").await.unwrap();
    let ended = ann.ended(&changed.call_id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Succeeded, None), "{ended:?}");
    assert_eq!(
        kiosk.tree().into_keys().collect::<Vec<_>>(),
        ["old", "old/x.txt", "secret", "secret/x.txt"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_is_asked_about_shows_nothing_before_the_yes_whatever_it_calls_itself() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let rules = "
  - id: finance
    tools: [read_file]
    action: ask
    dry_run_first: true
  - id: often
    tools: [list_directory]
    action: deny
    limit: { calls: 2, per: 1h }
";
    apply(&world, &kiosk, rules).await;
    kiosk.write_file("finance.txt", "the secret sum");
    let ann = world.person("ann", Role::Operator).await;
    let arguments = json!({"path": "finance.txt"});
    for asked in [
        ann.dry_run(&kiosk.name, "read_file", arguments.clone()).await,
        ann.call(&kiosk.name, "read_file", arguments.clone()).await,
    ] {
        assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
        let request = v1::GetApprovalRequest {
            approval_id: asked.approval_id().to_owned(),
            ..Default::default()
        };
        let card = ann.approvals().get_approval(request).await.unwrap().into_inner();
        assert!(!format!("{card:?}").contains("secret sum"), "{card:?}");
        ann.decide(asked.approval_id(), true, "").await.unwrap();
        let read = ann.ended(&asked.id).await.unwrap();
        assert_eq!(read.end(), (CallState::Succeeded, None), "{read:?}");
        assert!(kinds(&world, &asked.id).await.contains(&"approval.used".to_owned()));
    }
    let look = async || ann.dry_run(&kiosk.name, "list_directory", json!({"path": "."})).await;
    assert_eq!(
        (look().await.state, look().await.state),
        (CallState::Succeeded, CallState::Succeeded)
    );
    assert_eq!(look().await.state, CallState::Denied);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waited_its_turn_is_judged_by_the_role_of_the_end() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let rules = "
  - id: often
    tools: [delete_directory]
    action: deny
    limit: { calls: 9, per: 1h }
  - id: much
    tools: [delete_directory]
    action: deny
    above: { entries: 1000 }
";
    apply(&world, &kiosk, rules).await;
    let ann = world.person("ann", Role::Operator).await;
    for name in ["a", "b"] {
        kiosk.write_file(&format!("{name}/x.txt"), "");
    }
    kiosk.agent().freeze();
    let calling: Vec<_> = ["a", "b"]
        .map(|path| {
            let (ann, device) = (ann.clone(), kiosk.name.clone());
            tokio::spawn(async move {
                let arguments = json!({"path": path, "recursive": true, "confirm": true});
                let arguments = serde_json::to_vec(&arguments).unwrap().into();
                let tool = "delete_directory".to_owned();
                // What ann may do changes, so that she is not told how it ended.
                let request = v1::CallToolRequest { device, tool, arguments, ..Default::default() };
                ann.ask(request).await.ok();
            })
        })
        .into();
    // The first one waits for its preview, and the other one for the first.
    eventually("the preview", async || opened(&world, true).await.pop()).await;
    let viewer = v1::SetUserRoleRequest { user: "ann".to_owned(), role: "viewer".to_owned() };
    world.admin().auth().set_user_role(viewer).await.unwrap();
    kiosk.agent().thaw();
    for one in calling {
        one.await.unwrap();
    }
    let calls = eventually("the calls", async || {
        let calls = opened(&world, false).await;
        (!calls.is_empty()).then_some(calls)
    })
    .await;
    for call in calls {
        let ended = world.admin().ended(&call).await.unwrap();
        let denied = (CallState::Denied, Some(ErrorCode::PermissionDenied));
        assert_eq!(ended.end(), denied, "{ended:?}");
    }
}

/// The deletions on record, or the previews of them.
async fn opened(world: &World, dry_run: bool) -> Vec<String> {
    let request = v1::ListAuditRequest { limit: 100, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    let is_one = |row: &v1::AuditRow| {
        let Ok(body) = serde_json::from_str::<serde_json::Value>(&row.body) else { return false };
        row.kind == "call.opened"
            && body["tool"] == "delete_directory"
            && body["dry_run"] == dry_run
    };
    rows.into_iter().filter(is_one).map(|row| row.call_id).collect()
}
