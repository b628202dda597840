//! Developer tools on a real device: they run the programs of a project, confined, and return what those found.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
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

/// Returns whether a program is installed, and says so where it is not.
fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    if !found {
        drop(writeln!(std::io::stderr(), "skipped: there is no {program} here"));
    }
    found
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

/// Puts the Rust toolchain of this machine below the home folder of the device, where it is for a person.
pub(crate) fn install_rust(kiosk: &Device) {
    let home = kiosk.files().parent().unwrap().to_owned();
    let own = PathBuf::from(std::env::var_os("HOME").unwrap());
    let folder =
        |name: &str, or: &str| std::env::var_os(name).map_or_else(|| own.join(or), PathBuf::from);
    std::fs::create_dir_all(home.join(".cargo")).unwrap();
    symlink(folder("CARGO_HOME", ".cargo").join("bin"), home.join(".cargo/bin")).unwrap();
    symlink(folder("RUSTUP_HOME", ".rustup"), home.join(".rustup")).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rust_project_is_tested_checked_and_formatted_offline_and_confined() {
    let (world, kiosk) = developer().await;
    install_rust(&kiosk);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let outside = kiosk.files().parent().unwrap().join("outside.txt");
    std::fs::write(&outside, "secret\n").unwrap();
    let source = format!(
        "#[test]\nfn adds() {{ assert_eq!(1 + 1, 2); }}\n#[test]\nfn fails() {{ panic!(\"as it must\"); }}\n\
         #[test]\nfn connects() {{ std::net::TcpStream::connect(\"{}\").unwrap(); }}\n\
         #[test]\nfn reads() {{ std::fs::read({outside:?}).unwrap(); }}\n\
         #[test]\nfn writes() {{ std::fs::write({outside:?}, \"\").unwrap(); }}\n",
        listener.local_addr().unwrap()
    );
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    kiosk.write_file("my app/Cargo.toml", manifest);
    kiosk.write_file("my app/src/lib.rs", &source);
    kiosk.write_file("my app/tests/more.rs", "#[test]\nfn passes() {}\n");
    let project = json!({"target": "my app"});

    let tested = call(&world, "run_tests", project.clone()).await;
    assert_eq!(tested.end(), (CallState::Succeeded, None), "{tested:?}");
    let data = tested.data();
    assert_eq!((&data["runner"], &data["exit_code"]), (&json!("cargo"), &json!(101)), "{data}");
    assert_eq!((&data["passed"], &data["failed"]), (&json!(2), &json!(4)), "{data}");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "secret\n");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "a test connected");
    assert!(kiosk.files().join("my app/target/debug").is_dir());

    let checked = call(&world, "run_typecheck", project.clone()).await;
    assert_eq!(checked.data()["exit_code"], 0, "{checked:?}");
    assert_eq!(checked.data()["passed"], json!(null));

    let format = call(&world, "run_format", project.clone()).await;
    assert_eq!(format.data()["exit_code"], 1, "{format:?}");
    assert!(format.data()["diff"].as_str().unwrap().contains("-fn adds() {"), "{format:?}");
    let read = || std::fs::read_to_string(kiosk.files().join("my app/src/lib.rs")).unwrap();
    assert_eq!(read(), source, "it only checked");
    let arguments = json!({"target": "my app", "check_only": false});
    let formatted = call(&world, "run_format", arguments).await;
    assert_eq!(formatted.data()["exit_code"], 0, "{formatted:?}");
    assert!(formatted.data()["diff"].as_str().unwrap().contains("-fn adds() {"), "{formatted:?}");
    assert!(read().contains("fn adds() {\n    assert_eq!(1 + 1, 2);\n}"), "{}", read());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_project_runs_its_own_scripts() {
    if !has("npm") {
        return;
    }
    let (world, kiosk) = developer().await;
    let scripts = json!({"test": "node --test", "build": "node build.js"});
    kiosk.write_file("web/package.json", json!({"name": "web", "scripts": scripts}).to_string());
    kiosk.write_file(
        "web/sum.test.js",
        "const test = require('node:test');\ntest('adds', () => {});\n\
         test('fails', () => { throw new Error('as it must'); });\n",
    );
    kiosk.write_file("web/build.js", "require('fs').writeFileSync('out.txt', 'built');\n");
    let tested = call(&world, "run_tests", json!({"target": "web"})).await;
    let data = tested.data();
    assert_eq!(data["runner"], "npm", "{data}");
    assert_eq!((&data["passed"], &data["failed"]), (&json!(1), &json!(1)), "{data}");
    assert_ne!(data["exit_code"], 0);
    let built = call(&world, "run_build", json!({"target": "web"})).await;
    assert_eq!(built.data()["exit_code"], 0, "{built:?}");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("web/out.txt")).unwrap(), "built");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_the_device_finds_must_be_granted_like_one_that_the_call_names() {
    let grants = json!({"profile": "developer", "paths": ["{files}"], "commands": ["cargo"]});
    let (world, kiosk) = granting(grants).await;
    kiosk.write_file("app/Makefile", "test:\n\ttouch made\n");
    let found = call(&world, "run_tests", json!({"target": "app"})).await;
    assert_eq!(found.end(), (CallState::Refused, Some(ErrorCode::CommandNotAllowed)), "{found:?}");
    let hints: Vec<_> = found.error().hints.iter().map(|hint| hint.text.as_str()).collect();
    assert!(hints.contains(&"name the runner make in the call"), "{hints:?}");
    let named = call(&world, "run_tests", json!({"target": "app", "runner": "make"})).await;
    assert_eq!(named.end(), (CallState::Denied, Some(ErrorCode::CommandNotAllowed)));
    assert!(!kiosk.files().join("app/made").exists());

    let grants = json!({"profile": "developer", "paths": ["{files}"], "commands": ["make"]});
    kiosk.grant(&grants).await;
    let done = call(&world, "run_tests", json!({"target": "app"})).await;
    assert_eq!(done.data()["exit_code"], 0, "{done:?}");
    assert!(kiosk.files().join("app/made").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_is_refused_and_a_run_without_end_is_gone_at_its_deadline() {
    let (world, kiosk) = developer().await;
    kiosk.write_file("app/Makefile", "test:\n\tsetsid sleep 73001 & sleep 73001\n");
    kiosk.write_file("plain/a.txt", "");
    for (arguments, code) in [
        (json!({"target": "/etc"}), ErrorCode::PathNotAllowed),
        (json!({"target": "app", "runner": "eslint"}), ErrorCode::InvalidArgument),
        (json!({"target": "app", "timeout": 0}), ErrorCode::InvalidArgument),
        (json!({"target": "plain"}), ErrorCode::PreconditionFailed),
        (json!({"target": "none"}), ErrorCode::DirectoryNotFound),
        (json!({"target": "app/Makefile"}), ErrorCode::DirectoryNotFound),
        (json!({"target": "app", "timeout": 1}), ErrorCode::Timeout),
    ] {
        let refused = call(&world, "run_tests", arguments.clone()).await;
        assert_eq!(refused.error().code, code, "{arguments}: {refused:?}");
    }
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines =
        entries.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
    let left = lines.filter(|line| String::from_utf8_lossy(line).contains("sleep\x0073001"));
    assert_eq!(left.count(), 0);
}
