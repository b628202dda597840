//! Aliases: what people call a tool with some of its arguments, at the command line, in a chat and by the API.

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{HeldModel, World, audit_of};
use orion_wire::v1;
use serde_json::{Value, json};
use tonic::Code::{AlreadyExists, InvalidArgument, NotFound, ResourceExhausted};

fn alias(name: &str, tool: &str, arguments: &Value) -> v1::SetAliasRequest {
    let (name, tool) = (name.to_owned(), tool.to_owned());
    v1::SetAliasRequest { name, tool, arguments: arguments.to_string().into_bytes().into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_calls_by_a_name_of_their_own_and_the_tool_is_what_is_decided_and_recorded() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("notes/a.md", "a");
    kiosk.write_file("notes/b.txt", "b");
    let ann = world.person("ann", Role::Operator).await;
    let cli = world.cli_of("ann", &ann);
    let set = cli.run(&["aliases", "set", "notes", "list_directory", "path=notes"]).await;
    assert_eq!(set.code, 0, "{set:?}");
    let listed = cli.run(&["aliases", "list", "-o", "json"]).await.json();
    assert_eq!(listed[0]["arguments"], json!({"path": "notes"}), "{listed}");
    let called = cli.run(&["call", "kiosk", "notes", "max_results=1", "-o", "json"]).await;
    assert_eq!(called.code, 0, "{called:?}");
    assert_eq!(
        (&called.json()["data"]["count"], &called.json()["meta"]["tool"]),
        (&json!(1), &json!("list_directory"))
    );

    let all = ann.call("kiosk", "notes", json!({})).await;
    assert_eq!(all.data()["count"], 2, "{all:?}");
    let one = ann.call("kiosk", "notes", json!({"path": "."})).await;
    assert_ne!(one.data()["path"], all.data()["path"], "the call's own argument wins");
    let opened: Value =
        serde_json::from_str(&audit_of(world.admin(), &all.id).await[0].body).unwrap();
    assert_eq!((&opened["tool"], &opened["alias"]), (&json!("list_directory"), &json!("notes")));
    assert_eq!(opened["arguments"]["path"], "notes", "{opened}");
    let why = cli.run(&["why", "kiosk", "notes"]).await;
    assert!(why.shown().contains("files/notes: 2 entries"), "{why:?}");
    let plan = ann.plan(&[("kiosk", "notes", json!({}))], false).await.unwrap();
    assert_eq!(plan.steps[0].tool, "list_directory");

    // It is one person's, and grants nothing.
    let bob = world.person("bob", Role::Operator).await;
    let unknown = bob.call("kiosk", "notes", json!({})).await;
    assert_eq!(unknown.error().code, ErrorCode::ToolNotFound, "{unknown:?}");
    ann.tools()
        .set_alias(alias("gone", "delete_file", &json!({"path": "notes/a.md"})))
        .await
        .unwrap();
    let asked = ann.call("kiosk", "gone", json!({"confirm": true})).await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    let outside = ann.call("kiosk", "notes", json!({"path": "/etc"})).await;
    assert_eq!(outside.error().code, ErrorCode::PathNotAllowed, "{outside:?}");

    let removed = cli.run(&["aliases", "remove", "notes"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(cli.run(&["aliases", "remove", "notes"]).await.code, 3);
    assert_eq!(ann.call("kiosk", "notes", json!({})).await.error().code, ErrorCode::ToolNotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_knows_the_names_and_may_call_by_them() {
    let mut model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("notes/a.md", "a");
    let admin = world.admin();
    let request = alias("notes", "list_directory", &json!({"path": "notes"}));
    admin.tools().set_alias(request).await.unwrap();
    let answering = async {
        let request = model.asked().await;
        let system = request.body["messages"][0]["content"].as_str().unwrap().to_owned();
        assert!(system.contains(r#"- notes: list_directory {"path":"notes"}"#), "{system}");
        request.call(&[("notes", json!({"device": "kiosk"}))]).await;
        model.asked().await.answer("Done.").await;
    };
    let (answer, ()) = tokio::join!(admin.say("What is in my notes?"), answering);
    assert_eq!(answer.calls[0].data()["count"], 1, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_takes_no_tools_place_and_an_alias_is_small_and_holds_no_secret() {
    let world = World::new().await;
    let admin = world.admin();
    let set = async |name: &str, tool: &str, arguments: Value| {
        admin.tools().set_alias(alias(name, tool, &arguments)).await.map_err(|error| error.code())
    };
    for (name, tool, arguments, code) in [
        ("read_file", "list_directory", json!({}), AlreadyExists),
        ("file_list", "read_file", json!({}), AlreadyExists),
        ("Notes", "read_file", json!({}), InvalidArgument),
        ("", "read_file", json!({}), InvalidArgument),
        ("notes", "no_such_tool", json!({}), NotFound),
        ("notes", "delete_file", json!({"confirm": true}), InvalidArgument),
        ("notes", "read_file", json!({"paht": "a"}), InvalidArgument),
        ("notes", "read_file", json!(["path"]), InvalidArgument),
        ("notes", "write_file", json!({"content": "x".repeat(5000)}), InvalidArgument),
        ("notes", "install_artifact", json!({"url": "https://a.example/?s"}), InvalidArgument),
    ] {
        assert_eq!(set(name, tool, arguments.clone()).await.unwrap_err(), code, "{name} {tool}");
    }
    set("first", "read_file", json!({"path": "a"})).await.unwrap();
    assert_eq!(set("second", "first", json!({})).await.unwrap_err(), NotFound, "of an alias");
    for number in 0..63 {
        set(&format!("a{number}"), "get_datetime", json!({})).await.unwrap();
    }
    let full = set("more", "get_datetime", json!({})).await.unwrap_err();
    assert_eq!(full, ResourceExhausted);
    set("first", "read_file", json!({"path": "b"})).await.unwrap();
}
