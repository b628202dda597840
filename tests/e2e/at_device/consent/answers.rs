//! Yes, no and no answer.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_runs_after_a_yes_and_not_after_a_no() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS).await;
    kiosk.write_file("a.txt", "old\n");
    let preview = world.admin().dry_run("kiosk", "write_file", write(&kiosk, "a.txt")).await;
    let message = &preview.envelope.as_ref().unwrap().message;
    assert!(message.ends_with("The person at the device is asked before it runs."), "{message}");

    let call = calling(&world, "write_file", write(&kiosk, "a.txt"));
    let asked = question(&kiosk).await;
    let known = ["tool", "user", "risk", "touches", "why"].map(|it| asked[it].clone());
    assert_eq!(
        known,
        [
            json!("write_file"),
            json!("admin"),
            json!("medium"),
            json!([format!("write {}", kiosk.path("a.txt"))]),
            json!("[consent] of agent.toml names write_file"),
        ],
        "{asked}"
    );
    let arguments = asked["arguments"].as_array().unwrap();
    assert!(arguments.contains(&json!(["content", "new\u{240a}"])), "{asked}");
    let preview = asked["preview"].as_array().unwrap();
    assert!(preview.contains(&json!("-old")) && preview.contains(&json!("+new")), "{asked}");
    let waits = eventually("the progress of the call", async || {
        let call_id = asked["call_id"].as_str()?.to_owned();
        let request = v1::GetCallRequest { call_id, ..Default::default() };
        let call = world.admin().tools().get_call(request).await.ok()?.into_inner().call?;
        Some(call.advance?.note)
    })
    .await;
    assert!(waits.starts_with("waits for the person at the device, until "), "{waits}");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("a.txt")).unwrap(), "old\n");
    let said = owner(&kiosk, &["consent", "allow", id(&asked)]).await;
    assert!(said.contains("Allowed: write_file runs once, as it was shown."), "{said}");
    let ended = call.await.unwrap();
    assert_eq!(ended.end(), DONE, "{ended:?}");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("a.txt")).unwrap(), "new\n");

    let call = calling(&world, "write_file", write(&kiosk, "b.txt"));
    answer(&kiosk, "deny").await;
    let ended = call.await.unwrap();
    assert_eq!(ended.end(), DENIED, "{ended:?}");
    assert_eq!(ended.error().details["layer"], "consent");
    assert!(!kiosk.files().join("b.txt").exists());

    let log = owner(&kiosk, &["log", "-o", "json"]).await;
    let entries: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen = |entry: &Value| ["tool", "state", "consent"].map(|it| entry[it].clone());
    let seen: Vec<_> = entries.iter().map(seen).collect();
    assert_eq!(
        seen,
        [
            [json!("write_file"), json!("refused"), json!("denied")],
            [json!("write_file"), json!("succeeded"), json!("allowed")],
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_done_again_asks_as_the_first_time() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS).await;
    kiosk.write_file("a.txt", "old\n");
    let call = calling(&world, "write_file", write(&kiosk, "a.txt"));
    answer(&kiosk, "allow").await;
    let written = call.await.unwrap();
    assert_eq!(written.end(), DONE, "{written:?}");
    let undo = |call: &Call| json!({"call_id": call.id, "paths": [kiosk.path("a.txt")]});
    // What was before comes back without a question: the file names the tool, and not its undo.
    let undone = world.admin().call("kiosk", "undo_call", undo(&written)).await;
    assert_eq!(undone.end(), DONE, "{undone:?}");

    let again = calling(&world, "undo_call", undo(&undone));
    let asked = answer(&kiosk, "deny").await;
    assert_eq!(asked["why"], "[consent] of agent.toml names write_file", "{asked}");
    let ended = again.await.unwrap();
    assert_eq!(ended.end(), DENIED, "{ended:?}");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("a.txt")).unwrap(), "old\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_is_no_and_the_deadline_of_the_call_counts() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", &ASKS.replace("timeout = 60", "timeout = 5")).await;
    let call = calling(&world, "write_file", write(&kiosk, "a.txt"));
    let asked = question(&kiosk).await;
    assert!(time_of(&asked) <= 5_000, "{asked}");
    let ended = call.await.unwrap();
    let expired = (CallState::Refused, Some(ErrorCode::ApprovalExpired));
    assert_eq!(ended.end(), expired, "{ended:?}");
    let late = kiosk.agent_command(&["consent", "allow", id(&asked)]);
    assert_eq!(late.exit_code().await, 1);
    assert!(!kiosk.files().join("a.txt").exists());

    kiosk.stop().await;
    let text = ASKS.replace("{files}", &kiosk.files().display().to_string());
    std::fs::write(kiosk.config(), text).unwrap();
    kiosk.run().await;
    let call = calling_within(&world, "write_file", write(&kiosk, "a.txt"), 8_000);
    let asked = question(&kiosk).await;
    assert!(time_of(&asked) <= 8_000, "{asked}");
    let ended = call.await.unwrap();
    assert_ne!(ended.state, CallState::Succeeded, "{ended:?}");
    assert!(!kiosk.files().join("a.txt").exists());
}

/// Returns how long a question waits, in milliseconds.
fn time_of(asked: &Value) -> i64 {
    asked["expires_at"].as_i64().unwrap() - asked["asked_at"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_a_confirmation_and_a_plan_do_not_replace_the_answer() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS).await;
    kiosk.write_file("a.txt", "keep\n");
    let arguments = json!({"path": kiosk.path("a.txt"), "confirm": true});
    let asked = world.admin().call("kiosk", "delete_file", arguments.clone()).await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    let client = world.admin().clone();
    let approval = asked.approval_id().to_owned();
    let deciding = tokio::spawn(async move { client.decide(&approval, true, "").await });
    answer(&kiosk, "deny").await;
    drop(deciding.await.unwrap());
    let ended = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(ended.end(), DENIED, "{ended:?}");

    let plan = world.admin().plan(&[("kiosk", "delete_file", arguments)], false).await.unwrap();
    let client = world.admin().clone();
    let approved = plan.clone();
    let deciding = tokio::spawn(async move { client.decide_plan(&approved, true, "").await });
    answer(&kiosk, "deny").await;
    drop(deciding.await.unwrap());
    let plan = world.admin().plan_of(&plan, true).await.unwrap();
    assert_ne!(plan.state(), v1::PlanState::Succeeded, "{plan:?}");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("a.txt")).unwrap(), "keep\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_between_the_question_and_the_yes_does_not_run() {
    const DRIFTED: (CallState, Option<ErrorCode>) =
        (CallState::Failed, Some(ErrorCode::PreconditionFailed));
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS_BEFORE_READS).await;
    kiosk.write_file("a.txt", "old\n");
    let call = calling(&world, "write_file", write(&kiosk, "a.txt"));
    let asked = question(&kiosk).await;
    kiosk.write_file("a.txt", "written since\n");
    owner(&kiosk, &["consent", "allow", id(&asked)]).await;
    let ended = call.await.unwrap();
    assert_eq!(ended.end(), DRIFTED, "{ended:?}");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("a.txt")).unwrap(), "written since\n");

    // A read of one file does not become a read of another.
    kiosk.write_file("open.txt", "open\n");
    kiosk.write_file("secret.txt", "secret\n");
    let call = calling(&world, "read_file", json!({"path": kiosk.path("open.txt")}));
    let asked = question(&kiosk).await;
    std::fs::rename(kiosk.files().join("secret.txt"), kiosk.files().join("open.txt")).unwrap();
    owner(&kiosk, &["consent", "allow", id(&asked)]).await;
    let ended = call.await.unwrap();
    assert_eq!(ended.end(), DRIFTED, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_reads_ask_a_preview_asks_too_and_what_was_shown_is_what_is_sent() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS_BEFORE_READS).await;
    kiosk.write_file("a.txt", "secret\n");
    let previewing = || {
        let (client, arguments) = (world.admin().clone(), write(&kiosk, "a.txt"));
        tokio::spawn(async move { client.dry_run("kiosk", "write_file", arguments).await })
    };
    let preview = previewing();
    let asked = answer(&kiosk, "deny").await;
    assert_eq!(
        asked["why"],
        "[consent] of agent.toml names read_file, and this preview shows what it reads; it changes nothing"
    );
    let ended = preview.await.unwrap();
    assert_eq!(ended.end(), DENIED, "{ended:?}");
    assert!(!format!("{ended:?}").contains("secret"), "{ended:?}");

    let preview = previewing();
    let asked = question(&kiosk).await;
    kiosk.write_file("a.txt", "other\n");
    owner(&kiosk, &["consent", "allow", id(&asked)]).await;
    let ended = preview.await.unwrap();
    assert_eq!(ended.end(), DONE, "{ended:?}");
    let shown = ended.envelope.unwrap().data.unwrap().to_string();
    assert!(shown.contains("-secret") && !shown.contains("other"), "{shown}");
    assert_eq!(std::fs::read_to_string(kiosk.files().join("a.txt")).unwrap(), "other\n");
    let log = owner(&kiosk, &["log", "-o", "json"]).await;
    assert_eq!(log.lines().count(), 1, "a preview did not run: {log}");
}
