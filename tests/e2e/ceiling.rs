//! The owner's ceiling: narrower than the grants, it holds at the backend, and on the device alone.

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Device, LyingAgent, World, eventually};
use orion_wire::v1;
use orion_wire::v1::{link_request, link_response};
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

/// Changes the owner's file and waits until the backend was told a ceiling with these words.
async fn rewrite(world: &World, device: &Device, text: &str, words: &str) {
    let text = text.replace("{files}", &device.files().display().to_string());
    std::fs::write(device.config(), text).unwrap();
    told(world, device, words).await;
}

async fn told(world: &World, device: &Device, words: &str) {
    eventually("the ceiling told", async || {
        let seen = world.admin().device(&device.name).await.ok()?;
        seen.ceiling.contains(words).then_some(())
    })
    .await;
}

async fn make(world: &World, device: &Device, name: &str) -> (CallState, Option<ErrorCode>) {
    let arguments = json!({"path": device.path(name)});
    world.admin().call(&device.name, "create_directory", arguments).await.end()
}

/// From here on nothing is made: the device refuses at once, and the backend as soon as it has taken in
/// what was recorded.
async fn refused(world: &World, device: &Device) {
    eventually("the backend's own refusal", async || {
        let (state, code) = make(world, device, "never").await;
        assert_eq!(code, Some(ErrorCode::PermissionDenied));
        (state == CallState::Denied).then_some(())
    })
    .await;
    assert!(!device.files().join("never").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ceiling_that_changes_holds_on_both_sides_without_a_new_connection() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    assert_eq!(make(&world, &kiosk, "one").await, (CallState::Succeeded, None));
    let reader = "[ceiling]\nprofile = \"reader\"\npaths = [\"{files}\"]\n";
    rewrite(&world, &kiosk, reader, "reader").await;
    refused(&world, &kiosk).await;

    // Another folder is the workspace, and relative paths begin there on both sides.
    std::fs::create_dir(kiosk.files().join("inner")).unwrap();
    let inner = "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}/inner\"]\n";
    rewrite(&world, &kiosk, inner, "inner").await;
    // The device runs none of them before the backend has said that it judges by the new place.
    eventually("a call in the new place", async || {
        let call = world.admin().call("kiosk", "create_directory", json!({"path": "three"})).await;
        (call.state == CallState::Succeeded).then_some(())
    })
    .await;
    assert!(kiosk.files().join("inner/three").is_dir());
    assert!(!kiosk.files().join("three").exists());
    let outside = make(&world, &kiosk, "four").await;
    assert_eq!(outside, (CallState::Denied, Some(ErrorCode::PathNotAllowed)));
    assert_eq!(kiosk.agent().log().matches("connected to").count(), 1, "the link was lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_taken_changes_nothing_and_one_that_is_gone_closes_everything() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    std::fs::write(kiosk.config(), "[ceiling]\npaths = [\"/\"]\nprofle = \"reader\"\n").unwrap();
    let fault = eventually("the fault told", async || {
        let request = v1::ListAuditRequest { limit: 100, ..Default::default() };
        let rows = world.admin().audit().list_audit(request).await.ok()?.into_inner().rows;
        rows.into_iter().find(|row| row.kind == "device.ceiling_faulty").map(|row| row.body)
    })
    .await;
    assert!(fault.contains("did you mean `profile`?"), "{fault}");
    assert_eq!(make(&world, &kiosk, "one").await, (CallState::Succeeded, None));
    let status = kiosk.agent_command(&["status"]);
    assert_eq!(status.exit_code().await, 0);
    assert!(status.log().contains("did you mean `profile`?"), "{}", status.log());

    std::fs::remove_file(kiosk.config()).unwrap();
    told(&world, &kiosk, "\"read_only\":true").await;
    refused(&world, &kiosk).await;
    let again = "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}\"]\n";
    rewrite(&world, &kiosk, again, "operator").await;
    eventually("calls that run again", async || {
        let (state, _) = make(&world, &kiosk, "three").await;
        (state == CallState::Succeeded).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_is_shown_what_holds_and_told_all_that_is_wrong() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let show = kiosk.agent_command(&["ceiling", "show", "-o", "json"]);
    assert_eq!(show.exit_code().await, 0, "{}", show.log());
    let shown: serde_json::Value = serde_json::from_str(&show.log()).unwrap();
    assert_eq!(shown["paths"][0]["real"], json!(kiosk.files()));
    assert_eq!(shown["paths"][0]["kind"], "folder");
    assert_eq!(shown["left"]["paths"][0]["path"], json!(kiosk.files()));
    assert!(shown["left"]["tools"].as_array().unwrap().contains(&json!("create_directory")));
    std::fs::write(kiosk.config(), "[ceiling]\npaths = [\"x\"]\ntools = [\"read_fiel\"]\n")
        .unwrap();
    let check = kiosk.agent_command(&["ceiling", "check"]);
    assert_eq!(check.exit_code().await, 1);
    let log = check.log();
    assert!(log.contains("agent.toml:2:10: error[bad-path]"), "{log}");
    assert!(log.contains("agent.toml:3:10: error[unknown-tool]"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_tells_nonsense_of_its_ceiling_is_hung_up_on_and_the_one_before_holds() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    let files = kiosk.files().display().to_string();
    let fine = v1::CeilingUpdate {
        ceiling: json!({"profile": "reader", "paths": [files]}).to_string().into(),
        workspace: files.clone(),
        fault: "\u{1b}[2Jno".to_owned(),
        number: 7,
        ..v1::CeilingUpdate::default()
    };
    let named = |name: &str, at: &str| v1::CeilingUpdate {
        projects: [(name.to_owned(), at.to_owned())].into(),
        ..fine.clone()
    };
    let with = |ceiling: String| v1::CeilingUpdate { ceiling: ceiling.into(), ..fine.clone() };
    let cases = [
        (fine.clone(), true),
        (with("{".to_owned()), false),
        (with("{\"more\":1}".to_owned()), false),
        (with(json!({"deny_paths": ["x".repeat(100_000)]}).to_string()), false),
        (v1::CeilingUpdate { workspace: "relative".to_owned(), ..fine.clone() }, false),
        (named("all", "/srv"), false),
        (named("a", "relative"), false),
    ];
    for (number, (update, is_taken)) in (1..).zip(cases) {
        let address = world.device_address();
        let mut agent = LyingAgent::connect(&kiosk, &address, number).await.unwrap();
        agent.say(link_request::Message::CeilingUpdate(update)).await;
        let heard = agent.receive().await.ok().flatten();
        let acknowledged =
            matches!(heard, Some(link_response::Message::CeilingAck(v1::CeilingAck { number: 7 })));
        assert_eq!((acknowledged, heard.is_some()), (is_taken, is_taken), "{heard:?}");
        if is_taken {
            told(&world, &kiosk, "reader").await;
        }
        drop(agent);
        kiosk.offline().await;
    }
}
