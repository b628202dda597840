//! Files that start programs: which writes ask, what a person is shown, and that everyday work in a
//! developer's project goes on without a question.

use std::os::unix::fs::{PermissionsExt, symlink};

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Device, World};
use orion_wire::v1;
use serde_json::{Value, json};

const DEVELOPER: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";

async fn developer(world: &World) -> Device {
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    world.device("kiosk").grant(grants).ceiling(DEVELOPER).start().await
}

fn put_script(kiosk: &Device, name: &str) {
    kiosk.write_script(name, "#!/bin/sh\n");
}

fn mode(kiosk: &Device, name: &str) -> u32 {
    std::fs::metadata(kiosk.files().join(name)).unwrap().permissions().mode() & 0o777
}

async fn card(world: &World, call: &Call) -> v1::Approval {
    let request =
        v1::GetApprovalRequest { approval_id: call.approval_id().to_owned(), ..Default::default() };
    world.admin().approvals().get_approval(request).await.unwrap().into_inner().approval.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_starts_programs_is_asked_about_with_the_reason_on_the_card_and_runs_when_approved() {
    let world = World::new().await;
    let kiosk = developer(&world).await;
    put_script(&kiosk, "run.sh");
    kiosk.write_file("plain.sh", "plain");
    // Repositories of Git by what is in them, whatever they are called.
    kiosk.write_file("repo/HEAD", "ref: refs/heads/main\n");
    kiosk.write_file("repo/config", "[core]\n");
    kiosk.write_file("half/config", "[core]\nfsmonitor = x\n");
    kiosk.write_file("half/head.txt", "ref: refs/heads/main\n");
    for (tool, arguments) in [
        ("write_file", json!({"path": ".toolrc.d/x", "content": "x"})),
        ("write_file", json!({"path": "run.sh", "content": "new"})),
        ("edit_file", json!({"path": "run.sh", "old_text": "new", "new_text": "newer"})),
        ("copy_path", json!({"source": "run.sh", "destination": "copy.sh"})),
        ("copy_path", json!({"source": "plain.sh", "destination": "copy.sh", "overwrite": true})),
        ("move_path", json!({"source": "run.sh", "destination": "moved.sh"})),
        ("write_file", json!({"path": "repo/config", "content": "[core]\nfsmonitor = x\n"})),
        ("edit_file", json!({"path": "repo/config", "old_text": "= x", "new_text": "= y"})),
        ("write_file", json!({"path": "repo/commondir", "content": "../half"})),
        ("copy_path", json!({"source": "plain.sh", "destination": "repo/config.worktree"})),
        ("move_path", json!({"source": "half/head.txt", "destination": "half/HEAD"})),
        ("copy_path", json!({"source": "repo", "destination": "again"})),
    ] {
        let before = kiosk.tree();
        let asked = world.admin().call("kiosk", tool, arguments.clone()).await;
        assert_eq!(
            asked.end(),
            (CallState::AwaitingApproval, Some(ErrorCode::ApprovalRequired)),
            "{tool} {arguments}: {asked:?}"
        );
        assert_eq!(kiosk.tree(), before, "{tool} {arguments} ran before anybody approved it");
        let card = card(&world, &asked).await;
        assert_eq!(card.risk(), v1::Risk::High, "{tool} {arguments}");
        let says = card.risk_because.iter().any(|line| line == "This file can start programs.");
        assert!(says, "{tool} {arguments}: {:?}", card.risk_because);
        assert!(!card.may_stand, "{tool} {arguments}");
        world.admin().decide(asked.approval_id(), true, "").await.unwrap();
        let done = world.admin().ended(&asked.id).await.unwrap();
        assert_eq!(done.end(), (CallState::Succeeded, None), "{tool} {arguments}: {done:?}");
    }
    assert_eq!(mode(&kiosk, "moved.sh"), 0o755, "what was approved keeps its bits");
    assert_eq!(mode(&kiosk, "copy.sh") & 0o111, 0, "a plain file took over an execute bit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_attack_through_git_is_refused_at_every_step_and_by_links_too() {
    let world = World::new().await;
    let kiosk = developer(&world).await;
    put_script(&kiosk, "p/.git/hooks/pre-commit.sample");
    kiosk.write_file("p/.git/config", "[core]\n");
    kiosk.write_file("p/evil/hooks/pre-commit", "x");
    kiosk.write_file("p/.ssh/id_ed25519_sk", "key");
    symlink(".git/hooks", kiosk.files().join("p/door")).unwrap();
    symlink(".ssh/id_ed25519_sk", kiosk.files().join("p/notes.txt")).unwrap();
    let before = kiosk.tree();
    for (tool, arguments) in [
        ("write_file", json!({"path": "p/.git/config", "content": "[core]\nfsmonitor = x\n"})),
        (
            "copy_path",
            json!({"source": "p/.git/hooks/pre-commit.sample", "destination": "p/.git/hooks/pre-commit"}),
        ),
        ("write_file", json!({"path": "p/door/pre-commit", "content": "x"})),
        ("move_path", json!({"source": "p/evil", "destination": "q/.git"})),
        ("move_path", json!({"source": "p/evil", "destination": "p/.git/modules/x"})),
        ("copy_path", json!({"source": "p", "destination": "q"})),
        ("read_file", json!({"path": "p/.ssh/id_ed25519_sk"})),
        ("read_file", json!({"path": "p/notes.txt"})),
        ("get_file_info", json!({"path": "p/notes.txt", "checksum": true})),
        ("copy_path", json!({"source": "p/notes.txt", "destination": "p/mine.txt"})),
    ] {
        let call = world.admin().call("kiosk", tool, arguments.clone()).await;
        let state = call.end().0;
        assert!(
            matches!(state, CallState::Denied | CallState::Refused | CallState::Failed),
            "{tool} {arguments}: {call:?}"
        );
        assert_eq!(kiosk.tree(), before, "{tool} {arguments}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_both_sides_name_execute_nobody_is_asked_and_where_one_does_somebody_is() {
    let world = World::new().await;
    let every = r#"[{"path": "{files}", "access": ["read", "write", "delete", "execute"]}]"#;
    let grants: Value =
        serde_json::from_str(&format!(r#"{{"profile": "developer", "paths": {every}}}"#)).unwrap();
    let ceiling = "[ceiling]\nprofile = \"developer\"\npaths = [{ path = \"{files}\", access = [\"read\", \"write\", \"delete\", \"execute\"] }]\n";
    let kiosk = world.device("kiosk").grant(grants.clone()).ceiling(ceiling).start().await;
    put_script(&kiosk, "run.sh");
    for path in [".toolrc.d/x", "run.sh"] {
        let call =
            world.admin().call("kiosk", "write_file", json!({"path": path, "content": "x"})).await;
        assert_eq!(call.end(), (CallState::Succeeded, None), "{path}: {call:?}");
    }
    assert_eq!(mode(&kiosk, "run.sh"), 0o755);
    let narrow = world.device("narrow").grant(grants).ceiling(DEVELOPER).start().await;
    put_script(&narrow, "run.sh");
    for path in [".toolrc.d/x", "run.sh"] {
        let call =
            world.admin().call("narrow", "write_file", json!({"path": path, "content": "x"})).await;
        assert_eq!(call.end().0, CallState::AwaitingApproval, "{path}: {call:?}");
    }
}

/// What a developer does to a project in a day, in proportion: new and changed files, renames, copies
/// and folders. Two of them touch what starts programs: the pipeline's file, and a script that is run.
fn everyday() -> Vec<(&'static str, Value)> {
    let mut calls = Vec::new();
    let mut write = |path: String, content: &str| {
        calls.push(("write_file", json!({"path": path, "content": content})));
    };
    for name in [
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "Cargo.toml",
        "Cargo.lock",
        "package.json",
        "tsconfig.json",
        "vite.config.ts",
        "Makefile",
        "Dockerfile",
        "docker-compose.yml",
        "justfile",
        "pyproject.toml",
        "requirements.txt",
        "go.mod",
        "index.html",
        ".gitignore",
        ".editorconfig",
        ".dockerignore",
        ".prettierignore",
        "scripts/build.sh",
        "scripts/deploy.py",
        "docs/environment.md",
        "src/keys.rs",
    ] {
        write(name.to_owned(), "first\n");
    }
    for index in 0..46 {
        write(format!("src/module_{index}/mod.rs"), "pub fn a() {}\n");
    }
    for index in 0..20 {
        write(format!("tests/test_{index}.py"), "def test(): pass\n");
    }
    for index in 0..10 {
        write(format!("web/components/Part{index}.tsx"), "export {}\n");
    }
    write(".github/workflows/ci.yml".to_owned(), "on: push\n");
    write("run.sh".to_owned(), "#!/bin/sh\necho hi\n");
    for index in 0..46 {
        let path = format!("src/module_{index}/mod.rs");
        calls.push(("edit_file", json!({"path": path, "old_text": "a()", "new_text": "b()"})));
    }
    for index in 0..20 {
        let (from, to) = (format!("tests/test_{index}.py"), format!("tests/case_{index}.py"));
        calls.push(("move_path", json!({"source": from, "destination": to})));
    }
    for index in 0..16 {
        let (from, to) = (format!("src/module_{index}"), format!("src/renamed_{index}"));
        calls.push(("move_path", json!({"source": from, "destination": to})));
    }
    for index in 0..8 {
        let from = format!("web/components/Part{index}.tsx");
        calls.push((
            "copy_path",
            json!({"source": from, "destination": format!("web/Copy{index}.tsx")}),
        ));
    }
    for index in 0..8 {
        calls.push(("create_directory", json!({"path": format!("src/set_{index}")})));
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hundred_everyday_writes_at_least_98_in_100_run_without_a_question() {
    let world = World::new().await;
    let kiosk = developer(&world).await;
    put_script(&kiosk, "run.sh");
    let calls = everyday();
    assert_eq!(calls.len(), 200);
    let mut asked = Vec::new();
    for (tool, arguments) in calls {
        let call = world.admin().call("kiosk", tool, arguments.clone()).await;
        let state = call.end().0;
        if state == CallState::AwaitingApproval {
            asked.push(format!("{tool} {}", arguments["path"]));
        } else {
            assert_eq!(state, CallState::Succeeded, "{tool} {arguments}: {call:?}");
        }
    }
    println!(
        "{} of 200 everyday writes ran without a question; asked: {asked:?}",
        200 - asked.len()
    );
    assert_eq!(asked.len(), 2, "{asked:?}");
}
