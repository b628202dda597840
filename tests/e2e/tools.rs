//! Each tool through the whole stack: what it does, what it returns, and that its dry run leaves
//! everything as it is.

use orion_domain::CallState;
use orion_tests::{Device, Tree, World};
use serde_json::{Value, json};

/// What the dry run of a call returns, once it is sure that it changed nothing.
pub(crate) async fn preview(
    world: &World,
    device: &Device,
    tool: &str,
    arguments: &Value,
) -> Value {
    let before = device.tree();
    let call = world.admin().dry_run(&device.name, tool, arguments.clone()).await;
    assert_eq!(device.tree(), before, "a dry run of {tool} changed something");
    // Of what changes nothing there is no preview: it is the call itself, and says so.
    let (spec, _) = orion_catalog::find(tool).unwrap();
    let is_preview = call.envelope.as_ref().is_some_and(|envelope| envelope.dry_run);
    assert_eq!(is_preview, spec.has_effects, "{call:?}");
    call.data().clone()
}

/// A tree as it is written down.
pub(crate) fn files<const N: usize>(files: [(&str, Option<&str>); N]) -> Tree {
    files.into_iter().map(|(name, text)| (name.to_owned(), text.map(str::to_owned))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn create_directory() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let arguments = json!({"path": "a/b", "parents": true});
    let made = json!({"created_path": kiosk.path("a/b"), "created": true});

    assert_eq!(preview(&world, &kiosk, "create_directory", &arguments).await, made);
    let call = world.admin().call("kiosk", "create_directory", arguments.clone()).await;
    assert_eq!(*call.data(), made);
    assert_eq!(kiosk.tree(), files([("a", None), ("a/b", None)]));

    let again = world.admin().call("kiosk", "create_directory", arguments).await;
    assert_eq!(*again.data(), json!({"created_path": kiosk.path("a/b"), "created": false}));
    let orphan = world.admin().call("kiosk", "create_directory", json!({"path": "x/y"})).await;
    assert_eq!(orphan.error().code.as_str(), "DIRECTORY_NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_directory() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("notes.txt", "hello");
    kiosk.write_file("sub/deep.txt", "");
    let names = |data: &Value| -> Vec<(String, Value, Value)> {
        let entries = data["entries"].as_array().unwrap();
        entries
            .iter()
            .map(|entry| {
                let name = entry["name"].as_str().unwrap().to_owned();
                (name, entry["kind"].clone(), entry["size_bytes"].clone())
            })
            .collect()
    };
    let top = [
        ("notes.txt".to_owned(), json!("file"), json!(5)),
        ("sub".to_owned(), json!("directory"), json!(0)),
    ];

    assert_eq!(names(&preview(&world, &kiosk, "list_directory", &json!({})).await), top);
    let call = world.admin().call("kiosk", "list_directory", json!({})).await;
    assert_eq!(names(call.data()), top);
    assert_eq!(call.data()["path"], kiosk.files().display().to_string());
    assert_eq!((&call.data()["count"], &call.data()["truncated"]), (&json!(2), &json!(false)));

    let arguments = json!({"recursive": true, "pattern": "*.txt", "max_results": 1});
    let cut = world.admin().call("kiosk", "file_list", arguments).await;
    assert_eq!(names(cut.data()), [("notes.txt".to_owned(), json!("file"), json!(5))]);
    assert_eq!(cut.data()["truncated"], json!(true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn search_files() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a/one.zip", "1");
    kiosk.write_file("a/b/two.zip", "22");
    kiosk.write_file("a/b/three.txt", "3");
    let arguments = json!({"pattern": "*.zip", "path": "."});
    let found = |data: &Value| -> Vec<(Value, Value)> {
        let results = data["results"].as_array().unwrap();
        results.iter().map(|found| (found["path"].clone(), found["size_bytes"].clone())).collect()
    };
    let zips =
        [(json!(kiosk.path("a/b/two.zip")), json!(2)), (json!(kiosk.path("a/one.zip")), json!(1))];

    assert_eq!(found(&preview(&world, &kiosk, "search_files", &arguments).await), zips);
    let call = world.admin().call("kiosk", "search_files", arguments).await;
    assert_eq!(found(call.data()), zips);
    assert_eq!(
        (&call.data()["count"], &call.data()["pattern"], &call.data()["truncated"]),
        (&json!(2), &json!("*.zip"), &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_file() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("four.txt", "one\ntwo\nthree\nfour\n");
    let arguments = json!({"path": "four.txt", "offset": 1, "limit": 2});
    let middle = json!({
        "path": kiosk.path("four.txt"),
        "content": "two\nthree\n",
        "size_bytes": 19,
        "lines": 2,
        "total_lines": 4,
        "truncated": true,
        "encoding": "utf-8",
        "replaced": false,
    });

    assert_eq!(preview(&world, &kiosk, "read_file", &arguments).await, middle);
    assert_eq!(*world.admin().call("kiosk", "read_file", arguments).await.data(), middle);

    let missing = world.admin().call("kiosk", "read_file", json!({"path": "for.txt"})).await;
    assert_eq!(missing.error().code.as_str(), "FILE_NOT_FOUND");
    assert_eq!(missing.error().suggestions(), [kiosk.path("four.txt")]);
    assert!(missing.envelope.unwrap().meta.auto_recovery);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_file() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("list.txt", "milk\n");
    let arguments = json!({"path": "list.txt", "content": "bread\n", "append": true});

    let shown = preview(&world, &kiosk, "write_file", &arguments).await;
    insta::assert_snapshot!(world.seen().in_text(shown["diff"].as_str().unwrap()));
    let call = world.admin().call("kiosk", "write_file", arguments).await;
    assert_eq!(
        *call.data(),
        json!({"path": kiosk.path("list.txt"), "size_bytes": 11, "mode": "append", "created": false})
    );
    let new = json!({"path": "deep/er/new.txt", "content": "é"});
    let call = world.admin().call("kiosk", "write_file", new).await;
    assert_eq!(
        *call.data(),
        json!({"path": kiosk.path("deep/er/new.txt"), "size_bytes": 2, "mode": "write", "created": true})
    );
    assert_eq!(
        kiosk.tree(),
        files([
            ("deep", None),
            ("deep/er", None),
            ("deep/er/new.txt", Some("é")),
            ("list.txt", Some("milk\nbread\n")),
        ])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delete_directory() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "12345");
    kiosk.write_file("kept.txt", "");
    let arguments = json!({"path": "old", "recursive": true, "confirm": true});

    let shown = preview(&world, &kiosk, "delete_directory", &arguments).await;
    assert_eq!(
        shown,
        json!({"path": kiosk.path("old"), "entries": 2, "bytes": 5, "trash_id": null, "first_entries": [kiosk.path("old/a.txt")]})
    );
    let asked = world.admin().call("kiosk", "delete_directory", arguments).await;
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let done = world.admin().ended(&asked.id).await.unwrap();
    let mut data = done.data().clone();
    assert!(data["trash_id"].take().is_string(), "{done:?}");
    assert_eq!(
        data,
        json!({"path": kiosk.path("old"), "entries": 2, "bytes": 5, "trash_id": null})
    );
    assert_eq!(kiosk.tree(), files([("kept.txt", Some(""))]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_app() {
    let world = World::new().await;
    // The app says what it was opened with, in a file that nobody lends.
    let (program, said) = (world.folder().join("viewer.sh"), world.folder().join("said"));
    std::fs::write(
        &program,
        format!("#!/bin/sh\nprintf '%s' \"$*\" >{0}.new && mv {0}.new {0}\n", said.display()),
    )
    .unwrap();
    make_executable(&program);
    let ceiling = format!(
        "[ceiling]\nprofile = \"operator\"\npaths = [\"{{files}}\"]\napps = [\"viewer\"]\n[apps]\nviewer = \"{}\"\n",
        program.display()
    );
    let grants = json!({"profile": "operator", "paths": ["{files}"], "apps": ["viewer"]});
    let kiosk = world.device("kiosk").grant(grants).ceiling(&ceiling).start().await;
    kiosk.write_file("notes.txt", "hello");
    let arguments = json!({"app": "viewer", "args": ["https://example.com/a", "notes.txt"]});

    let shown = preview(&world, &kiosk, "open_app", &arguments).await;
    let executable = program.display().to_string();
    assert_eq!(shown, json!({"pid": null, "app": "viewer", "executable": executable}));
    assert!(!said.exists(), "a dry run opened the app");

    let call = world.admin().call("kiosk", "open_app", arguments).await;
    assert!(call.data()["pid"].as_u64().is_some_and(|pid| pid > 1), "{call:?}");
    let told =
        orion_tests::eventually("the app's words", async || std::fs::read_to_string(&said).ok())
            .await;
    assert_eq!(told, format!("https://example.com/a {}", kiosk.path("notes.txt")));
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_device_info() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let arguments = json!({"include": ["system", "workspace"]});

    let shown = preview(&world, &kiosk, "get_device_info", &arguments).await;
    let workspace = json!({"paths": [kiosk.files().display().to_string()], "writable": true});
    assert_eq!(shown["workspace"], workspace);
    let call = world.admin().call("kiosk", "get_device_info", arguments).await;
    let sections: Vec<_> = call.data().as_object().unwrap().keys().cloned().collect();
    assert_eq!(sections, ["device_id", "system", "workspace"]);
    assert_eq!(call.data()["workspace"], workspace);
    assert!(call.data()["system"]["ram_gb"].as_f64().is_some_and(|gb| gb > 0.0), "{call:?}");

    let all = world.admin().call("kiosk", "get_system_info", json!({})).await;
    let sections: Vec<_> = all.data().as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        sections,
        ["cpu", "device_id", "disk", "memory", "network", "processes", "system", "workspace"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn get_datetime() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let arguments = json!({"timezone": "Europe/Amsterdam"});
    let before = orion_tests::now_ms() / 1000;

    let shown = preview(&world, &kiosk, "get_datetime", &arguments).await;
    assert_eq!(shown["timezone"], "Europe/Amsterdam");
    let call = world.admin().call("kiosk", "get_system_time", arguments).await;
    let told = call.data()["unix"].as_i64().unwrap();
    assert!((before..=orion_tests::now_ms() / 1000).contains(&told), "{call:?}");

    let nowhere = json!({"timezone": "Europe/Amsterdm"});
    let refused = world.admin().call("kiosk", "get_datetime", nowhere).await;
    assert_eq!(refused.error().code.as_str(), "INVALID_ARGUMENT");
    assert_eq!(refused.state, CallState::Refused);
}
