//! Names that end: accounts that are deleted, devices that are renamed or removed. What the name stood for does not
//! pass to anybody else.

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Enrolled, Output, World, eventually, open_record};
use orion_wire::v1;
use serde_json::json;

fn fine(output: Output) -> Output {
    assert_eq!(output.code, 0, "{output:?}");
    output
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_account_is_gone_and_nobody_gets_its_name_again() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let bob = world.person("bob", Role::Operator).await;
    let alias = ["aliases", "set", "notes", "list_directory", "path=."];
    fine(world.cli_of("bob", &bob).run(&alias).await);
    let done = bob.call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(done.state, CallState::Succeeded);
    kiosk.stop().await;
    let queued = v1::CallToolRequest {
        tool: "create_directory".to_owned(),
        device: "kiosk".to_owned(),
        arguments: br#"{"path":"y"}"#.to_vec().into(),
        queue: true,
        ..Default::default()
    };
    let queued = bob.ask(queued).await.unwrap();
    assert_eq!(queued.state, CallState::Queued);

    let cli = world.cli();
    let asked = cli.run(&["users", "delete", "bob"]).await;
    assert_eq!(asked.code, 2, "{asked:?}");
    fine(cli.run(&["users", "delete", "bob", "--yes"]).await);
    assert_eq!(world.cli_of("bob", &bob).run(&["whoami"]).await.code, 4);
    let listed = fine(cli.run(&["users", "list", "-o", "json"]).await).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    for line in [
        &["users", "enable", "bob"][..],
        &["users", "role", "bob", "admin"],
        &["users", "delete", "bob", "--yes"],
    ] {
        let gone = cli.run(line).await;
        assert_eq!(gone.code, 3, "{line:?}: {gone:?}");
    }
    let again = cli.run(&["users", "create", "bob", "--role", "admin", "--no-password"]).await;
    assert_eq!(again.code, 9, "{again:?}");
    assert!(again.stderr.contains("no name is given twice"), "{again:?}");

    // Not even whoever has the backend's machine makes the name somebody else's.
    let data = world.data_dir().display().to_string();
    let reset = ["admin", "reset", "--user", "bob", "--data-dir", &data];
    fine(cli.program("orion-server", &reset, b"").await);
    let secret = format!("@{data}/admin-reset-secret");
    let refused = cli.run(&["login", "--secret", &secret]).await;
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("was deleted"), "{refused:?}");

    kiosk.run().await;
    let ended = world.admin().ended(&queued.id).await.unwrap();
    assert_eq!(ended.state, CallState::Denied, "{ended:?}");
    assert!(!kiosk.tree().contains_key("y"));
    // The audit log keeps the name, and finds it.
    let rows = fine(cli.run(&["audit", "list", "--user", "bob", "-o", "json"]).await).json();
    let kinds: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["kind"].clone()).collect();
    assert!(kinds.contains(&json!("user.deleted")) && kinds.contains(&json!("call.opened")));
    let mut raw = open_record(&world.database()).await;
    let aliases: (i64,) =
        sqlx::query_as("SELECT COUNT(*) FROM aliases").fetch_one(&mut raw).await.unwrap();
    assert_eq!(aliases.0, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renamed_device_stays_the_same_device_with_the_same_rights() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let before = world.admin().device("kiosk").await.unwrap();
    let earlier = world.admin().call("kiosk", "create_directory", json!({"path": "early"})).await;
    let cli = world.cli();
    let renamed = fine(cli.run(&["devices", "rename", "kiosk", "till"]).await);
    assert!(renamed.stderr.contains("kiosk is now till"), "{renamed:?}");
    let made = eventually("a call under the new name", async || {
        let call = world.admin().call("till", "create_directory", json!({"path": "x"})).await;
        (call.state == CallState::Succeeded).then_some(call)
    })
    .await;
    let after = world.admin().device("till").await.unwrap();
    assert_eq!((after.device_id, after.grants), (before.device_id, before.grants));
    let gone = world.admin().call("kiosk", "get_datetime", json!({})).await;
    assert_eq!(gone.error().code, ErrorCode::DeviceNotFound);
    let shown = kiosk.agent_command(&["status"]);
    assert_eq!(shown.exit_code().await, 0);
    assert!(shown.log().contains("till"), "{}", shown.log());
    let undone = fine(cli.run(&["undo", &made.id]).await);
    assert!(undone.stderr.contains("Undid"), "{undone:?}");
    // The former name is free, and means another device from then on.
    let other = world.device("other").start().await;
    fine(cli.run(&["devices", "rename", "other", "kiosk"]).await);
    eventually("a call on the other device", async || {
        let call = world.admin().call("kiosk", "create_directory", json!({"path": "there"})).await;
        (call.state == CallState::Succeeded).then_some(())
    })
    .await;
    assert!(other.tree().contains_key("there") && !kiosk.tree().contains_key("there"));
    // A call of the time before belongs to the device, whatever it was called and whatever has its name now.
    let undone = fine(cli.run(&["undo", &earlier.id]).await);
    assert!(undone.stderr.contains("Undid"), "{undone:?}");
    assert!(!kiosk.tree().contains_key("early") && other.tree().contains_key("there"));
    let taken = cli.run(&["devices", "rename", "till", "kiosk"]).await;
    assert_eq!(taken.code, 9, "{taken:?}");
    let rows = fine(
        cli.run(&["audit", "list", "--device", "till", "--limit", "1000", "-o", "json"]).await,
    )
    .json();
    let rows: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["kind"].clone()).collect();
    assert!(rows.contains(&json!("device.renamed")), "{rows:?}");

    world.server().stop().await;
    world.restart_server().await;
    assert!(world.admin().device("till").await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rename_gives_no_device_what_the_policy_says_of_another_name() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    let file = world.folder().join("policy.yaml");
    let apply = async |text: &str| {
        std::fs::write(&file, text).unwrap();
        let path = file.display().to_string();
        fine(world.cli().run(&["policy", "apply", &path, "--yes"]).await);
    };
    let files = kiosk.files().display().to_string();
    let reader = format!("{{profile: reader, paths: [\"{files}\"]}}");
    for (till, said) in [
        ("till-1", format!("devices:\n  kiosk: {reader}\n")),
        ("till-2", format!("devices:\n  till-2: {reader}\n")),
        (
            "till-3",
            "rules:\n  - {id: r, devices: [till-3], tools: [read_file], action: ask}\n".to_owned(),
        ),
    ] {
        // A file names devices that there are. The name is free once its device is removed.
        let _till = world.device(till).enroll().await;
        apply(&format!("version: 1\n{said}")).await;
        fine(cli.run(&["devices", "remove", till, "--yes"]).await);
        let refused = cli.run(&["devices", "rename", "kiosk", till]).await;
        assert_eq!(refused.code, 9, "{said}: {refused:?}");
        let why = match till {
            "till-1" => "the policy file names kiosk and not till-1".to_owned(),
            _ => format!("the policy file says something else of {till} than of kiosk"),
        };
        let seen = refused.stderr.to_lowercase();
        assert!(seen.contains(&why), "{refused:?}");
    }
    apply("version: 1\nrules:\n  - {id: r, tools: [delete_file], action: deny}\n").await;
    fine(cli.run(&["devices", "rename", "kiosk", "till-1"]).await);

    // The way that the hint says, for a device that the file names, with a rule for a label that only it has there.
    let named = |name: &str| {
        format!(
            "version: 1
devices:
  {name}: {{ profile: operator, paths: [\"{files}\"], labels: {{ env: prod }} }}
rules:
  - {{ id: prod, devices: \"label:env=prod\", tools: [create_directory], action: deny }}
"
        )
    };
    apply(&named("till-1")).await;
    let refused = cli.run(&["devices", "rename", "till-1", "till-9"]).await;
    assert!(
        refused.stderr.contains("with the rules for labels that only they have"),
        "{refused:?}"
    );
    fine(cli.run(&["devices", "quarantine", "till-1", "--yes"]).await);
    apply("version: 1\n").await;
    fine(cli.run(&["devices", "rename", "till-1", "till-9"]).await);
    apply(&named("till-9")).await;
    fine(cli.run(&["devices", "approve", "till-9", "--yes"]).await);
    let path = json!({"path": "x"});
    eventually("the device with its rule", async || {
        let read = world.admin().call("till-9", "list_directory", json!({"path": "."})).await;
        (read.state == CallState::Succeeded).then_some(())
    })
    .await;
    let denied = world.admin().call("till-9", "create_directory", path).await;
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{denied:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_device_is_cut_off_and_listed_no_more() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let made = world.admin().call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(made.state, CallState::Succeeded);
    let cli = world.cli();
    assert_eq!(cli.run(&["devices", "remove", "kiosk"]).await.code, 2, "it was not confirmed");
    fine(cli.run(&["devices", "remove", "kiosk", "--yes", "--reason", "Sold"]).await);
    let listed = fine(cli.run(&["devices", "list", "-o", "json"]).await).json();
    assert_eq!(listed, json!([]));
    let call = world.admin().call("kiosk", "get_datetime", json!({})).await;
    assert_eq!(call.error().code, ErrorCode::DeviceNotFound, "{call:?}");
    // The identity has ended for good, across a restart too.
    world.server().stop().await;
    world.restart_server().await;
    let listed = fine(cli.run(&["devices", "list", "-o", "json"]).await).json();
    assert_eq!(listed, json!([]));
    let agent = kiosk.launch();
    assert_ne!(agent.exit_code().await, 0, "{}", agent.log());
    let rows = fine(cli.run(&["audit", "list", "--device", "kiosk", "-o", "json"]).await).json();
    let kinds: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["kind"].clone()).collect();
    for kind in ["device.removed", "device.revoked", "call.closed"] {
        assert!(kinds.contains(&json!(kind)), "{kind}: {kinds:?}");
    }
    let shown = fine(cli.run(&["calls", "show", &made.id]).await);
    assert!(shown.stdout.contains("kiosk"), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_devices_with_one_name_neither_is_removed_by_it() {
    let world = World::new().await;
    let cli = world.cli();
    let enrol = async || {
        let request = v1::InviteDeviceRequest { preapproved: true, ..Default::default() };
        let invited = world.admin().devices().invite_device(request).await.unwrap().into_inner();
        Enrolled::with(&invited.token.parse().unwrap(), "kiosk").await.unwrap();
    };
    enrol().await;
    fine(cli.run(&["devices", "revoke", "kiosk", "--yes"]).await);
    enrol().await;
    let listed = async || fine(cli.run(&["devices", "list", "-o", "json"]).await).json();
    let both = listed().await;
    let of = |state: &str| {
        let found = both.as_array().unwrap().iter().find(|device| device["state"] == state);
        found.unwrap()["device_id"].as_str().unwrap().to_owned()
    };
    let refused = cli.run(&["devices", "remove", "kiosk", "--yes"]).await;
    assert_eq!(refused.code, 9, "{refused:?}");
    for state in ["approved", "revoked"] {
        let command = format!("orion devices remove {}", of(state));
        assert!(refused.stderr.contains(&command), "{refused:?}");
    }
    assert_eq!(listed().await, both);
    fine(cli.run(&["devices", "remove", &of("revoked"), "--yes"]).await);
    assert_eq!(listed().await[0]["state"], "approved");
    fine(cli.run(&["devices", "remove", "kiosk", "--yes"]).await);
    assert_eq!(listed().await, json!([]));
    let none = cli.run(&["devices", "remove", "kiosk", "--yes"]).await;
    assert_eq!(none.code, 3, "{none:?}");
}
