//! Macros and jobs: several calls by one name, each decided by itself, and calls that go on in the background.

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{HeldModel, World, audit_of, eventually};
use orion_wire::v1;
use serde_json::{Value, json};

/// Grants the tools of macros and jobs on the backend.
async fn grant(world: &World) {
    let tools = [
        "calculate",
        "save_macro",
        "list_macros",
        "run_macro",
        "get_job",
        "cancel_job",
        "generate_openscad",
        "generate_arduino_code",
    ];
    let request = v1::SetDevicePermissionsRequest {
        device: "backend".to_owned(),
        grants: json!({ "tools": tools }).to_string(),
        ..Default::default()
    };
    world.admin().policy().set_device_permissions(request).await.unwrap();
}

/// A macro that makes a folder, writes a file into it and reads another one.
fn project() -> Value {
    json!({
        "name": "new-project",
        "calls": [
            {"tool": "create_directory", "device": "{{where}}", "arguments": {"path": "{{folder}}"}},
            {"tool": "write_file", "device": "{{where}}", "arguments": {"path": "{{file}}", "content": "{{folder}}"}},
            {"tool": "read_file", "device": "{{where}}", "arguments": {"path": "{{file}}"}},
        ],
        "parameters": ["where", "folder", "file"],
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_calls_of_a_macro_are_made_in_order_each_by_itself_up_to_the_first_that_fails() {
    let world = World::new().await;
    grant(&world).await;
    let kiosk = world.device("kiosk").start().await;
    let ann = world.person("ann", Role::Operator).await;
    let saved = ann.call("backend", "save_macro", project()).await;
    assert_eq!(saved.data()["replaced"], false, "{saved:?}");
    let values = json!({"where": "kiosk", "folder": "a", "file": "a/b.txt"});
    let run = json!({"name": "new-project", "parameters": values});
    let dry = ann.dry_run("backend", "run_macro", run.clone()).await;
    assert_eq!(dry.data()["steps"][0]["state"], "planned", "{dry:?}");
    assert_eq!(dry.data()["steps"][1]["arguments"], json!({"path": "a/b.txt", "content": "a"}));
    assert!(kiosk.tree().is_empty(), "a dry run makes no call");

    let done = ann.call("backend", "run_macro", run.clone()).await;
    assert_eq!(done.data()["succeeded"], 3, "{done:?}");
    assert_eq!(kiosk.tree()["a/b.txt"].as_deref(), Some("a"));
    let steps = done.data()["steps"].as_array().unwrap();
    assert_eq!(steps[2]["result"]["content"], "a", "{done:?}");
    let id = steps[1]["call_id"].as_str().unwrap();
    let opened: Value = serde_json::from_str(&audit_of(world.admin(), id).await[0].body).unwrap();
    assert_eq!((&opened["user"], &opened["tool"]), (&json!("ann"), &json!("write_file")));
    assert_eq!(opened["parent"], json!({"call": done.id}), "{opened}");

    // A step that is not allowed stops it, and nothing after it is made.
    let outside = json!({"where": "kiosk", "folder": "c", "file": "/etc/orion-test"});
    let outside = json!({"name": "new-project", "parameters": outside});
    let stopped = ann.call("backend", "run_macro", outside).await;
    assert_eq!(stopped.data()["succeeded"], 1, "{stopped:?}");
    let states = stopped.data()["steps"].as_array().unwrap().iter();
    let states: Vec<_> = states.map(|step| step["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["succeeded", "denied", "skipped"]);
    let words = ["macros", "run", "new-project", "where=kiosk", "folder=d", "file=/etc/orion-test"];
    let stopped = world.cli_of("ann", &ann).run(&words).await;
    assert_eq!(stopped.code, 1, "{stopped:?}");

    // It is hers alone, and grants nothing.
    let bob = world.person("bob", Role::Viewer).await;
    let none = bob.call("backend", "run_macro", run.clone()).await;
    assert_eq!(none.state, CallState::Denied, "{none:?}");
    let theirs = world.admin().call("backend", "run_macro", run).await;
    assert_eq!(theirs.error().code, ErrorCode::NotFound, "{theirs:?}");
    let missing = ann.call("backend", "run_macro", json!({"name": "new-project"})).await;
    assert_eq!(missing.error().code, ErrorCode::InvalidArgument, "{missing:?}");
    let odd = json!({"name": "new-project", "parameters": {"other": 1}});
    let odd = ann.call("backend", "run_macro", odd).await;
    assert_eq!(odd.error().code, ErrorCode::InvalidArgument, "{odd:?}");
    for wrong in [
        json!({"name": "A", "calls": [{"tool": "calculate"}]}),
        json!({"name": "a"}),
        json!({"name": "a", "calls": [{"tool": "run_macro", "arguments": {"name": "a"}}]}),
        json!({"name": "a", "calls": [{"tool": "calculate", "arguments": {"expression": "{{x}}"}}]}),
        json!({"name": "a", "last_n": 3}),
        json!({"name": "a", "calls": [{"tool": "calculate"}], "last_n": 1}),
    ] {
        let refused = ann.call("backend", "save_macro", wrong.clone()).await;
        assert_eq!(refused.error().code, ErrorCode::InvalidArgument, "{wrong}: {refused:?}");
    }
    let misspelt = json!({"name": "a", "calls": [{"tool": "calcualte"}]});
    let misspelt = ann.call("backend", "save_macro", misspelt).await;
    assert_eq!(misspelt.error().code, ErrorCode::ToolNotFound, "{misspelt:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_waits_for_its_own_approval_and_a_cancelled_macro_cancels_it() {
    let world = World::new().await;
    grant(&world).await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old.txt", "1");
    let admin = world.admin();
    let call = json!({
        "tool": "delete_file", "device": "kiosk", "arguments": {"path": "old.txt", "confirm": true},
    });
    let save = json!({"name": "tidy", "calls": [call]});
    assert_eq!(admin.call("backend", "save_macro", save).await.state, CallState::Succeeded);
    let run = v1::CallToolRequest {
        tool: "run_macro".to_owned(),
        arguments: json!({"name": "tidy"}).to_string().into_bytes().into(),
        background: true,
        ..Default::default()
    };
    let waiting = async || {
        let request = v1::ListApprovalsRequest { all: false };
        let list = admin.approvals().list_approvals(request).await.unwrap().into_inner().approvals;
        list.into_iter().next()
    };
    let first = admin.ask(run.clone()).await.unwrap();
    let asked = eventually("the step asks", waiting).await;
    assert_eq!(asked.tool, "delete_file");
    let job = admin.call("backend", "get_job", json!({"job_id": asked.call_id})).await;
    assert_eq!(job.data()["state"], "awaiting_approval", "{job:?}");
    assert_eq!(job.data()["approval_id"], json!(asked.approval_id));
    let cancelled = admin.call("backend", "cancel_job", json!({"job_id": first.id})).await;
    assert_eq!(cancelled.state, CallState::Succeeded, "{cancelled:?}");
    let ended = admin.ended(&first.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)), "{ended:?}");
    let step = admin.ended(&asked.call_id).await.unwrap();
    assert_eq!(step.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)), "{step:?}");
    assert!(kiosk.tree().contains_key("old.txt"));

    let second = admin.ask(run).await.unwrap();
    let asked = eventually("the step asks", waiting).await;
    admin.decide(&asked.approval_id, true, "").await.unwrap();
    let wait = json!({"job_id": second.id, "wait_seconds": 20});
    let job = admin.call("backend", "get_job", wait).await;
    assert_eq!(job.data()["state"], "succeeded", "{job:?}");
    assert_eq!(job.data()["result"]["data"]["succeeded"], 1, "{job:?}");
    assert!(!kiosk.tree().contains_key("old.txt"));
    // A job of somebody else is not found.
    let bob = world.person("bob", Role::Operator).await;
    for tool in ["get_job", "cancel_job"] {
        let none = bob.call("backend", tool, json!({"job_id": second.id})).await;
        assert_eq!(none.error().code, ErrorCode::NotFound, "{none:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_keeps_what_it_has_just_done_and_what_strangers_wrote_stays_theirs() {
    let mut model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    grant(&world).await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("note.txt", "hello");
    let answering = async {
        let make = ("create_directory", json!({"device": "kiosk", "path": "new"}));
        model.asked().await.call(&[make]).await;
        model.asked().await.call(&[("save_macro", json!({"name": "again", "last_n": 5}))]).await;
        model.asked().await.answer("Kept.").await;
    };
    // The chat has content of a device, so keeping something on the backend is asked about.
    let asked = world.admin().asked("", "make a folder and remember it", async |card| {
        world.admin().decide(&card.approval_id, true, "").await.unwrap();
    });
    let (answer, ()) = tokio::join!(asked, answering);
    let steps = &answer.calls[1].data()["steps"];
    assert_eq!(steps[0]["tool"], "create_directory", "{answer:?}");
    assert_eq!(steps.as_array().unwrap().len(), 1, "{answer:?}");
    let listed = world.cli().run(&["macros", "show", "again", "-o", "json"]).await.json();
    assert_eq!(
        (&listed["untrusted"], &listed["steps"][0]["device"]),
        (&json!(true), &json!("kiosk"))
    );
    // What a device said may have led to it, so each of its changes waits for a person.
    let cli = world.cli();
    let running = cli.run(&["macros", "run", "again", "-o", "json"]);
    let approving = async {
        let id = eventually("the step is asked about", async || {
            let request = v1::ListApprovalsRequest { all: false };
            let list = world.admin().approvals().list_approvals(request).await.unwrap();
            list.into_inner().approvals.first().map(|it| it.approval_id.clone())
        });
        world.admin().decide(&id.await, true, "").await.unwrap();
    };
    let (run, ()) = tokio::join!(running, approving);
    assert_eq!((run.code, &run.json()["data"]["succeeded"]), (0, &json!(1)), "{run:?}");

    let answering = async {
        model
            .asked()
            .await
            .call(&[("read_file", json!({"device": "kiosk", "path": "note.txt"}))])
            .await;
        let write = json!({"tool": "write_file", "device": "kiosk", "arguments": {"path": "x", "content": "y"}});
        model
            .asked()
            .await
            .call(&[("save_macro", json!({"name": "theirs", "calls": [write]}))])
            .await;
        model.asked().await.answer("Kept.").await;
    };
    let asked = world.admin().asked("", "read the note", async |card| {
        world.admin().decide(&card.approval_id, true, "").await.unwrap();
    });
    let (answer, ()) = tokio::join!(asked, answering);
    assert_eq!(answer.calls[1].state, CallState::Succeeded, "{answer:?}");
    let listed = world.cli().run(&["macros", "list", "-o", "json"]).await.json();
    let theirs = listed.as_array().unwrap().iter().find(|it| it["name"] == "theirs").unwrap();
    assert_eq!(theirs["untrusted"], true, "{listed}");
    assert_eq!(world.cli().run(&["macros", "remove", "theirs"]).await.code, 0);
    assert_eq!(world.cli().run(&["macros", "remove", "theirs"]).await.code, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_code_is_saved_by_a_call_that_is_decided_and_undone_like_any_other() {
    let world = World::new().await;
    grant(&world).await;
    let kiosk = world.device("kiosk").start().await;
    let admin = world.admin();
    let words = "box 40 x 30 x 20 mm with walls of 2 mm\n} // cube";
    let shown = admin.call("backend", "generate_openscad", json!({ "description": words })).await;
    let code = shown.data()["code"].as_str().unwrap().to_owned();
    assert!(
        code.lines().nth(1).is_some_and(str::is_empty),
        "the description is one comment: {code}"
    );
    assert_eq!(shown.data()["checked"], false, "{shown:?}");
    let again = admin.call("backend", "generate_openscad", json!({ "description": words })).await;
    assert_eq!(again.data()["code"], json!(code), "the same words give the same code");
    let save = json!({"description": words, "save_on": "kiosk", "path": "box.scad"});
    let saved = admin.call("backend", "generate_openscad", save.clone()).await;
    assert_eq!(kiosk.tree()["box.scad"].as_deref(), Some(code.as_str()), "{saved:?}");
    let id = saved.data()["saved_call_id"].as_str().unwrap();
    assert_eq!(world.cli().run(&["undo", id]).await.code, 0);
    assert!(!kiosk.tree().contains_key("box.scad"));
    let mut outside = save;
    outside["path"] = json!("/etc/box.scad");
    let denied = admin.call("backend", "generate_openscad", outside).await;
    assert_eq!(denied.error().code, ErrorCode::PathNotAllowed, "{denied:?}");
    let blink = json!({"description": "blink led on pin 7 every 250 ms"});
    let sketch = admin.call("backend", "generate_arduino_code", blink).await;
    assert!(sketch.data()["code"].as_str().unwrap().contains("ledPin = 7;"), "{sketch:?}");
    let unknown = json!({"description": "a dragon with wings"});
    let unknown = admin.call("backend", "generate_openscad", unknown).await;
    assert_eq!(unknown.error().code, ErrorCode::InvalidArgument, "{unknown:?}");
    let half = json!({"description": "box 1 x 1 x 1", "save_on": "kiosk"});
    let half = admin.call("backend", "generate_openscad", half).await;
    assert_eq!(half.error().code, ErrorCode::InvalidArgument, "{half:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn use_is_counted_and_what_is_repeated_is_suggested_with_a_command_that_works() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("it's/a.txt", "1");
    let ann = world.person("ann", Role::Operator).await;
    for _ in 0..5 {
        ann.call("kiosk", "list_directory", json!({"path": "it's"})).await;
    }
    ann.call("kiosk", "list_directory", json!({"path": "/etc"})).await;
    let cli = world.cli_of("ann", &ann);
    let insights = cli.run(&["insights", "-o", "json"]).await.json();
    let tool = &insights["tools"][0];
    assert_eq!(
        (&tool["name"], &tool["calls"]),
        (&json!("list_directory"), &json!(6)),
        "{insights}"
    );
    assert_eq!((&tool["succeeded"], &tool["denied"]), (&json!(5), &json!(1)), "{insights}");
    let suggestion = &insights["suggestions"][0];
    assert_eq!(
        (&suggestion["kind"], &suggestion["count"]),
        (&json!("alias"), &json!(5)),
        "{insights}"
    );
    let command = suggestion["command"].as_str().unwrap();
    let json = command.split_once("--json '").unwrap().1.strip_suffix('\'').unwrap();
    let json = json.replace(r"'\''", "'");
    let set = cli.run(&["aliases", "set", "there", "list_directory", "--json", &json]).await;
    assert_eq!(set.code, 0, "{command}: {set:?}");
    assert_eq!(ann.call("kiosk", "there", json!({})).await.data()["count"], 1);
    // Nobody sees the use of others but an admin.
    let own = world.admin().insights().get_insights(v1::GetInsightsRequest::default()).await;
    assert_eq!(own.unwrap().into_inner().calls, 0);
    let all = v1::GetInsightsRequest { all: true, ..Default::default() };
    let refused = ann.insights().get_insights(all).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    let all = world.admin().insights().get_insights(all).await.unwrap().into_inner();
    assert_eq!((all.persons[0].name.as_str(), all.persons[0].calls), ("ann", 7));
}
