//! Tools of MCP servers on a device: a real server from npm, and servers that hang, break, flood and change.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Device, World, running};
use orion_wire::v1;
use serde_json::{Value, json};

use super::{announced, approve, undecided};

/// A server of a few lines: it answers, hangs, breaks and floods, by the name of the tool.
pub(super) const ODD_SERVER: &str = r#"#!/usr/bin/env node
const fs = require('fs');
const send = (message) => fs.writeSync(1, JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const tool = (name) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
});
const call = (id, { name, arguments: given }) => {
  if (name === 'echo') send({ id, result: { content: [{ type: 'text', text: given.text }] } });
  if (name === 'fail') send({ id, result: { isError: true, content: [{ type: 'text', text: 'no' }] } });
  if (name === 'break') { console.error('it broke'); process.exit(3); }
  while (name === 'flood') { try { fs.writeSync(1, 'x'.repeat(65536)); } catch { process.exit(4); } }
};
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: 'odd', version: '1' };
  const capabilities = { tools: {} };
  const { protocolVersion } = params ?? {};
  if (method === 'initialize') send({ id, result: { protocolVersion, capabilities, serverInfo } });
  if (method === 'tools/list') send({ id, result: { tools: ['echo', 'fail', 'hang', 'break', 'flood'].map(tool) } });
  if (method === 'tools/call') call(id, params);
});
"#;

pub(super) async fn device_with(world: &World, entry: &str) -> Device {
    let ceiling = format!("[ceiling]\nprofile = \"developer\"\npaths = [\"{{files}}\"]\n{entry}");
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    let kiosk = world.device("kiosk").grant(grants).ceiling(&ceiling).enroll().await;
    kiosk.install("odd-server", ODD_SERVER);
    kiosk.run().await;
    kiosk
}

pub(super) async fn approved(world: &World, name: &str) {
    let tool = announced(world, name, "").await;
    approve(world, &tool, v1::Risk::Medium).await;
}

async fn call(world: &World, tool: &str, arguments: Value) -> Call {
    let request = v1::CallToolRequest {
        tool: tool.to_owned(),
        device: "kiosk".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        timeout_ms: 5_000,
        ..v1::CallToolRequest::default()
    };
    world.admin().ask(request).await.unwrap()
}

/// Returns the folder of the packages that `make test-deps` installs.
fn packages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/node_modules")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_reads_and_writes_in_the_granted_folder_and_nowhere_else() {
    let program = packages().join("@modelcontextprotocol/server-filesystem/dist/index.js");
    assert!(program.exists(), "run make test-deps");
    let world = World::new().await;
    let entry = format!(
        "[mcp.files]\ncommand = \"node\"\nargs = [\"{}\", \"{{files}}\"]\ncode = [\"{}\"]\n\
         roots = [\"{{files}}\"]\nrisk = \"medium\"\n",
        program.display(),
        packages().display()
    );
    let kiosk = device_with(&world, &entry).await;
    kiosk.write_file("notes.txt", "milk\n");
    let pending = announced(&world, "files__read_text_file", "").await;
    assert_eq!(pending.state, v1::CustomToolState::Pending as i32);
    undecided(&world, "files__read_text_file", json!({"path": "x"})).await;
    for tool in ["files__read_text_file", "files__write_file", "files__list_directory"] {
        approved(&world, tool).await;
    }
    let read = async |path: String| {
        world.admin().call("kiosk", "files__read_text_file", json!({"path": path})).await
    };
    let done = read(kiosk.path("notes.txt")).await;
    assert!(done.data()["stdout"].as_str().unwrap().contains("milk"), "{done:?}");
    let written = json!({"path": kiosk.path("new.txt"), "content": "$(id) `id`\n"});
    let done = world.admin().call("kiosk", "files__write_file", written).await;
    assert_eq!(done.state, CallState::Succeeded, "{done:?}");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("new.txt")).unwrap(), "$(id) `id`\n");
    let listed = world
        .admin()
        .call("kiosk", "files__list_directory", json!({"path": kiosk.path(".")}))
        .await;
    assert!(listed.data()["stdout"].as_str().unwrap().contains("[FILE] new.txt"), "{listed:?}");
    let outside = read("/etc/passwd".to_owned()).await;
    assert_eq!(outside.end(), (CallState::Failed, Some(ErrorCode::ExecutionFailed)), "{outside:?}");
    let preview = world
        .admin()
        .dry_run("kiosk", "files__write_file", json!({"path": "x", "content": "x"}))
        .await;
    assert!(preview.data()["program"].as_str().unwrap().contains("node"), "{preview:?}");
    assert_eq!(running("server-filesystem"), 0, "nothing is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_breaks_or_floods_ends_its_call_and_the_next_one_works() {
    let world = World::new().await;
    let kiosk =
        device_with(&world, "[mcp.odd]\ncommand = \"odd-server\"\nrisk = \"medium\"\n").await;
    for tool in ["echo", "fail", "hang", "break", "flood"] {
        approved(&world, &format!("odd__{tool}")).await;
    }
    let echo = async |text: &str| call(&world, "odd__echo", json!({"text": text})).await;
    assert_eq!(echo("a\n'b'").await.data()["stdout"], "a\n'b'");
    let began = Instant::now();
    let hung = call(&world, "odd__hang", json!({})).await;
    assert_eq!(hung.end(), (CallState::TimedOut, Some(ErrorCode::Timeout)), "{hung:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    let broke = call(&world, "odd__break", json!({})).await;
    assert_eq!(broke.end(), (CallState::Failed, Some(ErrorCode::ExecutionFailed)), "{broke:?}");
    assert!(
        broke.error().details["stderr_tail"].as_str().unwrap().contains("it broke"),
        "{broke:?}"
    );
    let failed = call(&world, "odd__fail", json!({})).await;
    assert_eq!(failed.error().details["stdout_tail"], "no", "{failed:?}");
    let flooded = call(&world, "odd__flood", json!({})).await;
    assert_eq!(flooded.state, CallState::Failed, "{flooded:?}");
    assert_eq!(echo("again").await.data()["stdout"], "again");
    assert_eq!(running("odd-server"), 0, "nothing is left");

    // The server describes its tool otherwise: the approval was for another definition.
    kiosk
        .install("odd-server", &ODD_SERVER.replace("`Does ${name}.`", "`Does more than ${name}.`"));
    let before = announced(&world, "odd__echo", "").await;
    let changed = echo("x").await;
    assert_eq!(
        changed.end(),
        (CallState::Failed, Some(ErrorCode::PreconditionFailed)),
        "{changed:?}"
    );
    let after = announced(&world, "odd__echo", &before.digest).await;
    assert_eq!(after.state, v1::CustomToolState::Pending as i32);
    undecided(&world, "odd__echo", json!({"text": "x"})).await;
    approve(&world, &after, v1::Risk::Medium).await;
    assert_eq!(echo("x").await.data()["stdout"], "x");
}
