//! What only the device's disk shows raises the risk, and is asked about whatever was said before it.

use std::os::unix::fs::PermissionsExt as _;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Device, World, audit_of};
use orion_wire::v1;
use orion_wire::v1::decide_approval_request::More;
use serde_json::json;

const WRITES: &str = "version: 1
rules:
  - {id: writes, tools: [write_file], action: ask, approvers: {role: operator}}
";

/// A device with a plain file and one that runs.
async fn kiosk(world: &World) -> Device {
    let kiosk = world.device("kiosk").start().await;
    for (name, mode) in [("plain.txt", 0o644), ("run.sh", 0o755)] {
        kiosk.write_file(name, "before");
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(kiosk.files().join(name), mode).unwrap();
    }
    kiosk
}

async fn ask_about_writes(world: &World, kiosk: &Device) {
    let text = WRITES.to_owned();
    let request = v1::ApplyPolicyRequest { text, expected_version: -1, note: String::new() };
    let applied = world.admin().policy().apply_policy(request).await.unwrap().into_inner();
    assert!(applied.is_applied, "{:?}", applied.findings);
    kiosk.ready().await;
}

async fn card(world: &World, question: &str) -> v1::Approval {
    let request = v1::GetApprovalRequest { approval_id: question.to_owned(), ..Default::default() };
    world.admin().approvals().get_approval(request).await.unwrap().into_inner().approval.unwrap()
}

fn text(kiosk: &Device, name: &str) -> String {
    kiosk.tree()[name].clone().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idempotency_key_goes_with_the_call_to_the_question() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    let request = v1::CallToolRequest {
        tool: "write_file".to_owned(),
        device: "kiosk".to_owned(),
        arguments: br#"{"path":"run.sh","content":"new"}"#.to_vec().into(),
        idempotency_key: "one".to_owned(),
        ..Default::default()
    };
    let same = || async { world.admin().ask(request.clone()).await.unwrap() };
    let (asked, second, third) = tokio::join!(same(), same(), same());
    for at_once in [&asked, &second, &third] {
        assert_eq!(at_once.state, CallState::AwaitingApproval, "{at_once:?}");
        assert_eq!(at_once.id, asked.id, "a repeat got the answer of the attempt that is over");
    }
    let again = world.admin().ask(request.clone()).await.unwrap();
    assert_eq!((&again.id, again.state), (&asked.id, asked.state), "{again:?}");

    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let done = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
    kiosk.write_file("run.sh", "changed since");
    let again = world.admin().ask(request).await.unwrap();
    assert_eq!((&again.id, again.end()), (&asked.id, done.end()), "{again:?}");
    assert_eq!(text(&kiosk, "run.sh"), "changed since", "the same key ran twice");

    // The attempt that the device refused is on the record, and the audit names it.
    let rows = audit_of(world.admin(), &asked.id).await;
    let opened = rows.iter().find(|row| row.kind == "call.opened").unwrap();
    let opened: serde_json::Value = serde_json::from_str(&opened.body).unwrap();
    let refused = world.admin().recorded(opened["replaces"].as_str().unwrap()).await.unwrap();
    assert_eq!(refused.end(), (CallState::Refused, Some(ErrorCode::ApprovalRequired)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_for_the_chat_does_not_hold_for_it() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    ask_about_writes(&world, &kiosk).await;
    let admin = world.admin();
    let first = admin
        .asked("", "write \"one\" to plain.txt", async |question| {
            let request = v1::DecideApprovalRequest {
                approval_id: question.approval_id.clone(),
                approve: true,
                reason: String::new(),
                more: Some(More::ForThisChat(v1::ForThisChat {})),
                details_shown: None,
                passkey: None,
            };
            admin.approvals().decide_approval(request).await.unwrap();
        })
        .await;
    let chat = first.conversation;
    assert_eq!(text(&kiosk, "plain.txt"), "one");
    admin.say_in(&chat, "write \"two\" to plain.txt").await;
    assert_eq!(text(&kiosk, "plain.txt"), "two", "the yes holds for the chat");

    let raised = admin
        .asked(&chat, "write \"three\" to run.sh", async |question| {
            let card = card(&world, &question.approval_id).await;
            let says = card.risk_because.iter().any(|line| line.contains("start programs"));
            assert!(says && !card.by_standing_answer && !card.may_stand, "{card:?}");
            assert_eq!(text(&kiosk, "run.sh"), "before", "it ran before anybody was asked");
            admin.decide(&question.approval_id, false, "").await.unwrap();
        })
        .await;
    assert_eq!(raised.calls[0].state, CallState::Denied, "{raised:?}");
    assert_eq!(text(&kiosk, "run.sh"), "before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changing_a_call_into_it_is_no_yes_to_it() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    ask_about_writes(&world, &kiosk).await;
    for (path, expected) in
        [("plain.txt", v1::CallState::Succeeded), ("run.sh", v1::CallState::AwaitingApproval)]
    {
        let arguments = json!({"path": "new.txt", "content": "x"});
        let asked = world.admin().call("kiosk", "write_file", arguments).await;
        let arguments = json!({"path": path, "content": "changed"}).to_string().into_bytes();
        let request = v1::DecideApprovalRequest {
            approval_id: asked.approval_id().to_owned(),
            approve: true,
            reason: String::new(),
            more: Some(More::ChangedArguments(v1::ChangedArguments {
                arguments: arguments.into(),
            })),
            details_shown: None,
            passkey: None,
        };
        let decided = world.admin().approvals().decide_approval(request).await.unwrap();
        let made = decided.into_inner().changed.unwrap();
        assert_eq!(made.state(), expected, "{path}: {made:?}");
    }
    assert_eq!(text(&kiosk, "plain.txt"), "changed");
    assert_eq!(text(&kiosk, "run.sh"), "before");
}
