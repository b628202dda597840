//! The log of what ran on the device.

use orion_domain::{CallState, ErrorCode};
use orion_tests::{World, eventually};
use serde_json::{Value, json};

use super::{DEVELOPER, developer, folder, owner};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_reads_what_ran_newest_first_and_follows_it() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", DEVELOPER).await;
    let said = owner(&kiosk, &["log"]).await;
    assert_eq!(said, "Nothing ran with effects here, and nothing was refused.\n");
    for name in ["one", "two"] {
        assert_eq!(folder(&world, &kiosk, name).await, (CallState::Succeeded, None));
    }
    let read = world.admin().call("kiosk", "list_directory", json!({"path": kiosk.path("")})).await;
    assert_eq!(read.end(), (CallState::Succeeded, None));
    owner(&kiosk, &["pause"]).await;
    let paused = (CallState::Refused, Some(ErrorCode::DevicePaused));
    assert_eq!(folder(&world, &kiosk, "three").await, paused);
    owner(&kiosk, &["resume"]).await;

    let text = owner(&kiosk, &["log", "-o", "json", "--limit", "2"]).await;
    let entries: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen = |entry: &Value| ["seq", "tool", "state", "code"].map(|it| entry[it].clone());
    let seen: Vec<_> = entries.iter().map(seen).collect();
    assert_eq!(
        seen,
        [
            [json!(3), json!("create_directory"), json!("refused"), json!("DEVICE_PAUSED")],
            [json!(2), json!("create_directory"), json!("succeeded"), json!("")],
        ]
    );
    let table = owner(&kiosk, &["log"]).await;
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert!(lines[0].starts_with("TIME ") && lines[1].contains("DEVICE_PAUSED"), "{table}");

    let following = kiosk.agent_command_with_stdin(&["log", "--follow", "-o", "json"]);
    eventually("what was", async || following.log().contains("\"seq\":3").then_some(())).await;
    assert_eq!(folder(&world, &kiosk, "four").await, (CallState::Succeeded, None));
    eventually("what is new", async || following.log().contains("\"seq\":4").then_some(())).await;
    let order: Vec<_> = following
        .log()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].clone())
        .collect();
    assert_eq!(order, [1, 2, 3, 4]);
    following.kill9().await;
}
