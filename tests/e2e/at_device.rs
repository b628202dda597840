//! The person at the device: pauses it, reads what ran on it, and is asked before calls run.
#![cfg(target_os = "linux")]

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Device, World};
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
