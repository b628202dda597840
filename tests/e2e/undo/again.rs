//! Undoing an undoing does a call again, and is judged as that call.

use std::os::unix::fs::PermissionsExt as _;

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Client, Device, World};
use orion_wire::v1;
use serde_json::json;

use super::done;

const ASKED: (CallState, Option<ErrorCode>) =
    (CallState::AwaitingApproval, Some(ErrorCode::ApprovalRequired));
const REFUSED: (CallState, Option<ErrorCode>) =
    (CallState::Denied, Some(ErrorCode::PermissionDenied));

async fn undoing(person: &Client, call: &str, paths: &[&str]) -> Call {
    person.call("kiosk", "undo_call", json!({"call_id": call, "paths": paths})).await
}

/// Deletes the folder `old` and takes that back: both calls.
async fn deleted_and_back(world: &World, kiosk: &Device) -> (String, Call) {
    kiosk.write_file("old/a.txt", "12345");
    let delete = ["delete_directory", "path=old", "recursive=true", "confirm=true"];
    let deleted = done(&world.cli(), &delete).await;
    assert!(kiosk.tree().is_empty());
    let back = undoing(world.admin(), &deleted, &["old"]).await;
    assert_eq!(back.data()["tool"], "delete_directory");
    assert!(kiosk.files().join("old/a.txt").exists());
    (deleted, back)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_needed_approval_needs_it_to_be_done_again_however_long_the_chain() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let admin = world.admin();
    let (deleted, mut back) = deleted_and_back(&world, &kiosk).await;
    for round in 0..3 {
        let asked = undoing(admin, &back.id, &["old"]).await;
        assert_eq!(asked.end(), ASKED, "{asked:?}");
        assert!(kiosk.files().join("old/a.txt").exists(), "round {round}: nobody was asked");
        let card = v1::GetApprovalRequest {
            approval_id: asked.approval_id().to_owned(),
            ..Default::default()
        };
        let card = admin.approvals().get_approval(card).await.unwrap().into_inner();
        let card = card.approval.unwrap();
        let path = kiosk.path("old");
        assert_eq!(card.touches, [format!("delete {path}"), format!("write {path}")]);
        assert_eq!((card.risk(), card.may_stand), (v1::Risk::High, false), "{card:?}");
        let why = format!("It does delete_directory of call {deleted} again");
        assert!(card.risk_because[0].starts_with(&why), "{card:?}");
        let preview: orion_domain::Envelope = serde_json::from_slice(&card.preview).unwrap();
        assert_eq!(preview.data.unwrap()["bytes"], 5);

        admin.decide(asked.approval_id(), true, "").await.unwrap();
        let again = admin.ended(&asked.id).await.unwrap();
        assert_eq!(again.data()["call_id"], back.id);
        assert!(kiosk.tree().is_empty());
        // Taking that back is an undoing as at first.
        back = undoing(admin, &again.id, &["old"]).await;
        assert_eq!(back.end(), (CallState::Succeeded, None), "{back:?}");
        assert!(kiosk.files().join("old/a.txt").exists());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_done_again_by_the_rules_and_grants_of_its_own_tool() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (_, back) = deleted_and_back(&world, &kiosk).await;
    let files = kiosk.files().display().to_string();
    let rule = |rule: &str| {
        format!(
            "version: 1\ndevices:\n  kiosk: {{ profile: operator, paths: [{{ path: \"{files}\", access: [read, write, delete] }}] }}\nrules:\n  - {{ id: it, {rule} }}\n"
        )
    };
    for (text, end) in [
        (rule("tools: [delete_directory], action: deny"), REFUSED),
        (rule("tools: [undo_call], action: deny"), REFUSED),
        (rule("tools: [delete_directory], action: deny, above: { bytes: 4 }"), REFUSED),
        (rule("tools: [delete_directory], action: deny, above: { bytes: 5 }"), ASKED),
        (rule("tools: [delete_directory], action: deny, limit: { calls: 1, per: 1h }"), REFUSED),
        (rule(&format!("tools: [undo_call], action: allow, paths: [\"{files}/old\"]")), ASKED),
        (
            format!(
                "version: 1\ndevices:\n  kiosk: {{ tools: [undo_call, read_file], paths: [{{ path: \"{files}\", access: [read, write, delete] }}] }}\n"
            ),
            REFUSED,
        ),
    ] {
        let file = world.folder().join("policy.yaml");
        std::fs::write(&file, &text).unwrap();
        let file = file.display().to_string();
        let applied = world.cli().run(&["policy", "apply", &file, "--yes"]).await;
        assert_eq!(applied.code, 0, "{text}: {applied:?}");
        kiosk.ready().await;
        let again = undoing(world.admin(), &back.id, &["old"]).await;
        assert_eq!(again.end(), end, "{text}: {again:?}");
        assert!(kiosk.files().join("old/a.txt").exists(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_call_of_somebody_else_no_more_is_told_than_of_none() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (deleted, back) = deleted_and_back(&world, &kiosk).await;
    let ann = world.person("ann", Role::Operator).await;
    let none = "01893e2a-7c00-7000-8000-000000000001";
    let said = undoing(&ann, none, &["old"]).await.error().clone();
    assert_eq!(said.code, ErrorCode::PreconditionFailed);
    for call in [&deleted, &back.id] {
        assert_eq!(*undoing(&ann, call, &["old"]).await.error(), said);
        assert_eq!(*undoing(&ann, call, &["elsewhere"]).await.error(), said);
    }
    // What an admin took back of hers names nobody's call either.
    let hers = ann.call("kiosk", "write_file", json!({"path": "hers", "content": "x"})).await;
    let taken = undoing(world.admin(), &hers.id, &["hers"]).await;
    assert_eq!(taken.end(), (CallState::Succeeded, None), "{taken:?}");
    let again = undoing(&ann, &hers.id, &["hers"]).await;
    assert_eq!(again.error().code, ErrorCode::PreconditionFailed);
    assert!(!format!("{again:?}").contains(&taken.id), "{again:?}");
    assert_eq!(*undoing(&ann, &taken.id, &["hers"]).await.error(), said);
    for (person, by) in [(&ann, ""), (world.admin(), taken.id.as_str())] {
        let request = v1::GetCallRequest { call_id: hers.id.clone(), wait_ms: 0 };
        let shown = person.tools().get_call(request).await.unwrap().into_inner().call.unwrap();
        assert_eq!((shown.undone, shown.undone_by.as_str()), (true, by));
    }
    // A list says so as well, of this call alone.
    let kept = ann.call("kiosk", "write_file", json!({"path": "kept", "content": "x"})).await;
    let preview = json!({"call_id": kept.id, "paths": ["kept"]});
    ann.dry_run("kiosk", "undo_call", preview).await;
    let request = v1::ListCallsRequest::default();
    let listed = ann.tools().list_calls(request).await.unwrap().into_inner().calls;
    let is_undone = |id: &str| listed.iter().find(|call| call.call_id == id).unwrap().undone;
    assert!(is_undone(&hers.id) && !is_undone(&kept.id));
    assert!(listed.iter().all(|call| call.undone_by.is_empty()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_lent_no_longer_is_not_moved_back_out_of_it() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    std::fs::create_dir_all(kiosk.files().join("out")).unwrap();
    kiosk.write_file("in/a.txt", "a");
    let cli = world.cli();
    let moved = done(&cli, &["move_path", "source=in/a.txt", "destination=out/a.txt"]).await;
    let back = undoing(world.admin(), &moved, &["in/a.txt", "out/a.txt"]).await;
    assert_eq!(back.end(), (CallState::Succeeded, None), "{back:?}");
    kiosk.grant(&json!({"profile": "operator", "paths": ["{files}/in"]})).await;
    let before = kiosk.tree();
    for call in [&moved, &back.id] {
        let refused = undoing(world.admin(), call, &["in/a.txt", "out/a.txt"]).await;
        let end = (CallState::Denied, Some(ErrorCode::PathNotAllowed));
        assert_eq!(refused.end(), end, "{refused:?}");
    }
    assert_eq!(kiosk.tree(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_was_written_after_an_approval_is_not_written_again_without_one() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let admin = world.admin();
    kiosk.write_file("run.sh", "#!/bin/sh\n");
    let script = kiosk.files().join("run.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let new = json!({"path": "run.sh", "content": "#!/bin/sh\nnew\n"});
    let asked = admin.call("kiosk", "write_file", new).await;
    assert_eq!(asked.end(), ASKED, "{asked:?}");
    admin.decide(asked.approval_id(), true, "").await.unwrap();
    let written = admin.ended(&asked.id).await.unwrap();
    let back = undoing(admin, &written.id, &["run.sh"]).await;
    assert_eq!(back.end(), (CallState::Succeeded, None), "{back:?}");
    let before = kiosk.tree();
    let again = undoing(admin, &back.id, &["run.sh"]).await;
    assert_eq!(again.end(), ASKED, "{again:?}");
    assert_eq!(kiosk.tree(), before, "it was written before anybody was asked");
    let card = v1::GetApprovalRequest {
        approval_id: again.approval_id().to_owned(),
        ..Default::default()
    };
    let card = admin.approvals().get_approval(card).await.unwrap().into_inner().approval.unwrap();
    let says = card.risk_because.iter().any(|line| line == "This file can start programs.");
    assert!(says, "{card:?}");
    admin.decide(again.approval_id(), true, "").await.unwrap();
    let done = admin.ended(&again.id).await.unwrap();
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
    assert_eq!(std::fs::read_to_string(&script).unwrap(), "#!/bin/sh\nnew\n");
}
