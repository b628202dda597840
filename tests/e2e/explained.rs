//! What `why` says of a call is what the gate does with it, and calls that go nowhere are on record
//! with the device that they were for.

use orion_domain::{CallState, Role, ToolError};
use orion_tests::{Client, World};
use orion_wire::v1;
use serde_json::{Value, json};

struct Asked<'a> {
    device: &'a str,
    tool: &'a str,
    arguments: Value,
    dry_run: bool,
}

async fn why(person: &Client, asked: &Asked<'_>) -> (String, Option<ToolError>) {
    let request = v1::CallToolRequest {
        tool: asked.tool.to_owned(),
        device: asked.device.to_owned(),
        arguments: asked.arguments.to_string().into_bytes().into(),
        dry_run: asked.dry_run,
        explain: true,
        ..Default::default()
    };
    let answer = person.tools().call_tool(request).await.unwrap().into_inner();
    let said: Value = serde_json::from_slice(&answer.call.unwrap().result).unwrap();
    let error = serde_json::from_value(said["error"].clone()).unwrap();
    (said["decision"].as_str().unwrap().to_owned(), error)
}

/// Holds what is said against what is done.
async fn hold(person: &Client, asked: &Asked<'_>) {
    let what = format!("{} {} {} {}", asked.device, asked.tool, asked.arguments, asked.dry_run);
    let (decision, said) = why(person, asked).await;
    let made = if asked.dry_run {
        person.dry_run(asked.device, asked.tool, asked.arguments.clone()).await
    } else {
        person.call(asked.device, asked.tool, asked.arguments.clone()).await
    };
    let ends = [
        (CallState::Denied, "deny"),
        (CallState::AwaitingApproval, "ask"),
        (CallState::Succeeded, "allow"),
    ];
    let end = ends.iter().find(|(state, _)| *state == made.state);
    let (_, done) = *end.unwrap_or_else(|| panic!("{what}: {made:?}"));
    assert_eq!(decision, done, "{what}: {said:?} {made:?}");
    if done == "allow" {
        assert_eq!(said, None, "{what}");
        return;
    }
    let (said, told) = (said.unwrap(), made.error());
    assert_eq!((said.code, &said.message), (told.code, &told.message), "{what}");
    assert_eq!(said.details.get("rule"), told.details.get("rule"), "{what}");
}

fn table(device: &str) -> Vec<Asked<'_>> {
    let calls = [
        ("list_directory", json!({})),
        ("list_directory", json!({"path": "/etc"})),
        ("list_directory", json!({"nonsense": 1})),
        ("write_file", json!({"path": "a", "content": "x"})),
        ("write_file", json!({"path": "/etc/x", "content": "x"})),
        ("write_file", json!({"path": ".envrc", "content": "x"})),
        ("write_file", json!({})),
        ("delete_file", json!({"path": "gone.txt", "confirm": true})),
        ("delete_file", json!({"path": "gone.txt"})),
        ("open_app", json!({"app": "none"})),
        ("undo_call", json!({"call_id": "x", "paths": ["a"]})),
        ("no_such_tool", json!({})),
    ];
    calls
        .into_iter()
        .flat_map(|(tool, arguments)| {
            [false, true].map(|dry_run| Asked {
                device,
                tool,
                arguments: arguments.clone(),
                dry_run,
            })
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_says_what_the_gate_decides() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("gone.txt", "x");
    let viewer = world.person("ann", Role::Viewer).await;
    let operator = world.person("bob", Role::Operator).await;
    let grants = [
        json!({"profile": "operator", "paths": ["{files}"]}),
        json!({"tools": ["list_directory"], "paths": ["{files}"]}),
        json!({"profile": "operator", "paths": ["{files}"], "read_only": true}),
        json!({}),
    ];
    for granted in grants {
        kiosk.grant(&granted).await;
        for person in [world.admin(), &operator, &viewer] {
            for asked in table("kiosk") {
                hold(person, &asked).await;
            }
        }
    }
    let mode = ["devices", "mode", "kiosk", "dangerous", "--for", "1h", "--reason", "x"];
    let mode = world.cli().run(&[&mode[..], &["--yes"]].concat()).await;
    assert_eq!(mode.code, 0, "{mode:?}");
    kiosk.ready().await;
    for asked in table("kiosk") {
        hold(&operator, &asked).await;
    }
    for asked in table("nowhere") {
        hold(&operator, &asked).await;
    }
    for ended in [false, true] {
        let device = "kiosk".to_owned();
        if ended {
            let request = v1::RevokeDeviceRequest { device, ..Default::default() };
            world.admin().devices().revoke_device(request).await.unwrap();
        } else {
            let request = v1::QuarantineDeviceRequest { device, ..Default::default() };
            world.admin().devices().quarantine_device(request).await.unwrap();
        }
        for asked in table("kiosk") {
            hold(&operator, &asked).await;
        }
        let denied = operator.call("kiosk", "list_directory", json!({})).await;
        let listed = v1::ListCallsRequest { limit: 1, ..Default::default() };
        let listed = operator.tools().list_calls(listed).await.unwrap().into_inner().calls;
        let [newest] = &listed[..] else { panic!("{listed:?}") };
        assert_eq!((&newest.call_id, newest.device.as_str()), (&denied.id, "kiosk"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn previews_are_listed_only_where_they_are_asked_for_and_as_such() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "x");
    let cli = world.cli();
    let delete = json!({"path": "old", "recursive": true, "confirm": true});
    let asked = world.admin().call("kiosk", "delete_directory", delete).await;
    assert_eq!(asked.state, CallState::AwaitingApproval);
    let listed = cli.run(&["calls", "list"]).await;
    assert_eq!(listed.stdout.matches("delete_directory").count(), 1, "{listed:?}");
    assert!(!listed.stdout.contains("succeeded"), "{listed:?}");
    let listed = cli.run(&["calls", "list", "--previews"]).await;
    assert_eq!(listed.stdout.matches("delete_directory").count(), 2, "{listed:?}");
    assert!(listed.stdout.contains("preview succeeded"), "{listed:?}");
    let touched = format!("delete {}", kiosk.files().join("old").display());
    let listed = cli.run(&["calls", "list", "-o", "json"]).await.json();
    assert_eq!(listed[0]["touches"], json!([touched]), "{listed}");
    let shown = cli.run(&["calls", "show", &asked.id.to_string(), "-o", "json"]).await.json();
    assert_eq!(shown["touches"], json!([]), "{shown}");
}
