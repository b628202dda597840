//! Who approves another person's call learns how it ended, and not what it returned.

use orion_domain::{CallState, Role};
use orion_tests::{World, eventually};
use orion_wire::v1;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approver_learns_how_the_call_of_another_ended() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let ann = world.person("ann", Role::Operator).await;
    let bob = world.person("bob", Role::Operator).await;
    let asked = async |name: &str| {
        kiosk.write_file(&format!("{name}/a.txt"), "12345");
        let arguments = json!({"path": name, "recursive": true, "confirm": true});
        bob.call("kiosk", "delete_directory", arguments).await
    };
    let approval = async |id: &str| {
        let request = v1::GetApprovalRequest { approval_id: id.to_owned(), ..Default::default() };
        ann.approvals().get_approval(request).await.unwrap().into_inner().approval.unwrap()
    };
    let (good, stale) = (asked("good").await, asked("stale").await);
    assert_eq!(approval(good.approval_id()).await.call_state(), v1::CallState::Unspecified);
    let line = async |id: &str| {
        let run = world.cli_of("ann", &ann).run(&["approvals", "approve", id]).await;
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr
    };
    let said = line(good.approval_id()).await;
    let who = "bob, who made the call, and the admins see its result";
    assert!(said.contains(&format!("the call: succeeded; {who}")), "{said}");

    // What is deleted is no longer what was shown.
    kiosk.write_file("stale/b.txt", "new");
    let said = line(stale.approval_id()).await;
    assert!(said.contains("the call: failed (PRECONDITION_FAILED); bob, who made"), "{said}");
    let card = approval(stale.approval_id()).await;
    assert_eq!(
        (card.state(), card.call_state()),
        (v1::ApprovalState::Approved, v1::CallState::Failed)
    );
    assert_eq!(card.call_code, "PRECONDITION_FAILED");
    assert!(kiosk.files().join("stale/a.txt").exists());

    let away = asked("away").await;
    kiosk.agent().kill9().await;
    kiosk.offline().await;
    line(away.approval_id()).await;
    let ended = eventually("the end of the call", async || {
        let card = approval(away.approval_id()).await;
        (card.call_state() == v1::CallState::Failed).then_some(card)
    })
    .await;
    assert_eq!(ended.call_code, "DEVICE_OFFLINE");
    // The call itself stays its caller's.
    let other = v1::GetCallRequest { call_id: away.id.clone(), wait_ms: 0 };
    let refused = ann.tools().get_call(other).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::NotFound);
    assert_eq!(bob.recorded(&away.id).await.unwrap().end().0, CallState::Failed);
}
