//! The person at the device: pauses it, reads what ran on it, and is asked before calls run.
#![cfg(target_os = "linux")]

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Device, World, tree};
use serde_json::json;

mod consent;
mod log;
mod notices;
mod pause;

const DEVELOPER: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";

async fn developer(world: &World, name: &str, config: &str) -> Device {
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    world.device(name).grant(grants).ceiling(config).start().await
}

/// Runs a command of the agent to its end, and returns what it said.
async fn owner(device: &Device, words: &[&str]) -> String {
    let (code, said) = device.agent_says(words).await;
    assert_eq!(code, 0, "{words:?}: {said}");
    said
}

async fn folder(world: &World, device: &Device, name: &str) -> (CallState, Option<ErrorCode>) {
    world.admin().call(&device.name, "create_directory", json!({"path": name})).await.end()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owners_commands_make_nothing_in_a_folder_that_is_no_agents() {
    let world = World::new().await;
    let (theirs, none) = (world.folder().join("private"), world.folder().join("none"));
    std::fs::create_dir(&theirs).unwrap();
    std::fs::set_permissions(&theirs, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::write(theirs.join("diary.txt"), "mine").unwrap();
    let before = tree(&theirs);
    for command in [&["consent", "list"][..], &["status"], &["pause"], &["resume"], &["log"]] {
        for folder in [&theirs, &none] {
            let words = [&["--state-dir", folder.to_str().unwrap()], command].concat();
            world.cli().program("orion-agent", &words, b"").await;
        }
        assert_eq!(tree(&theirs), before, "{command:?}");
        assert!(!none.exists(), "{command:?}");
    }
}
