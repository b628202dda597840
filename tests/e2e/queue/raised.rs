//! A call that waited, and whose device sees something on its disk that raises the risk.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{World, eventually};
use orion_wire::v1;
use serde_json::json;

use super::{folder, queue};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waited_and_meets_a_higher_risk_is_asked_about() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("run", "old");
    let program = kiosk.files().join("run");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    kiosk.stop().await;
    let arguments = json!({"path": "run", "content": "new"});
    let waits = v1::CallToolRequest {
        tool: "write_file".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        ..folder("")
    };
    let waits = queue(world.admin(), waits).await;

    kiosk.run().await;
    let refused = world.admin().ended(&waits.id).await.unwrap();
    assert_eq!(refused.end(), (CallState::Refused, Some(ErrorCode::ApprovalRequired)));
    let question = eventually("a person to be asked", async || {
        let request = v1::ListApprovalsRequest::default();
        let listed = world.admin().approvals().list_approvals(request).await.unwrap();
        listed.into_inner().approvals.pop()
    })
    .await;
    assert_ne!(question.call_id, waits.id);
    assert_eq!(fs::read_to_string(&program).unwrap(), "old");

    world.admin().decide(&question.approval_id, true, "").await.unwrap();
    let done = world.admin().ended(&question.call_id).await.unwrap();
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
    assert_eq!(fs::read_to_string(&program).unwrap(), "new");
}
