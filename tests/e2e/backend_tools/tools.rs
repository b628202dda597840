//! What each tool of the backend returns, and to whom.

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::World;
use orion_wire::v1;
use serde_json::{Value, json};

use super::grant;

fn names(devices: &Value) -> Vec<&str> {
    devices.as_array().unwrap().iter().map(|device| device["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_devices_are_listed_on_which_the_person_may_call_something() {
    let world = World::new().await;
    let reader = json!({"tools": ["get_datetime"]});
    let _kiosk = world.device("kiosk").grant(reader).start().await;
    let writes = json!({"tools": ["write_file"], "paths": ["{files}"]});
    let _shop = world.device("shop").grant(writes).start().await;
    let _none = world.device("nothing").grant(json!({"tools": []})).start().await;
    let viewer = world.person("bob", Role::Viewer).await;

    let all = world.admin().call("backend", "list_devices", json!({})).await;
    assert_eq!(names(&all.data()["devices"]), ["kiosk", "shop"]);
    let kiosk = &all.data()["devices"][0];
    assert_eq!((&kiosk["online"], &kiosk["tools"]), (&json!(true), &json!(["get_datetime"])));
    assert_eq!(kiosk["os"], json!(std::env::consts::OS));
    let seen = viewer.call("backend", "list_devices", json!({})).await;
    assert_eq!(names(&seen.data()["devices"]), ["kiosk"], "a viewer writes nothing: {seen:?}");
    let one = world.admin().call("backend", "list_devices", json!({"selector": "shop"})).await;
    assert_eq!(names(&one.data()["devices"]), ["shop"]);

    let text = "version: 1\ndevices:\n  kiosk: { tools: [get_datetime], labels: { env: lab } }\n";
    let file = world.folder().join("policy.yaml").display().to_string();
    std::fs::write(&file, text).unwrap();
    let applied = world.cli().run(&["policy", "apply", &file, "--yes"]).await;
    assert_eq!(applied.code, 0, "{applied:?}");
    let lab = json!({"selector": "label:env=lab"});
    let lab = world.admin().call("backend", "list_devices", lab).await;
    assert_eq!(names(&lab.data()["devices"]), ["kiosk"]);
    assert_eq!(lab.data()["devices"][0]["labels"], json!({"env": "lab"}));
    let wrong = world.admin().call("backend", "list_devices", json!({"selector": "label:x"})).await;
    assert_eq!(wrong.end(), (CallState::Refused, Some(ErrorCode::InvalidArgument)), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_log_is_read_by_those_who_may_list_it_and_by_nobody_else() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    grant(&world, json!({"tools": ["calculate", "get_audit_log"]})).await;
    let admin = world.admin();
    admin.call("backend", "calculate", json!({"expression": "1+1"})).await;
    let clock = admin.call("kiosk", "get_datetime", json!({})).await;

    let newest = admin.call("backend", "get_audit_log", json!({"last_n": 3})).await;
    assert_eq!(newest.data()["count"], 3);
    let of_kiosk = json!({"of_device": "kiosk", "of_tool": "get_datetime"});
    let of_kiosk = admin.call("backend", "get_audit_log", of_kiosk).await;
    let entries = of_kiosk.data()["entries"].as_array().unwrap();
    let rows: Vec<_> = entries.iter().map(|row| (&row["kind"], &row["call_id"])).collect();
    let (closed, opened, id) = (json!("call.closed"), json!("call.opened"), json!(clock.id));
    assert_eq!(rows, [(&closed, &id), (&opened, &id)]);
    let none = admin.call("backend", "get_audit_log", json!({"of_tool": "move_path"})).await;
    assert_eq!(none.data()["count"], 0);

    let denied = (CallState::Refused, Some(ErrorCode::PermissionDenied));
    for role in [Role::Viewer, Role::Operator] {
        let person = world.person(role.as_str(), role).await;
        let refused = person.call("backend", "get_audit_log", json!({})).await;
        assert_eq!(refused.end(), denied, "{role}: {refused:?}");
    }
    // A token that may call tools reads no audit log; one that may read as well does.
    for (scopes, end) in [
        (vec![v1::Scope::Call], denied),
        (vec![v1::Scope::Call, v1::Scope::Read], (CallState::Succeeded, None)),
    ] {
        let request = v1::CreateTokenRequest {
            name: format!("program-{}", scopes.len()),
            scopes: scopes.into_iter().map(Into::into).collect(),
            ..Default::default()
        };
        let made = admin.auth().create_token(request).await.unwrap().into_inner();
        let program = admin.with_token(&made.secret);
        let call = program.call("backend", "get_audit_log", json!({})).await;
        assert_eq!(call.end(), end, "{call:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_calculation_without_a_value_ends_at_once_with_an_error() {
    let world = World::new().await;
    for expression in ["9**9**9**9", "1/0", "2 +", "import os", &"(".repeat(900)] {
        let arguments = json!({ "expression": expression });
        let call = world.admin().call("backend", "calculate", arguments).await;
        assert_eq!(
            call.end(),
            (CallState::Refused, Some(ErrorCode::InvalidArgument)),
            "{expression}: {call:?}"
        );
    }
    let long = json!({"expression": "1+".repeat(600)});
    let long = world.admin().call("backend", "calculate", long).await;
    assert_eq!(long.error().code, ErrorCode::InvalidArgument);
    assert_eq!(long.state, CallState::Denied, "it is refused before it is sent: {long:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_planner_calculates_and_lists_devices_in_a_chat() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let answer = world.admin().say("what is 12*7?").await;
    assert!(answer.text.contains("12*7 = 84"), "{answer:?}");
    assert_eq!(answer.calls.len(), 1, "{answer:?}");
    let answer = world.admin().say("welke apparaten heb ik?").await;
    assert!(answer.text.contains("kiosk") && answer.text.contains("verbonden"), "{answer:?}");
}
