//! Taking back what calls changed: by the command line and in a chat, with a real backend and a real
//! device.

mod again;

use orion_tests::{Cli, Device, Output, Tree, World};
use serde_json::{Value, json};

use crate::tools::files;

/// Makes a call that has to succeed, and gives its id.
async fn done(cli: &Cli, words: &[&str]) -> String {
    let words: Vec<&str> =
        ["call", "kiosk"].iter().chain(words).chain(&["--yes", "-o", "json"]).copied().collect();
    let call = cli.run(&words).await;
    assert_eq!(call.code, 0, "{words:?}: {call:?}");
    call.json()["meta"]["call_id"].as_str().unwrap().to_owned()
}

async fn undo(cli: &Cli, call: &str) -> Output {
    cli.run(&["undo", call, "-o", "json"]).await
}

/// Makes the call, takes it back, and expects everything to be as it was before.
async fn there_and_back(cli: &Cli, kiosk: &Device, words: &[&str]) {
    let before = kiosk.tree();
    let call = done(cli, words).await;
    let after = kiosk.tree();
    assert_ne!(after, before, "{words:?}");
    let shown = cli.run(&["undo", &call, "--dry-run", "-o", "json"]).await;
    assert_eq!((shown.code, shown.json()["dry_run"].clone()), (0, json!(true)), "{shown:?}");
    assert_eq!(kiosk.tree(), after, "a preview of undoing {words:?} changed something");
    // The front of an id is enough.
    let undone = undo(cli, &call[..18]).await;
    assert_eq!(undone.code, 0, "{words:?}: {undone:?}");
    assert_eq!(undone.json()["data"]["call_id"], json!(call));
    assert_eq!(undone.json()["data"]["tool"], json!(words[0]));
    assert_eq!(kiosk.tree(), before, "{words:?}");
    let again = undo(cli, &call).await;
    assert_eq!(again.code, 9, "{words:?}: {again:?}");
    assert_eq!(again.json()["error"]["code"], "PRECONDITION_FAILED");
    assert_eq!(kiosk.tree(), before, "{words:?}, undone twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_changes_files_can_be_taken_back_once() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("list.txt", "milk\n");
    kiosk.write_file("full/a.txt", "a");
    kiosk.write_file("full/b/c.txt", "c");
    kiosk.write_file("app.toml", "port = 80\n");
    let cli = world.cli();
    let change = r#"{"path":"app.toml","changes":[{"line":1,"old":"port = 80","new":"port = 8080"}],"confirm":true}"#;
    let calls: [&[&str]; 12] = [
        &["write_file", "path=list.txt", "content=bread"],
        &["write_file", "path=list.txt", "content=bread", "append=true"],
        &["write_file", "path=deep/er/new.txt", "content=bread"],
        &["edit_file", "path=list.txt", "old_text=milk", "new_text=oat milk"],
        &["create_directory", "path=x/y", "parents=true"],
        &["copy_path", "source=full", "destination=copy"],
        &["copy_path", "source=list.txt", "destination=full/a.txt", "overwrite=true"],
        &["move_path", "source=full", "destination=moved"],
        &["move_path", "source=list.txt", "destination=full/a.txt", "overwrite=true"],
        &["delete_file", "path=list.txt", "confirm=true"],
        &["delete_directory", "path=full", "recursive=true", "confirm=true"],
        &["modify_config", "--json", change],
    ];
    for words in calls {
        there_and_back(&cli, &kiosk, words).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_since_is_never_overwritten() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("list.txt", "milk\n");
    kiosk.write_file("gone.txt", "old");
    let cli = world.cli();
    let wrote = done(&cli, &["write_file", "path=list.txt", "content=bread"]).await;
    let deleted = done(&cli, &["delete_file", "path=gone.txt", "confirm=true"]).await;
    kiosk.write_file("list.txt", "cheese");
    kiosk.write_file("gone.txt", "new");
    for call in [wrote, deleted] {
        let refused = undo(&cli, &call).await;
        assert_eq!(refused.code, 9, "{refused:?}");
        assert_eq!(refused.json()["error"]["code"], "PRECONDITION_FAILED", "{refused:?}");
    }
    assert_eq!(kiosk.tree(), files([("gone.txt", Some("new")), ("list.txt", Some("cheese"))]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_told_how_and_what_cannot_be_taken_back() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    let made = cli.run(&["call", "kiosk", "write_file", "path=a", "content=1"]).await;
    let command = made.stderr.lines().find_map(|line| line.strip_prefix("undo: orion "));
    let words: Vec<&str> = command.unwrap_or_default().split(' ').collect();
    let undone = cli.run(&words).await;
    assert_eq!((undone.code, kiosk.tree()), (0, Tree::new()), "{made:?} {undone:?}");
    assert!(!undone.stderr.contains("undo:"), "{undone:?}");

    let read = done(&cli, &["list_directory"]).await;
    let preview =
        cli.run(&["call", "kiosk", "write_file", "path=a", "content=1", "--dry-run"]).await;
    assert!(!preview.stderr.contains("undo:"), "{preview:?}");
    let denied =
        cli.run(&["call", "kiosk", "write_file", "path=/x", "content=1", "-o", "json"]).await;
    let denied = denied.json()["meta"]["call_id"].as_str().unwrap().to_owned();
    for (call, code, word) in [
        (read.as_str(), 9, "write_file"),
        (denied.as_str(), 9, "did not succeed"),
        ("01893e2a-7c00", 3, "there is no call"),
        ("nonsense", 3, "there is no call"),
    ] {
        let refused = cli.run(&["undo", call]).await;
        assert_eq!(refused.code, code, "{refused:?}");
        assert!(refused.stderr.contains(word), "{word}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undoing_is_judged_like_every_call() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    let wrote = done(&cli, &["write_file", "path=a", "content=1"]).await;
    let ann = world.person("ann", orion_domain::Role::Operator).await;
    let hers = world.cli_of("ann", &ann).run(&["undo", &wrote]).await;
    assert_eq!(hers.code, 3, "another person's call is none of hers: {hers:?}");

    for (arguments, code) in [
        (json!({"call_id": wrote, "paths": ["/etc/passwd"]}), "PATH_NOT_ALLOWED"),
        (json!({"call_id": wrote, "paths": []}), "INVALID_ARGUMENT"),
        (json!({"call_id": wrote}), "INVALID_ARGUMENT"),
    ] {
        let refused = world.admin().call("kiosk", "undo_call", arguments).await;
        assert_eq!(refused.error().code.as_str(), code);
    }
    let elsewhere = json!({"call_id": wrote, "paths": ["b"]});
    let refused = world.admin().call("kiosk", "undo_call", elsewhere).await;
    assert!(refused.envelope.is_some_and(|envelope| !envelope.success));

    kiosk.grant(&json!({"profile": "reader", "paths": ["{files}"]})).await;
    let refused = undo(&cli, &wrote).await;
    assert_eq!(refused.code, 5, "{refused:?}");
    assert_eq!(kiosk.tree(), files([("a", Some("1"))]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_chat_the_last_change_is_taken_back() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("list.txt", "milk\n");
    let admin = world.admin();
    let first = admin.say("hernoem list.txt naar boodschappen.txt").await;
    assert!(kiosk.tree().contains_key("boodschappen.txt"), "{first:?}");
    let request = |text: &str| orion_wire::v1::SendMessageRequest {
        conversation_id: first.conversation.clone(),
        text: text.to_owned(),
        ..Default::default()
    };
    // Reading the file would bring strangers' content into the chat, and undoing would be asked about.
    let looked = admin.send(request("hoe laat is het")).await;
    assert_eq!(looked.calls.len(), 1, "{looked:?}");
    let undone = admin.send(request("maak dat ongedaan")).await;
    let [call] = &undone.calls[..] else { panic!("one call: {undone:?}") };
    let rename: Value =
        json!({"call_id": first.calls[0].id, "paths": ["list.txt", "boodschappen.txt"]});
    assert_eq!(call.arguments, rename);
    assert_eq!(kiosk.tree(), files([("list.txt", Some("milk\n"))]), "{undone:?}");
    let again = admin.send(request("maak dat ongedaan")).await;
    assert!(again.calls.is_empty() && again.text.contains("niets meer terug"), "{again:?}");

    // All that one request changed, the last of it first; then the change before it, where that is asked for.
    assert_eq!(admin.send(request("maak een map Eerst")).await.calls.len(), 1);
    assert_eq!(admin.send(request("maak een map A en maak een map A/B")).await.calls.len(), 2);
    assert_eq!(admin.send(request("maak dat ongedaan")).await.calls.len(), 2);
    let left = files([("list.txt", Some("milk\n")), ("Eerst", None)]);
    assert_eq!(kiosk.tree(), left);
    let again = admin.send(request("maak dat ongedaan")).await;
    assert!(again.calls.is_empty() && again.text.contains("eerdere verandering"), "{again:?}");
    assert_eq!(kiosk.tree(), left);
    admin.send(request("maak de eerdere verandering ongedaan")).await;
    assert_eq!(kiosk.tree(), files([("list.txt", Some("milk\n"))]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_says_that_its_last_change_was_taken_back_elsewhere() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let admin = world.admin();
    let first = admin.say("maak een map Test").await;
    assert_eq!(undo(&world.cli(), &first.calls[0].id).await.code, 0);
    let again = orion_wire::v1::SendMessageRequest {
        conversation_id: first.conversation.clone(),
        text: "maak dat ongedaan".to_owned(),
        ..Default::default()
    };
    let again = admin.send(again).await;
    assert!(again.text.contains("die aanroep is al ongedaan gemaakt"), "{again:?}");
    assert_eq!(kiosk.tree(), files([]), "{again:?}");
}
