//! A yes is to what was shown: what has changed on the device since then is left alone, and what has not
//! is done.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Device, World, eventually};
use orion_wire::v1;
use orion_wire::v1::decide_approval_request::More;
use serde_json::{Value, json};

/// A world in which every change is asked about, and its device.
async fn strict() -> (World, Device) {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let text = "version: 1
rules:
  - id: show-all
    tools: [copy_path, move_path, write_file, edit_file]
    action: ask
";
    let policy =
        v1::ApplyPolicyRequest { text: text.to_owned(), expected_version: -1, note: String::new() };
    let applied = world.admin().policy().apply_policy(policy).await.unwrap().into_inner();
    assert!(applied.is_applied, "{:?}", applied.findings);
    kiosk.ready().await;
    (world, kiosk)
}

async fn ask(world: &World, tool: &str, arguments: &Value) -> Call {
    let asked = world.admin().call("kiosk", tool, arguments.clone()).await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    asked
}

async fn approve(world: &World, asked: &Call) -> Call {
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    world.admin().ended(&asked.id).await.unwrap()
}

fn is_drift(call: &Call) {
    assert_eq!(call.end(), (CallState::Failed, Some(ErrorCode::PreconditionFailed)), "{call:?}");
    let error = call.error();
    assert_eq!(error.details["reason"], "drift", "{error:?}");
    assert!(error.hints[0].text.starts_with("make the call again"), "{error:?}");
}

/// Other content of the same size at the same time of writing.
fn forge(path: &Path, content: &[u8]) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, content).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

/// More than is hashed.
fn large(byte: u8) -> Vec<u8> {
    vec![byte; 64 * 1024 * 1024 + 1]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_took_the_name_of_the_one_that_was_shown_stays() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("scratch/junk.txt", "junk");
    kiosk.write_file("ledger/2026.txt", "the only copy");
    let asked = ask(
        &world,
        "delete_directory",
        &json!({"path": "scratch", "recursive": true, "confirm": true}),
    )
    .await;
    for (source, destination) in [("scratch", "s2"), ("ledger", "scratch")] {
        let arguments = json!({"source": source, "destination": destination});
        let moved = world.admin().call("kiosk", "move_path", arguments).await;
        assert_eq!(moved.end(), (CallState::Succeeded, None), "{moved:?}");
    }
    let before = kiosk.tree();
    is_drift(&approve(&world, &asked).await);
    assert_eq!(kiosk.tree(), before);
    assert_eq!(kiosk.tree()["scratch/2026.txt"].as_deref(), Some("the only copy"));

    // The preview that is asked with from then on shows what is there by now.
    let asked = ask(
        &world,
        "delete_directory",
        &json!({"path": "scratch", "recursive": true, "confirm": true}),
    )
    .await;
    let done = approve(&world, &asked).await;
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
}

type Change = fn(&Device);

/// What is asked for, and what others do between the card and the yes.
fn drifts() -> Vec<(&'static str, Value, Change)> {
    let delete = |path: &str| json!({"path": path, "confirm": true});
    let delete_all = |path: &str| json!({"path": path, "recursive": true, "confirm": true});
    let over =
        |source: &str| json!({"source": source, "destination": "there.txt", "overwrite": true});
    let config = json!({
        "path": "app.ini", "confirm": true,
        "changes": [{"line": 1, "old": "a = 1", "new": "a = 2"}],
    });
    vec![
        ("delete_file", delete("a.txt"), |it| it.write_file("a.txt", "rewritten")),
        ("delete_file", delete("a.txt"), |it| forge(&it.files().join("a.txt"), b"54321")),
        ("delete_file", delete("large"), |it| forge(&it.files().join("large"), &large(2))),
        ("delete_file", delete("way"), |it| {
            fs::remove_file(it.files().join("way")).unwrap();
            std::os::unix::fs::symlink("folder", it.files().join("way")).unwrap();
        }),
        ("delete_directory", delete_all("folder"), |it| it.write_file("folder/deep/new.txt", "")),
        ("delete_directory", delete_all("folder"), |it| {
            forge(&it.files().join("folder/deep/b.txt"), b"54321");
        }),
        ("delete_directory", delete_all("folder"), |it| {
            forge(&it.files().join("folder/large"), &large(2));
        }),
        ("modify_config", config, |it| it.write_file("app.ini", "a = 1\nb = 3\n")),
        ("copy_path", over("a.txt"), |it| it.write_file("there.txt", "somebody else's")),
        ("copy_path", over("a.txt"), |it| it.write_file("a.txt", "rewritten")),
        ("copy_path", json!({"source": "folder", "destination": "copy"}), |it| {
            forge(&it.files().join("folder/deep/b.txt"), b"54321");
        }),
        ("copy_path", json!({"source": "a.txt", "destination": "new.txt"}), |it| {
            it.write_file("new.txt", "somebody else's");
        }),
        ("move_path", over("a.txt"), |it| it.write_file("there.txt", "somebody else's")),
        ("move_path", over("a.txt"), |it| it.write_file("a.txt", "rewritten")),
        ("move_path", over("a.txt"), |it| fs::remove_file(it.files().join("there.txt")).unwrap()),
        ("move_path", json!({"source": "folder", "destination": "moved"}), |it| {
            it.write_file("folder/deep/new.txt", "");
        }),
        ("write_file", json!({"path": "a.txt", "content": "mine"}), |it| {
            it.write_file("a.txt", "somebody else's");
        }),
        ("write_file", json!({"path": "a.txt", "content": "mine", "append": true}), |it| {
            forge(&it.files().join("a.txt"), b"54321");
        }),
        ("write_file", json!({"path": "new.txt", "content": "mine"}), |it| {
            it.write_file("new.txt", "somebody else's");
        }),
        ("edit_file", json!({"path": "a.txt", "old_text": "1", "new_text": "one"}), |it| {
            it.write_file("a.txt", "12345 and more")
        }),
    ]
}

fn fill(device: &Device) {
    for entry in fs::read_dir(device.files()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    device.write_file("a.txt", "12345");
    device.write_file("there.txt", "there before");
    device.write_file("app.ini", "a = 1\nb = 2\n");
    device.write_file("large", large(1));
    device.write_file("folder/deep/b.txt", "12345");
    device.write_file("folder/large", large(1));
    std::os::unix::fs::symlink("a.txt", device.files().join("way")).unwrap();
}

/// Every path with its content, without reading text into it.
fn content(device: &Device) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let (mut found, mut left) = (Vec::new(), vec![device.files()]);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_symlink() {
                found.push((
                    path.clone(),
                    Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()),
                ));
            } else if path.is_dir() {
                found.push((path.clone(), None));
                left.push(path);
            } else {
                found.push((path.clone(), Some(fs::read(&path).unwrap())));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_changed_since_the_card_is_left_as_it_is() {
    let (world, kiosk) = strict().await;
    for (tool, arguments, change) in drifts() {
        fill(&kiosk);
        let asked = ask(&world, tool, &arguments).await;
        change(&kiosk);
        let before = content(&kiosk);
        let ended = approve(&world, &asked).await;
        println!("{tool} {arguments}: {:?}", ended.end());
        is_drift(&ended);
        assert!(content(&kiosk) == before, "{tool} {arguments} changed something");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_changed_is_done_also_where_the_same_content_was_written_again() {
    let (world, kiosk) = strict().await;
    let mut done = Vec::new();
    for (tool, arguments, _) in drifts() {
        if done.contains(&(tool, arguments.clone())) {
            continue;
        }
        fill(&kiosk);
        let asked = ask(&world, tool, &arguments).await;
        // The same content, at another time.
        if arguments.to_string().contains("a.txt") {
            kiosk.write_file("a.txt", "12345");
        }
        let ended = approve(&world, &asked).await;
        assert_eq!(ended.end(), (CallState::Succeeded, None), "{tool} {arguments}: {ended:?}");
        done.push((tool, arguments));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_shown_survives_a_restart_and_a_change_of_the_call() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "12345");
    let asked = ask(&world, "delete_file", &json!({"path": "a.txt", "confirm": true})).await;
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    kiosk.write_file("a.txt", "54321");
    is_drift(&approve(&world, &asked).await);

    // Of a call that an approver changed, it is its own preview that counts.
    let text = "version: 1
rules:
  - {id: look-first, tools: [delete_file], action: ask, dry_run_first: true}
";
    let policy =
        v1::ApplyPolicyRequest { text: text.to_owned(), expected_version: -1, note: String::new() };
    world.admin().policy().apply_policy(policy).await.unwrap();
    kiosk.ready().await;
    kiosk.write_file("b.txt", "12345");
    let asked = ask(&world, "delete_file", &json!({"path": "a.txt", "confirm": true})).await;
    let new = changed(&world, &asked, &json!({"path": "b.txt", "confirm": true})).await;
    kiosk.write_file("a.txt", "changed, but not asked about any more");
    kiosk.write_file("b.txt", "54321");
    is_drift(&approve(&world, &new).await);
    assert_eq!(kiosk.tree()["b.txt"].as_deref(), Some("54321"));
}

/// Changes a call, and gives the one that is made instead.
async fn changed(world: &World, asked: &Call, arguments: &Value) -> Call {
    let arguments = arguments.to_string().into_bytes().into();
    let request = v1::DecideApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        approve: true,
        reason: String::new(),
        more: Some(More::ChangedArguments(v1::ChangedArguments { arguments })),
        details_shown: None,
        passkey: None,
    };
    world.admin().approvals().decide_approval(request).await.unwrap();
    let old = world.admin().ended(&asked.id).await.unwrap();
    let new = old.error().details["changed_to"].as_str().unwrap().to_owned();
    world.admin().recorded(&new).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn about_a_device_that_is_away_nobody_is_asked_before_it_can_show_what_it_would_do() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "12345");
    kiosk.stop().await;
    let arguments = json!({"path": "a.txt", "confirm": true}).to_string().into_bytes();
    let request = v1::CallToolRequest {
        tool: "delete_file".to_owned(),
        device: "kiosk".to_owned(),
        arguments: arguments.into(),
        queue: true,
        ..Default::default()
    };
    let waits = world.admin().ask(request).await.unwrap();
    assert_eq!(waits.end(), (CallState::Queued, Some(ErrorCode::DeviceOffline)), "{waits:?}");
    let all = v1::ListApprovalsRequest { all: true };
    let questions = world.admin().approvals().list_approvals(all).await.unwrap().into_inner();
    assert_eq!(questions.approvals, []);

    kiosk.run().await;
    let asked = eventually("the question", async || {
        let call = world.admin().recorded(&waits.id).await.ok()?;
        (call.state == CallState::AwaitingApproval).then_some(call)
    })
    .await;
    let card = v1::GetApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        ..Default::default()
    };
    let card = world.admin().approvals().get_approval(card).await.unwrap().into_inner();
    assert!(!card.approval.unwrap().preview.is_empty());
    assert!(kiosk.files().join("a.txt").exists());
    let done = approve(&world, &asked).await;
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_call_waits_for_its_device_no_longer_than_the_one_that_was_asked_for() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "12345");
    let delete = |queue_ms| v1::CallToolRequest {
        tool: "delete_file".to_owned(),
        device: "kiosk".to_owned(),
        arguments: json!({"path": "a.txt", "confirm": true}).to_string().into_bytes().into(),
        queue: true,
        queue_ms,
        ..Default::default()
    };
    let short = world.admin().ask(delete(1)).await.unwrap();
    let long = world.admin().ask(delete(3_600_000)).await.unwrap();
    kiosk.stop().await;
    let other = json!({"path": "b.txt", "confirm": true});
    let over = changed(&world, &short, &other).await;
    assert_eq!(over.end(), (CallState::Failed, Some(ErrorCode::DeviceOffline)), "{over:?}");
    let waits = changed(&world, &long, &other).await;
    assert_eq!(waits.state, CallState::Queued, "{waits:?}");
    let until = async |call: &Call| {
        let request = v1::GetCallRequest { call_id: call.id.clone(), wait_ms: 0 };
        let call = world.admin().tools().get_call(request).await.unwrap().into_inner().call;
        call.unwrap().queued_until
    };
    assert_eq!(until(&waits).await, until(&long).await);
    let request = v1::CancelCallRequest { call_id: waits.id.clone() };
    world.admin().tools().cancel_call(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_chat_the_model_is_told_that_what_was_shown_has_changed() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "");
    let ann = world.person("ann", Role::Operator).await;
    let talking = {
        let ann = ann.clone();
        tokio::spawn(async move { ann.say("verwijder de map old met alles erin").await })
    };
    let question = eventually("a question", async || {
        let request = v1::ListApprovalsRequest { all: false };
        let open = world.admin().approvals().list_approvals(request).await.ok()?.into_inner();
        open.approvals.into_iter().next().map(|card| card.approval_id)
    })
    .await;
    kiosk.write_file("old/new.txt", "nobody was shown this");
    world.admin().decide(&question, true, "").await.unwrap();
    let answer = talking.await.unwrap();
    let [call] = &answer.calls[..] else { panic!("one call: {answer:?}") };
    is_drift(call);
    assert!(answer.text.contains("vraag het opnieuw"), "{}", answer.text);
    assert!(kiosk.files().join("old/new.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_difference_is_cut_on_the_card_and_what_raises_the_risk_stays() {
    let (world, kiosk) = strict().await;
    kiosk.write_file("run", "old\n");
    let program = kiosk.files().join("run");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let lines: String =
        (0..4_000).map(|number| format!("say \"{number}\" to whoever listens\n")).collect();
    let asked = ask(&world, "write_file", &json!({"path": "run", "content": lines})).await;

    let card = v1::GetApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        ..Default::default()
    };
    let card = world.admin().approvals().get_approval(card).await.unwrap().into_inner();
    let card = card.approval.unwrap();
    assert!(card.preview.len() <= 64 * 1024, "{} bytes", card.preview.len());
    let preview: orion_domain::Envelope = serde_json::from_slice(&card.preview).unwrap();
    assert!(!preview.meta.raises.is_empty() && preview.meta.truncated, "{:?}", preview.meta);
    let data = preview.data.unwrap();
    assert!(data["diff"].as_str().unwrap().ends_with(" more lines)\n"), "{data}");
    assert!(data["diff"].as_str().unwrap().contains("+say \"100\" to whoever listens\n"), "{data}");

    assert_eq!(approve(&world, &asked).await.end(), (CallState::Succeeded, None));
    assert_eq!(fs::read_to_string(&program).unwrap(), lines);
}
