//! What a person asks first: does it answer, who am I, where, and what happened.

use orion_domain::{CallState, Role};
use orion_tests::{Cli, Output, World};
use serde_json::{Value, json};

fn fine(output: Output) -> Output {
    assert_eq!(output.code, 0, "{output:?}");
    output
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_says_what_is_there_and_what_is_missing() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let away = world.device("away").start().await;
    away.stop().await;
    let asked = json!({"path": "x", "confirm": true});
    std::fs::create_dir_all(away.files().with_file_name("unused")).unwrap();
    let _asked = world.admin().call("kiosk", "delete_file", asked).await;
    let status = fine(world.cli().run(&["status"]).await);
    assert!(status.stdout.contains("1 online, 1 offline"), "{status:?}");
    let json = fine(world.cli().run(&["status", "-o", "json"]).await).json();
    assert_eq!(json["reachable"], true);
    assert_eq!(json["person"]["user"], "admin");
    assert_eq!(json["devices"], json!({"online": 1, "offline": 1, "pending": 0, "quarantined": 0}));
    assert_eq!((&json["stops"], json["waiting_approvals"].is_u64()), (&json!(0), true));
    let stop = ["stop", "kiosk", "--reason", "Lunch"];
    fine(world.cli().run(&stop).await);
    let json = fine(world.cli().run(&["status", "-o", "json"]).await).json();
    assert_eq!(json["stops"], 1);

    // A viewer is not told what only others may see, and that is no failure.
    let bob = world.person("bob", Role::Viewer).await;
    let json = fine(world.cli_of("bob", &bob).run(&["status", "-o", "json"]).await).json();
    assert_eq!(
        (&json["person"]["role"], &json["waiting_approvals"]),
        (&json!("viewer"), &Value::Null)
    );

    let nobody = Cli::new(&world.folder().join("none.toml"), world.folder());
    let backend = format!("http://{}", world.people_address());
    let signed_out = nobody.run(&["status", "--backend", &backend, "-o", "json"]).await;
    assert_eq!(signed_out.code, 4, "{signed_out:?}");
    assert_eq!(
        (&signed_out.json()["reachable"], &signed_out.json()["person"]),
        (&json!(true), &Value::Null)
    );
    world.server().stop().await;
    let unreachable = world.cli().run(&["status"]).await;
    assert_eq!(unreachable.code, 1, "{unreachable:?}");
    assert!(unreachable.stdout.contains("was not reached"), "{unreachable:?}");
    assert!(unreachable.stderr.contains("orion-server run"), "{unreachable:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_has_a_context_for_each_backend_and_chooses_one() {
    let (one, two) = (World::new().await, World::new().await);
    // A person without any variable of the environment: only the home folder counts.
    let cli = |world: &World| Cli::without_context(world.folder());
    let me = cli(&one);
    let sign_in = async |world: &World| {
        let create = ["users", "create", "ann", "--role", "operator", "--password-stdin"];
        fine(world.cli().run_with(&create, b"correct horse battery").await);
        let backend = format!("http://{}", world.people_address());
        let line = ["login", "--backend", &backend, "--user", "ann", "--password-stdin"];
        fine(me.run_with(&line, b"correct horse battery").await);
    };
    let list = async || fine(me.run(&["context", "list", "-o", "json"]).await).json();
    assert_eq!(list().await, json!([]));
    sign_in(&one).await;
    sign_in(&two).await;
    let contexts = list().await;
    let names: Vec<_> = contexts.as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    let second = two.people_address().replace(':', "-");
    assert_eq!(names, [json!("default"), json!(second)]);
    assert_eq!((&contexts[0]["in_use"], &contexts[1]["in_use"]), (&json!(false), &json!(true)));
    let at = async |line: &[&str]| fine(me.run(line).await).json()["backend"].clone();
    let (first_url, second_url) =
        (format!("http://{}", one.people_address()), format!("http://{}", two.people_address()));
    assert_eq!(at(&["whoami", "-o", "json"]).await, json!(second_url));
    assert_eq!(at(&["whoami", "-o", "json", "--context", "default"]).await, json!(first_url));
    // The session of a backend is found by its address.
    assert_eq!(at(&["whoami", "-o", "json", "--backend", &first_url]).await, json!(first_url));
    fine(me.run(&["context", "use", "default"]).await);
    assert_eq!(at(&["whoami", "-o", "json"]).await, json!(first_url));

    let near = me.run(&["context", "use", "defualt"]).await;
    assert_eq!(near.code, 3, "{near:?}");
    assert!(near.stderr.contains("did you mean default?"), "{near:?}");
    // Removing one ends its session, too.
    fine(me.run(&["context", "remove", &second]).await);
    let tokens =
        fine(two.cli().run(&["tokens", "list", "--all", "--sessions", "-o", "json"]).await);
    let tokens = tokens.json();
    let of_ann = tokens.as_array().unwrap().iter().filter(|token| token["user"] == "ann").count();
    assert_eq!(of_ann, 0, "{tokens}");
    assert_eq!(list().await.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_log_is_searched_by_person_device_tool_time_and_denial() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let _other = world.device("other").start().await;
    let bob = world.person("bob", Role::Operator).await;
    for (device, path) in [("kiosk", "a"), ("other", "b"), ("kiosk", "/etc/c")] {
        bob.call(device, "create_directory", json!({"path": path})).await;
        world.admin().call(device, "list_directory", json!({"path": "."})).await;
    }
    let rows = async |filters: &[&str]| {
        let line = [&["audit", "list", "--limit", "1000", "-o", "json"], filters].concat();
        let found = fine(world.cli().run(&line).await).json();
        found.as_array().unwrap().clone()
    };
    let closed = async |filters: &[&str]| {
        let rows = rows(filters).await.into_iter().filter(|row| row["kind"] == "call.closed");
        let shown = |row: Value| {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            format!("{} {} {} {}", text("user"), text("device"), text("tool"), text("result"))
        };
        rows.map(shown).collect::<Vec<_>>()
    };
    let denied = "bob kiosk create_directory PATH_NOT_ALLOWED";
    assert_eq!(
        closed(&["--user", "bob"]).await,
        [denied, "bob other create_directory succeeded", "bob kiosk create_directory succeeded"]
    );
    assert_eq!(
        closed(&["--user", "bob", "--device", "other"]).await,
        ["bob other create_directory succeeded"]
    );
    assert_eq!(closed(&["--tool", "list_directory"]).await.len(), 3);
    assert_eq!(closed(&["--denied"]).await, [denied]);
    let only = rows(&["--denied", "--user", "bob"]).await;
    assert!(only.iter().all(|row| row["kind"] == "call.closed"), "{only:?}");
    assert!(rows(&["--until", "1d"]).await.is_empty());
    let all = rows(&[]).await.len();
    assert_eq!(rows(&["--since", "1d"]).await.len(), all);
    let of_bob = rows(&["--user", "bob"]).await.len();
    let delete = json!({"path": "a", "recursive": true, "confirm": true});
    let asked = bob.call("kiosk", "delete_directory", delete).await;
    world.admin().decide(asked.approval_id(), false, "no").await.unwrap();
    let since = rows(&["--user", "bob"]).await;
    let since = &since[..since.len() - of_bob];
    let is_answer = |row: &&Value| row["kind"] == "approval.decided" && row["user"] == "admin";
    let answer = since.iter().find(is_answer).unwrap_or_else(|| panic!("{since:?}"));
    assert!(rows(&["--user", "admin"]).await.contains(answer));
    let table = fine(world.cli().run(&["audit", "list", "--user", "bob", "--limit", "2"]).await);
    assert!(table.stdout.starts_with("SEQ"), "{table:?}");
    assert_eq!(table.stdout.lines().count(), 3, "{table:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undo_is_offered_only_for_what_was_made() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let make = ["call", "kiosk", "create_directory", "path=x"];
    let made = fine(world.cli().run(&make).await);
    assert!(made.stderr.contains("undo: orion undo"), "{made:?}");
    let again = fine(world.cli().run(&make).await);
    assert!(again.stderr.contains("is there already"), "{again:?}");
    assert!(!again.stderr.contains("undo"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_waits_for_a_device_that_never_connected_as_for_any_other() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    let cli = world.cli();
    let call = |path: &'static str| ["call", "kiosk", "create_directory", path, "--queue"];
    let at_once = cli.run(&["call", "kiosk", "create_directory", "path=a"]).await;
    assert_eq!(at_once.code, 7, "{at_once:?}");
    let queued = cli.run(&[&call("path=a")[..], &["-o", "json"]].concat()).await;
    assert_eq!(queued.code, 7, "{queued:?}");
    let id = queued.json()["meta"]["call_id"].as_str().unwrap().to_owned();
    let shown = cli.run(&call("path=b")).await;
    assert!(!shown.stderr.contains("error:") && shown.stderr.contains("is queued"), "{shown:?}");
    // What no device takes is refused at once; what this device denies, when it is known.
    assert_eq!(cli.run(&["call", "kiosk", "create_directory", "pat=a", "--queue"]).await.code, 2);
    let outside = cli.run(&[&call("path=/etc/x")[..], &["-o", "json"]].concat()).await;
    let outside = outside.json()["meta"]["call_id"].as_str().unwrap().to_owned();
    let asked = ["call", "kiosk", "delete_directory", "path=a", "confirm=true", "recursive=true"];
    let asked = cli.run(&[&asked[..], &["--queue", "-o", "json"]].concat()).await;
    let asked = asked.json()["meta"]["call_id"].as_str().unwrap().to_owned();
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.run().await;
    let done = world.admin().ended(&id).await.unwrap();
    assert_eq!(done.state, CallState::Succeeded, "{done:?}");
    let denied = world.admin().ended(&outside).await.unwrap();
    assert_eq!(denied.state, CallState::Denied, "{denied:?}");
    let waits = world.admin().recorded(&asked).await.unwrap();
    assert!(
        matches!(waits.state, CallState::AwaitingApproval | CallState::Queued | CallState::Failed),
        "nobody was asked: {waits:?}"
    );
    assert!(kiosk.tree().contains_key("a"));
}
