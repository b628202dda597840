//! Calls, devices and policies: names that do not exist, arguments that do not fit, states that do not allow it.

use orion_tests::World;
use serde_json::json;

use super::Mistakes;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_cannot_be_made_names_the_argument_and_the_nearest_name() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let away = world.device("away").start().await;
    away.stop().await;
    let _never = world.device("never").enroll().await;
    let _pending = world.device("waiting").pending().invite().await;
    kiosk.write_file("notes.txt", "Milk\n");
    kiosk.write_file("folder/a.txt", "a\n");
    let mut mistakes = Mistakes::new(&world);
    mistakes
        .make(&[
            ("orion call", 2),
            ("orion call kiosk", 3),
            ("orion call get_datetime", 2),
            ("orion call kiosk readfile path=notes.txt", 3),
            ("orion call kisok read_file path=notes.txt", 3),
            ("orion call kiosk read_file", 2),
            ("orion call kiosk read_file pat=notes.txt", 2),
            ("orion call kiosk read_file notes.txt", 2),
            ("orion call kiosk read_file =notes.txt", 2),
            ("orion call kiosk read_file path=notes.txt path=b.txt", 2),
            ("orion call kiosk read_file path=nots.txt", 3),
            ("orion call kiosk read_file path=x.txt", 3),
            ("orion call kiosk read_file path=/etc/passwd", 5),
            ("orion call kiosk read_file path=~ann/notes.txt", 2),
            ("orion call kiosk read_file path:=notes", 2),
            ("orion call kiosk read_file path=notes.txt limit=many", 2),
            ("orion call kiosk read_file --json '{path: notes.txt}'", 2),
            ("orion call kiosk read_file --json '[]'", 2),
            ("orion call kiosk read_file path=folder", 9),
            ("orion call kiosk read_file path=", 2),
            ("orion call kiosk get_device_info include=everything", 2),
            ("orion call kiosk list_directory path=notes.txt", 9),
            ("orion call kiosk list_directory path=floder", 3),
            ("orion call kiosk delete_file path=notes.txt", 6),
            ("orion call kiosk delete_file path=notes.txt confirm=true", 6),
            ("orion call kiosk delete_file path=x.txt confirm=true", 3),
            ("orion call kiosk delete_directory path=folder confirm=true", 9),
            ("orion call kiosk create_directory path=notes.txt", 9),
            ("orion call kiosk create_directory path=a/b/c parents=false", 3),
            ("orion call kiosk move_path source=a.txt destination=b.txt", 3),
            ("orion call kiosk copy_path source=notes.txt destination=folder/a.txt", 9),
            ("orion call kiosk edit_file path=notes.txt old_text=Bread new_text=Milk", 9),
            ("orion call kiosk execute_command command=ls", 5),
            ("orion call kiosk open_app app=firefox", 5),
            ("orion call kiosk list_devices", 1),
            ("orion call backend read_file path=notes.txt", 1),
            ("orion call away get_datetime", 7),
            ("orion call never get_datetime", 7),
            ("orion call kiosk get_datetime --queue 8h", 2),
            ("orion why kiosk readfile path=a", 3),
            ("orion why nowhere read_file path=a", 3),
            ("orion calls show 123", 3),
            ("orion calls show 0199b2c4-7f3e-7c11", 3),
            ("orion calls cancel 0199b2c4-7f3e-7c11", 3),
            ("orion calls watch 0199b2c4-7f3e-7c11", 3),
            ("orion undo 0199b2c4-7f3e-7c11", 3),
            ("orion request notes", 3),
            ("orion approvals show 0199b2c4-7f3e-7c11", 3),
            ("orion approvals approve 0199b2c4-7f3e-7c11", 3),
            ("orion approvals approve all", 3),
            ("orion approvals watch --timeout 300ms", 8),
            ("orion approvals rules revoke 0199b2c4-7f3e-7c11", 3),
            ("orion plan show 0199b2c4-7f3e-7c11", 3),
            ("orion tools show readfile", 3),
            ("orion aliases set notes", 2),
            ("orion aliases set read_file search_files", 9),
            ("orion aliases set notes serch_files", 3),
            ("orion aliases remove notes", 3),
            ("orion stop nowhere", 3),
            ("orion resume kiosk", 9),
            ("orion extract", 3),
            ("orion cp a.txt b.txt", 2),
            ("orion cp kiosk:missing.txt .", 3),
            ("orion cp kiosk:folder .", 9),
            ("orion cp kisok:notes.txt .", 3),
            ("orion ask hello --model gpt", 3),
        ])
        .await;
    insta::assert_snapshot!("calls", mistakes.done());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_is_refused_says_why_and_what_to_do() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let other = world.device("other").start().await;
    let policy = world.folder().join("policy.yaml");
    let files = kiosk.files().display().to_string();
    let text =
        format!("version: 1\ndevices:\n  kiosk: {{profile: reader, paths: [\"{files}\"]}}\n");
    std::fs::write(&policy, text).unwrap();
    std::fs::write(world.folder().join("reader.yaml"), "profile: reader\n").unwrap();
    let apply = ["policy", "apply", &policy.display().to_string(), "--yes"];
    assert_eq!(world.cli().run(&apply).await.code, 0);
    kiosk.ready().await;
    other.grant(&json!({"profile": "reader", "paths": []})).await;
    let mut mistakes = Mistakes::new(&world);
    mistakes
        .make(&[
            ("orion devices show kisok", 3),
            ("orion devices show KIOSK", 3),
            ("orion devices approve kiosk", 9),
            ("orion devices reject kiosk", 9),
            ("orion devices revoke kiosk", 2),
            ("orion devices remove kiosk", 2),
            ("orion devices remove backend --yes", 9),
            ("orion devices rename kiosk 'My Laptop'", 2),
            ("orion devices rename kiosk other", 9),
            ("orion devices rename kiosk till", 9),
            ("orion devices rename kiosk backend", 9),
            ("orion devices rename nowhere till", 3),
            ("orion devices quarantine backend", 9),
            ("orion devices invite --name 'My Laptop'", 2),
            ("orion devices mode kiosk dangerous", 2),
            ("orion devices mode kiosk dangerous --for 10d --reason Trying", 2),
            ("orion devices permissions get nowhere", 3),
            ("orion devices permissions set kiosk reader.yaml", 9),
            ("orion devices review nowhere", 3),
            ("orion call kiosk create_directory path=Test", 5),
            ("orion call other create_directory path=Test", 5),
            ("orion policy show 99", 3),
            ("orion policy rollback 99 --yes", 3),
            ("orion policy diff", 3),
            ("orion audit show 999999", 3),
        ])
        .await;
    insta::assert_snapshot!("changes", mistakes.done());
}
