//! The owner's ceiling: narrower than the grants, it holds at the backend, and on the device alone.

use orion_domain::{CallState, ErrorCode};
use orion_tests::World;
use serde_json::json;

const NARROW: &str = "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}/mine\"]\ntools = [\"create_directory\", \"list_directory\"]\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backend_says_that_the_owner_does_not_want_it() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").ceiling(NARROW).start().await;
    std::fs::create_dir(kiosk.files().join("mine")).unwrap();

    let inside = json!({"path": kiosk.path("mine/new")});
    let call = world.admin().call("kiosk", "create_directory", inside).await;
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");

    let outside = json!({"path": kiosk.path("new")});
    let call = world.admin().call("kiosk", "create_directory", outside).await;
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::PathNotAllowed)));
    insta::assert_snapshot!(
        world.seen().in_text(&serde_json::to_string_pretty(call.error()).unwrap())
    );
    let call = world.admin().call("kiosk", "get_datetime", json!({})).await;
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));
    assert_eq!(call.error().details["layer"], "ceiling");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ceiling_that_was_lowered_holds_from_the_next_start() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.stop().await;
    let text = "[ceiling]\nprofile = \"reader\"\npaths = []\n";
    std::fs::write(kiosk.config(), text).unwrap();
    kiosk.run().await;
    let call =
        world.admin().call("kiosk", "create_directory", json!({"path": kiosk.path("x")})).await;
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_ceiling_file_nothing_can_be_touched() {
    let world = World::new().await;
    let (kiosk, token) = world.device("kiosk").invite().await;
    std::fs::write(kiosk.config(), "").unwrap();
    let enrolling = kiosk.enroll(&token);
    assert_eq!(enrolling.exit_code().await, 0, "{}", enrolling.log());
    kiosk.run().await;
    let call =
        world.admin().call("kiosk", "create_directory", json!({"path": kiosk.path("x")})).await;
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::PathNotAllowed)));
    assert_eq!(call.error().details["layer"], "ceiling");
    assert!(kiosk.tree().is_empty());
}
