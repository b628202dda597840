//! Services and programs of a real device. No manager of services runs where these tests do, so programs of
//! their names print what the real ones print by their documentation: `systemctl show` of systemd 255, and
//! the JSON of the command line of Docker 28. They run in the same sandbox as the real ones.
#![cfg(target_os = "linux")]

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Device, World};
use serde_json::{Value, json};

/// Answers `show` from a file beside it, and writes another one at `restart`.
pub(crate) const SYSTEMCTL: &str = r#"#!/bin/sh
case "$1 $*" in
  "show "*" -- nginx.service")
    printf 'MainPID=812\nNRestarts=2\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n'
    printf 'StateChangeTimestamp=Tue 2023-11-14 22:13:20 UTC\n' ;;
  "show "*" -- db.service")
    printf 'MainPID=0\nNRestarts=0\nLoadState=loaded\nActiveState=failed\nUnitFileState=disabled\n'
    printf 'StateChangeTimestamp=\n' ;;
  "show "*" -- docker.service")
    printf 'MainPID=700\nNRestarts=0\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n'
    printf 'StateChangeTimestamp=Tue 2023-11-14 22:13:20 UTC\n' ;;
  "show "*) printf 'LoadState=not-found\nActiveState=inactive\n' ;;
  "restart "*" -- nginx.service" | "restart "*" -- docker.service") ;;
  "restart "*) echo "Failed to restart: Access denied" >&2; exit 1 ;;
  *) exit 2 ;;
esac
"#;

/// Answers what the tools ask of containers.
pub(crate) const DOCKER: &str = r#"#!/bin/sh
case "$*" in
  "version --format {{json .}}") echo '{"Client":{"Version":"28.2.2"},"Server":{"Version":"28.2.2"}}' ;;
  "compose version --format json") echo '{"version":"v2.36.2"}' ;;
  "compose --progress quiet --project-name orion-"*" up --detach")
    test -r "$9" || { echo "open $9: no such file or directory" >&2; exit 14; } ;;
  "compose --progress quiet --project-name orion-"*" down --remove-orphans") ;;
  "ps --quiet --all --filter label=com.docker.compose.project=orion-"*) ;;
  "ps --quiet --filter label=com.docker.compose.project=orion-"*) printf '0a1b2c3d4e5f\n' ;;
  "ps --quiet") printf '0a1b2c3d4e5f\n1a1b2c3d4e5f\n' ;;
  "ps --quiet --filter label=com.docker.compose.project") printf '0a1b2c3d4e5f\n' ;;
  "ps --all --quiet --filter label=com.docker.compose.project=homelab --filter label=com.docker.compose.service=grafana")
    printf '0a1b2c3d4e5f\n' ;;
  "ps --all"*) ;;
  "container inspect "*" -- gone") echo 'Error response from daemon: No such container: gone' >&2; exit 1 ;;
  "container inspect "*)
    echo '{"status":"running","started":"2023-11-14T22:13:20.123456789Z","pid":4242,"restarts":1,"policy":"always"}' ;;
  "container restart -- pihole") echo pihole ;;
  "container logs --timestamps --tail "*" -- gone")
    echo 'Error response from daemon: No such container: gone' >&2; exit 1 ;;
  "container logs --timestamps --tail "*)
    echo '2023-11-14T22:13:20.100000000Z listening on :53'
    echo '2023-11-14T22:13:20.300000000Z query example.com'
    echo '2023-11-14T22:13:20.200000000Z warning: no upstream' >&2 ;;
  *) exit 2 ;;
esac
"#;

/// What Docker's own command line prints where no daemon runs.
const WITHOUT_DAEMON: &str = r#"#!/bin/sh
case "$1" in
  version) echo '{"Client":{"Version":"28.2.2"},"Server":null}' ;;
  compose) echo "unknown flag: --format" >&2; exit 125 ;;
esac
echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?" >&2
exit 1
"#;

fn services() -> Value {
    json!([
        "nginx",
        {"unit": "db.service", "read_only": true},
        "container:pihole",
        "container:gone",
        {"compose": "homelab/grafana"},
    ])
}

/// The services of the ceiling: one less than in the grants.
const CEILING: &str = r#"[ceiling]
profile = "homelab"
paths = ["{files}"]
services = ["nginx.service", "db", "container:pihole", { compose = "homelab/grafana" }]
"#;

async fn homelab(programs: &[(&str, &str)]) -> (World, Device) {
    let world = World::new().await;
    let grants = json!({"profile": "homelab", "paths": ["{files}"], "services": services()});
    let kiosk = world.device("kiosk").grant(grants).ceiling(CEILING).enroll().await;
    for (name, script) in programs {
        kiosk.install(name, script);
    }
    kiosk.run().await;
    (world, kiosk)
}

async fn check(world: &World, service: &str) -> Call {
    world.admin().call("kiosk", "check_service", json!({"service": service})).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn granted_services_are_read_each_from_its_manager() {
    let (world, _kiosk) = homelab(&[("systemctl", SYSTEMCTL), ("docker", DOCKER)]).await;
    let nginx = check(&world, "nginx").await;
    let expected = json!({
        "service": "nginx.service", "state": "active", "since": "2023-11-14T22:13:20Z",
        "pid": 812, "restarts": 2, "enabled": true,
    });
    assert_eq!(nginx.data(), &expected, "{nginx:?}");
    let pihole = check(&world, "container:pihole").await;
    assert_eq!((&pihole.data()["state"], &pihole.data()["pid"]), (&json!("running"), &json!(4242)));
    let grafana = check(&world, "compose:homelab/grafana").await;
    assert_eq!(grafana.data()["since"], "2023-11-14T22:13:20Z", "{grafana:?}");
    let db = check(&world, "db").await;
    assert_eq!((&db.data()["state"], &db.data()["pid"]), (&json!("failed"), &Value::Null));

    let listed = world.admin().call("kiosk", "list_services", json!({})).await;
    let listed = listed.data()["services"].as_array().unwrap();
    let listed: Vec<_> =
        listed.iter().map(|it| format!("{} {}", it["service"], it["state"])).collect();
    // What the ceiling does not list is not there.
    assert_eq!(listed.len(), 4, "{listed:?}");
    assert!(listed.contains(&r#""compose:homelab/grafana" "running""#.to_owned()), "{listed:?}");
    assert!(listed.contains(&r#""nginx.service" "active""#.to_owned()), "{listed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_listed_is_denied_and_no_name_becomes_an_option() {
    let (world, _kiosk) = homelab(&[("systemctl", SYSTEMCTL), ("docker", DOCKER)]).await;
    for service in ["sshd", "container:nginx", "compose:homelab/loki", "container:gone"] {
        let denied = check(&world, service).await;
        let end = (CallState::Denied, Some(ErrorCode::PermissionDenied));
        assert_eq!(denied.end(), end, "{service}: {denied:?}");
        assert!(denied.error().message.contains("is not among the services in"), "{denied:?}");
        assert!(denied.error().hints[0].text.contains("to the services of"), "{denied:?}");
    }
    for service in ["--host=evil", "-H", "a b", "../x", "nginx;id", ""] {
        let wrong = check(&world, service).await;
        assert_eq!(wrong.error().code, ErrorCode::InvalidArgument, "{service}: {wrong:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_is_restarted_after_approval_and_not_where_it_may_only_be_read() {
    let (world, _kiosk) = homelab(&[("systemctl", SYSTEMCTL), ("docker", DOCKER)]).await;
    let arguments = |service: &str| json!({"service": service, "confirm": true});
    let preview = world.admin().dry_run("kiosk", "restart_service", arguments("nginx")).await;
    assert_eq!(preview.data()["before"]["state"], "active", "{preview:?}");
    assert_eq!(preview.data()["after"], Value::Null);
    for service in ["nginx.service", "container:pihole"] {
        let asked = world.admin().call("kiosk", "restart_service", arguments(service)).await;
        assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
        world.admin().decide(asked.approval_id(), true, "").await.unwrap();
        let done = world.admin().ended(&asked.id).await.unwrap();
        assert_eq!(done.data()["healthy"], true, "{done:?}");
        assert_eq!(done.data()["after"]["service"], service);
    }
    let read_only = world.admin().call("kiosk", "restart_service", arguments("db")).await;
    let end = (CallState::Denied, Some(ErrorCode::PermissionDenied));
    assert_eq!(read_only.end(), end, "{read_only:?}");
    assert!(read_only.error().message.contains("may only be read"), "{read_only:?}");
    let unconfirmed = json!({"service": "nginx"});
    let unconfirmed = world.admin().call("kiosk", "restart_service", unconfirmed).await;
    assert_eq!(unconfirmed.error().code, ErrorCode::ConfirmationRequired, "{unconfirmed:?}");
    let viewer = world.person("ann", Role::Viewer).await;
    let denied = viewer.call("kiosk", "restart_service", arguments("nginx")).await;
    assert_eq!(denied.end().1, Some(ErrorCode::PermissionDenied), "{denied:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_are_found_with_their_versions_and_a_daemon_that_is_not_there_is_told() {
    let git = "#!/bin/sh\necho 'git version 2.43.0'\n";
    let python = "#!/bin/sh\necho 'Python 3.8.18'\n";
    let programs =
        [("git", git), ("python3", python), ("docker", DOCKER), ("systemctl", SYSTEMCTL)];
    let (world, kiosk) = homelab(&programs).await;
    let call = async |tool: &str, arguments: Value| {
        world.admin().call("kiosk", tool, arguments).await.data().clone()
    };
    let found = call("check_git", json!({})).await;
    assert_eq!((&found["version"], &found["ok"]), (&json!("2.43.0"), &json!(true)), "{found}");
    assert!(found["path"].as_str().unwrap().ends_with("/programs/git"), "{found}");
    let old = call("check_git", json!({"min_version": "2.44"})).await;
    assert_eq!((&old["installed"], &old["ok"]), (&json!(true), &json!(false)), "{old}");
    let python = call("check_python", json!({})).await;
    assert_eq!((&python["version"], &python["ok"]), (&json!("3.8.18"), &json!(false)), "{python}");
    let docker = call("check_docker", json!({})).await;
    let expected =
        json!({"installed": true, "running": true, "version": "28.2.2", "containers": 2});
    assert_eq!(docker, expected);
    let compose = call("check_compose", json!({})).await;
    assert_eq!((&compose["version"], &compose["containers"]), (&json!("v2.36.2"), &json!(1)));
    let wrong = json!({"min_version": "three"});
    let wrong = world.admin().call("kiosk", "check_python", wrong).await;
    assert_eq!(wrong.error().code, ErrorCode::InvalidArgument, "{wrong:?}");

    let health = async |checks: Value| {
        let health = call("health_check", json!({"checks": checks})).await;
        let each = health["checks"].as_array().unwrap().iter();
        each.map(|it| (it["status"].clone(), it["detail"].clone())).collect::<Vec<_>>()
    };
    let lines = health(json!(["git", "python", "docker"])).await;
    let expected = [
        ("ok", "Git 2.43.0 is installed, which is enough."),
        ("warn", "Python 3.8.18 is installed, which is too old."),
        ("ok", "Docker is running, with 2 containers."),
    ];
    assert_eq!(lines, expected.map(|(status, detail)| (json!(status), json!(detail))));

    kiosk.install("docker", WITHOUT_DAEMON);
    assert_eq!(health(json!(["docker"])).await[0].0, "warn");
    let docker = call("check_docker", json!({})).await;
    assert_eq!((&docker["installed"], &docker["running"]), (&json!(true), &json!(false)));
    assert_eq!(docker["version"], "28.2.2", "{docker}");
    assert_eq!(call("check_compose", json!({})).await["installed"], false);
    let pihole = check(&world, "container:pihole").await;
    assert_eq!(pihole.error().code, ErrorCode::ExecutionFailed, "{pihole:?}");
    assert!(pihole.error().message.contains("Cannot connect to the Docker daemon"), "{pihole:?}");
    kiosk.install("docker", "#!/bin/sh\necho '{\"unexpected\": true}'\n");
    let unread = check(&world, "container:pihole").await;
    assert!(unread.error().message.contains("cannot be read"), "{unread:?}");
    let listed = world.admin().call("kiosk", "list_services", json!({})).await;
    assert!(listed.data().to_string().contains("unknown"), "{listed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_is_restarted_by_an_admin_where_its_unit_is_listed_and_nowhere_else() {
    let arguments = json!({"confirm": true});
    let (world, _kiosk) = homelab(&[("systemctl", SYSTEMCTL), ("docker", DOCKER)]).await;
    let denied = world.admin().call("kiosk", "restart_docker", arguments.clone()).await;
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{denied:?}");
    assert!(denied.error().message.contains("docker.service"), "{denied:?}");
    for (granted, owned) in [(json!(["docker"]), "[]"), (json!(["docker"]), "[\"docker\"]")] {
        let grants = json!({"profile": "homelab", "paths": ["{files}"], "services": granted});
        let ceiling = format!(
            "[ceiling]\nprofile = \"homelab\"\npaths = [\"{{files}}\"]\nservices = {owned}\n"
        );
        let world = World::new().await;
        let kiosk = world.device("kiosk").grant(grants).ceiling(&ceiling).enroll().await;
        for (name, script) in [("systemctl", SYSTEMCTL), ("docker", DOCKER)] {
            kiosk.install(name, script);
        }
        kiosk.run().await;
        let asked = world.admin().call("kiosk", "restart_docker", arguments.clone()).await;
        if owned == "[]" {
            assert_eq!(asked.state, CallState::Denied, "{asked:?}");
            continue;
        }
        let preview = world.admin().dry_run("kiosk", "restart_docker", arguments.clone()).await;
        assert_eq!(
            (&preview.data()["containers"], &preview.data()["after"]),
            (&json!(2), &Value::Null)
        );
        assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
        world.admin().decide(asked.approval_id(), true, "").await.unwrap();
        let done = world.admin().ended(&asked.id).await.unwrap();
        assert_eq!(done.data()["after"]["state"], "active", "{done:?}");
        assert_eq!(
            (&done.data()["before"]["pid"], &done.data()["containers"]),
            (&json!(700), &json!(2))
        );
        let bob = world.person("bob", Role::Operator).await;
        let asked = bob.call("kiosk", "restart_docker", arguments.clone()).await;
        assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
        assert!(bob.decide(asked.approval_id(), true, "").await.is_err(), "an admin decides");
    }
}
