//! What a backend and an agent keep is for the account that they run as, and for no other.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use orion_tests::World;
use serde_json::json;

/// Everything in a folder, itself included, that others than its owner may read, write or run. What a
/// call put away keeps the rights that it had, behind a folder that is closed.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut open = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let mode = metadata.permissions().mode();
        if mode & 0o077 != 0 && !metadata.is_symlink() {
            open.push(format!("{} {:o}", path.display(), mode & 0o7777));
        }
        if metadata.is_dir() {
            let within = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap());
            let is_put_away = |name: &str| name.starts_with("content-");
            left.extend(
                within
                    .filter(|entry| !entry.file_name().to_str().is_some_and(is_put_away))
                    .map(|entry| entry.path()),
            );
        }
    }
    open
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_a_backend_or_an_agent_keeps_is_open_to_others() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("list.txt", "milk");
    let admin = world.admin();
    let write = json!({"path": "list.txt", "content": "bread"});
    assert!(admin.call("kiosk", "write_file", write).await.envelope.unwrap().success);
    let asked =
        admin.call("kiosk", "delete_file", json!({"path": "list.txt", "confirm": true})).await;
    admin.decide(asked.approval_id(), true, "").await.unwrap();
    assert!(admin.ended(&asked.id).await.unwrap().envelope.unwrap().success);
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    for folder in [world.data_dir(), kiosk.state_dir()] {
        assert!(fs::read_dir(&folder).unwrap().count() > 3, "{} is nearly empty", folder.display());
        assert_eq!(open_to_others(&folder), Vec::<String>::new());
    }
}
