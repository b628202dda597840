//! Calls while they wait: pauses, restarts, lost links, many at once, and the question at a terminal.

use std::time::Duration;

use orion_tests::Cut;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_and_a_cancel_end_what_waits_and_a_restart_asks_again() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS).await;
    let call = calling(&world, "write_file", write(&kiosk, "a.txt"));
    question(&kiosk).await;
    owner(&kiosk, &["pause", "--let-finish"]).await;
    let ended = call.await.unwrap();
    assert_eq!(ended.end(), (CallState::Refused, Some(ErrorCode::DevicePaused)), "{ended:?}");
    owner(&kiosk, &["resume"]).await;

    let call = calling(&world, "write_file", write(&kiosk, "a.txt"));
    let asked = question(&kiosk).await;
    let request = v1::CancelCallRequest { call_id: asked["call_id"].as_str().unwrap().to_owned() };
    world.admin().tools().cancel_call(request).await.unwrap();
    let ended = call.await.unwrap();
    assert_eq!(ended.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)), "{ended:?}");
    eventually("no question", async || questions(&kiosk).await.is_empty().then_some(())).await;

    let call = calling(&world, "write_file", write(&kiosk, "a.txt"));
    let first = question(&kiosk).await;
    kiosk.agent().kill9().await;
    assert_eq!(questions(&kiosk).await, Vec::<Value>::new(), "nobody can answer without an agent");
    kiosk.run().await;
    let second = question(&kiosk).await;
    assert_eq!(second["call_id"], first["call_id"]);
    assert_ne!(second["id"], first["id"]);
    owner(&kiosk, &["consent", "allow", id(&second)]).await;
    assert_eq!(call.await.unwrap().end(), DONE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_outlives_the_link() {
    let world = World::new().await;
    let proxy = world.proxy().await;
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    let kiosk = world.device("kiosk").via_proxy(&proxy).grant(grants).ceiling(ASKS).start().await;
    let call = calling(&world, "write_file", write(&kiosk, "a.txt"));
    let first = question(&kiosk).await;
    let connected = kiosk.agent().log().matches("connected to").count();
    proxy.cut(Cut::Reset);
    eventually("another link", async || {
        (kiosk.agent().log().matches("connected to").count() > connected).then_some(())
    })
    .await;
    assert_eq!(question(&kiosk).await, first);
    owner(&kiosk, &["consent", "allow", id(&first)]).await;
    assert_eq!(call.await.unwrap().end(), DONE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_questions_wait_and_no_more_and_other_calls_run_beside_them() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS).await;
    let mut calls: Vec<_> = (0..4)
        .map(|number| calling(&world, "write_file", write(&kiosk, &format!("{number}.txt"))))
        .collect();
    eventually("four questions", async || (questions(&kiosk).await.len() == 4).then_some(())).await;
    let refused = world.admin().call("kiosk", "write_file", write(&kiosk, "5.txt")).await;
    let full = (CallState::Failed, Some(ErrorCode::ResourceExhausted));
    assert_eq!(refused.end(), full, "{refused:?}");
    let other = world.admin().call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(other.end(), DONE, "{other:?}");
    for question in questions(&kiosk).await {
        owner(&kiosk, &["consent", "deny", id(&question)]).await;
    }
    for call in calls.drain(..) {
        assert_eq!(call.await.unwrap().end(), DENIED);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_watches_sees_what_happens_and_answers_with_y_and_n() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS_BEFORE_READS).await;
    let watching = kiosk.agent_command_with_stdin(&["watch"]);
    let sees = async |text: &str| {
        eventually(text, async || watching.log().contains(text).then_some(())).await;
    };
    // What is typed before a question is no answer to it.
    watching.write_stdin(b"y\n");
    let call = calling(&world, "write_file", write(&kiosk, "a.txt"));
    sees("May write_file run on this device?").await;
    watching.write_stdin(b"y\n");
    sees("typed before the question could be read").await;
    sees("write_file of admin waits for you").await;
    assert!(!kiosk.files().join("a.txt").exists());
    // The time to read a question has to pass.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    watching.write_stdin(b"maybe\n");
    sees("y allows this call, n denies it.").await;
    assert!(!kiosk.files().join("a.txt").exists());
    watching.write_stdin(b"y\n");
    assert_eq!(call.await.unwrap().end(), DONE);
    sees("Allowed: write_file runs once, as it was shown.").await;
    sees("write_file succeeded").await;

    let call = calling(&world, "read_file", json!({"path": kiosk.path("a.txt")}));
    sees("May read_file run on this device?").await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    watching.write_stdin(b"n\n");
    assert_eq!(call.await.unwrap().end(), DENIED);
    sees("read_file was refused: APPROVAL_REJECTED").await;
    watching.kill9().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_watches_sees_that_a_preview_is_one() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS).await;
    let watching = kiosk.agent_command_with_stdin(&["watch"]);
    let preview = ["call", "kiosk", "create_directory", "path=b", "--dry-run"];
    assert_eq!(world.cli().run(&preview).await.code, 0);
    for seen in
        ["a preview of create_directory of admin runs", "a preview of create_directory succeeded"]
    {
        eventually(seen, async || watching.log().contains(seen).then_some(())).await;
    }
    watching.kill9().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_says_for_whom_a_call_waits() {
    const WAITS: &str = "waits for the person at the device";
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS).await;
    let path = kiosk.path("a.txt");
    let mut terminal =
        world.cli().terminal(&format!("call kiosk write_file path={path} content=new"));
    terminal.sees(WAITS).await;
    answer(&kiosk, "allow").await;
    assert_eq!(terminal.ended().await, 0, "{}", terminal.rest());

    let mut chat = world.cli().terminal("chat");
    chat.sees("› ").await;
    chat.line("write \"new\" to b.txt").await;
    chat.sees(WAITS).await;
    answer(&kiosk, "allow").await;
    chat.sees("write_file").await;
    chat.line("/quit").await;
    assert_eq!(chat.ended().await, 0, "{}", chat.rest());
    assert!(kiosk.files().join("b.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_approves_hears_that_the_call_waits_at_the_device_and_no_undo_is_offered() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", ASKS).await;
    kiosk.write_file("a.txt", "kept");
    let cli = world.cli();
    let asked =
        cli.run(&["call", "kiosk", "delete_file", "path=a.txt", "confirm=true", "-o", "json"]);
    let asked = asked.await.json();
    let approval = asked["error"]["details"]["approval_id"].as_str().unwrap();

    let approved = cli.run(&["approvals", "approve", approval]).await;
    assert_eq!(approved.code, 0, "{approved:?}");
    let said = &approved.stderr;
    assert!(said.contains("the call has not ended ("), "{said}");
    assert!(said.contains("`orion calls watch ") && !said.contains("undo"), "{said}");
    let call = asked["meta"]["call_id"].as_str().unwrap();
    let too_early = cli.run(&["undo", call]).await;
    assert_eq!(too_early.code, 9, "{too_early:?}");
    assert!(too_early.stderr.contains("has not ended"), "{too_early:?}");
    assert!(too_early.stderr.contains("`orion calls watch "), "{too_early:?}");

    let answer = question(&kiosk).await;
    let listed = owner(&kiosk, &["consent", "list"]).await;
    assert!(listed.contains(&format!(" consent allow {}`", id(&answer))), "{listed}");
    owner(&kiosk, &["consent", "allow", id(&answer)]).await;
    assert_eq!(world.admin().ended(call).await.unwrap().end(), DONE);
    assert_eq!(cli.run(&["undo", call]).await.code, 0);
    assert_eq!(kiosk.tree()["a.txt"].as_deref(), Some("kept"));
}
