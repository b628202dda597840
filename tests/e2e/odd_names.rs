//! Honest names, however odd: every one of them is accepted through backend and agent, and is kept as
//! it is. What the attack lists show is only half; a guard that refuses everything would pass them.

mod table;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use orion_domain::CallState;
use orion_tests::{Call, Client, World};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Names at once.
const AT_ONCE: usize = 8;

/// The device does this tool.
fn has(tool: &str) -> bool {
    orion_agent::tools::find(tool).is_some()
}

/// A call that has to succeed, with a yes where it waits for one.
async fn done(admin: &Client, tool: &str, arguments: Value) -> Value {
    let mut call = admin.call("kiosk", tool, arguments.clone()).await;
    if call.state == CallState::AwaitingApproval {
        admin.decide(call.approval_id(), true, "").await.unwrap();
        call = admin.ended(&call.id).await.unwrap();
    }
    let Call { state, envelope, .. } = call;
    let envelope = envelope.unwrap();
    assert_eq!(state, CallState::Succeeded, "{tool} {arguments}: {envelope:?}");
    envelope.data.unwrap()
}

/// Writes, reads, looks at, lists, moves and deletes a file of this name, which may be a path.
async fn lives(admin: &Client, root: &Path, name: &str, number: usize) {
    // A name that begins like a short form means itself behind `./`.
    let text = |name: &str| match number % 2 {
        0 => format!("{}/{name}", root.display()),
        _ => format!("./{name}"),
    };
    let (path, content) = (text(name), format!("honest {number}\n"));
    let whole = root.join(name);
    done(admin, "write_file", json!({"path": path, "content": content})).await;
    assert_eq!(std::fs::read_to_string(&whole).unwrap(), content, "{name:?}");
    let read = done(admin, "read_file", json!({"path": path})).await;
    assert_eq!(read["content"], content.as_str());
    assert_eq!(read["path"], whole.display().to_string());
    if has("get_file_info") {
        let info = done(admin, "get_file_info", json!({"path": path})).await;
        assert_eq!((&info["kind"], &info["size_bytes"]), (&json!("file"), &json!(content.len())));
    }
    let (folder, last) = name.rsplit_once('/').unwrap_or((".", name));
    let list = json!({"path": text(folder), "max_results": 10_000});
    let list = done(admin, "list_directory", list).await;
    let listed = list["entries"].as_array().unwrap().iter().any(|entry| entry["name"] == last);
    assert!(listed, "{name:?} is not listed");
    let mut last_path = path;
    if has("move_path") {
        let moved = format!("moved {number}/{last}");
        std::fs::create_dir(root.join(format!("moved {number}"))).unwrap();
        let arguments = json!({"source": last_path, "destination": text(&moved)});
        done(admin, "move_path", arguments).await;
        assert!(!whole.exists(), "{name:?} is still there");
        assert_eq!(std::fs::read_to_string(root.join(&moved)).unwrap(), content, "{name:?}");
        last_path = text(&moved);
    }
    if has("delete_file") {
        done(admin, "delete_file", json!({"path": last_path, "confirm": true})).await;
        let gone = !whole.exists() && !root.join(format!("moved {number}/{last}")).exists();
        assert!(gone, "{name:?} is still there");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_honest_name_is_written_read_listed_moved_and_deleted() {
    let names = Arc::new(table::names());
    assert!(names.len() >= 200, "only {}", names.len());
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (next, root) = (Arc::new(AtomicUsize::new(0)), kiosk.files());
    let mut workers = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (names, next) = (Arc::clone(&names), Arc::clone(&next));
        let (admin, root) = (world.admin().clone(), root.clone());
        workers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(name) = names.get(number) else { return };
                lives(&admin, &root, name, number).await;
            }
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker.unwrap();
    }
    super::escapes::say(&format!("{} honest names, all accepted", names.len()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_stay_inside_are_followed() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (admin, root) = (world.admin(), kiosk.files());
    kiosk.write_file("deep/er/notes.txt", "honest\n");
    for (name, target) in [
        ("file", "deep/er/notes.txt"),
        ("folder", "deep/er"),
        ("dotted", "./deep/./er"),
        ("round", "deep/er/../er/../../deep/er"),
        ("chain", "hop"),
        ("hop", "folder"),
        ("deep/up", "../deep/er"),
        ("odd..name", "deep/er"),
    ] {
        symlink(target, root.join(name)).unwrap();
    }
    let paths = [
        "file",
        "folder/notes.txt",
        "dotted/notes.txt",
        "round/notes.txt",
        "chain/notes.txt",
        "deep/up/notes.txt",
        "odd..name/notes.txt",
        "folder/../deep/er/notes.txt",
    ];
    for path in paths {
        let read = done(admin, "read_file", json!({"path": path})).await;
        assert_eq!(read["content"], "honest\n", "{path}");
    }
    for (number, folder) in ["folder", "dotted", "round", "chain", "deep/up"].iter().enumerate() {
        let path = format!("{folder}/new {number}.txt");
        done(admin, "write_file", json!({"path": path, "content": "new\n"})).await;
        let written = root.join(format!("deep/er/new {number}.txt"));
        assert_eq!(std::fs::read_to_string(written).unwrap(), "new\n", "{folder}");
        let list = done(admin, "list_directory", json!({"path": folder})).await;
        assert_eq!(list["count"], json!(number + 2), "{folder}");
    }
    // What is written through a link to a file is in the file, and the link stays one.
    done(admin, "write_file", json!({"path": "file", "content": "changed\n"})).await;
    assert!(std::fs::symlink_metadata(root.join("file")).unwrap().is_symlink());
    let notes = std::fs::read_to_string(root.join("deep/er/notes.txt")).unwrap();
    assert_eq!(notes, "changed\n");
}
