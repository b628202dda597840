//! Logs of a real device. No journal and no engine of containers run where these tests do, so programs of
//! their names print what the real ones print by their documentation: `journalctl --output=json` of systemd
//! 255, and `docker container logs` of Docker 28.
#![cfg(target_os = "linux")]

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Device, World};
use serde_json::{Value, json};

use super::services::DOCKER;

/// Answers from a journal with two units, and writes its arguments beside the entries.
pub(crate) const JOURNALCTL: &str = r#"#!/bin/sh
entry() { printf '{"__CURSOR":"s=1;i=%s","__REALTIME_TIMESTAMP":"17000000%s","_BOOT_ID":"b","PRIORITY":"%s","MESSAGE":%s}\n' "$1" "$1" "$2" "$3"; }
case "$*" in
  "--no-pager --output=json --output-fields=MESSAGE,PRIORITY --unit=nginx.service --lines="*)
    entry 00000001 6 '"started"'
    entry 00000002 3 '"upstream\ntimed out"'
    entry 00000003 6 '[104,105,255]'
    entry 00000004 7 null
    echo "{\"__REALTIME_TIMESTAMP\":\"1700000000000005\",\"MESSAGE\":\"asked: $*\"}" ;;
  *"--unit=many.service --lines="*)
    i=0; while [ $i -lt 20001 ]; do echo '{"__REALTIME_TIMESTAMP":"1700000000000000","MESSAGE":"again"}'; i=$((i+1)); done ;;
  *"--unit=quiet.service"*)
    echo '-- No entries --'
    echo 'Hint: You are currently not seeing messages from other users and the system.' >&2 ;;
  *"--unit=odd.service"*) echo 'Nov 14 22:13:20 host nginx[1]: started' ;;
  *) echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1 ;;
esac
"#;

const CEILING: &str = r#"[ceiling]
profile = "homelab"
paths = ["{files}"]
services = ["nginx", "db"]
logs = ["nginx", "many", "quiet", "odd", "locked", { container = "pihole" }, { compose = "homelab/grafana" }, { container = "gone" }]
"#;

async fn homelab() -> (World, Device) {
    let world = World::new().await;
    let logs = json!([
        "nginx.service", "many", "quiet", "odd", "locked", "foreign", {"container": "pihole"},
        "container:gone", {"compose": "homelab/grafana"},
    ]);
    let grants = json!({
        "profile": "homelab", "paths": ["{files}"], "services": ["nginx", "db"], "logs": logs,
    });
    let kiosk = world.device("kiosk").grant(grants).ceiling(CEILING).enroll().await;
    kiosk.install("journalctl", JOURNALCTL);
    kiosk.install("docker", DOCKER);
    kiosk.run().await;
    (world, kiosk)
}

async fn read(world: &World, arguments: Value) -> Call {
    world.admin().call("kiosk", "read_logs", arguments).await
}

fn texts(call: &Call) -> Vec<String> {
    let lines = call.data()["lines"].as_array().unwrap().iter();
    lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_of_a_unit_comes_with_times_and_priorities() {
    let (world, _kiosk) = homelab().await;
    let all = read(&world, json!({"unit": "nginx", "since": "2023-11-14T22:13:20Z"})).await;
    let lines = &all.data()["lines"];
    let first = json!({"time": "2023-11-14T22:13:20.000001Z", "priority": 6, "text": "started"});
    assert_eq!(lines[0], first, "{all:?}");
    assert_eq!(
        (&lines[1]["text"], &lines[1]["priority"]),
        (&json!("upstream\ntimed out"), &json!(3))
    );
    assert_eq!((&lines[2]["text"], &lines[3]["text"]), (&json!("hi\u{fffd}"), &json!("")));
    let asked = lines[4]["text"].as_str().unwrap();
    assert!(asked.ends_with("--unit=nginx.service --lines=101 --since=@1700000000"), "{asked}");
    // The journal left out an entry that is too long.
    assert_eq!((&all.data()["count"], &all.data()["truncated"]), (&json!(5), &json!(true)));

    let found = read(&world, json!({"unit": "nginx", "grep": "^(started|timed)"})).await;
    assert_eq!(texts(&found), ["started", "upstream\ntimed out"]);
    let last = read(&world, json!({"unit": "nginx", "lines": 1})).await;
    assert_eq!(texts(&last).len(), 1);
    let by_alias = world.admin().call("kiosk", "view_logs", json!({"service": "nginx"})).await;
    assert_eq!(texts(&by_alias).len(), 5, "{by_alias:?}");

    let many = read(&world, json!({"unit": "many", "grep": "again", "lines": 1000})).await;
    assert_eq!((texts(&many).len(), &many.data()["truncated"]), (1000, &json!(true)));
    let quiet = read(&world, json!({"unit": "quiet"})).await;
    assert_eq!(quiet.data()["count"], 0);
    assert!(
        quiet.envelope.as_ref().unwrap().message.contains("currently not seeing messages"),
        "{quiet:?}"
    );
    for (unit, why) in [("odd", "cannot be read"), ("locked", "insufficient permissions")] {
        let failed = read(&world, json!({"unit": unit})).await;
        assert_eq!(failed.error().code, ErrorCode::ExecutionFailed, "{failed:?}");
        assert!(failed.error().message.contains(why), "{failed:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_streams_of_a_container_come_in_the_order_of_their_times() {
    let (world, _kiosk) = homelab().await;
    let expected = ["listening on :53", "warning: no upstream", "query example.com"];
    for container in ["pihole", "homelab/grafana"] {
        let all = read(&world, json!({"container": container})).await;
        assert_eq!(texts(&all), expected, "{all:?}");
        assert_eq!(all.data()["lines"][1]["time"], "2023-11-14T22:13:20.2Z");
    }
    let last = read(&world, json!({"container": "pihole", "lines": 2})).await;
    assert_eq!(
        (texts(&last), &last.data()["truncated"]),
        (expected[1..].iter().map(ToString::to_string).collect(), &json!(true))
    );
    let gone = read(&world, json!({"container": "gone"})).await;
    assert_eq!(gone.error().code, ErrorCode::ExecutionFailed, "{gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_read_where_grants_and_ceiling_list_it_and_a_granted_service_is_not_enough() {
    let (world, kiosk) = homelab().await;
    for (arguments, layer) in [
        (json!({"unit": "db"}), "grants"),
        (json!({"unit": "sshd"}), "grants"),
        (json!({"container": "nginx"}), "grants"),
        (json!({"container": "homelab/loki"}), "grants"),
        (json!({"unit": "foreign"}), "ceiling"),
    ] {
        let denied = read(&world, arguments.clone()).await;
        let end = (CallState::Denied, Some(ErrorCode::PermissionDenied));
        assert_eq!(denied.end(), end, "{arguments}: {denied:?}");
        let whose = format!("is not among the logs in the {layer} of kiosk");
        assert!(denied.error().message.contains(&whose), "{denied:?}");
    }
    let denied = read(&world, json!({"unit": "db"})).await;
    assert!(denied.error().hints[0].text.contains("add \"db.service\" to the logs"), "{denied:?}");
    for wrong in [
        json!({"unit": "*"}),
        json!({"unit": "--file=/etc/shadow"}),
        json!({"container": "-f"}),
        json!({"unit": "nginx", "container": "pihole"}),
        json!({"unit": "nginx", "since": "--until=now"}),
        json!({"unit": "nginx", "grep": "(a"}),
        json!({}),
    ] {
        let refused = read(&world, wrong.clone()).await;
        assert_eq!(refused.error().code, ErrorCode::InvalidArgument, "{wrong}: {refused:?}");
    }
    kiosk.write_file("app.log", "one\ntwo\n");
    assert_eq!(texts(&read(&world, json!({"path": "app.log", "grep": "w"})).await), ["two"]);
    let outside = read(&world, json!({"path": "/var/log/auth.log"})).await;
    assert_eq!(outside.error().code, ErrorCode::PathNotAllowed, "{outside:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_needs_the_permission_to_read_files() {
    let world = World::new().await;
    let grants = json!({
        "capabilities": ["service_read"], "paths": ["{files}"], "logs": ["nginx"],
    });
    let kiosk = world.device("kiosk").grant(grants).start().await;
    kiosk.write_file("app.log", "one\n");
    let denied = read(&world, json!({"path": "app.log"})).await;
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{denied:?}");
    assert!(denied.error().message.contains("file_read"), "{denied:?}");
}
