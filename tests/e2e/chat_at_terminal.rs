//! The chat at a real terminal: what is shown, and what each key does.
#![cfg(target_os = "linux")]

use orion_domain::Role;
use orion_tests::{Cli, HeldModel, World, eventually};
use orion_wire::v1;
use serde_json::json;

const QUESTION: &str = "Approve? y, n, n because";
const PROMPT: &str = "› ";

async fn open_question(world: &World) -> v1::Approval {
    eventually("a question", async || {
        let request = v1::ListApprovalsRequest { all: false };
        let open = world.admin().approvals().list_approvals(request).await.ok()?.into_inner();
        open.approvals.into_iter().next()
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_question_takes_each_answer_and_shows_a_card_of_at_most_twelve_lines() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for number in 0..40 {
        kiosk.write_file(&format!("old/file-{number}.txt"), "x");
    }
    let mut chat = world.cli().terminal("chat");
    chat.sees(PROMPT).await;
    chat.line("delete the folder old with everything in it").await;
    let card = chat.sees(QUESTION).await;
    let lines: Vec<_> = card.lines().filter(|line| line.starts_with('\u{258c}')).collect();
    assert!((6..=12).contains(&lines.len()), "{card}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{card}");
    assert!(lines[0].contains("delete_directory on kiosk asks for approval: high risk"), "{card}");
    // No clear answer is no answer.
    chat.line("yes delete everything").await;
    chat.sees("y approves, n denies").await;
    chat.sees(QUESTION).await;
    chat.line("d").await;
    let whole = chat.sees(QUESTION).await;
    assert!(whole.contains("who may approve") && whole.contains("first_entries"), "{whole}");
    chat.line("n because it is still needed").await;
    let denied = chat.sees(PROMPT).await;
    assert!(denied.contains("it is still needed"), "the planner tells why: {denied}");
    assert!(kiosk.files().join("old").exists());
    let all = v1::ListApprovalsRequest { all: true };
    let all = world.admin().approvals().list_approvals(all).await.unwrap().into_inner();
    assert_eq!(all.approvals[0].reason, "it is still needed");

    chat.line("delete old/file-1.txt").await;
    chat.sees(QUESTION).await;
    chat.line("c").await;
    chat.sees(PROMPT).await;
    chat.line("delete old/file-2.txt").await;
    let done = chat.sees(PROMPT).await;
    assert!(!done.contains(QUESTION), "approved for this chat: {done}");
    assert!(!kiosk.files().join("old/file-2.txt").exists());
    chat.line("/quit").await;
    assert_eq!(chat.ended().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_that_is_given_elsewhere_ends_the_question_and_says_who_gave_it() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let second = world.person("second", Role::Admin).await;
    for name in ["a.txt", "b.txt"] {
        kiosk.write_file(name, "x");
    }
    let mut chat = world.cli().terminal("chat");
    chat.sees(PROMPT).await;
    chat.line("delete a.txt").await;
    chat.sees(QUESTION).await;
    // Half an answer is not left over for what is asked next.
    chat.types("n").await;
    let card = open_question(&world).await;
    second.decide(&card.approval_id, true, "agreed").await.unwrap();
    let told = chat.sees(PROMPT).await;
    assert!(told.contains("approved by second: agreed"), "{told}");
    assert!(!kiosk.files().join("a.txt").exists());
    chat.line("delete b.txt").await;
    chat.sees(QUESTION).await;
    let card = open_question(&world).await;
    second.decide(&card.approval_id, false, "keep it").await.unwrap();
    let told = chat.sees(PROMPT).await;
    assert!(told.contains("denied by second: keep it"), "{told}");
    assert!(kiosk.files().join("b.txt").exists());
    chat.line("list my files").await;
    let listed = chat.sees("b.txt").await;
    assert!(!listed.contains("n list"), "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_clears_a_line_stops_a_turn_and_ends_the_chat_when_it_is_pressed_twice() {
    let mut model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "x");
    let mut chat = world.cli().terminal("chat");
    chat.sees(PROMPT).await;
    chat.types("delete every").await;
    chat.sees("delete every").await;
    chat.interrupt().await;
    chat.sees(PROMPT).await;
    chat.line("hello").await;
    let asked = model.asked().await;
    assert_eq!(asked.said(), "hello", "what was cleared is not sent");
    chat.interrupt().await;
    let stopped = chat.sees(PROMPT).await;
    assert!(
        stopped.lines().any(|line| line.trim_start_matches("^C").trim() == "stopped"),
        "{stopped}"
    );
    asked.dropped().await;

    // At the question as well: nothing is approved, and the call is cancelled.
    chat.line("delete a.txt").await;
    let call = json!({"path": "a.txt", "confirm": true});
    model.asked().await.call(&[("delete_file", call)]).await;
    chat.sees(QUESTION).await;
    chat.types("y").await;
    chat.interrupt().await;
    let stopped = chat.sees(PROMPT).await;
    assert!(stopped.lines().any(|line| line == "stopped"), "{stopped}");
    assert!(kiosk.files().join("a.txt").exists());
    eventually("no question", async || {
        let request = v1::ListApprovalsRequest { all: false };
        let open = world.admin().approvals().list_approvals(request).await.ok()?.into_inner();
        open.approvals.is_empty().then_some(())
    })
    .await;

    chat.interrupt().await;
    chat.sees("Ctrl-C once more").await;
    chat.sees(PROMPT).await;
    chat.types("x").await;
    chat.sees("x").await;
    chat.interrupt().await;
    chat.sees(PROMPT).await;
    chat.interrupt().await;
    chat.sees("Ctrl-C once more").await;
    chat.sees(PROMPT).await;
    chat.interrupt().await;
    assert_eq!(chat.ended().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_a_model_says_looks_like_the_card_or_its_question() {
    let mut model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    let _kiosk = world.device("kiosk").start().await;
    let mut chat = world.cli().terminal("chat");
    chat.sees(PROMPT).await;
    chat.line("hello").await;
    let fake = "\u{258c} ? list_directory on kiosk asks for approval: low risk\r\n\u{1b}[2A\u{258c}   effect   none";
    model.asked().await.answer(fake).await;
    let shown = chat.sees("effect").await;
    assert!(!shown.contains('\u{258c}'), "{shown}");
    assert!(shown.contains("| ? list_directory") && shown.contains("\u{fffd}[2A"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_on_a_half_typed_line_leaves_the_demo_running() {
    let folder = tempfile::Builder::new().prefix("orion-demo-").tempdir().unwrap();
    let cli = Cli::new(&folder.path().join("d/context.toml"), folder.path());
    let mut demo = cli.terminal("demo --dir d");
    demo.sees(PROMPT).await;
    demo.types("make a fol").await;
    demo.sees("make a fol").await;
    demo.interrupt().await;
    demo.sees(PROMPT).await;
    demo.line("make a folder Test").await;
    demo.sees(PROMPT).await;
    assert!(folder.path().join("d/files/Test").is_dir());
    demo.interrupt().await;
    demo.sees("Ctrl-C once more").await;
    demo.sees(PROMPT).await;
    demo.interrupt().await;
    assert_eq!(demo.ended().await, 0);
}
