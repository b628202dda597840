//! The tools that look after a device, through the whole stack: what they contact has to be granted on both
//! sides, and an application is closed after a person has seen that it is.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use orion_domain::CallState;
use orion_tests::{World, eventually};
use serde_json::{Value, json};

use crate::tools::preview;

fn ceiling(more: &str) -> String {
    format!("[ceiling]\nprofile = \"operator\"\npaths = [\"{{files}}\"]\n{more}\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_host_is_contacted_where_grants_and_ceiling_name_it_and_nowhere_else() {
    let world = World::new().await;
    let listed = "hosts = [\"192.0.2.1:9\", \"127.1:9\"]";
    let grants = json!({"profile": "operator", "hosts": ["192.0.2.1:9", "192.0.2.2:9", "127.1:9"]});
    let open = world.device("open").grant(grants).ceiling(&ceiling(listed)).start().await;
    let closed = json!({"profile": "operator", "paths": ["{files}"]});
    let shut = world.device("shut").grant(closed).ceiling(&ceiling(listed)).start().await;
    let network = |host: &str| json!({"targets": ["backend", host]});
    let ports = |host: &str| json!({"host": host, "ports": [9]});

    for (device, host, rule) in [
        (&shut, "192.0.2.1", "grants: hosts"),
        (&open, "192.0.2.2", "ceiling: hosts"),
        (&open, "169.254.169.254", "grants: hosts"),
    ] {
        for (tool, arguments) in
            [("check_network", network(&format!("{host}:9"))), ("check_ports", ports(host))]
        {
            let denied = world.admin().call(&device.name, tool, arguments).await;
            let error = denied.error();
            assert_eq!((denied.state, error.code.as_str()), (CallState::Denied, "URL_FORBIDDEN"));
            assert_eq!(error.details["rule"], json!(rule), "{tool} {host}");
            assert_eq!(error.details["attempted_host"], json!(format!("{host}:9")));
        }
    }
    // Nothing answers at an address for documentation, but it is asked for.
    let called = world.admin().call("open", "check_network", network("192.0.2.1:9")).await;
    let reached = |at: usize| &called.data()["targets"][at];
    assert_eq!(
        (&reached(0)["target"], &reached(0)["reachable"]),
        (&json!("backend"), &json!(true))
    );
    assert_eq!(reached(1)["reachable"], json!(false), "{called:?}");
    // A granted name that leads to the device itself is no way to it.
    let refused = world.admin().call("open", "check_ports", ports("127.1")).await;
    assert_eq!(
        (refused.state, refused.error().code.as_str()),
        (CallState::Refused, "URL_FORBIDDEN")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_listens_on_the_device_itself_needs_no_grant_of_hosts() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let shown = preview(&world, &kiosk, "check_ports", &json!({"ports": [port]})).await;
    assert_eq!(shown["ports"][0]["listening"], json!(true), "{shown}");
    let all = world.admin().call("kiosk", "health_check", json!({})).await;
    let checks = all.data()["checks"].as_array().unwrap();
    let status = |name: &str| {
        let check = checks.iter().find(|check| check["name"] == name);
        check.map(|check| check["status"].clone()).unwrap_or_default()
    };
    // A gateway may drop what is sent to it, and then a person should look. The backend answers.
    assert_ne!(status("network"), json!("fail"), "{all:?}");
    for name in ["disk", "memory", "state"] {
        let status = status(name);
        assert!(status != json!("skipped") && !status.is_null(), "{name}: {all:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_is_closed_after_a_person_has_seen_that_it_is() {
    let world = World::new().await;
    let program = world.folder().join("note");
    std::fs::copy(std::fs::canonicalize("/bin/sh").unwrap(), &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let bound = format!("apps = [\"note\"]\n[apps]\nnote = \"{}\"", program.display());
    let grants = json!({"profile": "operator", "paths": ["{files}"], "apps": ["note"]});
    let kiosk = world.device("kiosk").grant(grants).ceiling(&ceiling(&bound)).start().await;
    let ready = kiosk.files().join("ready");
    kiosk.write_file("script", format!(": > '{}'\nwhile :; do sleep 1; done\n", ready.display()));
    let opened =
        world.admin().call("kiosk", "open_app", json!({"app": "note", "args": ["script"]})).await;
    let pid = opened.data()["pid"].clone();
    eventually("the application runs", async || std::fs::read(&ready).ok()).await;
    let is_running = async || -> Value {
        let listed = world.admin().call("kiosk", "list_apps", json!({})).await;
        listed.data()["apps"][0]["running"].clone()
    };
    assert_eq!(is_running().await, json!(true));

    let arguments = json!({"app": "note", "confirm": true, "force": true});
    let shown = preview(&world, &kiosk, "close_app", &arguments).await;
    assert_eq!(shown, json!({"app": "note", "closed": [pid]}));
    let asked = world.admin().call("kiosk", "close_app", arguments).await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    assert_eq!(is_running().await, json!(true), "nothing ends before the approval");
    let card = world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    assert_eq!(card.touches, ["close note"]);
    let closed = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(*closed.data(), json!({"app": "note", "closed": [pid]}));
    assert_eq!(is_running().await, json!(false));
    let other = json!({"app": "bash", "confirm": true});
    let denied = world.admin().call("kiosk", "close_app", other).await;
    assert_eq!(denied.error().code.as_str(), "APP_NOT_WHITELISTED");
}
