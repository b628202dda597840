//! A backend that is configured to change nothing refuses every change on every device.

use orion_domain::{CallState, ErrorCode};
use orion_tests::World;
use serde_json::json;

/// The end of a call that the configuration refuses.
const REFUSED: (CallState, Option<ErrorCode>) = (CallState::Denied, Some(ErrorCode::WriteDisabled));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_backend_refuses_every_change_also_one_that_waited_and_was_approved() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("note.txt", "kept");
    let delete = json!({"path": "note.txt", "confirm": true});
    let waiting = world.admin().call("kiosk", "delete_file", delete).await;
    assert_eq!(waiting.state, CallState::AwaitingApproval, "{waiting:?}");

    world.restart_configured("[calls]\nread_only = true\n").await;
    kiosk.ready().await;
    let before = kiosk.tree();
    let write = || json!({"path": "new.txt", "content": "new"});
    let written = world.admin().call("kiosk", "write_file", write()).await;
    assert_eq!(written.end(), REFUSED, "{written:?}");
    assert!(written.error().message.contains("This backend is read-only"), "{written:?}");
    let preview = world.admin().dry_run("kiosk", "write_file", write()).await;
    assert_eq!(preview.end(), (CallState::Succeeded, None), "{preview:?}");
    let read = world.admin().call("kiosk", "read_file", json!({"path": "note.txt"})).await;
    assert_eq!(read.end(), (CallState::Succeeded, None), "{read:?}");

    // The approval holds for the call, and the configuration refuses it all the same.
    let _ = world.admin().decide(waiting.approval_id(), true, "").await;
    let ended = world.admin().ended(&waiting.id).await.unwrap();
    assert_eq!(ended.end(), REFUSED, "{ended:?}");
    assert_eq!(kiosk.tree(), before);

    let why = world.cli().run(&["why", "kiosk", "write_file", "path=new.txt", "content=x"]).await;
    let said = format!("{}{}", why.stdout, why.stderr);
    assert!(said.contains("configuration: calls.read_only"), "{said}");
    assert!(said.contains("set read_only to false in [calls]"), "{said}");

    world.restart_configured("").await;
    kiosk.ready().await;
    let written = world.admin().call("kiosk", "write_file", write()).await;
    assert_eq!(written.end(), (CallState::Succeeded, None), "{written:?}");
}
