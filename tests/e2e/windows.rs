//! The agent for Windows, through Wine, against a real backend. `make test-windows` builds it and names it in
//! `ORION_TEST_WINDOWS_AGENT`; elsewhere there is nothing to tell.

mod apps;
mod chaos;
mod drive;
mod install;
mod laptop;
mod lists;
mod tools;
mod upgrade;

use orion_domain::{CallState, ErrorCode};
use orion_tests::World;
use serde_json::json;

use laptop::{FILES, Laptop};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_made_replaced_changed_moved_and_deleted_and_each_change_is_undone() {
    let world = World::new().await;
    let Some(laptop) = Laptop::new(&world).await else { return };
    let at = |name: &str| format!("{FILES}/{name}");
    let read = |name: &str| std::fs::read_to_string(laptop.file(name)).unwrap();
    let write = |text: &str| json!({"path": at("a.txt"), "content": text});

    laptop.done("write_file", write("one")).await;
    let replaced = laptop.done("write_file", write("two")).await;
    assert_eq!(read("a.txt"), "two");
    let edit = json!({"path": at("a.txt"), "old_text": "two", "new_text": "three"});
    let edited = laptop.done("edit_file", edit).await;
    assert_eq!(read("a.txt"), "three");
    let more = json!({"path": at("a.txt"), "content": "\nfour", "append": true});
    let appended = laptop.done("write_file", more).await;
    assert_eq!(read("a.txt"), "three\nfour");
    let copy = json!({"source": at("a.txt"), "destination": at("b.txt")});
    laptop.done("copy_path", copy).await;
    laptop.done("create_directory", json!({"path": at("new")})).await;
    // A drive of Windows knows a file by its name in any case.
    let renamed = json!({"source": at("B.TXT"), "destination": at("new/c.txt")});
    laptop.done("move_path", renamed).await;
    assert_eq!(read("new/c.txt"), "three\nfour");
    let deleted = laptop.done("delete_file", json!({"path": at("a.txt"), "confirm": true})).await;
    assert!(!laptop.file("a.txt").exists());

    for (call, after) in
        [(&deleted, "three\nfour"), (&appended, "three"), (&edited, "two"), (&replaced, "one")]
    {
        let undo = json!({"call_id": call.id, "paths": [at("a.txt")]});
        laptop.done("undo_call", undo).await;
        assert_eq!(read("a.txt"), after, "{}", laptop.log());
    }
    let again = json!({"call_id": replaced.id, "paths": [at("a.txt")]});
    let again = laptop.call("undo_call", again).await;
    assert_eq!(again.error().code, ErrorCode::PreconditionFailed);
    assert!(!laptop.log().contains("WARN"), "{}", laptop.log());
    let names: Vec<_> = laptop.tree().into_keys().collect();
    assert_eq!(names, ["a.txt", "new", "new/c.txt"], "nothing else is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_outside_of_the_allowed_folder_is_refused() {
    let world = World::new().await;
    let Some(laptop) = Laptop::new(&world).await else { return };
    let path = "C:/orion/orion-agent.exe";
    // The program that runs is one of Orion's own files, whatever is granted.
    let own = laptop.call("write_file", json!({"path": path, "content": "x"})).await;
    assert_eq!(own.error().code, ErrorCode::PathNotAllowed);
    for outside in ["C:/Windows/win.ini", "C:/orion/state/journal", "C:/Users/ann/other.txt"] {
        let call = laptop.call("write_file", json!({"path": outside, "content": "x"})).await;
        assert_eq!(call.error().code, ErrorCode::PathNotAllowed, "{outside}");
    }
    assert!(!laptop.on_drive("Users/ann/other.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_killed_while_it_writes_leaves_each_file_whole() {
    const MIB: usize = 1024 * 1024;
    let world = World::new().await;
    let Some(mut laptop) = Laptop::new(&world).await else { return };
    let path = format!("{FILES}/big.txt");
    let texts = ["a".repeat(MIB), "b".repeat(MIB)];
    laptop.done("write_file", json!({"path": path, "content": texts[0]})).await;
    for round in 0..8_u64 {
        let text = &texts[usize::from(round % 2 == 0)];
        let arguments = json!({"path": path, "content": text});
        let crashing = async {
            tokio::time::sleep(std::time::Duration::from_millis(round * 12)).await;
            laptop.crash().await;
        };
        let (call, ()) =
            tokio::join!(world.admin().call("laptop", "write_file", arguments), crashing);
        let now = std::fs::read_to_string(laptop.file("big.txt")).unwrap();
        assert!(texts.contains(&now), "round {round}: {} bytes of a torn file", now.len());
        // What is said of the call is what became of the file.
        let is_written = now == *text;
        assert_eq!(call.end().0 == CallState::Succeeded, is_written, "round {round}: {call:?}");
        let names: Vec<_> = laptop.tree().into_keys().collect();
        assert_eq!(names, ["big.txt"], "round {round}: something is left\n{}", laptop.log());
    }
    laptop.done("write_file", json!({"path": path, "content": "the end"})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owners_commands_work_on_windows() {
    let world = World::new().await;
    let Some(laptop) = Laptop::new(&world).await else { return };
    let (code, said) = laptop.says(&["status"]).await;
    assert!(code == 0 && said.contains("connected to"), "{said}");
    let (code, said) = laptop.says(&["pause"]).await;
    assert_eq!(code, 0, "{said}");
    let path = format!("{FILES}/a.txt");
    let paused = laptop.call("write_file", json!({"path": path, "content": "x"})).await;
    assert_ne!(paused.state, CallState::Succeeded, "{paused:?}");
    let (code, said) = laptop.says(&["resume"]).await;
    assert_eq!(code, 0, "{said}");
    laptop.done("write_file", json!({"path": path, "content": "x"})).await;
    let (code, said) = laptop.says(&["log"]).await;
    assert!(code == 0 && said.contains("write_file"), "{said}");
}
