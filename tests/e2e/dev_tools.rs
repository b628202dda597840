//! Developer tools on a real device: they run the programs of a project, confined, and return what those found.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Device, World};
use serde_json::{Value, json};

const CEILING: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";

async fn developer() -> (World, Device) {
    granting(json!({"profile": "developer", "paths": ["{files}"]})).await
}

async fn granting(grants: Value) -> (World, Device) {
    let world = World::new().await;
    let kiosk = world.device("kiosk").grant(grants).ceiling(CEILING).start().await;
    (world, kiosk)
}

async fn call(world: &World, tool: &str, arguments: Value) -> Call {
    world.admin().call("kiosk", tool, arguments).await
}

/// Runs git as the person at the device does.
fn git(folder: &Path, line: &[&str]) {
    #[expect(clippy::disallowed_methods, reason = "the person at the device starts git")]
    let mut git = Command::new("git");
    let path = std::env::var_os("PATH").unwrap_or_default();
    git.args(line).current_dir(folder).env_clear().env("PATH", path).env("HOME", folder);
    for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        git.env(format!("{name}_NAME"), "ann").env(format!("{name}_EMAIL"), "ann@example.com");
    }
    let output = git.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "git {line:?}: {output:?}");
}

/// Creates a repository with one commit and then one staged, one other and one new file.
fn repository(kiosk: &Device, name: &str) {
    let at = |file: &str| format!("{name}/{file}");
    for file in ["a.txt", "b c.txt", "sub/d.txt"] {
        kiosk.write_file(&at(file), "one\n");
    }
    let folder = kiosk.files().join(name);
    git(&folder, &["init", "-q", "-b", "main"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-q", "-m", "first"]);
    kiosk.write_file(&at("a.txt"), "one\ntwo\n");
    git(&folder, &["add", "a.txt"]);
    kiosk.write_file(&at("b c.txt"), "three\n");
    kiosk.write_file(&at("new.txt"), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_says_what_is_staged_what_is_not_and_what_changed() {
    let (world, kiosk) = developer().await;
    repository(&kiosk, "my app");
    let before = kiosk.tree();
    let status = call(&world, "git_status", json!({"path": "my app"})).await;
    assert_eq!(status.end(), (CallState::Succeeded, None), "{status:?}");
    let data = status.data();
    assert_eq!((&data["branch"], &data["upstream"]), (&json!("main"), &json!(null)));
    let counts = ["staged", "unstaged", "untracked", "conflicts"].map(|it| data[it].as_u64());
    assert_eq!(counts, [Some(1), Some(1), Some(1), Some(0)], "{data}");
    let below = call(&world, "git_status", json!({"path": "my app/sub"})).await;
    assert_eq!(below.data()["clean"], true, "{below:?}");

    let diff = call(&world, "git_diff", json!({"path": "my app"})).await;
    let data = diff.data();
    assert_eq!(data["files"], json!([{"path": "b c.txt", "added": 1, "removed": 1}]), "{data}");
    assert!(data["stdout"].as_str().unwrap().contains("-one\n+three\n"), "{data}");
    let staged = call(&world, "git_diff", json!({"path": "my app", "staged": true})).await;
    assert_eq!(staged.data()["added"], 1, "{staged:?}");
    assert!(staged.data()["stdout"].as_str().unwrap().starts_with("diff --git a/a.txt"));
    assert_eq!(kiosk.tree(), before, "git wrote something");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_no_repository_or_is_not_granted_is_an_error() {
    let (world, kiosk) = developer().await;
    kiosk.write_file("plain/a.txt", "one\n");
    let none = call(&world, "git_status", json!({"path": "plain"})).await;
    assert_eq!(none.end(), (CallState::Failed, Some(ErrorCode::ExecutionFailed)));
    let tail = none.error().details["stderr_tail"].as_str().unwrap();
    assert!(tail.contains("not a git repository"), "{tail}");
    for path in ["/etc", "../..", "plain/../../.."] {
        let outside = call(&world, "git_diff", json!({"path": path})).await;
        assert_eq!(outside.end(), (CallState::Denied, Some(ErrorCode::PathNotAllowed)), "{path}");
    }
    let missing = call(&world, "git_diff", json!({"path": "none"})).await;
    assert_eq!(missing.error().code, ErrorCode::DirectoryNotFound, "{missing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_is_denied_where_it_is_not_among_the_granted_commands() {
    let grants = json!({"profile": "developer", "paths": ["{files}"], "commands": ["cargo"]});
    let (world, kiosk) = granting(grants).await;
    repository(&kiosk, "app");
    let denied = call(&world, "git_status", json!({"path": "app"})).await;
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::CommandNotAllowed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_names_programs_changes_nothing() {
    let (world, kiosk) = developer().await;
    repository(&kiosk, "app");
    let folder = kiosk.files().join("app");
    let seen = kiosk.files().join("started");
    let program = folder.join("evil");
    let text = format!("#!/bin/sh\necho x >> '{}'\ncat\n", seen.display());
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let evil = program.to_str().unwrap();
    for name in [
        "core.pager",
        "core.fsmonitor",
        "core.sshCommand",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "pager.diff",
        "pager.status",
        "alias.status",
    ] {
        git(&folder, &["config", name, evil]);
    }
    kiosk.write_file("app/.gitattributes", "*.txt diff=evil\n");
    // Without what Orion adds, the program is started.
    git(&folder, &["diff", "--ext-diff"]);
    assert!(seen.exists(), "the repository is not hostile");
    std::fs::remove_file(&seen).unwrap();
    // A filter is a command of a shell, which git starts for each changed file; it changes nothing.
    git(&folder, &["config", "filter.evil.clean", &format!("echo x >> '{}'; cat", seen.display())]);
    kiosk.write_file("app/.gitattributes", "*.txt diff=evil filter=evil\n");
    for (tool, staged) in
        [("git_status", None), ("git_diff", Some(false)), ("git_diff", Some(true))]
    {
        let mut arguments = json!({"path": "app"});
        if let Some(staged) = staged {
            arguments["staged"] = json!(staged);
        }
        let done = call(&world, tool, arguments).await;
        assert!(!seen.exists(), "{tool} {staged:?}: {done:?}");
        assert_eq!(done.end(), (CallState::Succeeded, None), "{tool}: {done:?}");
    }
}
