//! The tools that search, change and move files, through the whole stack: what each does and returns,
//! that its dry run changes nothing, and what it refuses.

use orion_tests::{Call, Device, World};
use serde_json::{Value, json};

use crate::tools::{files, preview};

/// A call whose question is answered with yes.
async fn approved(world: &World, tool: &str, arguments: &Value) -> Call {
    let asked = world.admin().call("kiosk", tool, arguments.clone()).await;
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    world.admin().ended(&asked.id).await.unwrap()
}

/// Each of these calls ends with its code and changes nothing, and so does its dry run.
async fn refused(world: &World, kiosk: &Device, tool: &str, calls: &[(Value, &str)]) {
    let before = kiosk.tree();
    for (arguments, code) in calls {
        let call = world.admin().call("kiosk", tool, arguments.clone()).await;
        assert_eq!(call.error().code.as_str(), *code, "{tool} {arguments}: {call:?}");
        // A preview needs nobody's word.
        if *code != "CONFIRMATION_REQUIRED" {
            let call = world.admin().dry_run("kiosk", tool, arguments.clone()).await;
            assert_eq!(call.error().code.as_str(), *code, "{tool} {arguments}: {call:?}");
        }
        assert_eq!(kiosk.tree(), before, "{tool} {arguments}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_directory() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("Projects/invoices/2026/a.txt", "");
    kiosk.write_file("old-invoices/b.txt", "");
    kiosk.write_file("Projects/other/c/d/invoices/too-deep.txt", "");
    let arguments = json!({"name": "Invoices"});
    let found = json!({
        "query": "Invoices",
        "base": kiosk.files().display().to_string(),
        "matches": [kiosk.path("Projects/invoices"), kiosk.path("old-invoices")],
        "count": 2,
    });

    assert_eq!(preview(&world, &kiosk, "search_directory", &arguments).await, found);
    assert_eq!(*world.admin().call("kiosk", "search_directory", arguments).await.data(), found);
    let cases = [
        (json!({"name": "ssl", "base": "/etc"}), "PATH_NOT_ALLOWED"),
        (json!({"name": "x", "base": "nowhere"}), "DIRECTORY_NOT_FOUND"),
        (json!({"name": "x", "max_depth": 4}), "INVALID_ARGUMENT"),
        (json!({"base": "."}), "INVALID_ARGUMENT"),
    ];
    refused(&world, &kiosk, "search_directory", &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn analyze_disk() {
    const MIB: usize = 1024 * 1024;
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("films/long/a.bin", "a".repeat(2 * MIB));
    kiosk.write_file("films/b.bin", "b".repeat(MIB));
    kiosk.write_file("notes.txt", "hello");
    let arguments = json!({"threshold_mb": 1});
    let large = |path: &str, size: usize| json!({"path": kiosk.path(path), "size_bytes": size});
    let told = json!({
        "path": kiosk.files().display().to_string(),
        "directories": [large("films", 3 * MIB), large("films/long", 2 * MIB)],
        "files": [large("films/long/a.bin", 2 * MIB), large("films/b.bin", MIB)],
        "total_bytes": 3 * MIB + 5,
        "entries": 5,
        "truncated": false,
    });

    assert_eq!(preview(&world, &kiosk, "analyze_disk", &arguments).await, told);
    assert_eq!(*world.admin().call("kiosk", "analyze_disk", arguments).await.data(), told);
    let cases = [
        (json!({"path": "/var"}), "PATH_NOT_ALLOWED"),
        (json!({"path": "nowhere"}), "DIRECTORY_NOT_FOUND"),
        (json!({"threshold_mb": -1}), "INVALID_ARGUMENT"),
    ];
    refused(&world, &kiosk, "analyze_disk", &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_text() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("src/a.rs", "fn main() {}\n// MILK: one\n");
    kiosk.write_file("src/deep/b.rs", "// milk: two\n");
    kiosk.write_file("notes.txt", "MILK: bread\n");
    kiosk.write_file("picture.rs", "\0MILK");
    let arguments = json!({"pattern": "(?i)milk: ", "glob": "*.rs"});
    let line = |path: &str, line: u64, text: &str| json!({"path": kiosk.path(path), "line": line, "text": text});
    let matches =
        json!([line("src/a.rs", 2, "// MILK: one"), line("src/deep/b.rs", 1, "// milk: two")]);

    let shown = preview(&world, &kiosk, "search_text", &arguments).await;
    assert_eq!(shown["matches"], matches);
    let call = world.admin().call("kiosk", "search_code", arguments).await;
    assert_eq!(call.data()["matches"], matches);
    assert_eq!((&call.data()["count"], &call.data()["truncated"]), (&json!(2), &json!(false)));
    let cut = json!({"pattern": "MILK", "path": "src", "max_results": 1});
    let cut = world.admin().call("kiosk", "search_text", cut).await;
    assert_eq!((&cut.data()["count"], &cut.data()["path"]), (&json!(1), &json!(kiosk.path("src"))));
    let cases = [
        (json!({"pattern": "root", "path": "/etc/passwd"}), "PATH_NOT_ALLOWED"),
        (json!({"pattern": "a(b"}), "INVALID_ARGUMENT"),
        (json!({"pattern": "a", "max_results": 0}), "INVALID_ARGUMENT"),
        (json!({"path": "."}), "INVALID_ARGUMENT"),
    ];
    refused(&world, &kiosk, "search_text", &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_file_info() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("sub/notes.txt", "hello");
    std::os::unix::fs::symlink("/etc/passwd", kiosk.files().join("out")).unwrap();
    let arguments = json!({"path": "sub/notes.txt", "sha256": true});

    let shown = preview(&world, &kiosk, "get_file_info", &arguments).await;
    let call = world.admin().call("kiosk", "get_file_info", arguments).await;
    assert_eq!(*call.data(), shown);
    assert!(shown["modified"].is_string() && shown["mode"].is_string(), "{shown}");
    assert_eq!(
        (&shown["kind"], &shown["size_bytes"], &shown["sha256"]),
        (
            &json!("file"),
            &json!(5),
            &json!("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
        )
    );
    let folder = world.admin().call("kiosk", "get_file_info", json!({"path": "sub"})).await;
    assert_eq!(
        (&folder.data()["kind"], &folder.data()["sha256"]),
        (&json!("directory"), &Value::Null)
    );
    let cases = [
        (json!({"path": "/etc/passwd"}), "PATH_NOT_ALLOWED"),
        (json!({"path": "out", "sha256": true}), "PATH_NOT_ALLOWED"),
        (json!({"path": "sub/note.txt"}), "PATH_NOT_FOUND"),
        (json!({"path": "sub", "sha512": true}), "INVALID_ARGUMENT"),
    ];
    refused(&world, &kiosk, "get_file_info", &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edit_file() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("list.txt", "milk\nbread\nmilk chocolate\n");
    let arguments = json!({"path": "list.txt", "old_text": "bread\n", "new_text": "oat bread\n"});

    let shown = preview(&world, &kiosk, "edit_file", &arguments).await;
    let call = world.admin().call("kiosk", "file_edit", arguments).await;
    assert_eq!(*call.data(), shown);
    assert_eq!(
        (&shown["path"], &shown["size_bytes"]),
        (&json!(kiosk.path("list.txt")), &json!(30))
    );
    let diff = shown["diff"].as_str().unwrap();
    assert!(diff.contains("\n-bread\n+oat bread\n"), "{diff}");
    assert_eq!(kiosk.tree(), files([("list.txt", Some("milk\noat bread\nmilk chocolate\n"))]));
    let edit = |path: &str, old: &str| json!({"path": path, "old_text": old, "new_text": "x"});
    let cases = [
        (edit("list.txt", "milk"), "TEXT_NOT_UNIQUE"),
        (edit("list.txt", "cheese"), "TEXT_NOT_UNIQUE"),
        (edit("lists.txt", "milk"), "FILE_NOT_FOUND"),
        (edit("/etc/hosts", "localhost"), "PATH_NOT_ALLOWED"),
        (json!({"path": "list.txt", "old_text": "milk"}), "INVALID_ARGUMENT"),
    ];
    refused(&world, &kiosk, "edit_file", &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_path() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a/one.txt", "12345");
    kiosk.write_file("two.txt", "2");
    let arguments = json!({"source": "a", "destination": "b"});
    let copied = json!({"source": kiosk.path("a"), "destination": kiosk.path("b"), "bytes": 5, "entries": 2, "replaced": false});

    assert_eq!(preview(&world, &kiosk, "copy_path", &arguments).await, copied);
    assert_eq!(*world.admin().call("kiosk", "copy_path", arguments).await.data(), copied);
    let over = json!({"source": "two.txt", "destination": "b/one.txt", "overwrite": true});
    let over = world.admin().call("kiosk", "copy_path", over).await;
    assert_eq!(over.data()["replaced"], json!(true));
    assert_eq!(
        kiosk.tree(),
        files([
            ("a", None),
            ("a/one.txt", Some("12345")),
            ("b", None),
            ("b/one.txt", Some("2")),
            ("two.txt", Some("2")),
        ])
    );
    let copy =
        |source: &str, destination: &str| json!({"source": source, "destination": destination});
    let cases = [
        (copy("two.txt", "a/one.txt"), "ALREADY_EXISTS"),
        (copy("two.txt", "nowhere/two.txt"), "DIRECTORY_NOT_FOUND"),
        (copy("three.txt", "four.txt"), "PATH_NOT_FOUND"),
        (copy("/etc/passwd", "passwd"), "PATH_NOT_ALLOWED"),
        (copy("two.txt", "/tmp/two.txt"), "PATH_NOT_ALLOWED"),
        (json!({"source": "two.txt"}), "INVALID_ARGUMENT"),
    ];
    refused(&world, &kiosk, "copy_path", &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn move_path() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("draft.md", "Dear");
    kiosk.write_file("Done/other.md", "");
    let arguments = json!({"source": "draft.md", "destination": "Done/letter.md"});
    let moved = json!({"source": kiosk.path("draft.md"), "destination": kiosk.path("Done/letter.md"), "bytes": 4, "entries": 1, "replaced": false});

    assert_eq!(preview(&world, &kiosk, "move_path", &arguments).await, moved);
    assert_eq!(*world.admin().call("kiosk", "move_path", arguments).await.data(), moved);
    let tree =
        files([("Done", None), ("Done/letter.md", Some("Dear")), ("Done/other.md", Some(""))]);
    assert_eq!(kiosk.tree(), tree);
    let mv =
        |source: &str, destination: &str| json!({"source": source, "destination": destination});
    let cases = [
        (mv("Done/letter.md", "Done/other.md"), "ALREADY_EXISTS"),
        (mv("draft.md", "x.md"), "PATH_NOT_FOUND"),
        (mv("/etc/hostname", "hostname"), "PATH_NOT_ALLOWED"),
        (mv("Done/letter.md", "../letter.md"), "PATH_NOT_ALLOWED"),
        (json!({"source": "Done", "destination": "x", "force": true}), "INVALID_ARGUMENT"),
    ];
    refused(&world, &kiosk, "move_path", &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delete_file() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old.txt", "12345");
    kiosk.write_file("kept/a.txt", "");
    let arguments = json!({"path": "old.txt", "confirm": true});
    let gone = json!({"path": kiosk.path("old.txt"), "bytes": 5, "trash_id": null});

    assert_eq!(preview(&world, &kiosk, "delete_file", &arguments).await, gone);
    let done = approved(&world, "delete_file", &arguments).await;
    let mut data = done.data().clone();
    assert!(data["trash_id"].take().is_string(), "{done:?}");
    assert_eq!(data, gone);
    assert_eq!(kiosk.tree(), files([("kept", None), ("kept/a.txt", Some(""))]));
    let cases = [
        (json!({"path": "kept/a.txt"}), "CONFIRMATION_REQUIRED"),
        (json!({"path": "old.txt", "confirm": true}), "FILE_NOT_FOUND"),
        (json!({"path": "/etc/hostname", "confirm": true}), "PATH_NOT_ALLOWED"),
        (json!({"confirm": true}), "INVALID_ARGUMENT"),
    ];
    refused(&world, &kiosk, "delete_file", &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_config() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("app.toml", "# ports\n[web]\nport = 80\n");
    kiosk.write_file("broken.json", "{\"a\": ");
    let arguments = json!({"path": "app.toml"});
    let told = json!({
        "path": kiosk.path("app.toml"),
        "format": "toml",
        "parsed": {"web": {"port": 80}},
        "content": "# ports\n[web]\nport = 80\n",
    });

    assert_eq!(preview(&world, &kiosk, "read_config", &arguments).await, told);
    assert_eq!(*world.admin().call("kiosk", "read_config", arguments).await.data(), told);
    let broken = world.admin().call("kiosk", "read_config", json!({"path": "broken.json"})).await;
    assert_eq!(
        (&broken.data()["format"], &broken.data()["parsed"], &broken.data()["content"]),
        (&json!("json"), &Value::Null, &json!("{\"a\": "))
    );
    assert!(broken.data()["problem"].is_string(), "{broken:?}");
    let cases = [
        (json!({"path": "/etc/ssl/openssl.cnf"}), "PATH_NOT_ALLOWED"),
        (json!({"path": "ap.toml"}), "FILE_NOT_FOUND"),
        (json!({}), "INVALID_ARGUMENT"),
    ];
    refused(&world, &kiosk, "read_config", &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modify_config() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("app.toml", "# ports\nport = 80 # web\nhost = \"a\"\n");
    let change = |line: u64, old: &str, new: Value| json!({"path": "app.toml", "changes": [{"line": line, "old": old, "new": new}], "confirm": true});
    let arguments = change(2, "port = 80 # web", json!("port = 8080 # web"));

    let shown = preview(&world, &kiosk, "modify_config", &arguments).await;
    assert_eq!((&shown["format"], &shown["backup_path"]), (&json!("toml"), &Value::Null));
    let done = approved(&world, "modify_config", &arguments).await;
    assert_eq!(done.data()["diff"], shown["diff"]);
    let diff = shown["diff"].as_str().unwrap();
    assert!(diff.contains("\n-port = 80 # web\n+port = 8080 # web\n"), "{diff}");
    let backup = std::fs::read_to_string(done.data()["backup_path"].as_str().unwrap()).unwrap();
    assert_eq!(backup, "# ports\nport = 80 # web\nhost = \"a\"\n");
    assert_eq!(
        kiosk.tree(),
        files([("app.toml", Some("# ports\nport = 8080 # web\nhost = \"a\"\n"))])
    );
    let cases = [
        (change(2, "port = 80 # web", json!("port = 1")), "PRECONDITION_FAILED"),
        (change(3, "host = \"a\"", json!("host = ")), "PRECONDITION_FAILED"),
        (change(0, "x", Value::Null), "INVALID_ARGUMENT"),
        (json!({"path": "app.toml", "changes": [], "confirm": true}), "INVALID_ARGUMENT"),
        (
            json!({"path": "app.toml", "changes": [{"line": 1, "old": "# ports", "new": null}]}),
            "CONFIRMATION_REQUIRED",
        ),
        (
            json!({"path": "/etc/hosts", "changes": [{"line": 1, "old": "x", "new": null}], "confirm": true}),
            "PATH_NOT_ALLOWED",
        ),
    ];
    refused(&world, &kiosk, "modify_config", &cases).await;
}
