//! Projects that the owner of a device lists, which developer tools take by name.
#![cfg(target_os = "linux")]

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Device, World, eventually};
use serde_json::{Value, json};

async fn developer(paths: &Value, projects: &str) -> (World, Device) {
    let world = World::new().await;
    let ceiling = format!(
        "[ceiling]\nprofile = \"developer\"\npaths = [\"{{files}}\"]\n[projects]\n{projects}"
    );
    let grants = json!({"profile": "developer", "paths": paths});
    let kiosk = world.device("kiosk").grant(grants).ceiling(&ceiling).enroll().await;
    kiosk.write_file("app/api/Makefile", "test:\n\t@echo api was tested\n");
    kiosk.write_file("app/web/Makefile", "test:\n\t@echo web failed; false\n");
    kiosk.write_file("notes/readme.txt", "no program tests this\n");
    kiosk.run().await;
    (world, kiosk)
}

const PROJECTS: &str = "backend = \"{files}/app/api\"\nfrontend = \"{files}/app/web\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_is_tested_by_its_name_and_all_of_them_with_a_total() {
    let projects = format!("{PROJECTS}notes = \"{{files}}/notes\"\n");
    let (world, _kiosk) = developer(&json!(["{files}"]), &projects).await;
    let call =
        async |tool: &str, arguments: Value| world.admin().call("kiosk", tool, arguments).await;
    let one = call("run_tests", json!({"target": "backend"})).await;
    assert_eq!(
        (&one.data()["exit_code"], &one.data()["runner"]),
        (&json!(0), &json!("make")),
        "{one:?}"
    );
    assert!(one.data()["stdout_tail"].as_str().unwrap().contains("api was tested"));
    assert_eq!(one.data()["projects"], json!([]));

    let preview = world.admin().dry_run("kiosk", "run_tests", json!({"target": "all"})).await;
    let names: Vec<_> = preview.data()["projects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["project"].clone())
        .collect();
    assert_eq!(names, ["backend", "frontend", "notes"]);
    assert_eq!(preview.data()["exit_code"], Value::Null, "{preview:?}");

    let all = call("run_tests", json!({"target": "all"})).await;
    let results = &all.data()["projects"];
    assert_eq!(
        (&results[0]["exit_code"], &results[1]["exit_code"]),
        (&json!(0), &json!(2)),
        "{all:?}"
    );
    assert!(results[1]["stdout_tail"].as_str().unwrap().contains("web failed"));
    assert!(results[2]["error"].as_str().unwrap().contains("No file in"), "{all:?}");
    assert_eq!((&all.data()["exit_code"], &all.data()["runner"]), (&json!(2), &Value::Null));
    assert_eq!(all.envelope.as_ref().unwrap().message, "It succeeded in 1 of 3 projects.");

    let unknown = call("run_tests", json!({"target": "mobile"})).await;
    assert_eq!(unknown.error().code, ErrorCode::DirectoryNotFound, "{unknown:?}");
    assert_eq!(unknown.error().details["projects"], json!(["backend", "frontend", "notes"]));
    let path = call("run_tests", json!({"target": "app/web"})).await;
    assert_eq!(path.data()["exit_code"], 2, "{path:?}");

    let listed = world.admin().call("backend", "list_devices", json!({})).await;
    assert_eq!(listed.data()["devices"][0]["projects"], json!(["backend", "frontend", "notes"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listed_project_is_not_granted_and_all_needs_every_folder() {
    let (world, _kiosk) = developer(&json!(["{files}/app/api"]), PROJECTS).await;
    let call = async |target: &str| {
        world.admin().call("kiosk", "run_tests", json!({"target": target})).await
    };
    assert_eq!(call("backend").await.data()["exit_code"], 0);
    for target in ["frontend", "all"] {
        let denied = call(target).await;
        let end = (CallState::Denied, Some(ErrorCode::PathNotAllowed));
        assert_eq!(denied.end(), end, "{target}: {denied:?}");
        assert!(denied.error().message.contains("/app/web"), "the announced folder: {denied:?}");
    }
    let (world, _kiosk) = developer(&json!(["{files}", "/etc"]), "secret = \"/etc\"\n").await;
    let denied = world.admin().call("kiosk", "run_tests", json!({"target": "secret"})).await;
    assert_eq!(denied.end().0, CallState::Denied, "the ceiling holds: {denied:?}");
    let (world, _kiosk) = developer(&json!(["{files}"]), "").await;
    let none = world.admin().call("kiosk", "run_tests", json!({"target": "all"})).await;
    assert_eq!(none.error().code, ErrorCode::InvalidArgument, "{none:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_list_of_projects_is_announced_while_the_device_is_connected() {
    let (world, kiosk) = developer(&json!(["{files}"]), PROJECTS).await;
    let files = kiosk.files().display().to_string();
    let text = format!(
        "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n[projects]\nonly = \"{files}/app/api\"\n"
    );
    std::fs::write(kiosk.config(), text).unwrap();
    eventually("the projects announced", async || {
        let listed = world.admin().call("backend", "list_devices", json!({})).await;
        (listed.data()["devices"][0]["projects"] == json!(["only"])).then_some(())
    })
    .await;
    let only = world.admin().call("kiosk", "run_tests", json!({"target": "all"})).await;
    assert_eq!(only.data()["exit_code"], 0, "{only:?}");
}
