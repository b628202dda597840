//! Commands on a real device: what only reads runs at once, what nobody knows is asked about, and whatever
//! runs is confined and gone with the call.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Device, World, eventually, running};
use orion_wire::v1;
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

async fn run(world: &World, command: &str) -> Call {
    let arguments = json!({"command": command, "confirm": true});
    world.admin().call("kiosk", "execute_command", arguments).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_beside_a_file_that_is_being_sent_is_not_asked_about() {
    let (world, kiosk) = developer().await;
    let sha256 = "0".repeat(64);
    let arguments = json!({"path": "large", "size_bytes": 1_000_000_000, "sha256": sha256});
    let request = v1::CallToolRequest {
        tool: "upload_file".to_owned(),
        device: "kiosk".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        background: true,
        moves_content: true,
        ..Default::default()
    };
    world.admin().ask(request).await.unwrap();
    let is_begun = async || kiosk.tree().keys().any(|path| path.contains(".orion-")).then_some(());
    eventually("the begun file", is_begun).await;
    let made = run(&world, "mkdir made").await;
    assert_eq!(made.state, CallState::Succeeded, "{made:?}");
    assert!(kiosk.files().join("made").is_dir());
}

async fn approved(world: &World, asked: &Call) -> Call {
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    world.admin().ended(&asked.id).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_reads_runs_at_once_with_its_output_and_what_writes_does_what_it_says() {
    let (world, kiosk) = developer().await;
    kiosk.write_file("notes/a b.txt", "milk\nbread\n");
    let listed = run(&world, "ls notes").await;
    assert_eq!(listed.data()["stdout"], "a b.txt\n", "{listed:?}");
    assert_eq!(listed.data()["exit_code"], 0);
    let found = run(&world, "grep -n bread 'notes/a b.txt'").await;
    assert_eq!(found.data()["stdout"], "2:bread\n");
    let made =
        run(&world, "mkdir -p new/deep && cp 'notes/a b.txt' new/deep/copy && wc -l new/deep/copy")
            .await;
    assert_eq!(made.data()["stdout"], "2 new/deep/copy\n", "{made:?}");
    assert_eq!(made.data()["programs"].as_array().unwrap().len(), 3);
    assert!(kiosk.files().join("new/deep/copy").exists());

    let failed = run(&world, "cat notes/missing; ls notes").await;
    assert_eq!(failed.data()["stdout"], "a b.txt\n", "the last command counts");
    let failed = run(&world, "cat notes/missing && ls notes").await;
    assert_eq!(failed.end(), (CallState::Failed, Some(ErrorCode::ExecutionFailed)));
    assert_eq!(failed.error().details["exit_code"], 1);
    let tail = failed.error().details["stderr_tail"].as_str().unwrap();
    assert!(tail.contains("No such file"), "{tail}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_nobody_knows_is_asked_about_and_runs_as_it_was_shown() {
    let (world, kiosk) = developer().await;
    kiosk.write_script("own.sh", "#!/bin/sh\necho \"$1\" > out.txt\n");
    let asked = run(&world, "./own.sh 'a b'").await;
    let request = v1::GetApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        ..Default::default()
    };
    let card = world.admin().approvals().get_approval(request).await.unwrap().into_inner();
    let card = card.approval.unwrap();
    assert!(card.risk_because.iter().any(|it| it.contains("is named by its path")), "{card:?}");
    assert!(card.touches.iter().any(|line| line.starts_with("run ./own.sh")), "{:?}", card.touches);
    let done = approved(&world, &asked).await;
    assert_eq!(done.data()["exit_code"], 0, "{done:?}");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("out.txt")).unwrap(), "a b\n");

    // Another program took its name since.
    let asked = run(&world, "./own.sh again").await;
    kiosk.write_script("own.sh", "#!/bin/sh\necho other > out.txt\n");
    let drifted = approved(&world, &asked).await;
    assert_eq!(drifted.end(), (CallState::Failed, Some(ErrorCode::PreconditionFailed)));
    assert_eq!(drifted.error().details["reason"], "drift");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("out.txt")).unwrap(), "a b\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_program_reaches_the_granted_folder_and_nothing_beside_it() {
    let (world, kiosk) = developer().await;
    let outside = kiosk.files().parent().unwrap().join("outside.txt");
    std::fs::write(&outside, "secret\n").unwrap();
    let text = format!(
        "#!/bin/sh\ncat {0} && echo read\necho x >> {0} && echo wrote\ncat /etc/shadow && echo shadow\ncat \"$HOME/.ssh/id_rsa\"\necho end\n",
        outside.display()
    );
    kiosk.write_script("own.sh", &text);
    let asked = run(&world, "./own.sh").await;
    let done = approved(&world, &asked).await;
    assert_eq!(done.data()["stdout"], "end\n", "{done:?}");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "secret\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_granted_is_denied_with_what_would_allow_it() {
    let (world, kiosk) = granting(json!({
        "profile": "developer", "paths": ["{files}"], "commands": ["ls", {"program": "wc", "args": ["-l", "a"]}]
    }))
    .await;
    kiosk.write_file("a", "1\n");
    assert_eq!(run(&world, "ls").await.data()["stdout"], "a\n");
    assert_eq!(run(&world, "wc -l a").await.data()["stdout"], "1 a\n");
    for command in ["wc -c a", "cat a", "ls; cat a"] {
        let denied = run(&world, command).await;
        assert_eq!(
            denied.end(),
            (CallState::Denied, Some(ErrorCode::CommandNotAllowed)),
            "{command}"
        );
        let hint = &denied.error().hints[0].text;
        assert!(hint.contains("commands"), "{hint}");
    }
    for (command, code) in [
        ("ls | sh", ErrorCode::CommandNotAllowed),
        ("ls ../..", ErrorCode::PathNotAllowed),
        ("ls /etc", ErrorCode::PathNotAllowed),
    ] {
        let denied = run(&world, command).await;
        assert_eq!(denied.end(), (CallState::Denied, Some(code)), "{command}: {denied:?}");
    }
    let viewer = world.person("ann", Role::Viewer).await;
    let denied = viewer.call("kiosk", "execute_command", json!({"command": "ls"})).await;
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_its_deadline_when_cancelled_and_with_its_agent_a_program_is_gone_with_all_that_it_started()
 {
    let (world, kiosk) = developer().await;
    kiosk.write_script(
        "own.sh",
        "#!/bin/sh\ntrap '' TERM HUP\nsetsid sleep \"$1\" &\nsleep \"$1\"; sleep \"$1\"\n",
    );
    let arguments = json!({"command": "./own.sh 72001", "timeout": 1, "confirm": true});
    let asked = world.admin().call("kiosk", "execute_command", arguments).await;
    let began = Instant::now();
    let late = approved(&world, &asked).await;
    assert_eq!(late.end().1, Some(ErrorCode::Timeout), "{late:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(running("sleep\x0072001"), 0);

    let asked = run(&world, "./own.sh 72002").await;
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    eventually("the processes", async || (running("sleep\x0072002") == 2).then_some(())).await;
    let request = v1::CancelCallRequest { call_id: asked.id.clone() };
    world.admin().tools().cancel_call(request).await.unwrap();
    let cancelled = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(cancelled.end().1, Some(ErrorCode::Cancelled), "{cancelled:?}");
    assert_eq!(running("72002"), 0);

    let asked = run(&world, "./own.sh 72003").await;
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    eventually("the processes", async || (running("sleep\x0072003") == 2).then_some(())).await;
    kiosk.agent().kill9().await;
    eventually("the processes", async || (running("72003") == 0).then_some(())).await;
    kiosk.run().await;
    let lost = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(lost.state, CallState::Unknown, "{lost:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_names_the_commands_that_were_used_and_those_that_were_not() {
    let (world, kiosk) = granting(json!({
        "profile": "developer", "paths": ["{files}"], "commands": ["ls", "git", "docker"]
    }))
    .await;
    kiosk.write_file("a", "");
    assert_eq!(run(&world, "ls").await.data()["stdout"], "a\n");
    let review = world.cli().run(&["devices", "review", "kiosk", "-o", "json"]).await.json();
    let commands: Vec<_> = review["grants"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|grant| grant["kind"] == "command")
        .map(|grant| (grant["entry"].clone(), grant["uses"].clone(), grant["ceiling"].clone()))
        .collect();
    let row = |entry, uses, ceiling| (json!(entry), json!(uses), json!(ceiling));
    assert_eq!(commands, [row("ls", 1, true), row("git", 0, true), row("docker", 0, false)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_denied_deep_in_a_folder_reaches_nobody_through_a_program() {
    let (world, kiosk) = developer().await;
    kiosk.write_file("sub/deep/.env", "SECRET=denied\n");
    kiosk.write_file("sub/open.txt", "SECRET=open\n");
    kiosk.write_file("Makefile", "read:\n\tcat sub/deep/.env\n");
    for command in ["grep -r SECRET .", "grep -r SECRET sub", "rg SECRET sub"] {
        let call = run(&world, command).await;
        let answer = serde_json::to_string(&call.envelope).unwrap();
        assert!(!answer.contains("SECRET=denied"), "{command}: {answer}");
        let is_installed = !answer.contains("There is no program");
        assert_eq!(answer.contains("SECRET=open"), is_installed, "{command}: {answer}");
    }
    let asked = run(&world, "make read").await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    world.admin().decide(asked.approval_id(), false, "no").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_of_a_command_is_for_the_files_that_it_names_and_for_that_command_alone() {
    let (world, kiosk) = developer().await;
    kiosk.write_file("own.mk", "all:\n\techo first > made\n");
    let asked = run(&world, "make -f own.mk").await;
    kiosk.write_file("own.mk", "all:\n\techo other > made\n");
    let drifted = approved(&world, &asked).await;
    assert_eq!(drifted.end().1, Some(ErrorCode::PreconditionFailed), "{drifted:?}");
    assert!(!kiosk.files().join("made").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_may_be_limited_to_a_lower_role_and_never_given_a_higher_one() {
    let (world, kiosk) = developer().await;
    kiosk.write_file("a", "1\n");
    let bob = world.person("bob", Role::Operator).await;
    let limited = |command: &str, role: &str| {
        let arguments = json!({"command": command, "role": role, "confirm": true});
        bob.call("kiosk", "execute_command", arguments)
    };
    assert_eq!(limited("cat a", "viewer").await.data()["stdout"], "1\n");
    assert_eq!(limited("mkdir -p made", "operator").await.data()["exit_code"], 0);
    for (command, role, said) in
        [("mkdir -p other", "viewer", "role viewer"), ("ls", "admin", "role admin")]
    {
        let denied = limited(command, role).await;
        let expected = (CallState::Denied, Some(ErrorCode::PermissionDenied));
        assert_eq!(denied.end(), expected, "{command} as {role}: {denied:?}");
        assert!(denied.error().message.contains(said), "{denied:?}");
        assert!(denied.error().hints[0].text.contains("`role`"), "{denied:?}");
    }
    assert!(!kiosk.files().join("other").exists());
}
