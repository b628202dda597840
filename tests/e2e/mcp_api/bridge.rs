//! `orion mcp`: what a program gets over standard input and output, also when the backend goes away and comes back.

use std::ffi::OsStr;

use orion_tests::{Launch, Process, World, eventually, program};
use serde_json::{Value, json};

use super::OLD;

/// Starts `orion mcp` with this input, which stays open.
fn start(world: &World, input: &[u8]) -> Process {
    let context = world.folder().join("context.toml");
    let log = world.folder().join("mcp.log");
    let launch = Launch {
        arguments: &[OsStr::new("mcp")],
        environment: &[("ORION_CONTEXT", context.as_os_str())],
        stdin: input,
        keeps_stdin: true,
    };
    Process::start(&program("orion"), &log, &launch)
}

fn line(id: u64, method: &str, params: &Value) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// Waits for the answer with this id.
async fn answer(process: &Process, id: u64) -> Value {
    eventually("an answer", async || {
        let log = process.log();
        let mut messages = log.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
        messages.find(|message| message["id"] == id)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_gets_each_answer_and_survives_a_backend_that_went_away() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let who = json!({"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let process = start(&world, line(1, "initialize", &who).as_bytes());
    assert_eq!(answer(&process, 1).await["result"]["protocolVersion"], OLD);
    let call = |id: u64, path: &str| {
        let params = json!({"name": "create_directory", "arguments": {"path": path}});
        line(id, "tools/call", &params)
    };
    process.write_stdin(b"Milk\n[]\n");
    process.write_stdin(call(2, "One").as_bytes());
    assert_eq!(answer(&process, 2).await["result"]["structuredContent"]["success"], json!(true));
    let log = process.log();
    assert!(log.contains("-32700") && log.contains("-32600"), "{log}");

    world.server().kill9().await;
    process.write_stdin(call(3, "Two").as_bytes());
    let error = answer(&process, 3).await["error"]["message"].to_string();
    assert!(error.contains("cannot be reached") || error.contains("too early"), "{error}");
    world.restart_server().await;
    kiosk.ready().await;
    process.write_stdin(call(4, "Three").as_bytes());
    assert_eq!(answer(&process, 4).await["result"]["structuredContent"]["success"], json!(true));
    let folders: Vec<_> = kiosk.tree().into_keys().collect();
    assert_eq!(folders, ["One", "Three"]);

    // What was asked before the input ends is answered.
    process.write_stdin(call(5, "Four").as_bytes());
    process.close_stdin();
    assert_eq!(process.exit_code().await, 0, "{}", process.log());
    assert_eq!(answer(&process, 5).await["result"]["structuredContent"]["success"], json!(true));
}
