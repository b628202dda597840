//! What is larger than any memory, more than anybody reads, or never done.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use orion_catalog::Target;
use orion_domain::Capability;
use orion_tests::FileCall;
use serde_json::json;

use super::rig::Rig;

/// The apparent size of the sparse file, in bytes: 100 GiB.
const HUGE: u64 = 100 << 30;
/// The entries of the large folder.
const MANY: usize = 200_000;

fn has(tool: &str) -> bool {
    orion_agent::tools::find(tool).is_some()
}

/// Bytes that a folder and all below it really take.
fn room_taken(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut taken = 0;
    for entry in std::fs::read_dir(path).unwrap().flatten() {
        let metadata = entry.metadata().unwrap();
        taken += metadata.blocks() * 512;
        if metadata.is_dir() {
            taken += room_taken(&entry.path());
        }
    }
    taken
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_a_hundred_gigabytes_is_dealt_with_in_parts_or_refused() {
    let mut rig = Rig::new().await;
    let root = rig.files();
    if let Err(error) = File::create(root.join("huge")).and_then(|file| file.set_len(HUGE)) {
        return crate::escapes::say(&format!("skipped: this disk takes no sparse file: {error}"));
    }
    let part = json!({"path": "huge", "limit": 4, "offset": HUGE / 4096 - 2, "encoding": "base64"});
    let part = rig.tool("read_file", &part, 5_000).await.data();
    assert_eq!(part["lines"], 2);
    let lines = rig.tool("read_file", &json!({"path": "huge"}), 5_000).await;
    assert!(["", "RESOURCE_EXHAUSTED"].contains(&lines.code.as_str()), "{}", lines.code);
    let list = rig.tool("list_directory", &json!({}), 5_000).await.data();
    assert_eq!(list["entries"][0]["size_bytes"], HUGE);

    let mut ends = Vec::new();
    for call in FileCall::all() {
        let takes_away = call.spec.capabilities.contains(&Capability::FileDelete);
        let moves = takes_away && call.spec.sample.target != Target::Folder;
        for dry_run in [true, false] {
            if moves && !dry_run {
                continue;
            }
            let answer = rig.call(&call, "huge", dry_run, 3_000).await;
            let (who, code) = (call.name(), answer.code.as_str());
            ends.push(format!("{who}{} {code}", if dry_run { " (preview)" } else { "" }));
            let codes = [
                "",
                "RESOURCE_EXHAUSTED",
                "PRECONDITION_FAILED",
                "DIRECTORY_NOT_FOUND",
                "PATH_NOT_FOUND",
                "TEXT_NOT_UNIQUE",
                "ALREADY_EXISTS",
                "TIMEOUT",
                "NOT_SUPPORTED",
            ];
            assert!(codes.contains(&code), "{who}: {code} {}", &answer.result[..200]);
            let is_whole = root.join("huge").metadata().is_ok_and(|it| it.len() == HUGE);
            if !dry_run && !is_whole && code.is_empty() {
                File::create(root.join("huge")).unwrap().set_len(HUGE).unwrap();
            }
            if code == "TIMEOUT" && call.spec.has_effects {
                assert_eq!(
                    rig.litter(&["huge", "honest", "copies"]),
                    Vec::<String>::new(),
                    "{who}"
                );
            }
            assert!(room_taken(&root) < 1 << 30, "{who} filled the disk");
        }
    }
    crate::escapes::say(&format!("a file of 100 GiB: {}", ends.join(", ")));
    rig.holds_little_memory();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_of_200_000_entries_is_listed_and_searched() {
    let mut rig = Rig::new().await;
    let root = rig.files();
    let many = root.join("many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..MANY {
        File::create(many.join(format!("entry-{number:06}.txt"))).unwrap();
    }
    let list = rig.tool("list_directory", &json!({"path": "many"}), 60_000).await.data();
    assert_eq!((&list["count"], &list["truncated"]), (&json!(1000), &json!(true)));
    assert_eq!(list["entries"][0]["name"], "entry-000000.txt");
    let search = json!({"query": "*-199999.txt", "path": "."});
    let found = rig.tool("search_files", &search, 60_000).await.data();
    let last = many.join("entry-199999.txt").display().to_string();
    assert_eq!((&found["count"], &found["results"][0]["path"]), (&json!(1), &json!(last)));
    // A near name is suggested from among so many, or none is.
    let missing = rig.tool("read_file", &json!({"path": "many/entry-19999.txt"}), 60_000).await;
    assert_eq!(missing.code, "FILE_NOT_FOUND");
    // A tool that takes one file has nothing to do with how many there are.
    let takes_folders = |call: &FileCall| !call.spec.sample.target.is_content();
    for call in FileCall::all().into_iter().filter(takes_folders) {
        let dry_run = call.spec.has_effects;
        let answer = rig.call(&call, "many", dry_run, 60_000).await;
        let codes =
            ["", "PRECONDITION_FAILED", "RESOURCE_EXHAUSTED", "ALREADY_EXISTS", "PATH_NOT_FOUND"];
        assert!(codes.contains(&answer.code.as_str()), "{}: {answer:?}", call.name());
    }
    rig.holds_little_memory();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_grows_while_it_is_read_comes_to_an_end() {
    let mut rig = Rig::new().await;
    let log = rig.files().join("growing.log");
    let line = "a line of a log that never ends, canary-texx\n".repeat(100);
    std::fs::write(&log, line.repeat(1000)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, log) = (Arc::clone(&stop), log.clone());
        std::thread::spawn(move || {
            let mut file = File::options().append(true).open(log).unwrap();
            // As a busy program does, so that it goes on through every call; 90 MB and no more.
            for _ in 0..20_000 {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                file.write_all(line.as_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    let read = rig.tool("read_file", &json!({"path": "growing.log", "limit": 10}), 10_000).await;
    assert_eq!(read.data()["lines"], 10);
    for call in FileCall::all() {
        if call.spec.has_effects && call.name() != "copy_path.source" {
            continue;
        }
        let answer = rig.call(&call, "growing.log", false, 15_000).await;
        let codes = ["", "PRECONDITION_FAILED", "RESOURCE_EXHAUSTED", "TIMEOUT"];
        assert!(codes.contains(&answer.code.as_str()), "{}: {answer:?}", call.name());
    }
    if has("search_text") {
        let arguments = json!({"pattern": "canary-texx", "path": "growing.log", "max_results": 5});
        let found = rig.tool("search_text", &arguments, 10_000).await;
        assert!(["", "RESOURCE_EXHAUSTED"].contains(&found.code.as_str()), "{found:?}");
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    rig.holds_little_memory();
}
