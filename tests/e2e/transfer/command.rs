//! `orion cp` as a person runs it.

use orion_tests::{World, eventually};
use serde_json::json;

use super::{PART, bytes, litter};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_copies_files_there_back_and_across() {
    let world = World::new().await;
    let (kiosk, server) =
        (world.device("kiosk").start().await, world.device("server-1").start().await);
    let content = bytes(2 * PART + 3);
    std::fs::write(world.folder().join("photo.jpg"), &content).unwrap();
    let cli = world.cli();
    let sent = cli.run(&["cp", "photo.jpg", "kiosk:Pictures/", "-o", "json"]).await;
    assert_eq!(sent.code, 0, "{sent:?}");
    assert_eq!(sent.json()["data"]["size_bytes"], json!(content.len()));
    assert!(std::fs::read(kiosk.files().join("Pictures/photo.jpg")).unwrap() == content);
    std::fs::create_dir(world.folder().join("back")).unwrap();
    let got = cli.run(&["cp", "kiosk:Pictures/photo.jpg", "back"]).await;
    assert_eq!(got.code, 0, "{got:?}");
    assert!(std::fs::read(world.folder().join("back/photo.jpg")).unwrap() == content);
    let across = cli.run(&["cp", "kiosk:Pictures/photo.jpg", "server-1:copy.jpg"]).await;
    assert_eq!(across.code, 0, "{across:?}");
    assert!(std::fs::read(server.files().join("copy.jpg")).unwrap() == content);

    let again = cli.run(&["cp", "photo.jpg", "kiosk:Pictures/photo.jpg"]).await;
    assert_eq!(again.code, 9, "{again:?}");
    assert!(again.stderr.contains("is there already"), "{again:?}");
    let over = cli.run(&["cp", "--overwrite", "photo.jpg", "kiosk:Pictures/photo.jpg"]).await;
    assert_eq!(over.code, 0, "{over:?}");
    let kept = cli.run(&["cp", "kiosk:Pictures/photo.jpg", "back"]).await;
    assert_eq!(kept.code, 9, "{kept:?}");
    assert!(kept.stderr.contains("--overwrite"), "{kept:?}");
    let here: Vec<_> = std::fs::read_dir(world.folder().join("back")).unwrap().collect();
    assert_eq!(here.len(), 1, "{here:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_waits_for_nobody_leaves_no_question_behind() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let server = world.device("server-1").start().await;
    let policy = world.folder().join("policy.yaml");
    std::fs::write(&policy, "version: 1\nrisk: { medium: ask }\n").unwrap();
    std::fs::write(world.folder().join("a.txt"), "x").unwrap();
    kiosk.write_file("b.txt", "x");
    let cli = world.cli();
    let applied = cli.run(&["policy", "apply", policy.to_str().unwrap(), "--yes"]).await;
    assert_eq!(applied.code, 0, "{applied:?}");
    kiosk.ready().await;
    server.ready().await;
    let open = async || cli.run(&["approvals", "list", "-o", "json"]).await.json();

    let asked = cli.run(&["cp", "a.txt", "kiosk:a.txt"]).await;
    assert_eq!(asked.code, 6, "{asked:?}");
    assert!(asked.stderr.contains("again with --wait"), "{asked:?}");
    assert!(!asked.stderr.contains("orion approvals approve"), "{asked:?}");
    assert_eq!(open().await, json!([]), "only this program could have moved the content");
    let copied = cli.run(&["cp", "a.txt", "kiosk:a.txt", "--yes"]).await;
    assert_eq!(copied.code, 0, "{copied:?}");

    // From device to device it runs without this program.
    let across = cli.run(&["cp", "kiosk:b.txt", "server-1:b.txt"]).await;
    assert_eq!(across.code, 6, "{across:?}");
    assert!(across.stderr.contains("orion approvals approve"), "{across:?}");
    let id = open().await[0]["approval_id"].as_str().unwrap().to_owned();
    world.admin().decide(&id, true, "").await.unwrap();
    eventually("the copy", async || server.files().join("b.txt").exists().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_said_with_what_to_do() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    std::fs::create_dir(world.folder().join("folder")).unwrap();
    let cli = world.cli();
    for (words, code, said) in [
        (&["cp", "none.txt", "kiosk:"][..], 3, "none.txt does not exist"),
        (&["cp", "folder", "kiosk:"], 2, "adding -r"),
        (&["cp", "a", "b"], 2, "DEVICE:PATH"),
        (&["cp", "kiosk:none.txt", "."], 3, "none.txt"),
        (&["cp", "kiosk:/etc/passwd", "."], 5, "PATH_NOT_ALLOWED"),
        (&["cp", "nobody:a", "."], 3, "nobody"),
        (&["cp", "-r", "folder/none", "kiosk:"], 3, "is no folder"),
    ] {
        let wrong = cli.run(words).await;
        assert_eq!(wrong.code, code, "{words:?}: {wrong:?}");
        assert!(wrong.stderr.contains(said), "{words:?}: {wrong:?}");
    }
    assert_eq!(litter(&kiosk), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_copied_without_links_and_special_files_which_are_named() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let root = world.folder().join("Documents");
    std::fs::create_dir_all(root.join("a/empty")).unwrap();
    std::fs::write(root.join("a/one.txt"), "one").unwrap();
    std::fs::write(root.join("two.txt"), "two").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap());
    let cli = world.cli();
    let sent = cli.run(&["cp", "-r", "Documents", "kiosk:Backup/", "-o", "json"]).await;
    assert_eq!(sent.code, 0, "{sent:?}");
    let said = sent.json();
    assert_eq!((&said["bytes"], &said["failed"]), (&json!(6), &json!(0)), "{said}");
    let mut left: Vec<_> =
        said["left_out"].as_array().unwrap().iter().map(|it| it["path"].clone()).collect();
    left.sort_by_key(ToString::to_string);
    assert_eq!(left, [json!("link"), json!("socket")]);
    let there = kiosk.files().join("Backup/Documents");
    assert_eq!(std::fs::read(there.join("a/one.txt")).unwrap(), b"one");
    assert!(there.join("a/empty").is_dir() && !there.join("link").exists());

    std::os::unix::fs::symlink("two.txt", there.join("turn")).unwrap();
    let got = cli.run(&["cp", "-r", "kiosk:Backup/Documents", "back"]).await;
    assert_eq!(got.code, 0, "{got:?}");
    assert!(got.stdout.contains("left out: turn: it is a link"), "{got:?}");
    let back = world.folder().join("back");
    assert_eq!(std::fs::read(back.join("a/one.txt")).unwrap(), b"one");
    assert_eq!(std::fs::read(back.join("two.txt")).unwrap(), b"two");
    assert!(back.join("a/empty").is_dir() && !back.join("turn").exists());
}
