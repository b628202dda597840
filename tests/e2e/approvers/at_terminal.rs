//! The question of `orion call` at a real terminal.
#![cfg(target_os = "linux")]

use super::*;

/// A device whose deletions admins alone approve, and bob, who is none.
async fn by_admins() -> (World, Device, Client) {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let rule =
        "  - { id: by-admins, tools: [delete_file], action: ask, approvers: { role: admin } }\n";
    apply(&world, &kiosk, rule).await;
    let bob = world.person("bob", Role::Operator).await;
    (world, kiosk, bob)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_terminal_a_person_who_may_not_approve_is_not_asked_and_sees_how_the_call_ended() {
    let (world, kiosk, bob) = by_admins().await;
    for name in ["a.txt", "b.txt", "c.txt"] {
        kiosk.write_file(name, "x");
    }
    let open = async || {
        let request = v1::ListApprovalsRequest { all: false };
        let open = world.admin().approvals().list_approvals(request).await.unwrap().into_inner();
        open.approvals.into_iter().next()
    };
    let delete = |name: &str| format!("call kiosk delete_file path={name} confirm=true");

    let mut terminal = world.cli_of("bob", &bob).terminal(&delete("a.txt"));
    let said = terminal.sees("also after Ctrl-C").await;
    assert!(said.contains("only the role admin can approve this call: rule by-admins"), "{said}");
    assert!(!said.contains("Approve?"), "{said}");
    let card = eventually("the request", open).await;
    let refused = bob.decide(&card.approval_id, true, "").await.unwrap_err();
    assert!(refused.message().contains("rule by-admins"), "{refused:?}");
    world.admin().decide(&card.approval_id, true, "").await.unwrap();
    terminal.sees("a.txt").await;
    assert_eq!(terminal.ended().await, 0);
    assert!(!kiosk.files().join("a.txt").exists());

    // Who may approve is asked, until somebody else decides.
    let mut terminal = world.cli().terminal(&delete("b.txt"));
    terminal.sees("Approve? (y/N)").await;
    let card = eventually("the request", open).await;
    let second = world.person("second", Role::Admin).await;
    second.decide(&card.approval_id, true, "agreed").await.unwrap();
    let said = terminal.sees("approved by second: agreed").await;
    assert_eq!(terminal.ended().await, 0, "{said}");
    assert!(!kiosk.files().join("b.txt").exists());

    // Ctrl-C at the question cancels the call.
    let mut terminal = world.cli().terminal(&delete("c.txt"));
    terminal.sees("Approve? (y/N)").await;
    terminal.interrupt().await;
    assert_eq!(terminal.ended().await, 130);
    assert!(open().await.is_none(), "the call is cancelled");
    let mut terminal = world.cli().terminal(&delete("c.txt"));
    terminal.sees("Approve? (y/N)").await;
    terminal.line("y").await;
    assert_eq!(terminal.ended().await, 0);
    assert!(!kiosk.files().join("c.txt").exists());

    // A no with its reason, after something that is neither.
    kiosk.write_file("d.txt", "x");
    let mut terminal = world.cli().terminal(&delete("d.txt"));
    terminal.sees("Approve? (y/N)").await;
    terminal.line("perhaps").await;
    terminal.sees("Approve? (y, y because …, n or n because …)").await;
    terminal.line("n because it is mine").await;
    terminal.sees("did not approve this call: it is mine").await;
    assert_eq!(terminal.ended().await, 6);
    assert!(kiosk.files().join("d.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_chat_a_person_who_may_not_approve_can_only_deny() {
    let (world, kiosk, bob) = by_admins().await;
    let cli = world.cli_of("bob", &bob);
    kiosk.write_file("a.txt", "x");
    let by_option = cli.run(&["ask", "--yes", "delete a.txt"]).await;
    assert_eq!(by_option.code, 5, "{by_option:?}");
    assert!(!by_option.stderr.contains("approved by --yes"), "{by_option:?}");
    assert!(by_option.stderr.contains("orion approvals approve "), "{by_option:?}");

    let mut chat = cli.terminal("chat");
    chat.sees("› ").await;
    chat.line("delete a.txt").await;
    let card = chat.sees("Deny? n, n because").await;
    assert!(card.contains("only the role admin can approve this call"), "{card}");
    chat.line("y").await;
    chat.sees("Another person has to approve it").await;
    chat.sees("Deny? n, n because").await;
    chat.line("n because it is still needed").await;
    let told = chat.sees("› ").await;
    assert!(told.contains("it is still needed"), "{told}");
    assert!(kiosk.files().join("a.txt").exists());
}
