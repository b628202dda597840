//! A disk without room: what was there stays whole, and nothing half is left behind.

use std::path::Path;

use serde_json::json;

use super::rig::{Mount, Rig};

/// The room on the small disk, in bytes.
const ROOM: usize = 1 << 20;

fn has(tool: &str) -> bool {
    orion_agent::tools::find(tool).is_some()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_leaves_the_old_file_whole_and_no_litter() {
    let mut rig = Rig::new().await;
    let small = rig.files().join("small");
    std::fs::create_dir(&small).unwrap();
    let Some(mounted) = Mount::new("tmpfs", &small, "size=1m") else { return };
    let old = format!("first=line\n{}", "old line\n".repeat(40_000));
    std::fs::write(small.join("old.txt"), &old).unwrap();
    std::fs::write(small.join("app.toml"), "first=\"line\"\n").unwrap();
    std::fs::write(rig.files().join("large.txt"), vec![b'x'; 2 * ROOM]).unwrap();
    let much = "m".repeat(ROOM);
    let before = names(&small);

    let attempts = [
        ("write_file", json!({"path": "small/old.txt", "content": much})),
        ("write_file", json!({"path": "small/old.txt", "content": much, "append": true})),
        ("write_file", json!({"path": "small/new.txt", "content": much})),
        ("write_file", json!({"path": "small/new/folder/new.txt", "content": much})),
        ("edit_file", json!({"path": "small/old.txt", "old_text": "first=line", "new_text": much})),
        ("copy_path", json!({"source": "large.txt", "destination": "small/copy.txt"})),
        (
            "copy_path",
            json!({"source": "large.txt", "destination": "small/old.txt", "overwrite": true}),
        ),
        ("move_path", json!({"source": "large.txt", "destination": "small/moved.txt"})),
        (
            "modify_config",
            json!({"path": "small/app.toml", "changes": [{"line": 1, "old": "first=\"line\"", "new": format!("first=\"{much}\"")}], "confirm": true}),
        ),
    ];
    for (tool, arguments) in attempts.iter().filter(|(tool, _)| has(tool)) {
        let answer = rig.tool(tool, arguments, 10_000).await;
        let who = format!("{tool} {}: {}", arguments["path"], answer.result);
        // A move from one disk to another may be refused as such.
        let refused = *tool == "move_path" && answer.code == "NOT_SUPPORTED";
        assert!(answer.code == "RESOURCE_EXHAUSTED" || refused, "{who}");
        assert_eq!(std::fs::read_to_string(small.join("old.txt")).unwrap(), old, "{who}");
        assert_eq!(
            std::fs::read_to_string(small.join("app.toml")).unwrap(),
            "first=\"line\"\n",
            "{who}"
        );
        assert_eq!(names(&small), before, "{who}");
        let large = std::fs::metadata(rig.files().join("large.txt")).unwrap();
        assert_eq!(large.len(), 2 * ROOM as u64, "{who}");
    }
    // What fits is written as ever.
    let answer =
        rig.tool("write_file", &json!({"path": "small/new.txt", "content": "x"}), 10_000).await;
    assert_eq!(answer.data()["size_bytes"], 1);
    drop(mounted);
    rig.holds_little_memory();
}
