//! Chats afterwards: they are listed, searched, shown and resumed, and a turn is taken back as one.

use orion_domain::Role;
use orion_tests::{HeldModel, Tree, World};
use orion_wire::v1;
use serde_json::{Value, json};

fn names(tree: Tree) -> Vec<String> {
    tree.into_keys().collect()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_taken_back_on_every_device_with_what_stays_said_first() {
    let mut model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    let ceiling = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
    let grants = || json!({"profile": "developer", "paths": ["{files}"]});
    let laptop = world.device("laptop").grant(grants()).ceiling(ceiling).start().await;
    let server = world.device("server").grant(grants()).ceiling(ceiling).start().await;
    let admin = world.admin().clone();
    let said = "make all of it on laptop and server";
    let talking = tokio::spawn(async move { admin.say_in("", said).await });
    for (tool, arguments) in [
        ("list_directory", json!({"device": "laptop", "path": "."})),
        ("create_directory", json!({"device": "laptop", "path": "A"})),
        ("write_file", json!({"device": "laptop", "path": "A/a.txt", "content": "one"})),
        // This one is there already, so that nothing of it is taken back.
        ("create_directory", json!({"device": "laptop", "path": "A"})),
        ("create_directory", json!({"device": "server", "path": "B"})),
        ("write_file", json!({"device": "server", "path": "B/b.txt", "content": "two"})),
    ] {
        model.asked().await.call(&[(tool, arguments)]).await;
    }
    model.asked().await.answer("Done.").await;
    let made = talking.await.unwrap();
    assert!(made.calls.iter().all(|call| call.end().1.is_none()), "{made:?}");
    let cli = world.cli();
    let shown = cli.run(&["chats", "show", "-o", "json"]).await.json();
    assert_eq!((&shown[0]["role"], &shown[0]["text"]), (&json!("user"), &json!(said)));
    let turn = shown[0]["turn_id"].as_str().unwrap().to_owned();

    let preview = cli.run(&["undo", &turn, "--dry-run"]).await;
    assert_eq!(preview.code, 0, "{preview:?}");
    assert!(preview.stderr.contains("Only this undo is previewed"), "{preview:?}");
    assert_eq!(names(laptop.tree()), ["A", "A/a.txt"]);
    // One call was taken back by itself before.
    let alone = made.calls.last().unwrap().id.clone();
    let undo = cli.run(&["undo", &alone, "-o", "json"]).await;
    assert_eq!(undo.code, 0, "{undo:?}");
    let shown = cli.run(&["calls", "show", &alone, "-o", "json"]).await.json();
    let undo = undo.json()["meta"]["call_id"].clone();
    assert_eq!((&shown["undone"], &shown["undone_by"]), (&json!(true), &undo), "{shown}");
    let later = cli.run(&["calls", "show", undo.as_str().unwrap(), "-o", "json"]).await.json();
    assert_eq!(later["undone"], json!(null), "{later}");
    let rest = cli.run(&["undo", &turn, "--dry-run"]).await;
    assert_eq!(rest.code, 0, "{rest:?}");
    assert!(rest.stderr.contains("was taken back already"), "{rest:?}");
    let undone = cli.run(&["undo", &turn]).await;
    assert_eq!(undone.code, 0, "{undone:?}");
    assert!(undone.stderr.contains("was taken back already"), "{undone:?}");
    assert_eq!(undone.stderr.matches("create_directory on laptop").count(), 1, "{undone:?}");
    let order: Vec<_> =
        ["write_file on server", "create_directory on server", "write_file on laptop"]
            .iter()
            .map(|line| undone.stderr.find(line).unwrap_or_else(|| panic!("{line}: {undone:?}")))
            .collect();
    assert!(order.is_sorted(), "the last one first: {undone:?}");
    assert_eq!((names(laptop.tree()), names(server.tree())), (vec![], vec![]));

    // A turn without a call has nothing to take back, and somebody else's is none.
    let admin = world.admin().clone();
    let talking = tokio::spawn(async move { admin.say_in("", "hello").await });
    model.asked().await.answer("Hello.").await;
    talking.await.unwrap();
    let shown = cli.run(&["chats", "show", "-o", "json"]).await.json();
    let idle = cli.run(&["undo", shown[0]["turn_id"].as_str().unwrap()]).await;
    assert!(idle.code == 9 && idle.stderr.contains("no call was made there"), "{idle:?}");
    let admin = world.admin().clone();
    let talking = tokio::spawn(async move { admin.say_in("", "look").await });
    model.asked().await.call(&[("list_directory", json!({"device": "laptop", "path": "."}))]).await;
    model.asked().await.answer("Seen.").await;
    talking.await.unwrap();
    let shown = cli.run(&["chats", "show", "-o", "json"]).await.json();
    let read = cli.run(&["undo", shown[0]["turn_id"].as_str().unwrap()]).await;
    assert!(read.code == 9 && read.stderr.contains("these calls changed nothing"), "{read:?}");
    let bob = world.person("bob", Role::Admin).await;
    let missing = world.cli_of("bob", &bob).run(&["undo", &turn]).await;
    assert_eq!(missing.code, 3, "{missing:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_taken_back_and_what_cannot_be_is_named_before_anything_is() {
    let world = World::new().await;
    let ceiling = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
    let grants = || json!({"profile": "developer", "paths": ["{files}"]});
    let kiosk = world.device("kiosk").grant(grants()).ceiling(ceiling).start().await;
    let nas = world.device("nas").grant(grants()).ceiling(ceiling).start().await;
    kiosk.write_file("old.txt", "1");
    let steps: [(&str, &str, Value); 3] = [
        ("kiosk", "delete_file", json!({"path": "old.txt", "confirm": true})),
        ("kiosk", "execute_command", json!({"command": "mkdir made", "confirm": true})),
        ("nas", "create_directory", json!({"path": "new"})),
    ];
    let plan = world.admin().plan(&steps, false).await.unwrap();
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(ended.state(), v1::PlanState::Succeeded, "{ended:?}");
    let cli = world.cli();
    // Ids of the same moment begin alike, and another undo than the one that was meant is made of neither.
    let one = [("nas", "create_directory", json!({"path": "one"}))];
    let short = world.admin().plan(&one, false).await.unwrap();
    world.admin().decide_plan(&short, true, "").await.unwrap();
    let short = world.admin().plan_of(&short, true).await.unwrap();
    let call = &short.steps[0].call_id;
    let alike = short.plan_id.bytes().zip(call.bytes()).take_while(|(one, other)| one == other);
    let begins_both = &call[..alike.count()];
    let unclear = cli.run(&["undo", begins_both]).await;
    assert_eq!(unclear.code, 2, "{unclear:?}");
    assert!(unclear.stderr.contains("begins a call and a plan or turn"), "{unclear:?}");
    let several = cli.run(&["undo", &call[..6]]).await;
    assert_eq!(several.code, 9, "{several:?}");
    assert!(several.stderr.contains("Several ids begin like this one"), "{several:?}");
    assert_eq!(cli.run(&["undo", &short.plan_id]).await.code, 0);
    let asked = cli.run(&["undo", &plan.plan_id]).await;
    assert_eq!(asked.code, 9, "{asked:?}");
    let (stays, rest) = asked.stderr.split_once("This could be taken back, and is left:").unwrap();
    assert!(stays.contains("This cannot be taken back:\n  execute_command on kiosk"), "{asked:?}");
    assert!(rest.contains("create_directory on nas") && rest.contains("--yes"), "{asked:?}");
    assert_eq!(names(nas.tree()), ["new"], "nothing is done without a yes");
    let undone = cli.run(&["undo", &plan.plan_id, "--yes"]).await;
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(
        (names(kiosk.tree()), names(nas.tree())),
        (vec!["made".into(), "old.txt".into()], vec![])
    );

    // A step that was skipped made no call.
    let steps: [(&str, &str, Value); 3] = [
        ("nas", "create_directory", json!({"path": "first"})),
        ("kiosk", "delete_file", json!({"path": "old.txt", "confirm": true})),
        ("nas", "create_directory", json!({"path": "never"})),
    ];
    let plan = world.admin().plan(&steps, false).await.unwrap();
    kiosk.write_file("old.txt", "changed since");
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(ended.state(), v1::PlanState::Failed, "{ended:?}");
    assert_eq!(names(nas.tree()), ["first"]);
    let undone = cli.run(&["undo", &plan.plan_id, "--yes"]).await;
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(names(nas.tree()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chats_are_listed_searched_and_resumed_by_their_person_alone() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "x");
    let cli = world.cli();
    let begin = async |text: &str| world.admin().say_in("", text).await.conversation;
    let first = begin("read a.txt").await;
    let second = begin("make a folder Invoices").await;
    let listed = cli.run(&["chats", "list", "-o", "json"]).await.json();
    let ids: Vec<_> = listed.as_array().unwrap().iter().map(|it| &it["conversation_id"]).collect();
    assert_eq!(ids, [&json!(second), &json!(first)]);
    assert_eq!(listed[0]["first_message"], "make a folder Invoices");
    let found = cli.run(&["chats", "search", "invoices", "-o", "json"]).await.json();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found[0]["conversation_id"], json!(second));

    let resumed = cli.run_with(&["chat", "--resume", &first], b"now delete it\n").await;
    // Without a person at the terminal, the question is left to others: it is about the file of that chat.
    assert_eq!(resumed.code, 6, "{resumed:?}");
    assert!(resumed.stderr.contains("› read a.txt"), "{resumed:?}");
    let newest = cli.run(&["chats", "list", "-o", "json"]).await.json();
    assert_eq!(newest[0]["conversation_id"], json!(first), "the one with the newest message");
    let latest = cli.run_with(&["chat", "--resume", "-o", "json"], b"list my files\n").await;
    let answer: Value = serde_json::from_str(latest.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(answer["conversation_id"], json!(first), "{latest:?}");

    let bob = world.person("bob", Role::Admin).await;
    let bobs = world.cli_of("bob", &bob);
    assert_eq!(bobs.run(&["chats", "list", "-o", "json"]).await.json(), json!([]));
    assert_eq!(bobs.run(&["chats", "show", &first]).await.code, 3);
    assert_eq!(bobs.run_with(&["chat", "--resume"], b"").await.code, 3);
}
